/* table_facts.c: asking the planner and the catalog about a table. */
#include "duckdb/table_facts.h"

#include <stdio.h>
#include <stdlib.h>

#include "duckdb/query.h"
#include "duckdb/type_map.h"
#include "view/names.h"

enum { NAME_TEXT_BYTES = 256, TYPE_TEXT_BYTES = 128 };

/* Texts of the plan. A quote inside a JSON string is escaped, so that none can be met there. */
static const char PLAN_FAILURE[] = "{\"error\":true";
static const char PLAN_FACTS[] = "\"expressions\":["; /* of the projection, behind its child */
static const char PLAN_SCAN[] = "\"name\":\"seq_scan\"";
static const char PLAN_ROW_ID[] = "\"column_indexes\":[{\"index\":18446744073709551615,";
static const char PLAN_PLACE[] = "\"query_location\":";
static const char PLAN_GET[] =
    "{\"error\":false,\"plans\":[{\"type\":\"LOGICAL_PROJECTION\",\"children\":["
    "{\"type\":\"LOGICAL_GET\",\"children\":[],";

static Status write_select(Buf *buf, const TableName *name, const Schema *columns, Error *err)
{
    weir_buf_puts(buf, "SELECT rowid");
    for (size_t c = 0; c < columns->count; c++) {
        weir_buf_puts(buf, ", ");
        weir_buf_put_sql_name(buf, columns->names[c]);
    }
    weir_buf_puts(buf, " FROM ");
    weir_name_put_sql(buf, name);
    return weir_buf_status(buf, err);
}

static Status prepare_plan(DuckHost *host, Error *err)
{
    if (host->plan_statement != NULL) {
        return WEIR_OK;
    }
    duckdb_prepared_statement statement = NULL;
    if (duckdb_prepare(host->scan, "SELECT system.main.json_serialize_plan($1::VARCHAR)",
                       &statement) != DuckDBSuccess) {
        const Status status = weir_query_error(err, WEIR_ERR_HOST, duckdb_prepare_error(statement));
        duckdb_destroy_prepare(&statement);
        return status;
    }
    host->plan_statement = statement;
    return WEIR_OK;
}

