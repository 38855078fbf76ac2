/* capture_update.c: the rows of an UPDATE before and after, by one SELECT before it is run.
 *
 *   UPDATE t SET v = v + 1 WHERE id = 5
 *   SELECT t.k, t.v, t.k, CAST(v + 1 AS BIGINT) FROM t WHERE id = 5
 *
 * (A RETURNING clause would make DuckDB write all columns, those of an index too, which is slow and
 * fails where the plain statement does not.) What the assignments and the condition give must be the
 * same when they are evaluated twice, every row must be met once, and as many rows must be updated
 * as were read. */
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

static void put_old(Buf *sql, const WriteShape *shape, const char *column)
{
    weir_capture_put_span(sql, "", shape->alias);
    weir_buf_putc(sql, '.');
    weir_buf_put_sql_name(sql, column);
}

/* The followed columns before, then after, then how often the row is met if it is a join. */
static void put_select(Buf *sql, const WriteShape *shape, const Schema *schema,
                       const Assignment *const *assigned)
{
    weir_capture_put_span(sql, "", shape->with);
    weir_buf_puts(sql, "SELECT ");
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_puts(sql, c == 0 ? "" : ", ");
        put_old(sql, shape, schema->names[c]);
    }
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_puts(sql, ", ");
        if (assigned[c] == NULL) {
            put_old(sql, shape, schema->names[c]);
        } else {
            weir_capture_put_span(sql, "CAST((", assigned[c]->value);
            weir_buf_puts(sql, ") AS ");
            weir_type_put_sql(sql, schema->types[c]);
            weir_buf_putc(sql, ')');
        }
    }
    if (shape->others.start != NULL) {
        weir_capture_put_span(sql, ", system.main.count(*) OVER (PARTITION BY ", shape->alias);
        weir_buf_puts(sql, ".rowid)");
    }
    weir_capture_put_span(sql, " FROM ", shape->relation);
    weir_capture_put_span(sql, ", ", shape->others);
    weir_capture_put_span(sql, " WHERE ", shape->condition);
}

/* ---- gathering -------------------------------------------------------------------------------- */

static bool is_met_once(duckdb_data_chunk chunk, size_t column)
{
    const size_t count = duckdb_data_chunk_get_size(chunk);
    const int64_t *const met = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column));
    for (size_t i = 0; i < count; i++) {
        if (met[i] != 1) {
            return false;
        }
    }
    return true;
}

/* *row_count = rows to be updated. False: not all of them are known. */
static bool gather(Capture *capture, CapturedTable *table, bool is_join, CapturedResult *rows,
                   uint64_t *row_count)
{
    Error ignored = {0};
    Arena arena;
    bool is_known = true;
    const size_t width = table->schema.count;
    weir_arena_init(&arena, capture->mem, 0);
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(rows->result);
        if (chunk == NULL) {
            break;
        }
        *row_count += duckdb_data_chunk_get_size(chunk);
        is_known = is_known && (!is_join || is_met_once(chunk, 2 * width)) &&
                   weir_capture_add_rows(table, chunk, 0, -1, &arena, &ignored) == WEIR_OK &&
                   weir_capture_add_rows(table, chunk, width, 1, &arena, &ignored) == WEIR_OK;
        duckdb_destroy_data_chunk(&chunk);
    }
    weir_arena_deinit(&arena);
    return is_known;
}

/* ---- the statement ----------------------------------------------------------------------------- */

typedef enum Effect {
    EFFECT_NONE,    /* no followed column is assigned */
    EFFECT_KNOWN,   /* the rows were gathered */
    EFFECT_UNKNOWN, /* or some of them */
} Effect;

/* The SELECT, or NULL with *effect telling why there is none. From the arena. */
static const char *write_select(const CaptureRun *run, Arena *arena, Effect *effect)
{
    Error ignored = {0};
    const Schema *const schema = &run->target->shape.schema;
    Assignments *const all = weir_arena_alloc(arena, sizeof *all, &ignored);
    const Assignment **assigned =
        weir_arena_calloc(arena, schema->count, sizeof(const Assignment *), &ignored);
    *effect = EFFECT_UNKNOWN;
    if (all == NULL || assigned == NULL || run->target->has_generated ||
        !read_assignments(run->shape->set, all)) {
        return NULL;
    }
    bool has_effect = false;
    for (size_t c = 0; c < schema->count; c++) {
        assigned[c] = find_assignment(all, schema->names[c], arena);
        has_effect = has_effect || assigned[c] != NULL;
    }
    if (!has_effect) {
        *effect = EFFECT_NONE;
        return NULL;
    }
    Buf sql;
    weir_buf_init(&sql, run->capture->mem, SIZE_MAX);
    put_select(&sql, run->shape, schema, assigned);
    const char *const text = weir_buf_status(&sql, &ignored) == WEIR_OK
                                 ? weir_arena_strdup(arena, sql.data, &ignored)
                                 : NULL;
    weir_buf_deinit(&sql);
    return text;
}

/* why = the failure of the SELECT, if it failed. */
static Effect read_effect(const CaptureRun *run, uint64_t *row_count, Error *why)
{
    Arena arena;
    CapturedResult rows = {0};
    Effect effect = EFFECT_UNKNOWN;
    weir_arena_init(&arena, run->capture->mem, 0);
    const char *const select = write_select(run, &arena, &effect);
    if (select != NULL && weir_capture_select(run, select, &rows, why)) {
        const bool is_join = run->shape->others.start != NULL;
        effect = gather(run->capture, run->table, is_join, &rows, row_count) ? EFFECT_KNOWN
                                                                             : EFFECT_UNKNOWN;
        weir_captured_result_deinit(&rows, run->capture->mem);
    }
    weir_arena_deinit(&arena);
    return effect;
}

Status weir_capture_update(const CaptureRun *run, CapturedResult *out, Error *err)
{
    uint64_t expected = 0;
    uint64_t updated = 0;
    Error why = {0};
    const Effect effect = read_effect(run, &expected, &why);
    const Status status = weir_capture_plain(run->capture, run->sql, out, err);
    if (status != WEIR_OK) {
        weir_capture_prefer(&why, err);
    }
    if (effect == EFFECT_NONE) {
        return status;
    }
    const bool is_counted = status == WEIR_OK &&
                            weir_capture_count(run->capture, run->shape, out, &updated) &&
                            updated == expected;
    run->table->is_known = run->table->is_known && effect == EFFECT_KNOWN && is_counted;
    return status;
}
