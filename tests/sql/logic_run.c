/* logic_run.c: see logic_run.h. */
#include "logic_run.h"

#include "logic_verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last connection is the verifier's own. */
enum { VERIFY_CONNECTION = DB_CONNECTIONS_MAX - 1 };

typedef struct LogicRunner {
    const LogicOptions *options;
    const char *path; /* of the test file */
    Db db;
    char *database; /* owned; NULL: in memory */
    TextList names; /* of connections: number i is connection i + 1 */
    char *version;  /* owned; DuckDB's, without the v */
    LogicVerifier verifier;
    bool is_verified;
    bool is_skipped; /* mode skip */
    bool skips_next; /* skipif, onlyif */
    bool is_halted;
    bool has_extension;
    Text *report;
} LogicRunner;

static bool complain(LogicRunner *runner, const Record *record, const char *title,
                     const char *detail)
{
    text_addf(runner->report, "%s:%zu: %s\n", runner->path, record->line, title);
    if (record->sql != NULL) {
        text_addf(runner->report, "%s\n", record->sql);
    }
    if (detail[0] != '\0') {
        text_addf(runner->report, "%s\n", detail);
    }
    return false;
}

static bool open_database(LogicRunner *runner)
{
    Text error = {0};
    const DbOptions options = {.path = runner->database,
                               .extension =
                                   runner->has_extension ? runner->options->extension : NULL};
    const bool is_good = db_open(&runner->db, &options, &error);
    if (!is_good) {
        text_addf(runner->report, "%s: cannot open the database: %s\n", runner->path,
                  text_get(&error));
    }
    text_free(&error);
    return is_good;
}

static bool reopen_database(LogicRunner *runner)
{
    logic_verify_reset(&runner->verifier);
    db_close(&runner->db);
    return open_database(runner);
}

static duckdb_connection find_connection(LogicRunner *runner, const char *name)
{
    if (name == NULL) {
        return db_connection(&runner->db, 0);
    }
    for (size_t i = 0; i < runner->names.count; i++) {
        if (strcmp(runner->names.items[i], name) == 0) {
            return db_connection(&runner->db, i + 1);
        }
    }
    if (runner->names.count + 2 > VERIFY_CONNECTION) {
        return NULL;
    }
    text_list_add(&runner->names, name);
    return db_connection(&runner->db, runner->names.count);
}

static bool verify_after(LogicRunner *runner, const Record *record)
{
    if (!runner->is_verified) {
        return true;
    }
    Text report = {0};
    bool is_good =
        logic_verify(&runner->verifier, db_connection(&runner->db, VERIFY_CONNECTION), &report);
    if (!is_good) {
        is_good = complain(runner, record, "a view is not its definition after", text_get(&report));
    }
    text_free(&report);
    return is_good;
}

static bool run_statement(LogicRunner *runner, const Record *record)
{
    const char *wanted = record->words.count > 1 ? record->words.items[1] : "";
    const char *name = record->words.count > 2 ? record->words.items[2] : NULL;
    Text error = {0};
    const bool runs = db_run(find_connection(runner, name), record->sql, &error);
    bool is_good = true;
    if (strcmp(wanted, "ok") == 0 && !runs) {
        is_good = complain(runner, record, "the statement fails", text_get(&error));
    } else if (strcmp(wanted, "error") == 0 && runs) {
        is_good = complain(runner, record, "the statement should fail", "");
    } else if (strcmp(wanted, "error") == 0) {
        for (size_t i = 0; i < record->expected.count && is_good; i++) {
            if (strstr(text_get(&error), record->expected.items[i]) == NULL) {
                is_good = complain(runner, record, "another error than expected", text_get(&error));
            }
        }
    } else if (strcmp(wanted, "ok") != 0 && strcmp(wanted, "maybe") != 0) {
        is_good = complain(runner, record, "statement ok, error or maybe?", "");
    }
    text_free(&error);
    return is_good && verify_after(runner, record);
}

static const char *cell_text(const Rows *rows, size_t row, size_t column)
{
    const char *cell = rows_cell(rows, row, column);
    if (cell == NULL) {
        return "NULL";
    }
    return cell[0] == '\0' ? "(empty)" : cell;
}

/* One line a row, or one a value. */
static void print_rows(const Rows *rows, bool is_by_value, TextList *lines)
{
    for (size_t row = 0; row < rows->row_count; row++) {
        Text line = {0};
        for (size_t column = 0; column < rows->column_count; column++) {
            if (is_by_value) {
                text_list_add(lines, cell_text(rows, row, column));
            } else {
                text_addf(&line, "%s%s", column > 0 ? "\t" : "", cell_text(rows, row, column));
            }
        }
        if (!is_by_value) {
            text_list_add(lines, text_get(&line));
        }
        text_free(&line);
    }
}

