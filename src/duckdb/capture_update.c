/* capture_update.c: an UPDATE that tells its rows before and after (capture_told.c).
 *
 *   UPDATE t SET v = v + 1 WHERE id = 5
 *   UPDATE t SET v = told(handle, CAST((v + 1) AS BIGINT), t.k, t.v) WHERE id = 5
 *
 * (A RETURNING clause would make DuckDB write all columns, those of an index too, which is slow and
 * fails where the plain statement does not.) What the other assignments of followed columns give must
 * be the same when they are evaluated twice for a row; the condition is evaluated as often as without
 * us. */
#include <ctype.h>

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
static const Assignment *find_assignment(const Assignments *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        const SqlSpan column = all->items[i].column;
        if (weir_name_is_written(column.start, column.size, name)) {
            return &all->items[i];
        }
    }
    return NULL;
}

/* ---- the text --------------------------------------------------------------------------------- */

typedef struct Update {
    const CaptureRun *run;
    Telling telling;
    Assignments all;
    const Assignment **assigned; /* by followed column; NULL = it keeps its value */
    size_t *arguments;           /* where the new values are told */
    size_t first;                /* column that is assigned: it tells the row */
    bool is_passed;              /* its value is evaluated once, as part of the call */
} Update;

/* The value as it is stored. */
static void put_value(const Update *update, size_t column, Buf *sql)
{
    weir_capture_put_span(sql, "CAST((", update->assigned[column]->value);
    weir_buf_puts(sql, ") AS ");
    weir_type_put_sql(sql, update->run->target->shape.schema.types[column]);
    weir_buf_putc(sql, ')');
}

/* A value of it is evaluated twice. */
static bool is_repeated(const Update *update, size_t column)
{
    return update->assigned[column] != NULL && !(column == update->first && update->is_passed);
}

/* A query for the values that are evaluated twice, for the planner to look at. False: none of them
 * needs it. */
static bool put_repeated(const Update *update, Buf *sql)
{
    const WriteShape *const shape = update->run->shape;
    bool has_some = false;
    weir_capture_put_span(sql, "", shape->with);
    for (size_t c = 0; c < update->run->target->shape.schema.count; c++) {
        if (is_repeated(update, c) && !weir_sql_span_is_plain(update->assigned[c]->value)) {
            weir_buf_puts(sql, has_some ? ", " : "SELECT ");
            put_value(update, c, sql);
            has_some = true;
        }
    }
    weir_capture_put_span(sql, " FROM ", shape->relation);
    weir_capture_put_span(sql, ", ", shape->others);
    return has_some;
}

static bool is_repeatable(const Update *update)
{
    Error ignored = {0};
    Buf query;
    weir_buf_init(&query, update->run->capture->mem, SIZE_MAX);
    const bool result = !put_repeated(update, &query) ||
                        (weir_buf_status(&query, &ignored) == WEIR_OK &&
                         weir_capture_is_repeatable(update->run->capture, query.data));
    weir_buf_deinit(&query);
    return result;
}

/* told(handle, first value or true, old values, other new values) */
static void put_call(Update *update, Buf *sql)
{
    const CaptureRun *const run = update->run;
    size_t next = 0;
    weir_telling_put_call(&update->telling, sql);
    if (update->is_passed) {
        update->arguments[update->first] = TOLD_VALUE;
        put_value(update, update->first, sql);
    } else {
        weir_buf_puts(sql, "true");
    }
    weir_telling_put_old_values(&update->telling, run->shape->others.start != NULL, sql, &next);
    for (size_t c = 0; c < run->target->shape.schema.count; c++) {
        if (update->assigned[c] != NULL && update->arguments[c] == 0) {
            update->arguments[c] = next++;
            weir_buf_puts(sql, ", ");
            put_value(update, c, sql);
        }
    }
    weir_buf_putc(sql, ')');
}

/* The statement, which tells its rows. */
static void put_statement(Update *update, Buf *sql)
{
    const char *const text = update->run->sql;
    const SqlSpan value = update->assigned[update->first]->value;
    weir_buf_printf(sql, "%.*s%s", (int)(value.start - text), text,
                    update->is_passed ? " " : " CASE WHEN ");
    put_call(update, sql);
    if (!update->is_passed) {
        weir_buf_puts(sql, " THEN ");
        put_value(update, update->first, sql);
        weir_buf_puts(sql, " END");
    }
    weir_buf_printf(sql, " %s", value.start + value.size);
}

