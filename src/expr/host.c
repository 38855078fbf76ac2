/* host.c: the parts of a program that the host (DuckDB) computes.
 *
 * The host sees a batch of the columns that its parts read, named c0, c1, ... in order. */
#include "expr/program_priv.h"

static bool has_columns(const Expr *expr)
{
    if (expr->kind == EXPR_COLUMN) {
        return true;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (has_columns(expr->args[i])) {
            return true;
        }
    }
    return expr->extra != NULL && expr->extra->lambda != NULL && has_columns(expr->extra->lambda);
}

static Status no_host(const Expr *expr, Error *err)
{
    const char *name = expr->kind == EXPR_CALL ? expr->name : "a cast";
    return weir_error_set(err, WEIR_ERR_FUNCTION, "%s of type %s has no native kernel", name,
                          weir_type_name(expr->type->id));
}

/* sql[i] = the text of expression i, in the evaluator's arena. */
static Status write_sql(Evaluator *ev, const Expr *const *exprs, size_t count, const char **sql,
                        Error *err)
{
    Buf buf;
    weir_buf_init(&buf, ev->mem, SIZE_MAX);
    Status status = WEIR_OK;
    for (size_t i = 0; i < count; i++) {
        weir_buf_clear(&buf);
        weir_expr_put_sql(&buf, exprs[i]);
        WEIR_CHECK(weir_buf_status(&buf, err));
        sql[i] = weir_arena_strndup(&ev->arena, buf.data, buf.size, err);
        if (sql[i] == NULL) {
            status = err->code;
            goto done;
        }
    }
done:
    weir_buf_deinit(&buf);
    return status;
}

static Status prepare_program(Evaluator *ev, HostPart *part, const Expr *const *exprs, Error *err)
{
    if (ev->host == NULL) {
        return no_host(exprs[0], err);
    }
    const LogicalType **types =
        weir_arena_calloc(&ev->arena, part->count, sizeof(const LogicalType *), err);
    const char **sql = weir_arena_calloc(&ev->arena, part->count, sizeof *sql, err);
    if (types == NULL || sql == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < part->count; i++) {
        types[i] = exprs[i]->type;
    }
    WEIR_TRY(write_sql(ev, exprs, part->count, sql, err));
    part->output = (Schema){.count = part->count, .types = types};
    return ev->host->prepare(ev->host->context, sql, part->count, &part->input, &part->output,
                             &part->program, err);
}

/* Prepares a part that lives as long as the evaluator. */
static Status prepare_part(Evaluator *ev, HostPart *part, const Expr *const *exprs, Error *err)
{
    part->columns = weir_arena_calloc(&ev->arena, part->column_count, sizeof *part->columns, err);
    part->results = weir_arena_calloc(&ev->arena, part->count, sizeof *part->results, err);
    if (part->columns == NULL || part->results == NULL) {
        return WEIR_ERR_NOMEM;
    }
    WEIR_TRY(prepare_program(ev, part, exprs, err));
    part->next = ev->host_parts;
    ev->host_parts = part;
    return WEIR_OK;
}

/* Runs the part on its columns. */
static Status run_part(const Evaluator *ev, HostPart *part, size_t count, Arena *arena, Error *err)
{
    const Batch batch = {
        .count = count,
        .column_count = part->column_count,
        .columns = part->columns,
    };
    return ev->host->evaluate(ev->host->context, part->program, &batch, arena, part->results, err);
}

/* --- constants ----------------------------------------------------------------------------------- */

static bool fold_part(Evaluator *ev, HostPart *part, Vector *out)
{
    Error ignored = {0};
    const Batch one_row = {.count = 1};
    Vector result = {0};
    if (prepare_program(ev, part, part->exprs, &ignored) != WEIR_OK ||
        ev->host->evaluate(ev->host->context, part->program, &one_row, &ev->arena, &result,
                           &ignored) != WEIR_OK) {
        return false;
    }
    result.is_constant = true;
    *out = result;
    return weir_vector_own_strings(out, 1, &ev->arena, &ignored) == WEIR_OK;
}

bool weir_host_fold(Evaluator *ev, const Expr *expr, Vector *out)
{
    if (ev->host == NULL || has_columns(expr)) {
        return false;
    }
    HostPart part = {.count = 1, .exprs = &expr};
    const bool is_folded = fold_part(ev, &part, out);
    ev->host->release(ev->host->context, part.program);
    return is_folded;
}

/* --- calls of kernels that declined -------------------------------------------------------------- */

/* The step's expression with its arguments as columns; constants stay, since some functions insist
 * on them. */
