/* script.c: runs a script of change capture: statements, and what the log must then say.
 *
 *     script FILE [DIRECTORY]         databases are made in DIRECTORY (.)
 *
 * A script has a line each of
 *
 *     case NAME            a new database file; the connection a
 *     memory NAME          the same in memory
 *     on NAME              another connection (opened when it is named first)
 *     close                closes the connection
 *     sql STATEMENTS       must succeed
 *     fail TEXT :: SQL     must fail, with TEXT in the message
 *     rows SQL             gives the rows that follow, each line two spaces and values with | between
 *     log [TABLE]          the log holds the lines that follow (decode.h)
 *     hex COLUMN ID        that column of record ID is the line that follows, in hexadecimal digits
 *
 * Empty lines and lines that start with # say nothing. At the end of a case every connection must pass
 * integrity_check. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4, LINE_MAX_BYTES = 8192 };

typedef struct Connection {
    char name[32];
    sqlite3 *db;
} Connection;

typedef struct Script {
    FILE *file;
    const char *path;
    char line[LINE_MAX_BYTES]; /* the next line */
    int number;
    int has_line;
    const char *directory;
    char database[512];
    char case_name[128];
    Connection connections[CONNECTIONS_MAX];
    int connection_count;
    Connection *current;
    int failures;
    int cases;
} Script;

static void next_line(Script *script)
{
    do {
        script->has_line = fgets(script->line, sizeof script->line, script->file) != NULL;
        script->number++;
        script->line[strcspn(script->line, "\n")] = 0;
    } while (script->has_line && (script->line[0] == '#' || script->line[0] == 0));
}

static void report(Script *script, int line, const char *what, const char *got)
{
    script->failures++;
    (void)printf("%s:%d: %s: %s\n%s\n", script->path, line, script->case_name, what, got);
}

/* --- connections --- */

static void open_connection(Script *script, const char *name)
{
    for (int i = 0; i < script->connection_count; i++) {
        if (strcmp(script->connections[i].name, name) == 0) {
            script->current = &script->connections[i];
            return;
        }
    }
    if (script->connection_count == CONNECTIONS_MAX) {
        (void)printf("%s: too many connections\n", script->path);
        exit(2);
    }
    script->current = &script->connections[script->connection_count++];
    (void)snprintf(script->current->name, sizeof script->current->name, "%s", name);
    if (sqlite3_open(script->database, &script->current->db) != SQLITE_OK) {
        report(script, script->number, "cannot open", script->database);
    }
    sqlite3_db_config(script->current->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
}

static void close_connection(Script *script, Connection *connection)
{
    if (connection->db != NULL && sqlite3_close(connection->db) != SQLITE_OK) {
        report(script, script->number, "cannot close", sqlite3_errmsg(connection->db));
    }
    connection->db = NULL;
    (void)snprintf(connection->name, sizeof connection->name, "closed");
}

static void check_integrity(Script *script, sqlite3 *db)
{
    sqlite3_stmt *check = NULL;
    if (db == NULL) {
        return;
    }
    if (sqlite3_prepare_v2(db, "PRAGMA main.integrity_check", -1, &check, NULL) != SQLITE_OK ||
        sqlite3_step(check) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(check, 0), "ok") != 0) {
        report(script, script->number, "integrity_check",
               check == NULL ? sqlite3_errmsg(db) : (const char *)sqlite3_column_text(check, 0));
    }
    sqlite3_finalize(check);
}

static void end_case(Script *script)
{
    for (int i = 0; i < script->connection_count; i++) {
        check_integrity(script, script->connections[i].db);
        close_connection(script, &script->connections[i]);
    }
    script->connection_count = 0;
}

static void begin_case(Script *script, const char *name, int in_memory)
{
    end_case(script);
    script->cases++;
    (void)snprintf(script->case_name, sizeof script->case_name, "%s", name);
    (void)snprintf(script->database, sizeof script->database, "%s/cdc_%d.db", script->directory,
                   (int)getpid());
    (void)unlink(script->database);
    if (in_memory) {
        (void)snprintf(script->database, sizeof script->database, ":memory:");
    }
    open_connection(script, "a");
}

/* --- commands --- */

static void run_sql(Script *script, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(script->current->db, sql, NULL, NULL, &message) != SQLITE_OK) {
        report(script, script->number, sql, message);
    }
    sqlite3_free(message);
}

