/* session.h: an open database, of DuckDB or of SQLite, as the shell uses it. */
#ifndef WEIR_SHELL_SESSION_H
#define WEIR_SHELL_SESSION_H

#include "shell/rows.h"
#include "shell/text.h"

typedef enum SessionKind { SESSION_DUCKDB = 1, SESSION_SQLITE = 2 } SessionKind; /* bits */

typedef struct SessionType {
    SessionKind kind;
    WeirStatus (*open)(const char *path, void **handle, WeirError *err);
    void (*close)(void *handle);

    /* Runs the first statement of sql and says where it ends. *rows is {0} if it gives none. */
    WeirStatus (*execute)(void *handle, const char *sql, const char **tail, Rows *rows,
                          WeirError *err);
    void (*interrupt)(void *handle);
    bool (*take_warning)(void *handle, WeirError *out);

    /* Of the lexer: as weir_next_statement and weir_is_complete. */
    const char *(*next_statement)(const char *sql);
    bool (*is_complete)(const char *sql);

    /* The database and its version, for people: DuckDB v1.5. */
    void (*put_version)(void *handle, Text *text);
    /* As weir_relations_put: the subquery of all that the database holds. */
    void (*put_relations)(Text *sql);
    /* A query of one column: what a word may be completed to. */
    void (*put_choices)(Text *sql, const char *word, bool is_lower, size_t most);
} SessionType;

typedef struct Session {
    const SessionType *type; /* NULL = not open */
    void *handle;            /* owned */
} Session;

extern const SessionType WEIR_SESSION_DUCKDB;
extern const SessionType WEIR_SESSION_SQLITE;

/* Of which kind the database is that this path names: what its file says, or its name as long as
 * there is nothing in it. */
const SessionType *weir_session_type_of(const char *path);

WeirStatus weir_session_open(Session *session, const SessionType *type, const char *path,
                             WeirError *err);
void weir_session_close(Session *session);

static inline WeirStatus weir_session_execute(const Session *session, const char *sql,
                                              const char **tail, Rows *rows, WeirError *err)
{
    return session->type->execute(session->handle, sql, tail, rows, err);
}

/* DuckDB's: the database, NULL if the session is none of DuckDB; rows of a subscription, which keeps
 * owning them. */
WeirDb *weir_session_duckdb(const Session *session);
Rows weir_rows_of_result(WeirResult *result);

#endif
