/* capture_update.c: an UPDATE that tells its rows before and after (capture_told.c).
 *
 *   UPDATE t SET v = v + 1 WHERE id = 5
 *   UPDATE t SET v = CASE WHEN told(..., t.k, t.v, t.k, CAST(v + 1 AS BIGINT))
 *                         THEN CAST(v + 1 AS BIGINT) END WHERE id = 5
 *
 * (A RETURNING clause would make DuckDB write all columns, those of an index too, which is slow and
 * fails where the plain statement does not.) What the assignments of followed columns give must be
 * the same when they are evaluated twice for a row; the condition is evaluated as often as without
 * us. */
#include "duckdb/capture_priv.h"

/* One item of SET. */
typedef struct Assignment {
    SqlSpan column;
    SqlSpan value;
} Assignment;

enum { MAX_ASSIGNMENTS = 256 };

typedef struct Assignments {
    size_t count;
    Assignment items[MAX_ASSIGNMENTS];
} Assignments;

static bool is_symbol(const SqlToken *token, char c)
{
    return token->end - token->start == 1 && *token->start == c;
}

/* column = value, ...; false if it is anything else: (a, b) = ..., DEFAULT. */
static bool read_assignments(SqlSpan set, Assignments *out)
{
    const char *const end = set.start + set.size;
    SqlToken token = {.end = set.start};
    out->count = 0;
    while (token.end < end) {
        Assignment *const item = &out->items[out->count];
        if (out->count == MAX_ASSIGNMENTS || !weir_sql_token_next(&token) ||
            !weir_sql_token_is_name(&token)) {
            return false;
        }
        item->column = (SqlSpan){token.start, (size_t)(token.end - token.start)};
        if (!weir_sql_token_next(&token) || !is_symbol(&token, '=')) {
            return false;
        }
        const char *const start = token.end;
        const char *last = start;
        bool is_default = false;
        while (token.end < end && weir_sql_token_next(&token) && token.start < end &&
               !(token.depth == 0 && is_symbol(&token, ','))) {
            last = token.end;
            is_default = is_default || weir_sql_token_is(&token, "default");
        }
        item->value = (SqlSpan){start, (size_t)(last - start)};
        if (last == start || is_default) {
            return false;
        }
        out->count++;
    }
    return out->count > 0;
}

/* The item that assigns the column; NULL = it keeps its value. */
static const Assignment *find_assignment(const Assignments *all, const char *name, Arena *scratch)
{
    Error ignored = {0};
    for (size_t i = 0; i < all->count; i++) {
        const SqlSpan column = all->items[i].column;
        const char *parts[NAME_MAX_PARTS];
        size_t count = 0;
        const char *const text = weir_arena_strndup(scratch, column.start, column.size, &ignored);
        if (text != NULL && weir_name_split(scratch, text, parts, &count, &ignored) == WEIR_OK &&
            count == 1 && weir_name_part_equal(parts[0], name)) {
            return &all->items[i];
        }
    }
    return NULL;
}

/* The value as it is stored. */
static void put_value(Buf *sql, const LogicalType *type, SqlSpan value)
{
    weir_capture_put_span(sql, "CAST((", value);
    weir_buf_puts(sql, ") AS ");
    weir_type_put_sql(sql, type);
    weir_buf_putc(sql, ')');
}

/* The values that are evaluated twice, for the planner to look at. */
static void put_values_query(Buf *sql, const CaptureRun *run, const Assignment *const *assigned)
{
    const WriteShape *const shape = run->shape;
    const Schema *const schema = &run->target->shape.schema;
    const char *before = "SELECT ";
    weir_capture_put_span(sql, "", shape->with);
    for (size_t c = 0; c < schema->count; c++) {
        if (assigned[c] != NULL) {
            weir_buf_puts(sql, before);
            put_value(sql, schema->types[c], assigned[c]->value);
            before = ", ";
        }
    }
    weir_capture_put_span(sql, " FROM ", shape->relation);
    weir_capture_put_span(sql, ", ", shape->others);
}

