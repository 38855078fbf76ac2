/* view_refs.c: FROM schema.view.
 *
 * DuckDB hands the last part of a name alone to replacement scans: they cannot tell one.v from
 * two.v, nor from none.v. Where a text names a view that way and more than one is meant, or another one
 * than the only one, DuckDB's parser is asked which names are those of tables, and where they stand. It
 * parses a SELECT alone: of other statements, the one that they end with. */
#include "duckdb/view_refs.h"

#include <string.h>

#include "base/sql_lexer.h"
#include "duckdb/query.h"
#include "view/names.h"

enum { MAX_STARTS = 8 };

/* ---- whether there is one ---------------------------------------------------------------------- */

static bool has_misread(Engine *engine, const char *sql)
{
    SqlToken token = {.end = sql};
    const char *start = NULL; /* of a name with points */
    bool is_behind_point = false;
    while (weir_sql_token_next(&token)) {
        const bool is_name = weir_sql_token_is_name(&token);
        if (is_name && is_behind_point && start != NULL) {
            if (weir_engine_is_misread(engine, start, (size_t)(token.end - start), token.start)) {
                return true;
            }
        } else if (is_name) {
            start = token.start;
        } else if (*token.start != '.') {
            start = NULL;
        }
        is_behind_point = *token.start == '.';
    }
    return false;
}

/* ---- where they are ---------------------------------------------------------------------------- */

/* A name with its schema where a table is named, and there is no such table. */
typedef struct ViewRef {
    size_t offset;
    const char *parts[NAME_MAX_PARTS]; /* "" = not written */
    const char *alias;                 /* "" = none */
} ViewRef;

static Status read_ref(const Rows *rows, Arena *arena, ViewRef *out, Error *err)
{
    const char **const texts[] = {&out->parts[0], &out->parts[1], &out->parts[2], &out->alias};
    out->offset = (size_t)weir_rows_u64(rows, 0);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        *texts[i] = weir_rows_text(rows, 1 + i, arena, err);
        if (*texts[i] == NULL) {
            return err->code;
        }
    }
    return WEIR_OK;
}

/* Moves the cursor behind the name; false if that is not what stands there. */
static bool skip_name(const ViewRef *ref, const char **cursor)
{
    SqlToken token = {.end = *cursor};
    bool is_first = true;
    for (size_t i = 0; i < NAME_MAX_PARTS; i++) {
        if (ref->parts[i][0] == '\0') {
            continue;
        }
        if (!is_first && (!weir_sql_token_next(&token) || *token.start != '.')) {
            return false;
        }
        if (!weir_sql_token_next(&token) ||
            !weir_name_is_written(token.start, (size_t)(token.end - token.start), ref->parts[i])) {
            return false;
        }
        is_first = false;
    }
    *cursor = token.end;
    return true;
}

static void put_part(Buf *name, const char *part)
{
    weir_buf_puts(name, name->size == 0 ? "" : ".");
    if (weir_name_part_is_plain(part)) {
        weir_buf_puts(name, part);
    } else {
        weir_buf_put_sql_name(name, part);
    }
}

static void put_ref(const ViewRef *ref, Buf *sql)
{
    Buf name;
    weir_buf_init(&name, sql->mem, SIZE_MAX);
    for (size_t i = 0; i < NAME_MAX_PARTS; i++) {
        if (ref->parts[i][0] != '\0') {
            put_part(&name, ref->parts[i]);
        }
    }
    weir_buf_puts(sql, "system.main.dbsp_query(");
    if (name.err.code == WEIR_OK) {
        weir_buf_put_sql_string(sql, name.data, name.size);
    } else {
        weir_buf_fail(sql, &name.err);
    }
    weir_buf_putc(sql, ')');
    if (ref->alias[0] == '\0') {
        weir_buf_puts(sql, " AS ");
        weir_buf_put_sql_name(sql, ref->parts[NAME_MAX_PARTS - 1]);
    }
    weir_buf_deinit(&name);
}

