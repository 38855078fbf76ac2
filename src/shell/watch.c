/* watch.c: the changes of views: one JSON object a line, or as a diff has them:
 *
 *   @@ totals 7 @@          {"view":"totals","generation":7,"weight":-1,"row":{"product":"tea"}}
 *   - tea                   {"view":"totals","generation":7,"weight":2,"row":{"product":"jam"}}
 *   +2 jam                  {"view":"totals","generation":7,"complete":true}
 *
 * Only this process writes the database, so changes are looked for behind each of its statements. */
#include "shell/watch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/signals.h"

struct Watch {
    char *view;           /* owned; as the user wrote it */
    WeirChanges *changes; /* owned */
    bool has_head;        /* the line above the rows of the generation has been printed */
};

static size_t find_watch(const Shell *shell, const char *view)
{
    size_t i = 0;
    while (i < shell->watch_count && strcasecmp(shell->watches[i].view, view) != 0) {
        i++;
    }
    return i;
}

static void remove_at(Shell *shell, size_t index)
{
    weir_changes_close(shell->watches[index].changes);
    free(shell->watches[index].view);
    shell->watch_count--;
    memmove(shell->watches + index, shell->watches + index + 1,
            (shell->watch_count - index) * sizeof *shell->watches);
}

void weir_watch_remove(Shell *shell, const char *view, Place place)
{
    if (view == NULL) {
        while (shell->watch_count > 0) {
            remove_at(shell, shell->watch_count - 1);
        }
        free(shell->watches);
        shell->watches = NULL;
        return;
    }
    const size_t index = find_watch(shell, view);
    if (index == shell->watch_count) {
        weir_shell_fail_text(shell, place, "\"%s\" is not watched", view);
        return;
    }
    remove_at(shell, index);
}

void weir_watch_list(Shell *shell)
{
    for (size_t i = 0; i < shell->watch_count; i++) {
        weir_output_printf(&shell->output, "%s\n", shell->watches[i].view);
    }
}

void weir_watch_add(Shell *shell, const char *view, int64_t since, Place place)
{
    WeirError err;
    WeirChanges *changes = NULL;
    WeirDb *const db = weir_session_duckdb(&shell->session);
    if (db == NULL) {
        weir_shell_fail_text(shell, place, "only views of DuckDB databases can be watched");
        return;
    }
    if (weir_subscribe(db, view, since, &changes, &err) != WEIR_OK) {
        weir_shell_fail(shell, &err, place);
        return;
    }
    const size_t index = find_watch(shell, view);
    if (index < shell->watch_count) {
        remove_at(shell, index);
    }
    shell->watches =
        weir_shell_realloc(shell->watches, (shell->watch_count + 1) * sizeof *shell->watches);
    Text name = {0};
    weir_text_puts(&name, view);
    shell->watches[shell->watch_count++] = (Watch){.view = name.data, .changes = changes};
    weir_watch_print(shell, place);
}

/* ---- printing ------------------------------------------------------------------------------- */

static void put_json(Output *output, const Watch *watch, WeirEvent event)
{
    WeirChanges *const changes = watch->changes;
    weir_output_puts(output, "{\"view\":");
    weir_print_json_string(output, watch->view, strlen(watch->view));
    weir_output_printf(output, ",\"generation\":%llu",
                       (unsigned long long)weir_changes_generation(changes));
    if (event == WEIR_EVENT_COMPLETE) {
        weir_output_puts(output, ",\"complete\":true}\n");
        return;
    }
    weir_output_printf(output,
                       ",\"weight\":%lld,\"row\":", (long long)weir_changes_weight(changes));
    weir_print_json_row(output, weir_rows_of_result(weir_changes_row(changes)));
    weir_output_puts(output, "}\n");
}

static void put_head(Output *output, Watch *watch)
{
    Text name = {0};
    weir_text_put_visible(&name, watch->view, strlen(watch->view));
    weir_output_printf(output, "@@ %s %llu%s @@\n", weir_text_string(&name),
                       (unsigned long long)weir_changes_generation(watch->changes),
                       weir_changes_is_snapshot(watch->changes) ? " snapshot" : "");
    weir_text_deinit(&name);
    watch->has_head = true;
}

static void put_diff(Output *output, const PrintStyle *style, Watch *watch, WeirEvent event)
{
    WeirChanges *const changes = watch->changes;
    if (!watch->has_head) {
        put_head(output, watch);
    }
    if (event == WEIR_EVENT_COMPLETE) {
        watch->has_head = false;
        return;
    }
    const long long weight = (long long)weir_changes_weight(changes);
    WeirResult *const row = weir_changes_row(changes);
    Text line = {0};
    if (weight == 1 || weight == -1) {
        weir_text_puts(&line, weight == 1 ? "+" : "-");
    } else {
        weir_text_printf(&line, "%+lld", weight);
    }
    for (size_t i = 0; i < weir_result_column_count(row); i++) {
        size_t size = 0;
        const char *const value = weir_result_text(row, i, &size);
        weir_text_puts(&line, i == 0 ? " " : "|");
        if (value == NULL) {
            weir_text_puts(&line, weir_print_null_text(style));
        } else {
            weir_text_put_visible(&line, value, size);
        }
    }
    weir_output_printf(output, "%s\n", line.data);
    weir_text_deinit(&line);
}

/* False if the watch has ended. A broken view has been told of already; it is watched on, since its
 * changes come when it works again. */
static bool print_one(Shell *shell, Watch *watch, Place place)
{
    while (!weir_signals_is_interrupted()) {
        WeirError err;
        WeirEvent event = WEIR_EVENT_NONE;
        const WeirStatus status = weir_changes_next(watch->changes, 0, &event, &err);
        if (status != WEIR_OK && status != WEIR_ERR_BROKEN) {
            weir_shell_fail(shell, &err, place);
            return false;
        }
        if (event == WEIR_EVENT_NONE) {
            break;
        }
        if (shell->style.mode == PRINT_JSON) {
            put_json(&shell->output, watch, event);
        } else {
            put_diff(&shell->output, &shell->style, watch, event);
        }
    }
    return true;
}

void weir_watch_print(Shell *shell, Place place)
{
    size_t i = 0;
    while (i < shell->watch_count) {
        if (print_one(shell, &shell->watches[i], place)) {
            i++;
        } else {
            remove_at(shell, i);
        }
    }
}
