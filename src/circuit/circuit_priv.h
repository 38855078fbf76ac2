/* circuit_priv.h: the circuit's struct, shared by its step and its print. */
#ifndef WEIR_CIRCUIT_CIRCUIT_PRIV_H
#define WEIR_CIRCUIT_CIRCUIT_PRIV_H

#include "circuit/circuit.h"

struct Circuit {
    CircuitEnv env;
    Op **ops; /* owned, in topological order */
    size_t op_count;
    size_t op_capacity;
    Step step;
    bool is_profiled;
    bool is_in_step;
    bool is_broken; /* a push or finish failed: only end_step and free are left */
};

#endif
