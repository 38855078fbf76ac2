/* session.c: opening a database of the right kind. */
#include "shell/session.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A database of SQLite begins with these 16 bytes, the NUL among them. */
static const char SQLITE_HEADER[] = "SQLite format 3";

/* True if a file of that name, once it holds something, is expected to be SQLite's. */
static bool has_sqlite_name(const char *path)
{
    const char *const dot = strrchr(path, '.');
    return dot != NULL && (strcasecmp(dot, ".sqlite") == 0 || strcasecmp(dot, ".sqlite3") == 0);
}

const SessionType *weir_session_type_of(const char *path)
{
    char header[sizeof SQLITE_HEADER];
    const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? 0 : read(fd, header, sizeof header);
    if (fd >= 0) {
        (void)close(fd);
    }
    const bool is_sqlite = size == (ssize_t)sizeof header
                               ? memcmp(header, SQLITE_HEADER, sizeof header) == 0
                               : path != NULL && size == 0 && has_sqlite_name(path);
    return is_sqlite ? &WEIR_SESSION_SQLITE : &WEIR_SESSION_DUCKDB;
}

WeirStatus weir_session_open(Session *session, const SessionType *type, const char *path,
                             WeirError *err)
{
    void *handle = NULL;
    const WeirStatus status = type->open(path, &handle, err);
    if (status == WEIR_OK) {
        *session = (Session){.type = type, .handle = handle};
    }
    return status;
}

void weir_session_close(Session *session)
{
    if (session->type != NULL) {
        session->type->close(session->handle);
    }
    *session = (Session){0};
}