/* The plan of a query, in the arena. */
static Status query_plan(DuckHost *host, const char *sql, Arena *arena, char **out, Error *err)
{
    WEIR_TRY(prepare_plan(host, err));
    if (duckdb_bind_varchar(host->plan_statement, 1, sql) != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_HOST, "cannot bind a text");
    }
    duckdb_result result = {0};
    WEIR_TRY(weir_query_execute(host->plan_statement, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    if (weir_rows_next(&rows)) {
        *out = weir_rows_text(&rows, 0, arena, err);
        status = *out == NULL ? err->code : WEIR_OK;
    } else {
        status = weir_error_set(err, WEIR_ERR_HOST, "DuckDB gave no plan of a table");
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

static Status query_table_plan(DuckHost *host, const TableName *name, const Schema *columns,
                               Arena *arena, char **out, Error *err)
{
    Buf sql;
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    Status status = write_select(&sql, name, columns, err);
    if (status == WEIR_OK) {
        status = query_plan(host, sql.data, arena, out, err);
    }
    weir_buf_deinit(&sql);
    return status;
}

/* err = the message in the plan of a query that cannot be planned. */
static Status plan_failure(DuckHost *host, const char *plan, Status code, Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(
        host->scan, "SELECT system.main.json_extract_string($1::VARCHAR, '$.error_message')", &plan,
        1, WEIR_ERR_HOST, &result, err));
    Rows rows = weir_rows(&result);
    const char *const message =
        weir_rows_next(&rows) ? weir_rows_text(&rows, 0, &host->arena, err) : "";
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return message == NULL ? err->code : weir_query_error(err, code, message);
}

/* Where an expression stands in the text it came from is not a fact: takes those numbers out. */
static void drop_places(char *facts)
{
    char *to = facts;
    for (const char *from = facts; *from != '\0';) {
        if (strncmp(from, PLAN_PLACE, strlen(PLAN_PLACE)) == 0) {
            from += strlen(PLAN_PLACE);
            from += strspn(from, "0123456789");
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

Status weir_table_facts(DuckHost *host, const TableName *name, const Schema *columns, Status code,
                        Arena *arena, const char **facts, Error *err)
{
    char text[NAME_TEXT_BYTES];
    char *plan = NULL;
    WEIR_TRY(query_table_plan(host, name, columns, arena, &plan, err));
    if (strncmp(plan, PLAN_FAILURE, strlen(PLAN_FAILURE)) == 0) {
        return plan_failure(host, plan, code, err);
    }
    char *const expressions = strstr(plan, PLAN_FACTS);
    if (strncmp(plan, PLAN_GET, strlen(PLAN_GET)) != 0 || strstr(plan, PLAN_SCAN) == NULL ||
        expressions == NULL) {
        return weir_error_set(err, code, "%s is not a table of DuckDB's own",
                              weir_name_text(name, text, sizeof text));
    }
    if (strstr(plan, PLAN_ROW_ID) == NULL) {
        return weir_error_set(err, code, "%s has a column named rowid, which hides the row ids",
                              weir_name_text(name, text, sizeof text));
    }
    drop_places(expressions);
    *facts = expressions;
    return WEIR_OK;
}

/* --- columns ---------------------------------------------------------------------------------- */

static Status read_columns(duckdb_result *result, Arena *arena, Schema *out, Error *err)
{
    const size_t limit = duckdb_column_count(result);
    const LogicalType **types = weir_arena_calloc(arena, limit, sizeof(const LogicalType *), err);
    const char **names = types == NULL ? NULL : weir_arena_calloc(arena, limit, sizeof *names, err);
    if (names == NULL) {
        return err->code;
    }
    *out = (Schema){.types = types, .names = names};
    for (size_t i = 0; i < limit; i++) {
        duckdb_logical_type theirs = duckdb_column_logical_type(result, i);
        const LogicalType *const type = weir_type_from_duckdb(arena, theirs, err);
        duckdb_destroy_logical_type(&theirs);
        if (type == NULL && err->code == WEIR_ERR_TYPE) {
            continue; /* cannot be followed, but the others can */
        }
        names[out->count] =
            type == NULL ? NULL : weir_arena_strdup(arena, duckdb_column_name(result, i), err);
        if (names[out->count] == NULL) {
            return err->code;
        }
        types[out->count++] = type;
    }
    return WEIR_OK;
}

static Status query_columns(DuckHost *host, const TableName *name, Arena *arena, Schema *out,
                            Error *err)
{
    Buf sql;
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    weir_buf_puts(&sql, "SELECT * FROM ");
    weir_name_put_sql(&sql, name);
    weir_buf_puts(&sql, " LIMIT 0");
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        duckdb_result result = {0};
        status = weir_query(host->scan, sql.data, WEIR_ERR_HOST, &result, err);
        if (status == WEIR_OK) {
            status = read_columns(&result, arena, out, err);
            duckdb_destroy_result(&result);
        }
    }
    weir_buf_deinit(&sql);
    return status;
}

Status weir_table_columns(DuckHost *host, const TableName *name, Status code, Arena *arena,
                          Schema *out, Error *err)
{
    const char *facts = NULL;
    const Schema none = {0};
    WEIR_TRY(weir_table_facts(host, name, &none, code, arena, &facts, err));
    return query_columns(host, name, arena, out, err);
}

/* --- stored columns --------------------------------------------------------------------------- */

static const char PLAN_INDEXES[] = "\"column_indexes\":[";
static const char PLAN_INDEX[] = "{\"index\":";
static const char PLAN_CLASS[] = "\"expression_class\":\"";
static const char PLAN_CLASS_OF_COLUMN[] = "\"expression_class\":\"BOUND_REF\"";

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* The columns that a scan reads behind the row id, numbered among all columns of the table. */
static Status read_indexes(const char *plan, Arena *arena, uint64_t **out, size_t *count,
                           Error *err)
{
    const char *at = strstr(plan, PLAN_INDEXES);
    uint64_t *indexes = weir_arena_calloc(arena, strlen(plan) / 8 + 1, sizeof *indexes, err);
    if (indexes == NULL) {
        return err->code;
    }
    const char *const end = at == NULL ? NULL : strstr(at, "],\"extra_info\"");
    size_t found = 0;
    at = end == NULL ? NULL : strstr(at, PLAN_INDEX);
    for (bool is_first = true; at != NULL && at < end; at = strstr(at + 1, PLAN_INDEX)) {
        indexes[found] = strtoull(at + strlen(PLAN_INDEX), NULL, 10);
        found += !is_first;
        is_first = false;
    }
    *out = indexes;
    *count = found;
    return WEIR_OK;
}

static size_t count_below(const uint64_t *numbers, size_t count, uint64_t limit)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        below += numbers[i] < limit;
    }
    return below;
}

static Status query_all_plan(DuckHost *host, const TableName *name, Arena *arena, char **out,
                             Error *err)
{
    Buf sql;
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    weir_buf_puts(&sql, "SELECT rowid, * FROM ");
    weir_name_put_sql(&sql, name);
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        status = query_plan(host, sql.data, arena, out, err);
    }
    weir_buf_deinit(&sql);
    return status;
}

Status weir_table_places(DuckHost *host, const TableName *name, const Schema *columns,
                         size_t **places, size_t *stored_count, Error *err)
{
    Arena *const arena = &host->arena;
    char *plan = NULL;
    char *all_plan = NULL;
    uint64_t *followed = NULL;
    uint64_t *stored = NULL;
    size_t followed_count = 0;
    WEIR_TRY(query_table_plan(host, name, columns, arena, &plan, err));
    WEIR_TRY(query_all_plan(host, name, arena, &all_plan, err));
    WEIR_VERIFY(plan != NULL && all_plan != NULL, err);
    WEIR_TRY(read_indexes(plan, arena, &followed, &followed_count, err));
    WEIR_TRY(read_indexes(all_plan, arena, &stored, stored_count, err));
    const size_t expressions = count_text(plan, PLAN_CLASS);
    if (followed_count != columns->count || expressions != columns->count + 1 ||
        count_text(plan, PLAN_CLASS_OF_COLUMN) != expressions) {
        *places = NULL;
        return WEIR_OK;
    }
    *places = weir_mem_calloc(host->mem, columns->count + 1, sizeof **places, err);
    if (*places == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < columns->count; c++) {
        (*places)[c] = count_below(stored, *stored_count, followed[c]);
    }
    return WEIR_OK;
}

/* --- changes ---------------------------------------------------------------------------------- */

Status weir_table_oid(DuckHost *host, const TableName *name, int64_t *oid, Error *err)
{
    static const char SQL[] =
        "SELECT table_oid FROM system.main.duckdb_tables() WHERE system.main.lower(database_name) "
        "= "
        "system.main.lower($1) AND system.main.lower(schema_name) = system.main.lower($2) "
        "AND system.main.lower(table_name) = system.main.lower($3)";
    const char *const bound[] = {name->catalog, name->schema, name->name};
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(host->scan, SQL, bound, 3, WEIR_ERR_HOST, &result, err));
    Rows rows = weir_rows(&result);
    *oid = weir_rows_next(&rows) ? weir_rows_i64(&rows, 0) : -1;
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return WEIR_OK;
}

