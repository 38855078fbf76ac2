/* capture_target.c: which table a name means in the writer's session, and what may be asked twice. */
#include "duckdb/capture_priv.h"

#include "duckdb/query.h"

/* The plan of a text, in the arena: NULL if there is none. */
static const char *plan_text(Capture *capture, const char *sql, Arena *arena)
{
    Error ignored = {0};
    duckdb_result result = {0};
    if (weir_query_bound(capture->connection, "SELECT system.main.json_serialize_plan($1::VARCHAR)",
                         &sql, 1, WEIR_ERR_HOST, &result, &ignored) != WEIR_OK) {
        return NULL;
    }
    Rows rows = weir_rows(&result);
    const char *const plan =
        weir_rows_next(&rows) ? weir_rows_text(&rows, 0, arena, &ignored) : NULL;
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return plan == NULL || strncmp(plan, "{\"error\":true", 13) == 0 ? NULL : plan;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* The planner says what a DELETE would delete from: temporary tables and search path included. */
static bool resolve(Capture *capture, CaptureTarget *target)
{
    static const char SQL[] =
        "SELECT p->>'$.table_info.catalog', p->>'$.table_info.schema', p->>'$.table_info.table', "
        "system.main.regexp_matches(p->>'$.table_info.columns', "
        "'\"category\":\"GENERATED\"|\"name\":\"rowid\"', 'i') "
        "FROM (SELECT system.main.json_serialize_plan($1::VARCHAR)::JSON->'$.plans[0]' AS p)";
    Error ignored = {0};
    const char *const sql =
        weir_arena_printf(&target->arena, &ignored, "DELETE FROM %s", target->text);
    duckdb_result result = {0};
    if (sql == NULL || weir_query_bound(capture->connection, SQL, &sql, 1, WEIR_ERR_HOST, &result,
                                        &ignored) != WEIR_OK) {
        return false;
    }
    Rows rows = weir_rows(&result);
    const char **const parts[3] = {&target->name.catalog, &target->name.schema, &target->name.name};
    bool is_found = weir_rows_next(&rows);
    for (size_t i = 0; is_found && i < WEIR_ARRAY_COUNT(parts); i++) {
        *parts[i] =
            weir_rows_is_null(&rows, i) ? NULL : weir_rows_text(&rows, i, &target->arena, &ignored);
        is_found = *parts[i] != NULL;
    }
    target->is_special = is_found && (weir_rows_is_null(&rows, 3) || weir_rows_bool(&rows, 3));
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return is_found;
}

static bool read_shape(Capture *capture, CaptureTarget *target)
{
    Error ignored = {0};
    if (weir_engine_capture_shape(capture->database->engine, &target->name, &target->arena,
                                  &target->shape, &ignored) != WEIR_OK) {
        return false;
    }
    Buf columns;
    weir_buf_init(&columns, capture->mem, SIZE_MAX);
    weir_buf_puts(&columns, target->shape.schema.count == 0 ? "1" : "");
    for (size_t c = 0; c < target->shape.schema.count; c++) {
        weir_buf_puts(&columns, c == 0 ? "" : ", ");
        weir_buf_put_sql_name(&columns, target->shape.schema.names[c]);
    }
    target->columns = weir_buf_status(&columns, &ignored) == WEIR_OK
                          ? weir_arena_strdup(&target->arena, columns.data, &ignored)
                          : NULL;
    weir_buf_deinit(&columns);
    return target->columns != NULL;
}

static bool is_current(const Capture *capture, const CaptureTarget *target)
{
    return target->name_epoch == atomic_load(&capture->database->name_epoch) &&
           target->shape.epoch == weir_engine_epoch(capture->database->engine);
}

const char *weir_capture_name_of(SqlSpan span, Arena *arena)
{
    Error ignored = {0};
    const char *parts[NAME_MAX_PARTS];
    size_t count = 0;
    const char *const text = weir_arena_strndup(arena, span.start, span.size, &ignored);
    const bool is_one = text != NULL &&
                        weir_name_split(arena, text, parts, &count, &ignored) == WEIR_OK &&
                        count == 1;
    return is_one ? parts[0] : NULL;
}

CaptureTarget *weir_capture_target(Capture *capture, SqlSpan name)
{
    Error ignored = {0};
    for (size_t i = 0; i < CAPTURE_KNOWN_TARGETS; i++) {
        CaptureTarget *const known = &capture->targets[i];
        if (known->text != NULL && strlen(known->text) == name.size &&
            memcmp(known->text, name.start, name.size) == 0 && is_current(capture, known)) {
            return known;
        }
    }
    CaptureTarget *const target = &capture->targets[capture->next_target];
    capture->next_target = (capture->next_target + 1) % CAPTURE_KNOWN_TARGETS;
    weir_arena_reset(&target->arena);
    target->replaced_columns = NULL;
    target->name_epoch = atomic_load(&capture->database->name_epoch);
    target->text = weir_arena_strndup(&target->arena, name.start, name.size, &ignored);
    if (target->text == NULL || !resolve(capture, target) || !read_shape(capture, target)) {
        target->text = NULL;
        return NULL;
    }
    return target;
}

/* The first column of the rows, in order, behind which `out` stays NULL. Frees the result. False: they are more
 * than `most`, or there is no memory. */
static bool take_texts(duckdb_result *result, const char **out, size_t most, Arena *arena)
{
    Error ignored = {0};
    size_t count = 0;
    bool is_whole = true;
    Rows rows = weir_rows(result);
    while (is_whole && weir_rows_next(&rows)) {
        out[count] = count < most ? weir_rows_text(&rows, 0, arena, &ignored) : NULL;
        is_whole = out[count++] != NULL;
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(result);
    return is_whole;
}

const char *const *weir_capture_replaced_columns(Capture *capture, CaptureTarget *target)
{
    enum { MAX_COLUMNS = 1024 };
    static const char SQL[] =
        "WITH keys AS (SELECT constraint_column_names AS names FROM duckdb_constraints() WHERE "
        "database_name = $1 AND schema_name = $2 AND table_name = $3 AND constraint_type IN "
        "('PRIMARY KEY', 'UNIQUE')) SELECT column_name FROM duckdb_columns() WHERE "
        "database_name = $1 AND schema_name = $2 AND table_name = $3 AND "
        "(SELECT system.main.count(*) FROM keys) = 1 AND NOT "
        "system.main.list_contains((SELECT names FROM keys), column_name) AND NOT EXISTS ("
        "FROM duckdb_indexes() WHERE database_name = $1 AND schema_name = $2 AND table_name = $3) "
        "ORDER BY column_index LIMIT 1025";
    Arena *const arena = &target->arena;
    const char *const bound[] = {target->name.catalog, target->name.schema, target->name.name};
    if (target->replaced_columns != NULL) {
        return target->replaced_columns;
    }
    Error ignored = {0};
    duckdb_result result = {0};
    const char **const columns =
        weir_arena_calloc(arena, MAX_COLUMNS + 1, sizeof(char *), &ignored);
    if (columns == NULL || weir_query_bound(capture->connection, SQL, bound, 3, WEIR_ERR_HOST,
                                            &result, &ignored) != WEIR_OK) {
        return NULL;
    }
    target->replaced_columns = take_texts(&result, columns, MAX_COLUMNS, arena) ? columns : NULL;
    return target->replaced_columns;
}

/* ---- what may be asked twice ------------------------------------------------------------------- */

/* NULL-terminated, or NULL. */
static const char *const *load_volatile_names(Capture *capture)
{
    enum { MAX_NAMES = 256 };
    Error ignored = {0};
    duckdb_result result = {0};
    const uint64_t epoch = atomic_load(&capture->database->name_epoch);
    if (capture->volatile_names != NULL && capture->volatile_epoch == epoch) {
        return capture->volatile_names;
    }
    weir_arena_reset(&capture->arena);
    capture->volatile_names = NULL;
    const char **names =
        weir_arena_calloc(&capture->arena, MAX_NAMES + 1, sizeof(char *), &ignored);
    if (names == NULL ||
        weir_query(capture->connection,
                   "SELECT DISTINCT '\"name\":\"' || function_name || '\"' FROM duckdb_functions() "
                   "WHERE stability = 'VOLATILE' LIMIT 257",
                   WEIR_ERR_HOST, &result, &ignored) != WEIR_OK) {
        return NULL;
    }
    capture->volatile_names = take_texts(&result, names, MAX_NAMES, &capture->arena) ? names : NULL;
    capture->volatile_epoch = epoch;
    return capture->volatile_names;
}

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *c = strstr(text, part); c != NULL; c = strstr(c + 1, part)) {
        count++;
    }
    return count;
}