static bool value_is_equal(const char *found, const char *expected, char type)
{
    if (strcmp(found, expected) == 0) {
        return true;
    }
    if (type != 'R' || strcmp(found, "NULL") == 0 || strcmp(expected, "NULL") == 0) {
        return false;
    }
    const double a = strtod(found, NULL);
    const double b = strtod(expected, NULL);
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static bool line_is_equal(const char *found, const char *expected, const char *types)
{
    char *left = test_copy(found);
    char *right = test_copy(expected);
    char *left_rest = left;
    char *right_rest = right;
    bool is_equal = true;
    for (size_t i = 0; is_equal && left_rest != NULL && right_rest != NULL; i++) {
        const char *type = i < strlen(types) ? &types[i] : "T";
        const char *a = strsep(&left_rest, "\t");
        const char *b = strsep(&right_rest, "\t");
        is_equal = value_is_equal(a, b, *type);
    }
    is_equal = is_equal && left_rest == NULL && right_rest == NULL;
    test_free(left);
    test_free(right);
    return is_equal;
}

static bool compare_rows(LogicRunner *runner, const Record *record, const Rows *rows,
                         const char *sort)
{
    const char *types = record->words.items[1];
    /* DuckDB's rule: as many lines as values means a line a value. */
    const bool is_by_value = rows->column_count > 1 &&
                             record->expected.count == rows->row_count * rows->column_count &&
                             rows->row_count > 0;
    TextList found = {0};
    TextList expected = {0};
    print_rows(rows, is_by_value || strcmp(sort, "valuesort") == 0, &found);
    for (size_t i = 0; i < record->expected.count; i++) {
        text_list_add(&expected, record->expected.items[i]);
    }
    if (strcmp(sort, "nosort") != 0) {
        text_list_sort(&found);
        text_list_sort(&expected);
    }
    const size_t type_count = strlen(types);
    bool is_equal = type_count > 0 && found.count == expected.count;
    for (size_t i = 0; is_equal && i < found.count; i++) {
        const char type[2] = {types[i % type_count], '\0'};
        is_equal = line_is_equal(found.items[i], expected.items[i], is_by_value ? type : types);
    }
    if (!is_equal) {
        Text detail = {0};
        text_add(&detail, "found:\n");
        for (size_t i = 0; i < found.count; i++) {
            text_addf(&detail, "%s\n", found.items[i]);
        }
        complain(runner, record, "other rows than expected", text_get(&detail));
        text_free(&detail);
    }
    text_list_free(&found);
    text_list_free(&expected);
    return is_equal;
}

static bool is_sort(const char *word)
{
    return strcmp(word, "nosort") == 0 || strcmp(word, "rowsort") == 0 ||
           strcmp(word, "valuesort") == 0;
}

static bool run_query(LogicRunner *runner, const Record *record)
{
    if (record->words.count < 2) {
        return complain(runner, record, "query needs types", "");
    }
    const bool has_sort = record->words.count > 2 && is_sort(record->words.items[2]);
    const char *sort = has_sort ? record->words.items[2] : "nosort";
    const size_t name_at = has_sort ? 3 : 2;
    const char *name = record->words.count > name_at ? record->words.items[name_at] : NULL;
    Text error = {0};
    Rows rows = {0};
    bool is_good = db_fetch(find_connection(runner, name), record->sql, &rows, &error);
    if (!is_good) {
        complain(runner, record, "the query fails", text_get(&error));
    } else if (rows.column_count != strlen(record->words.items[1])) {
        char *detail = text_format("%zu columns", rows.column_count);
        is_good = complain(runner, record, "another number of columns than types", detail);
        test_free(detail);
    } else if (record->has_expected) {
        is_good = compare_rows(runner, record, &rows, sort);
    }
    rows_free(&rows);
    text_free(&error);
    return is_good && verify_after(runner, record);
}

static bool require(LogicRunner *runner, const Record *record, const char *name)
{
    if (strcmp(name, "dbsp") != 0) {
        return true;
    }
    if (runner->options->extension == NULL) {
        return complain(runner, record, "the file needs the extension: --ext FILE", "");
    }
    runner->has_extension = true;
    return reopen_database(runner);
}

static bool load(LogicRunner *runner, const char *name)
{
    db_close(&runner->db);
    logic_verify_reset(&runner->verifier);
    if (runner->database != NULL) {
        db_remove_file(runner->database);
        test_free(runner->database);
    }
    runner->database =
        text_format("%s/logic_%ld_%s", runner->options->directory, (long)getpid(), name);
    db_remove_file(runner->database);
    return open_database(runner);
}

static bool set_verify(LogicRunner *runner, const Record *record)
{
    const TextList *words = &record->words;
    const char *what = words->count > 1 ? words->items[1] : "";
    if (strcmp(what, "on") == 0 || strcmp(what, "off") == 0) {
        runner->is_verified = strcmp(what, "on") == 0;
        return true;
    }
    if (strcmp(what, "forget") == 0) {
        logic_verify_reset(&runner->verifier);
        return true;
    }
    if (strcmp(what, "near") == 0 && words->count == 4) {
        char *key = text_format("%s %s", words->items[2], words->items[3]);
        text_list_add(&runner->verifier.near, key);
        test_free(key);
        return true;
    }
    return complain(runner, record, "verify on, off, forget or near VIEW COLUMN?", "");
}

static bool run_directive(LogicRunner *runner, const Record *record)
{
    const char *word = record->words.items[0];
    const char *next = record->words.count > 1 ? record->words.items[1] : "";
    if (strcmp(word, "require") == 0) {
        return require(runner, record, next);
    }
    if (strcmp(word, "verify") == 0) {
        return set_verify(runner, record);
    }
    if (strcmp(word, "load") == 0) {
        return load(runner, next);
    }
    if (strcmp(word, "restart") == 0) {
        return reopen_database(runner) && verify_after(runner, record);
    }
    if (strcmp(word, "reconnect") == 0) {
        for (size_t i = 0; i < DB_CONNECTIONS_MAX; i++) {
            if (runner->db.connections[i] != NULL) {
                duckdb_disconnect(&runner->db.connections[i]);
                runner->db.connections[i] = NULL;
            }
        }
        return true;
    }
    if (strcmp(word, "skipif") == 0 || strcmp(word, "onlyif") == 0) {
        const bool is_version = strncmp(runner->version, next, strlen(next)) == 0;
        runner->skips_next = runner->skips_next || is_version == (strcmp(word, "skipif") == 0);
        return true;
    }
    if (strcmp(word, "halt") == 0) {
        runner->is_halted = true;
        return true;
    }
    if (strcmp(word, "hash-threshold") == 0) {
        return true;
    }
    return complain(runner, record, "unknown directive", word);
}

static bool run_record(LogicRunner *runner, const Record *record)
{
    if (record->kind == RECORD_DIRECTIVE && strcmp(record->words.items[0], "mode") == 0) {
        runner->is_skipped = record->words.count > 1 && strcmp(record->words.items[1], "skip") == 0;
        return true;
    }
    if (runner->is_skipped) {
        return true;
    }
    if (record->kind == RECORD_DIRECTIVE) {
        return run_directive(runner, record);
    }
    if (runner->skips_next) {
        runner->skips_next = false;
        return true;
    }
    return record->kind == RECORD_STATEMENT ? run_statement(runner, record)
                                            : run_query(runner, record);
}

static char *read_version(LogicRunner *runner)
{
    Text error = {0};
    Rows rows = {0};
    char *version = NULL;
    if (db_fetch(db_connection(&runner->db, 0), "SELECT version()", &rows, &error)) {
        const char *cell = rows_cell(&rows, 0, 0);
        version = test_copy(cell == NULL ? "" : cell + (cell[0] == 'v' ? 1 : 0));
    }
    rows_free(&rows);
    text_free(&error);
    return version == NULL ? test_copy("") : version;
}

bool logic_run(const char *path, const LogicOptions *options, size_t *record_count, Text *report)
{
    LogicFile file = {0};
    Text error = {0};
    *record_count = 0;
    if (!logic_file_read(&file, path, &error)) {
        text_addf(report, "%s: %s\n", path, text_get(&error));
        text_free(&error);
        logic_file_free(&file);
        return false;
    }
    LogicRunner runner = {.options = options, .path = path, .report = report};
    bool is_good = open_database(&runner);
    if (is_good) {
        runner.version = read_version(&runner);
    }
    for (size_t i = 0; is_good && i < file.count && !runner.is_halted; i++) {
        is_good = run_record(&runner, &file.records[i]);
        *record_count += 1;
    }
    logic_verify_free(&runner.verifier);
    db_close(&runner.db);
    if (runner.database != NULL) {
        db_remove_file(runner.database);
        test_free(runner.database);
    }
    text_list_free(&runner.names);
    test_free(runner.version);
    logic_file_free(&file);
    return is_good;
}