static void run_failing(Script *script, char *argument)
{
    char *const separator = strstr(argument, " :: ");
    if (separator == NULL) {
        report(script, script->number, "fail without ::", argument);
        return;
    }
    *separator = 0;
    const char *const sql = separator + 4;
    char *message = NULL;
    if (sqlite3_exec(script->current->db, sql, NULL, NULL, &message) == SQLITE_OK) {
        report(script, script->number, "must fail", sql);
    } else if (strstr(message, argument) == NULL) {
        report(script, script->number, sql, message);
    }
    sqlite3_free(message);
}

static void add_rows(Text *out, sqlite3 *db, const char *sql)
{
    sqlite3_stmt *rows = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) != SQLITE_OK) {
        text_add(out, "%s\n", sqlite3_errmsg(db));
        return;
    }
    int rc = sqlite3_step(rows);
    while (rc == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(rows); i++) {
            text_add(out, "%s", i > 0 ? "|" : "");
            if (sqlite3_column_type(rows, i) == SQLITE_TEXT) {
                text_add(out, "%s", (const char *)sqlite3_column_text(rows, i));
            } else {
                text_add_column(out, rows, i);
            }
        }
        text_add(out, "\n");
        rc = sqlite3_step(rows);
    }
    if (rc != SQLITE_DONE) {
        text_add(out, "%s\n", sqlite3_errmsg(db));
    }
    sqlite3_finalize(rows);
}

static void add_hex(Text *out, sqlite3 *db, const char *argument)
{
    char column[32] = "";
    long long id = 0;
    if (sscanf(argument, "%31s %lld", column, &id) != 2) {
        text_add(out, "hex needs a column and an id\n");
        return;
    }
    char *const sql = sqlite3_mprintf(
        "SELECT lower(hex(\"%w\")) FROM main.turso_cdc WHERE change_id=%lld", column, id);
    add_rows(out, db, sql);
    sqlite3_free(sql);
}

/* Reads the lines that follow and compares them. */
static void expect(Script *script, const char *what, const Text *got)
{
    Text expected = {0};
    const int line = script->number;
    next_line(script);
    while (script->has_line && strncmp(script->line, "  ", 2) == 0) {
        text_add(&expected, "%s\n", script->line + 2);
        next_line(script);
    }
    if (strcmp(text_get(&expected), text_get(got)) != 0) {
        report(script, line, what, text_get(got));
    }
    text_free(&expected);
}

/* Runs the line; reads on. */
static void run_line(Script *script)
{
    char line[LINE_MAX_BYTES];
    memcpy(line, script->line, sizeof line);
    char *argument = strchr(line, ' ');
    if (argument != NULL) {
        *argument++ = 0;
    } else {
        argument = line + strlen(line);
    }
    Text got = {0};
    if (strcmp(line, "rows") == 0 || strcmp(line, "log") == 0 || strcmp(line, "hex") == 0) {
        if (line[0] == 'r') {
            add_rows(&got, script->current->db, argument);
        } else if (line[0] == 'l') {
            text_add_log(&got, script->current->db, *argument != 0 ? argument : "turso_cdc", 0);
        } else {
            add_hex(&got, script->current->db, argument);
        }
        expect(script, argument, &got);
        text_free(&got);
        return;
    }
    if (strcmp(line, "case") == 0 || strcmp(line, "memory") == 0) {
        begin_case(script, argument, line[0] == 'm');
    } else if (strcmp(line, "on") == 0) {
        open_connection(script, argument);
    } else if (strcmp(line, "close") == 0) {
        close_connection(script, script->current);
    } else if (strcmp(line, "sql") == 0) {
        run_sql(script, argument);
    } else if (strcmp(line, "fail") == 0) {
        run_failing(script, argument);
    } else {
        report(script, script->number, "not understood", line);
    }
    next_line(script);
}

int main(int argument_count, char **arguments)
{
    static Script the_script;
    Script *const script = &the_script;
    if (argument_count < 2) {
        (void)fprintf(stderr, "usage: script FILE [DIRECTORY]\n");
        return 2;
    }
    script->path = arguments[1];
    script->directory = argument_count > 2 ? arguments[2] : ".";
    script->file = fopen(script->path, "r");
    if (script->file == NULL) {
        perror(script->path);
        return 2;
    }
    next_line(script);
    while (script->has_line) {
        run_line(script);
    }
    end_case(script);
    (void)fclose(script->file);
    (void)printf("%d cases, %d failures\n", script->cases, script->failures);
    return script->failures > 0 || script->cases == 0;
}