bool weir_capture_is_repeatable(Capture *capture, const char *select)
{
    /* Operators whose rows depend on the order of other rows, or on more than tables. */
    static const char *const REFUSED[] = {"\"LOGICAL_LIMIT\"",  "\"LOGICAL_TOP_N\"",
                                          "\"LOGICAL_SAMPLE\"", "\"LOGICAL_WINDOW\"",
                                          "\"DISTINCT_ON\"",    "\"BOUND_AGGREGATE\""};
    const char *const *const names = load_volatile_names(capture);
    Arena arena;
    weir_arena_init(&arena, capture->mem, 0);
    const char *const plan = names == NULL ? NULL : plan_text(capture, select, &arena);
    bool is_repeatable = plan != NULL && count_text(plan, "\"type\":\"LOGICAL_GET\"") ==
                                             count_text(plan, "\"name\":\"seq_scan\"");
    for (size_t i = 0; is_repeatable && i < WEIR_ARRAY_COUNT(REFUSED); i++) {
        is_repeatable = strstr(plan, REFUSED[i]) == NULL;
    }
    for (size_t i = 0; is_repeatable && names[i] != NULL; i++) {
        is_repeatable = strstr(plan, names[i]) == NULL;
    }
    weir_arena_deinit(&arena);
    return is_repeatable;
}
