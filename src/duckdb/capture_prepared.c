/* capture_prepared.c: EXECUTE of a statement whose text was seen when it was prepared.
 *
 *   PREPARE p AS INSERT INTO t VALUES ($1)      the text is remembered
 *   EXECUTE p(7)                                PREPARE dbsp_captured_0 AS ... RETURNING ...; EXECUTE it
 *
 * What is made of the statement is prepared beside the user's, once. A statement is forgotten when
 * names may mean something else than they did: the user's own may be bound still. */
#include "duckdb/capture_priv.h"

/* The name without quotes, which is the caller's; NULL: no memory, or no such name. */
static char *unquote(Capture *capture, SqlSpan name)
{
    Error ignored = {0};
    Arena arena;
    weir_arena_init(&arena, capture->mem, 0);
    const char *const part = weir_capture_name_of(name, &arena);
    char *const plain = part == NULL ? NULL : weir_mem_strdup(capture->mem, part, &ignored);
    weir_arena_deinit(&arena);
    return plain;
}

static CapturePrepared *find(Capture *capture, const char *name)
{
    for (size_t i = 0; name != NULL && i < CAPTURE_KNOWN_PREPARED; i++) {
        CapturePrepared *const known = &capture->prepared[i];
        if (known->name != NULL && weir_name_part_equal(known->name, name)) {
            return known;
        }
    }
    return NULL;
}

CapturePrepared *weir_capture_find_prepared(Capture *capture, SqlSpan name)
{
    char *const plain = unquote(capture, name);
    CapturePrepared *const known = find(capture, plain);
    weir_mem_free(capture->mem, plain);
    return known != NULL && known->name_epoch == atomic_load(&capture->database->name_epoch) ? known
                                                                                             : NULL;
}

static void forget(Capture *capture, CapturePrepared *prepared)
{
    weir_mem_free(capture->mem, prepared->name);
    weir_mem_free(capture->mem, prepared->sql);
    weir_mem_free(capture->mem, prepared->captured);
    *prepared = (CapturePrepared){0};
}

void weir_capture_forget_prepared(Capture *capture, SqlSpan name)
{
    char *const plain = name.start == NULL ? NULL : unquote(capture, name);
    CapturePrepared *const known = find(capture, plain);
    if (known != NULL) {
        forget(capture, known);
    }
    for (size_t i = 0; plain == NULL && i < CAPTURE_KNOWN_PREPARED; i++) {
        forget(capture, &capture->prepared[i]);
    }
    weir_mem_free(capture->mem, plain);
}

/* The text with $1, $2, ... for ?, so that a value may be written twice. False: it has other
 * parameters too. */
static bool put_numbered(Buf *sql, const char *text)
{
    SqlToken token = {.end = text};
    const char *from = text;
    size_t count = 0;
    bool has_named = false;
    while (weir_sql_token_next(&token)) {
        has_named = has_named || (*token.start == '$' && token.end[-1] != '$');
        if (*token.start == '?') {
            weir_buf_printf(sql, "%.*s$%zu", (int)(token.start - from), from, ++count);
            from = token.end;
            if (*from >= '0' && *from <= '9') {
                return false;
            }
        }
    }
    weir_buf_puts(sql, from);
    return count == 0 || !has_named;
}

static CapturePrepared *find_room(Capture *capture)
{
    const uint64_t epoch = atomic_load(&capture->database->name_epoch);
    for (size_t i = 0; i < CAPTURE_KNOWN_PREPARED; i++) {
        CapturePrepared *const place = &capture->prepared[i];
        if (place->name == NULL || place->name_epoch != epoch) {
            forget(capture, place);
            return place;
        }
    }
    return NULL;
}

void weir_capture_remember(Capture *capture, SqlSpan name, SqlSpan statement)
{
    Error ignored = {0};
    Buf sql;
    weir_capture_forget_prepared(capture, name);
    CapturePrepared *const place = find_room(capture);
    weir_buf_init(&sql, capture->mem, SIZE_MAX);
    if (place != NULL && put_numbered(&sql, statement.start) &&
        weir_buf_status(&sql, &ignored) == WEIR_OK) {
        place->name_epoch = atomic_load(&capture->database->name_epoch);
        place->name = unquote(capture, name);
        place->sql = weir_mem_strdup(capture->mem, sql.data, &ignored);
        if (place->name == NULL || place->sql == NULL) {
            forget(capture, place);
        }
    }
    weir_buf_deinit(&sql);
}

/* Prepares what was made of the statement, unless it is the same as the last time. */
static Status prepare(const CaptureRun *run, size_t number, const char *sql, Error *err)
{
    Capture *const capture = run->capture;
    CapturePrepared *const prepared = run->prepared;
    CapturedResult result = {0};
    Buf text;
    if (prepared->captured != NULL && strcmp(prepared->captured, sql) == 0) {
        return WEIR_OK;
    }
    weir_mem_free(capture->mem, prepared->captured);
    prepared->captured = NULL;
    weir_buf_init(&text, capture->mem, SIZE_MAX);
    weir_buf_printf(&text, "PREPARE dbsp_captured_%zu AS %s", number, sql);
    Status status = weir_buf_status(&text, err);
    if (status == WEIR_OK) {
        status = weir_capture_plain(capture, text.data, &result, err);
        weir_captured_result_deinit(&result, capture->mem);
    }
    weir_buf_deinit(&text);
    if (status == WEIR_OK) {
        prepared->captured = weir_mem_strdup(capture->mem, sql, err);
        status = prepared->captured == NULL ? err->code : WEIR_OK;
    }
    return status;
}

Status weir_capture_run_prepared(const CaptureRun *run, const char *sql, CapturedResult *out,
                                 Error *err)
{
    const size_t number = (size_t)(run->prepared - run->capture->prepared);
    Buf text;
    WEIR_TRY(prepare(run, number, sql, err));
    weir_buf_init(&text, run->capture->mem, SIZE_MAX);
    weir_buf_printf(&text, "EXECUTE dbsp_captured_%zu%s", number, run->arguments);
    Status status = weir_buf_status(&text, err);
    if (status == WEIR_OK) {
        status = weir_capture_plain(run->capture, text.data, out, err);
    }
    weir_buf_deinit(&text);
    return status;
}