/* The name of the table with this number in the same database, as far as it fits; "" if there is
 * none. */
static Status find_renamed(DuckHost *host, const TableName *name, int64_t oid, char *out,
                           size_t size, Error *err)
{
    static const char SQL[] =
        "SELECT system.main.concat(schema_name, '.', table_name) FROM system.main.duckdb_tables() "
        "WHERE "
        "system.main.lower(database_name) = system.main.lower($1) AND table_oid = $2::BIGINT";
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)oid);
    const char *const bound[] = {name->catalog, number};
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(host->scan, SQL, bound, 2, WEIR_ERR_HOST, &result, err));
    Rows rows = weir_rows(&result);
    const char *found = weir_rows_next(&rows) ? weir_rows_text(&rows, 0, &host->arena, err) : "";
    if (found != NULL) {
        (void)snprintf(out, size, "%s", found);
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return found == NULL ? err->code : WEIR_OK;
}

static const LogicalType *find_column(const Schema *schema, const char *name)
{
    for (size_t c = 0; c < schema->count; c++) {
        if (weir_name_part_equal(schema->names[c], name)) {
            return schema->types[c];
        }
    }
    return NULL;
}

/* The type's SQL spelling, cut to size; its name if it has none. */
static const char *type_text(Mem *mem, const LogicalType *type, char *out, size_t size)
{
    Error ignored = {0};
    Buf buf;
    weir_buf_init(&buf, mem, SIZE_MAX);
    weir_type_put_sql(&buf, type);
    const bool is_spelled = weir_buf_status(&buf, &ignored) == WEIR_OK;
    (void)snprintf(out, size, "%s", is_spelled ? buf.data : weir_type_name(type->id));
    weir_buf_deinit(&buf);
    return out;
}

/* Of each followed column. */
static Status compare_columns(Mem *mem, const char *table, const Schema *now,
                              const Schema *followed, Error *err)
{
    for (size_t c = 0; c < followed->count; c++) {
        const LogicalType *const type = find_column(now, followed->names[c]);
        if (type == NULL) {
            return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED,
                                  "column %s of table %s was dropped or renamed",
                                  followed->names[c], table);
        }
        if (!weir_type_equal(type, followed->types[c])) {
            char before[TYPE_TEXT_BYTES];
            char after[TYPE_TEXT_BYTES];
            return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED,
                                  "column %s of table %s was altered from %s to %s",
                                  followed->names[c], table,
                                  type_text(mem, followed->types[c], before, sizeof before),
                                  type_text(mem, type, after, sizeof after));
        }
    }
    return WEIR_OK;
}

Status weir_table_check_columns(DuckHost *host, const TableName *name, const Schema *columns,
                                Error *err)
{
    char text[NAME_TEXT_BYTES];
    Schema now = {0};
    WEIR_TRY(weir_table_columns(host, name, WEIR_ERR_SOURCE_CHANGED, &host->arena, &now, err));
    return compare_columns(host->mem, weir_name_text(name, text, sizeof text), &now, columns, err);
}

Status weir_table_explain_change(DuckHost *host, const TableName *name, int64_t oid,
                                 const Schema *followed, Error *err)
{
    char text[NAME_TEXT_BYTES];
    const char *const table = weir_name_text(name, text, sizeof text);
    int64_t oid_now = -1;
    WEIR_TRY(weir_table_oid(host, name, &oid_now, err));
    if (oid_now < 0) {
        char renamed[NAME_TEXT_BYTES] = {0};
        WEIR_TRY(find_renamed(host, name, oid, renamed, sizeof renamed, err));
        if (renamed[0] != '\0') {
            return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED, "table %s was renamed to %s", table,
                                  renamed);
        }
        return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED,
                              "table %s was dropped or renamed, or its database detached", table);
    }
    WEIR_TRY(weir_table_check_columns(host, name, followed, err));
    return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED,
                          "a column of table %s was altered (collation or generated expression)",
                          table);
}