static const Expr *expr_of_arguments(Evaluator *ev, const Step *step, HostPart *part, Error *err)
{
    const Expr *old = step->expr;
    const Expr **args = weir_arena_calloc(&ev->arena, old->arg_count, sizeof(const Expr *), err);
    const LogicalType **types =
        weir_arena_calloc(&ev->arena, old->arg_count, sizeof(const LogicalType *), err);
    part->column_slots =
        weir_arena_calloc(&ev->arena, old->arg_count, sizeof *part->column_slots, err);
    Expr *expr = weir_arena_alloc(&ev->arena, sizeof *expr, err);
    if (args == NULL || types == NULL || part->column_slots == NULL || expr == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < old->arg_count; i++) {
        args[i] = old->args[i];
        if (args[i]->kind == EXPR_CONSTANT) {
            continue;
        }
        types[part->column_count] = args[i]->type;
        args[i] = weir_expr_column(&ev->arena, part->column_count, args[i]->type, err);
        if (args[i] == NULL) {
            return NULL;
        }
        part->column_slots[part->column_count++] = i;
    }
    part->input = (Schema){.count = part->column_count, .types = types};
    *expr = *old;
    expr->args = args;
    return expr;
}

static Status prepare_fallback(Evaluator *ev, Step *step, Error *err)
{
    HostPart *part = weir_arena_zalloc(&ev->arena, sizeof *part, err);
    if (part == NULL) {
        return err->code;
    }
    part->count = 1;
    const Expr *expr = expr_of_arguments(ev, step, part, err);
    if (expr == NULL) {
        return err->code;
    }
    WEIR_TRY(prepare_part(ev, part, &expr, err));
    step->fallback = part;
    return WEIR_OK;
}

Status weir_host_run_call(Evaluator *ev, Step *step, size_t count, Arena *arena, Vector *out,
                          Error *err)
{
    if (step->fallback == NULL) {
        WEIR_TRY(prepare_fallback(ev, step, err));
    }
    HostPart *part = step->fallback;
    WEIR_ASSERT(part != NULL);
    for (size_t c = 0; c < part->column_count; c++) {
        WEIR_TRY(weir_vector_flatten(&step->values[part->column_slots[c]], count, arena,
                                     &part->columns[c], err));
    }
    WEIR_TRY(run_part(ev, part, count, arena, err));
    *out = part->results[0];
    return WEIR_OK;
}

/* --- blocks -------------------------------------------------------------------------------------- */

/* Chooses the columns; map[c] = the place of column c in the host's batch. */
static Status choose_columns(Evaluator *ev, Block *block, size_t *map, Error *err)
{
    HostPart *part = &block->host;
    const size_t count = ev->input->count;
    bool *used = weir_arena_calloc(&ev->arena, count, sizeof *used, err);
    const LogicalType **types =
        weir_arena_calloc(&ev->arena, count, sizeof(const LogicalType *), err);
    part->column_slots = weir_arena_calloc(&ev->arena, count, sizeof *part->column_slots, err);
    if (used == NULL || types == NULL || part->column_slots == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < part->count; i++) {
        weir_expr_collect_columns(part->exprs[i], used);
    }
    for (size_t c = 0; c < count; c++) {
        map[c] = used[c] ? part->column_count : SIZE_MAX;
        if (used[c]) {
            const Expr *column = weir_expr_column(&ev->arena, c, ev->input->types[c], err);
            if (column == NULL) {
                return err->code;
            }
            types[part->column_count] = ev->input->types[c];
            WEIR_TRY(
                weir_program_slot(ev, block, column, &part->column_slots[part->column_count], err));
            part->column_count++;
        }
    }
    part->input = (Schema){.count = part->column_count, .types = types};
    return WEIR_OK;
}

Status weir_host_prepare(Evaluator *ev, Block *block, Error *err)
{
    HostPart *part = &block->host;
    if (ev->host == NULL) {
        return no_host(part->exprs[0], err);
    }
    size_t *map = weir_arena_calloc(&ev->arena, ev->input->count, sizeof *map, err);
    const Expr **exprs = weir_arena_calloc(&ev->arena, part->count, sizeof(const Expr *), err);
    if (map == NULL || exprs == NULL) {
        return WEIR_ERR_NOMEM;
    }
    WEIR_TRY(choose_columns(ev, block, map, err));
    for (size_t i = 0; i < part->count; i++) {
        exprs[i] = weir_expr_remap(&ev->arena, part->exprs[i], map, err);
        if (exprs[i] == NULL) {
            return err->code;
        }
    }
    return prepare_part(ev, part, exprs, err);
}

Status weir_host_run(Evaluator *ev, Block *block, size_t count, Arena *arena, Error *err)
{
    HostPart *part = &block->host;
    for (size_t c = 0; c < part->column_count; c++) {
        WEIR_TRY(weir_vector_flatten(&block->values[part->column_slots[c]], count, arena,
                                     &part->columns[c], err));
    }
    WEIR_TRY(run_part(ev, part, count, arena, err));
    for (size_t i = 0; i < part->count; i++) {
        block->values[part->slots[i]] = part->results[i];
    }
    return WEIR_OK;
}
