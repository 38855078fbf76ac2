/* circuit_print.c: a circuit as text, one operator a line, and as a Graphviz graph.
 *
 *   #2 map (#0) [a > 1] O(delta) in 12 (1 batch), out 7, state 3 rows, 128 bytes, 0.012 ms */
#include "circuit/circuit_priv.h"

#include <inttypes.h>

/* The operator in front of a port. */
static const Op *find_input(const Circuit *circuit, const Op *op, size_t port)
{
    for (size_t i = 0; i < op->id; i++) {
        const Op *input = circuit->ops[i];
        for (size_t k = 0; k < input->consumer_count; k++) {
            if (input->consumers[k].consumer == op && input->consumers[k].port == port) {
                return input;
            }
        }
    }
    return NULL;
}

static void put_inputs(const Circuit *circuit, const Op *op, Buf *out)
{
    for (size_t port = 0; port < op->input_count; port++) {
        const Op *input = find_input(circuit, op, port);
        WEIR_ASSERT(input != NULL);
        weir_buf_printf(out, "%s#%zu", port == 0 ? " (" : ", ", input == NULL ? 0 : input->id);
    }
    if (op->input_count > 0) {
        weir_buf_putc(out, ')');
    }
}

static void put_counters(const Op *op, Buf *out)
{
    weir_buf_printf(out, "in %" PRIu64 " (%" PRIu64 " %s), out %" PRIu64, op->rows_in,
                    op->batches_in, op->batches_in == 1 ? "batch" : "batches", op->rows_out);
    if (op->type->state_rows != NULL || op->type->state_bytes != NULL) {
        const size_t rows = op->type->state_rows == NULL ? 0 : op->type->state_rows(op);
        const size_t bytes = op->type->state_bytes == NULL ? 0 : op->type->state_bytes(op);
        weir_buf_printf(out, ", state %zu %s, %zu bytes", rows, rows == 1 ? "row" : "rows", bytes);
    }
    if (op->nanos > 0) {
        weir_buf_printf(out, ", %" PRIu64 ".%03" PRIu64 " ms", op->nanos / 1000000,
                        op->nanos / 1000 % 1000);
    }
}

/* The text with what a Graphviz string needs escaped. */
static void put_escaped(Buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (c == '"' || c == '\\') {
            weir_buf_putc(out, '\\');
        }
        const bool is_blank = c == '\n' || c == '\0';
        weir_buf_append(out, is_blank ? " " : &text[i], 1);
    }
}

/* The operator's own details, escaped, on a line of their own. */
static void put_dot_details(const Op *op, Buf *out)
{
    Buf details;
    weir_buf_init(&details, out->mem, out->limit);
    op->type->describe(op, &details);
    put_escaped(out, details.data, details.size);
    if (details.size > 0) {
        weir_buf_puts(out, "\\n");
    }
    weir_buf_deinit(&details);
}

void weir_circuit_put_text(const Circuit *circuit, Buf *out)
{
    for (size_t i = 0; i < circuit->op_count; i++) {
        const Op *op = circuit->ops[i];
        weir_buf_printf(out, "#%zu %s", op->id, op->type->name);
        put_inputs(circuit, op, out);
        if (op->type->describe != NULL) {
            weir_buf_puts(out, " [");
            op->type->describe(op, out);
            weir_buf_putc(out, ']');
        }
        weir_buf_printf(out, " %s ", op->type->cost);
        put_counters(op, out);
        weir_buf_putc(out, '\n');
    }
}

void weir_circuit_put_dot(const Circuit *circuit, Buf *out)
{
    weir_buf_puts(out, "digraph circuit {\n    node [shape=box];\n");
    for (size_t i = 0; i < circuit->op_count; i++) {
        const Op *op = circuit->ops[i];
        weir_buf_printf(out, "    n%zu [label=\"#%zu %s\\n", op->id, op->id, op->type->name);
        if (op->type->describe != NULL) {
            put_dot_details(op, out);
        }
        put_counters(op, out);
        weir_buf_puts(out, "\"];\n");
        for (size_t k = 0; k < op->consumer_count; k++) {
            weir_buf_printf(out, "    n%zu -> n%zu;\n", op->id, op->consumers[k].consumer->id);
        }
    }
    weir_buf_puts(out, "}\n");
}