/* The statement, telling the followed columns before and after from inside the first of them that is
 * assigned. */
static void put_telling(Buf *sql, const CaptureRun *run, const Assignment *const *assigned)
{
    const Schema *const schema = &run->target->shape.schema;
    size_t first = 0;
    while (assigned[first] == NULL) {
        first++;
    }
    const SqlSpan value = assigned[first]->value;
    weir_buf_printf(sql, "%.*s CASE WHEN ", (int)(value.start - run->sql), run->sql);
    weir_telling_put_call(sql, run, "true");
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_puts(sql, ", ");
        if (assigned[c] == NULL) {
            weir_telling_put_old(sql, run->shape, schema->names[c]);
        } else {
            put_value(sql, schema->types[c], assigned[c]->value);
        }
    }
    weir_buf_puts(sql, ") THEN ");
    put_value(sql, schema->types[first], value);
    weir_buf_printf(sql, " END %s", value.start + value.size);
}

/* ---- the statement ----------------------------------------------------------------------------- */

typedef enum Effect {
    EFFECT_NONE,    /* no followed column is assigned */
    EFFECT_KNOWN,   /* the statement tells its rows */
    EFFECT_UNKNOWN, /* it cannot */
} Effect;

static bool is_repeatable(const CaptureRun *run, const Assignment *const *assigned)
{
    Error ignored = {0};
    Buf query;
    if (run->shape->is_plain) {
        return true;
    }
    weir_buf_init(&query, run->capture->mem, SIZE_MAX);
    put_values_query(&query, run, assigned);
    const bool result = weir_buf_status(&query, &ignored) == WEIR_OK &&
                        weir_capture_is_repeatable(run->capture, query.data);
    weir_buf_deinit(&query);
    return result;
}

/* Writes the statement that tells its rows, or says why there is none. */
static Effect write_telling(const CaptureRun *run, Arena *arena, Buf *sql)
{
    Error ignored = {0};
    const Schema *const schema = &run->target->shape.schema;
    Assignments *const all = weir_arena_alloc(arena, sizeof *all, &ignored);
    const Assignment **assigned =
        weir_arena_calloc(arena, schema->count, sizeof(const Assignment *), &ignored);
    if (all == NULL || assigned == NULL || run->target->is_special ||
        !read_assignments(run->shape->set, all)) {
        return EFFECT_UNKNOWN;
    }
    bool has_effect = false;
    for (size_t c = 0; c < schema->count; c++) {
        assigned[c] = find_assignment(all, schema->names[c], arena);
        has_effect = has_effect || assigned[c] != NULL;
    }
    if (!has_effect) {
        return EFFECT_NONE;
    }
    if (!is_repeatable(run, assigned)) {
        return EFFECT_UNKNOWN;
    }
    put_telling(sql, run, assigned);
    return weir_buf_status(sql, &ignored) == WEIR_OK ? EFFECT_KNOWN : EFFECT_UNKNOWN;
}

static Status update_telling(const CaptureRun *run, const char *sql, CapturedResult *out,
                             Error *err)
{
    uint64_t updated = 0;
    Telling telling;
    weir_telling_init(&telling, run, true);
    const Status status = weir_telling_run(&telling, run, sql, out, err);
    run->table->is_known = status == WEIR_OK && run->table->is_known &&
                           weir_capture_count(run->capture, run->shape, out, &updated) &&
                           weir_telling_is_whole(&telling, updated);
    weir_telling_deinit(&telling);
    return status;
}

Status weir_capture_update(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Arena arena;
    Buf sql;
    weir_arena_init(&arena, run->capture->mem, 0);
    weir_buf_init(&sql, run->capture->mem, SIZE_MAX);
    const Effect effect = write_telling(run, &arena, &sql);
    run->table->is_known = run->table->is_known && effect != EFFECT_UNKNOWN;
    const Status status = effect == EFFECT_KNOWN ? update_telling(run, sql.data, out, err)
                                                 : weir_capture_run_unchanged(run, out, err);
    weir_buf_deinit(&sql);
    weir_arena_deinit(&arena);
    return status;
}
