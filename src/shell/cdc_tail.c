/* cdc_tail.c: the changes of a log as they are, and as they come.
 *
 *   @@ transaction 1, 2026-01-31 12:00:00 @@
 *   1 + t 1: id=1, name='ann'
 *   2 + t 2: id=2, name='bob'
 *
 * In JSON every record is an object on a line of its own, the COMMIT records among them. */
#include <poll.h>
#include <unistd.h>

#include "shell/cdc.h"
#include "shell/signals.h"

enum { LOOK_EVERY_MS = 100 };

typedef struct Tail {
    Shell *shell;
    CdcLog *log;
    sqlite3_int64 transaction_id; /* of the head printed last */
    bool is_json;
    CdcImages images; /* of the present change */
} Tail;

static void put_json(Tail *tail, const CdcChange *change)
{
    Output *const output = &tail->shell->output;
    Text time = {0};
    weir_cdc_time_put(&time, change->time, true);
    weir_output_printf(output, "{\"change_id\":%lld,\"time\":\"%s\"", change->change_id,
                       weir_text_string(&time));
    weir_text_deinit(&time);
    if (weir_cdc_log_version(tail->log) > 1) {
        weir_output_printf(output, ",\"transaction\":%lld", change->transaction_id);
    }
    weir_output_putc(output, ',');
    weir_cdc_put_json(output, change, &tail->images);
    weir_output_puts(output, "}\n");
}

static void put_head(Tail *tail, const CdcChange *change)
{
    Text time = {0};
    weir_cdc_time_put(&time, change->time, false);
    weir_output_printf(&tail->shell->output, "@@ transaction %lld, %s @@\n", change->transaction_id,
                       weir_text_string(&time));
    weir_text_deinit(&time);
    tail->transaction_id = change->transaction_id;
}

static void put_text(Tail *tail, const CdcChange *change)
{
    if (change->type == CDC_COMMIT) {
        return;
    }
    if (change->transaction_id != tail->transaction_id) {
        put_head(tail, change);
    }
    Text line = {0};
    weir_cdc_put_text(&line, change, &tail->images);
    weir_output_printf(&tail->shell->output, "%lld %s\n", change->change_id,
                       weir_text_string(&line));
    weir_text_deinit(&line);
}

static bool is_ended(const Tail *tail)
{
    return tail->shell->must_stop || tail->shell->output.is_gone || weir_signals_is_interrupted();
}

/* Prints all that is there now. */
static WeirStatus print_changes(Tail *tail, WeirError *err)
{
    WeirStatus status = WEIR_OK;
    while (status == WEIR_OK && !is_ended(tail)) {
        const CdcChange *change = NULL;
        status = weir_cdc_log_next(tail->log, &change, err);
        if (status != WEIR_OK || change == NULL) {
            break;
        }
        status = weir_cdc_images_read(&tail->images, change, err);
        if (status == WEIR_OK) {
            (tail->is_json ? put_json : put_text)(tail, change);
        }
    }
    weir_shell_flush(tail->shell, (Place){0});
    return status;
}

/* Sleeps for a moment. A reader that goes away in it is seen: nothing may come for a long time. */
static void wait_a_moment(Tail *tail)
{
    struct pollfd reader = {.fd = STDOUT_FILENO};
    if (poll(&reader, 1, LOOK_EVERY_MS) == 1 && (reader.revents & POLLERR) != 0) {
        tail->shell->output.is_gone = true;
    }
}

/* A writer's lock is no reason to end. */
static bool is_busy(sqlite3 *db, WeirStatus status)
{
    return status != WEIR_OK && sqlite3_errcode(db) == SQLITE_BUSY;
}

/* Until all is shown, or until whoever follows has had enough. */
static WeirStatus show(Tail *tail, sqlite3 *db, TailSpec spec, WeirError *err)
{
    bool has_news = true; /* that have not been printed */
    for (;;) {
        bool is_changed = false;
        WeirStatus status = weir_cdc_log_is_changed(tail->log, &is_changed, err);
        has_news = has_news || is_changed;
        if (status == WEIR_OK && has_news) {
            status = print_changes(tail, err);
            has_news = status != WEIR_OK;
        }
        if (spec.is_following && weir_signals_is_interrupted()) {
            return WEIR_OK; /* which is how it ends */
        }
        if (status != WEIR_OK && !(spec.is_following && is_busy(db, status))) {
            return status;
        }
        if (!spec.is_following || is_ended(tail)) {
            return WEIR_OK;
        }
        wait_a_moment(tail);
    }
}

WeirStatus weir_cdc_tail(Shell *shell, sqlite3 *db, CdcLog *log, TailSpec spec, WeirError *err)
{
    Tail tail = {.shell = shell, .log = log, .is_json = spec.is_json};
    weir_cdc_log_seek(log, spec.since);
    const WeirStatus status = show(&tail, db, spec, err);
    weir_cdc_images_deinit(&tail.images);
    return status;
}