/* Appends the query, written out. The count of what was written is 0 if it is none. */
static Status put_query(duckdb_connection connection, const char *query, Arena *arena, Buf *out,
                        size_t *count, Error *err)
{
    static const char SQL[] =
        "WITH refs AS (SELECT (value->>'$.query_location')::UBIGINT AS place, "
        "value->>'$.catalog_name' AS catalog, value->>'$.schema_name' AS schema, "
        "value->>'$.table_name' AS name, value->>'$.alias' AS alias "
        "FROM system.main.json_tree(system.main.json_serialize_sql($1::VARCHAR)) "
        "WHERE type = 'OBJECT' AND (value->>'$.type') = 'BASE_TABLE'), "
        "relations AS (SELECT database_name, schema_name, table_name AS name "
        "FROM system.main.duckdb_tables() UNION ALL SELECT database_name, schema_name, view_name "
        "FROM system.main.duckdb_views()) "
        "SELECT place, catalog, schema, name, alias FROM refs AS r WHERE schema <> '' AND NOT "
        "EXISTS (FROM relations AS t WHERE system.main.lower(t.name) = system.main.lower(r.name) "
        "AND system.main.lower(r.schema) IN (system.main.lower(t.schema_name), "
        "system.main.lower(t.database_name))) ORDER BY place";
    duckdb_result result = {0};
    const char *from = query;
    *count = 0;
    WEIR_TRY(weir_query_bound(connection, SQL, &query, 1, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        ViewRef ref = {0};
        status = read_ref(&rows, arena, &ref, err);
        const char *end = query + WEIR_MIN(ref.offset, strlen(query));
        if (status == WEIR_OK && end >= from && skip_name(&ref, &end)) {
            weir_buf_printf(out, "%.*s", (int)(query + ref.offset - from), from);
            put_ref(&ref, out);
            from = end;
            (*count)++;
        }
    }
    weir_buf_puts(out, from);
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status == WEIR_OK ? weir_buf_status(out, err) : status;
}

/* ---- writing them out -------------------------------------------------------------------------- */

/* Where a query may begin that goes to the end of the text. */
static size_t find_starts(const char *sql, const char *starts[MAX_STARTS])
{
    SqlToken token = {.end = sql};
    size_t count = 0;
    bool is_behind_as = false;
    while (count < MAX_STARTS && weir_sql_token_next(&token)) {
        const bool is_start = count == 0 || is_behind_as || weir_sql_token_is(&token, "select") ||
                              weir_sql_token_is(&token, "from") ||
                              weir_sql_token_is(&token, "with");
        if (token.depth == 0 && is_start) {
            starts[count++] = token.start;
        }
        is_behind_as = weir_sql_token_is(&token, "as");
    }
    return count;
}

static bool is_one_statement(duckdb_connection connection, const char *sql)
{
    duckdb_extracted_statements statements = NULL;
    const size_t count = duckdb_extract_statements(connection, sql, &statements);
    duckdb_destroy_extracted(&statements);
    return count == 1;
}

const char *weir_view_refs_write(Engine *engine, duckdb_connection connection, const char *sql,
                                 Arena *arena)
{
    const char *starts[MAX_STARTS];
    const char *written = sql;
    Error ignored = {0};
    if (engine == NULL || strchr(sql, '.') == NULL || !has_misread(engine, sql)) {
        return sql;
    }
    const size_t start_count = find_starts(sql, starts);
    for (size_t i = 0; written == sql && i < start_count; i++) {
        Buf text;
        size_t count = 0;
        weir_buf_init(&text, arena->mem, SIZE_MAX);
        weir_buf_printf(&text, "%.*s", (int)(starts[i] - sql), sql);
        if (put_query(connection, starts[i], arena, &text, &count, &ignored) == WEIR_OK &&
            count > 0 && is_one_statement(connection, text.data)) {
            const char *const copy = weir_arena_strdup(arena, text.data, &ignored);
            written = copy == NULL ? sql : copy;
        }
        weir_buf_deinit(&text);
    }
    return written;
}
