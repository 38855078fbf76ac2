/* program_priv.h: the compiled form of a list of expressions.
 *
 * A block computes values for one set of rows: slots, filled by steps in order. The top block's
 * imports are the columns of the batch. A branch that is only computed on the rows that reach it is
 * a block of its own, whose imports are slots of the block around it, gathered for those rows.
 * Within a block, and between a block and those around it, equal expressions share a slot.
 * What has no kernel is computed by the host: the host parts of a block run first, together. */
#ifndef WEIR_EXPR_PROGRAM_PRIV_H
#define WEIR_EXPR_PROGRAM_PRIV_H

#include "expr/evaluator.h"
#include "expr/function.h"

typedef struct Block Block;

typedef struct Slot {
    const Expr *expr; /* what it holds */
    uint64_t hash;    /* of expr */
    bool is_constant; /* known when compiling; its value is set already */
} Slot;

typedef struct Import {
    size_t outer; /* slot of the outer block; in the top block a column */
    size_t slot;
} Import;

/* One alternative of a lazy step. */
typedef struct Branch {
    Block *block; /* NULL: computed for all rows in the step's own block */
    size_t slot;  /* of the value, in `block` or in the step's own block */
} Branch;

typedef enum StepKind {
    STEP_KERNEL,
    STEP_AND,
    STEP_OR,
    STEP_CASE,
    STEP_COALESCE,
    STEP_TRY,
} StepKind;

/* What the host computes at once: the host parts of a block, or the call of a kernel that
 * declined. */
typedef struct HostPart {
    struct HostPart *next; /* all that have a program */
    size_t count;
    const Expr **exprs; /* over the block's columns */
    size_t *slots;      /* blocks: of the results */
    size_t column_count;
    size_t *column_slots; /* blocks: of the columns that the host sees */
    HostProgram *program; /* owned */
    Schema input;
    Schema output;
    Vector *columns; /* room */
    Vector *results;
} HostPart;

typedef struct Step {
    StepKind kind;
    const Expr *expr;
    size_t out;             /* slot */
    const FunctionDef *def; /* STEP_KERNEL */
    size_t *args;           /* slots */
    Vector *values;         /* room for the arguments' vectors */
    size_t arg_count;
    const void *state;  /* for the kernel */
    HostPart *fallback; /* of a kernel that declined once; NULL = none yet */
    Branch *branches;   /* the other kinds */
    size_t branch_count;
    struct Step *next;
} Step;

struct Block {
    Block *outer; /* NULL for the top */
    Block *next;  /* all blocks of the evaluator */
    size_t slot_count;
    size_t slot_capacity;
    Slot *slots;
    Vector *values; /* by slot */
    size_t import_count;
    size_t import_capacity;
    Import *imports;
    Step *first;
    Step **last;
    HostPart host;
};

/* The compiled expressions. As conditions only TRUE counts: AND leaves rows that are NULL already. */
typedef struct Program {
    Block *top;      /* NULL: not compiled */
    Branch *outputs; /* by expression; lazy ones only in conditions */
    size_t host_count;
} Program;

struct Evaluator {
    Mem *mem;             /* borrowed */
    const ExprHost *host; /* borrowed; NULL = none */
    Arena arena;          /* the program and constants */
    const Schema *input;  /* borrowed */
    const Expr *const *exprs;
    size_t expr_count;
    Block *blocks;        /* all; the first made is the last in the list */
    HostPart *host_parts; /* all that have a program */
    Program values;       /* for run */
    Program conditions;   /* for select */
};

/* The rows of a block that a branch is computed for. */
typedef struct RowSet {
    const uint16_t *rows; /* NULL: all */
    size_t count;
} RowSet;

/* The value of a branch: row k of the set is at place k, or at rows[k] if is_by_row. */
typedef struct BranchValue {
    Vector vector;
    bool is_by_row;
} BranchValue;

/* Compiles the expressions to values or, if all are BOOLEAN, to conditions. */
Status weir_program_compile_values(Evaluator *evaluator, Error *err) WEIR_MUST_CHECK;
Status weir_program_compile_conditions(Evaluator *evaluator, Error *err) WEIR_MUST_CHECK;

Block *weir_block_new(Evaluator *evaluator, Block *outer, Error *err) WEIR_MUST_CHECK;

/* Slots: `hash` is that of the expression. Found are those of the block and, imported, those of the
 * blocks around it; SIZE_MAX in *slot if there is none. */
uint64_t weir_slot_hash(const Expr *expr);
bool weir_slot_is_known(const Block *block, const Expr *expr);
Status weir_slot_find(Evaluator *evaluator, Block *block, const Expr *expr, uint64_t hash,
                      size_t *slot, Error *err) WEIR_MUST_CHECK;
Status weir_slot_add(Evaluator *evaluator, Block *block, const Expr *expr, uint64_t hash,
                     size_t *slot, Error *err) WEIR_MUST_CHECK;
Status weir_slot_import(Evaluator *evaluator, Block *block, Import import, Error *err)
    WEIR_MUST_CHECK;

/* Other forms of expressions; NULL when out of memory. */
const Expr *weir_program_condition(Evaluator *evaluator, const Expr *expr, Error *err)
    WEIR_MUST_CHECK;
const Expr *weir_program_case_of_conditions(Evaluator *evaluator, const Expr *expr, Error *err)
    WEIR_MUST_CHECK;
const Expr *weir_program_expand_in(Evaluator *evaluator, const Expr *expr, Error *err)
    WEIR_MUST_CHECK;

/* The slot of an expression in a block, made if it is not there. */
Status weir_program_slot(Evaluator *evaluator, Block *block, const Expr *expr, size_t *slot,
                         Error *err) WEIR_MUST_CHECK;

/* Makes the host's program of a block, with the columns it needs. */
Status weir_host_prepare(Evaluator *evaluator, Block *block, Error *err) WEIR_MUST_CHECK;

/* Computes the host parts of a block; its imports are set. */
Status weir_host_run(Evaluator *evaluator, Block *block, size_t count, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

/* Computes a kernel's call, its arguments in step->values, in the host. */
Status weir_host_run_call(Evaluator *evaluator, Step *step, size_t count, Arena *arena, Vector *out,
                          Error *err) WEIR_MUST_CHECK;

/* Asks the host for the value of an expression without columns: a constant vector in the
 * evaluator's arena. False if it fails. */
bool weir_host_fold(Evaluator *evaluator, const Expr *expr, Vector *out);

/* Runs one kernel: args -> out, both in the step. */
Status weir_step_run_kernel(const Step *step, size_t count, Arena *arena, Vector *out, Error *err)
    WEIR_MUST_CHECK;

/* Computes all slots; the imports are set. */
Status weir_block_run(Evaluator *evaluator, Block *block, size_t count, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

Status weir_branch_run(Evaluator *evaluator, const Block *block, const Branch *branch, RowSet set,
                       Arena *arena, BranchValue *out, Error *err) WEIR_MUST_CHECK;

/* The steps that are not kernels. count: rows of the block. */
Status weir_step_run_lazy(Evaluator *evaluator, Block *block, const Step *step, size_t count,
                          Arena *arena, Error *err) WEIR_MUST_CHECK;

#endif