/* ---- the statement ---------------------------------------------------------------------------- */

typedef enum Effect {
    EFFECT_NONE,    /* no followed column is assigned */
    EFFECT_KNOWN,   /* the statement tells its rows */
    EFFECT_UNKNOWN, /* it cannot */
} Effect;

/* The column whose assignment tells the row: best one whose value may be another the second time. */
static void choose_first(Update *update, const Schema *schema)
{
    int best = -1;
    for (size_t c = 0; c < schema->count; c++) {
        if (update->assigned[c] != NULL) {
            const bool is_passed = weir_told_passes(schema->types[c]);
            const bool is_plain = weir_sql_span_is_plain(update->assigned[c]->value);
            const int rank = is_passed ? 1 + !is_plain : 0;
            if (rank > best) {
                best = rank;
                update->first = c;
                update->is_passed = is_passed;
            }
        }
    }
}

/* The set of the columns, in any order, as a number. */
static uint64_t kind_of(const Assignments *all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < all->count; i++) {
        const SqlSpan column = all->items[i].column;
        uint64_t hash = UINT64_C(0xCBF29CE484222325); /* FNV-1a */
        for (size_t k = 0; k < column.size; k++) {
            if (column.start[k] != '"') {
                const uint64_t letter = (unsigned char)tolower((unsigned char)column.start[k]);
                hash = (hash ^ letter) * UINT64_C(0x100000001B3);
            }
        }
        sum += hash;
    }
    const bool is_taken = sum == REWRITES_NONE || sum == REWRITES_DELETE || sum == REWRITES_MIXED;
    return is_taken ? REWRITES_MIXED : sum;
}

static Effect read_effect(Update *update, Arena *arena)
{
    Error ignored = {0};
    const CaptureTarget *const target = update->run->target;
    const Schema *const schema = &target->shape.schema;
    update->assigned =
        weir_arena_calloc(arena, schema->count, sizeof(const Assignment *), &ignored);
    update->arguments =
        weir_arena_calloc(arena, schema->count, sizeof *update->arguments, &ignored);
    const bool is_read = read_assignments(update->run->shape->set, &update->all);
    weir_capture_note_rewrites(update->run->table,
                               is_read ? kind_of(&update->all) : REWRITES_MIXED);
    if (update->assigned == NULL || update->arguments == NULL || target->is_special || !is_read) {
        return EFFECT_UNKNOWN;
    }
    bool has_effect = false;
    for (size_t c = 0; c < schema->count; c++) {
        update->assigned[c] = find_assignment(&update->all, schema->names[c]);
        has_effect = has_effect || update->assigned[c] != NULL;
    }
    if (!has_effect) {
        return EFFECT_NONE;
    }
    choose_first(update, schema);
    return is_repeatable(update) ? EFFECT_KNOWN : EFFECT_UNKNOWN;
}

static Status run_telling(Update *update, CapturedResult *out, Error *err)
{
    const CaptureRun *const run = update->run;
    uint64_t updated = 0;
    Buf sql;
    weir_buf_init(&sql, run->capture->mem, SIZE_MAX);
    put_statement(update, &sql);
    update->telling.new_arguments = update->arguments;
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        status = weir_telling_run(&update->telling, sql.data, out, err);
    }
    weir_buf_deinit(&sql);
    run->table->is_known = status == WEIR_OK && run->table->is_known &&
                           weir_capture_count(run->capture, run->shape, out, &updated) &&
                           weir_telling_is_whole(&update->telling, updated);
    return status;
}

Status weir_capture_update(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Arena arena;
    weir_arena_init(&arena, run->capture->mem, 0);
    Update *const update = weir_arena_zalloc(&arena, sizeof *update, err);
    if (update == NULL) {
        weir_arena_deinit(&arena);
        return err->code;
    }
    update->run = run;
    weir_telling_init(&update->telling, run);
    const Effect effect = read_effect(update, &arena);
    run->table->is_known = run->table->is_known && effect != EFFECT_UNKNOWN;
    const Status status = effect == EFFECT_KNOWN ? run_telling(update, out, err)
                                                 : weir_capture_run_unchanged(run, out, err);
    weir_telling_deinit(&update->telling);
    weir_arena_deinit(&arena);
    return status;
}
