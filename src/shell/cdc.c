/* cdc.c: weir cdc FILE COMMAND: change logs of SQLite databases. */
#include "shell/cdc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cdc/database.h"
#include "cdc/net.h"
#include "cdc/setting.h"
#include "shell/signals.h"

/* What a command works on. */
typedef struct CdcCall {
    Shell *shell;
    const Options *options;
    const CdcOptions *cdc; /* of the options */
    char *const *arguments;
    sqlite3 *db;
    sqlite3_int64 from; /* an id: of diff, or what tail begins behind, -1 for the start */
    sqlite3_int64 to;
    CdcPruneKind prune_kind;
    sqlite3_int64 prune_value;
} CdcCall;

/* Reads the words of the command line into the call. */
typedef WeirStatus (*CdcParse)(CdcCall *call, WeirError *err);
typedef WeirStatus (*CdcRun)(const CdcCall *call, WeirError *err);

typedef struct CdcCommand {
    const char *name;
    const char *usage;
    size_t argument_count;
    const char *options; /* that it takes, between blanks */
    CdcOpen how;
    CdcParse parse;
    CdcRun run;
    const char *help;
} CdcCommand;

/* ---- what is typed -------------------------------------------------------------------------- */

static WeirStatus parse_number(const char *text, const char *what, sqlite3_int64 *out,
                               WeirError *err)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *out < 0) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "\"%s\" is not %s", text, what);
    }
    return WEIR_OK;
}

static WeirStatus parse_id(const char *text, sqlite3_int64 *out, WeirError *err)
{
    return parse_number(text, "the id of a change", out, err);
}

static WeirStatus parse_nothing(CdcCall *call, WeirError *err)
{
    (void)call;
    (void)err;
    return WEIR_OK;
}

static WeirStatus parse_enable(CdcCall *call, WeirError *err)
{
    static const char *const MODES[] = {"id", "before", "after", "full"};
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        if (strcmp(call->arguments[0], MODES[i]) == 0) {
            return WEIR_OK;
        }
    }
    return weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "\"%s\" is no mode: id, before, after or full",
                         call->arguments[0]);
}

static WeirStatus parse_tail(CdcCall *call, WeirError *err)
{
    call->from = -1;
    return call->cdc->since == NULL ? WEIR_OK : parse_id(call->cdc->since, &call->from, err);
}

static WeirStatus parse_diff(CdcCall *call, WeirError *err)
{
    WEIR_CDC_TRY(parse_id(call->arguments[0], &call->from, err));
    return parse_id(call->arguments[1], &call->to, err);
}

static WeirStatus parse_prune(CdcCall *call, WeirError *err)
{
    const CdcOptions *const cdc = call->cdc;
    if ((cdc->before != NULL) + (cdc->keep != NULL) + (cdc->older_than != NULL) != 1) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT,
                             "prune takes one of --before ID, --keep N, --older-than T");
    }
    if (cdc->before != NULL) {
        call->prune_kind = CDC_PRUNE_BEFORE;
        return parse_id(cdc->before, &call->prune_value, err);
    }
    if (cdc->keep != NULL) {
        call->prune_kind = CDC_PRUNE_KEEP;
        return parse_number(cdc->keep, "a number of changes", &call->prune_value, err);
    }
    call->prune_kind = CDC_PRUNE_OLDER;
    if (weir_cdc_time_parse(cdc->older_than, (sqlite3_int64)time(NULL), &call->prune_value)) {
        return WEIR_OK;
    }
    (void)weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "\"%s\" is neither a date nor a duration",
                        cdc->older_than);
    return weir_cdc_hint(err, "a date is 2026-01-31 or 2026-01-31T12:00, in UTC, a duration "
                              "7d, 12h, 30m or 1d12h");
}

/* ---- the commands --------------------------------------------------------------------------- */

static WeirStatus run_enable(const CdcCall *call, WeirError *err)
{
    const char *const mode = call->arguments[0];
    CdcSetting setting;
    WEIR_CDC_TRY(weir_cdc_setting_read(call->db, call->cdc->table, &setting, err));
    WEIR_CDC_TRY(weir_cdc_setting_write(call->db, mode, setting.table, err));
    weir_output_printf(&call->shell->output, "changes are recorded in %s, mode %s\n", setting.table,
                       mode);
    return WEIR_OK;
}

static WeirStatus run_disable(const CdcCall *call, WeirError *err)
{
    CdcSetting setting;
    WEIR_CDC_TRY(weir_cdc_setting_read(call->db, NULL, &setting, err));
    WEIR_CDC_TRY(weir_cdc_setting_write(call->db, "off", NULL, err));
    weir_output_puts(&call->shell->output, "changes are no longer recorded by default");
    if (setting.version > 0) {
        weir_output_printf(&call->shell->output, "; %s is kept", setting.table);
    }
    weir_output_putc(&call->shell->output, '\n');
    return WEIR_OK;
}

typedef struct Gap {
    sqlite3_int64 after;
    sqlite3_int64 before;
    Text reason;
} Gap;

/* What status shows. */
typedef struct StatusReport {
    CdcSetting setting;
    CdcStatus log;
    Gap *gaps; /* owned */
    size_t gap_count;
} StatusReport;

static bool add_gap(void *user, sqlite3_int64 after, sqlite3_int64 before, const char *reason)
{
    StatusReport *const report = user;
    report->gaps = weir_shell_realloc(report->gaps, (report->gap_count + 1) * sizeof *report->gaps);
    Gap *const gap = &report->gaps[report->gap_count++];
    *gap = (Gap){.after = after, .before = before};
    weir_text_puts(&gap->reason, reason);
    return true;
}

static void report_deinit(StatusReport *report)
{
    for (size_t i = 0; i < report->gap_count; i++) {
        weir_text_deinit(&report->gaps[i].reason);
    }
    free(report->gaps);
}

static void put_gaps_json(Output *output, const StatusReport *report)
{
    weir_output_puts(output, ",\"gaps\":[");
    for (size_t i = 0; i < report->gap_count; i++) {
        const Gap *const gap = &report->gaps[i];
        weir_output_printf(output, "%s{\"after\":%lld,\"before\":", i == 0 ? "" : ",", gap->after);
        if (gap->before == 0) {
            weir_output_puts(output, "null");
        } else {
            weir_output_printf(output, "%lld", gap->before);
        }
        weir_output_puts(output, ",\"reason\":");
        weir_print_json_string(output, gap->reason.data, gap->reason.size);
        weir_output_putc(output, '}');
    }
    weir_output_putc(output, ']');
}

static void put_status_json(Output *output, const StatusReport *report)
{
    const CdcSetting *const setting = &report->setting;
    const CdcStatus *const log = &report->log;
    weir_output_puts(output, "{\"mode\":");
    weir_print_json_string(output, setting->mode, strlen(setting->mode));
    weir_output_puts(output, ",\"table\":");
    weir_print_json_string(output, setting->table, strlen(setting->table));
    if (setting->version == 0) {
        weir_output_puts(output, ",\"version\":null}\n");
        return;
    }
    Text first = {0};
    Text last = {0};
    weir_cdc_time_put(&first, log->first_time, true);
    weir_cdc_time_put(&last, log->last_time, true);
    weir_output_printf(output, ",\"version\":\"v%d\",\"changes\":%lld,\"transactions\":%lld",
                       setting->version, log->change_count, log->transaction_count);
    if (log->first_id > 0) {
        weir_output_printf(
            output,
            ",\"first\":{\"id\":%lld,\"time\":\"%s\"},\"last\":{\"id\":%lld,\"time\":"
            "\"%s\"}",
            log->first_id, first.data, log->last_id, last.data);
    }
    weir_output_printf(output, ",\"bytes\":%lld", log->size_bytes);
    put_gaps_json(output, report);
    weir_output_puts(output, "}\n");
    weir_text_deinit(&first);
    weir_text_deinit(&last);
}

static void put_end(Output *output, const char *name, sqlite3_int64 id, sqlite3_int64 seconds)
{
    Text time = {0};
    weir_cdc_time_put(&time, seconds, false);
    weir_output_printf(output, "%12s: %lld, %s\n", name, id, time.data);
    weir_text_deinit(&time);
}

static void put_gaps(Output *output, const StatusReport *report)
{
    weir_output_printf(output, "%12s: %zu\n", "gaps", report->gap_count);
    for (size_t i = 0; i < report->gap_count; i++) {
        const Gap *const gap = &report->gaps[i];
        Text line = {0};
        weir_text_printf(&line, "%14sbehind %lld", "", gap->after);
        if (gap->before != 0) {
            weir_text_printf(&line, ", before %lld", gap->before);
        }
        weir_text_puts(&line, ": ");
        weir_text_put_visible(&line, gap->reason.data, gap->reason.size);
        weir_output_printf(output, "%s\n", line.data);
        weir_text_deinit(&line);
    }
}

/* What the database says may hold anything. */
static void put_text(Output *output, const char *name, const char *text, const char *more)
{
    Text visible = {0};
    weir_text_put_visible(&visible, text, strlen(text));
    weir_output_printf(output, "%12s: %s%s\n", name, weir_text_string(&visible), more);
    weir_text_deinit(&visible);
}

static void put_status(Output *output, const StatusReport *report)
{
    const CdcSetting *const setting = &report->setting;
    const CdcStatus *const log = &report->log;
    put_text(output, "mode", setting->mode, "");
    put_text(output, "table", setting->table, setting->version == 0 ? " (not there)" : "");
    if (setting->version == 0) {
        return;
    }
    weir_output_printf(output, "%12s: v%d\n", "version", setting->version);
    weir_output_printf(output, "%12s: %lld\n", "changes", log->change_count);
    if (setting->version > 1) {
        weir_output_printf(output, "%12s: %lld\n", "transactions", log->transaction_count);
    }
    if (log->first_id > 0) {
        put_end(output, "first", log->first_id, log->first_time);
        put_end(output, "last", log->last_id, log->last_time);
    }
    weir_output_printf(output, "%12s: %lld\n", "bytes", log->size_bytes);
    put_gaps(output, report);
}

static WeirStatus read_report(const CdcCall *call, StatusReport *report, WeirError *err)
{
    WEIR_CDC_TRY(weir_cdc_setting_read(call->db, call->cdc->table, &report->setting, err));
    if (report->setting.version == 0) {
        return WEIR_OK;
    }
    WEIR_CDC_TRY(weir_cdc_setting_check(&report->setting, err));
    WEIR_CDC_TRY(weir_cdc_status_read(call->db, &report->setting, &report->log, err));
    return weir_cdc_gaps(call->db, &report->setting, add_gap, report, err);
}

static WeirStatus run_status(const CdcCall *call, WeirError *err)
{
    StatusReport report = {0};
    const WeirStatus status = read_report(call, &report, err);
    if (status == WEIR_OK && call->options->style.mode == PRINT_JSON) {
        put_status_json(&call->shell->output, &report);
    } else if (status == WEIR_OK) {
        put_status(&call->shell->output, &report);
    }
    report_deinit(&report);
    return status;
}

static WeirStatus run_tail(const CdcCall *call, WeirError *err)
{
    const TailSpec spec = {
        .since = call->from,
        .is_following = call->cdc->wants_follow,
        .is_json = call->options->style.mode == PRINT_JSON,
    };
    CdcLog *log = NULL;
    WEIR_CDC_TRY(weir_cdc_log_open(call->db, call->cdc->table, &log, err));
    const WeirStatus status = weir_cdc_tail(call->shell, call->db, log, spec, err);
    weir_cdc_log_close(log);
    return status;
}

static WeirStatus run_prune(const CdcCall *call, WeirError *err)
{
    CdcSetting setting;
    sqlite3_int64 removed = 0;
    sqlite3_int64 kept = 0;
    WEIR_CDC_TRY(weir_cdc_setting_read(call->db, call->cdc->table, &setting, err));
    WEIR_CDC_TRY(weir_cdc_setting_check(&setting, err));
    WEIR_CDC_TRY(weir_cdc_prune(call->db, &setting, call->prune_kind, call->prune_value, &removed,
                                &kept, err));
    weir_output_printf(&call->shell->output, "%lld change%s removed, %lld kept\n", removed,
                       removed == 1 ? "" : "s", kept);
    return WEIR_OK;
}

/* Of run_diff. */
typedef struct DiffOutput {
    Shell *shell;
    bool is_json;
    CdcImages images; /* of the present change */
    WeirStatus status;
    WeirError *err;
} DiffOutput;

static bool put_difference(void *user, const CdcChange *change)
{
    DiffOutput *const diff = user;
    Output *const output = &diff->shell->output;
    Text line = {0};
    diff->status = weir_cdc_images_read(&diff->images, change, diff->err);
    if (diff->status != WEIR_OK) {
        return false;
    }
    if (diff->is_json) {
        weir_output_putc(output, '{');
        weir_cdc_put_json(output, change, &diff->images);
        weir_output_puts(output, "}\n");
    } else {
        weir_cdc_put_text(&line, change, &diff->images);
        weir_output_printf(output, "%s\n", weir_text_string(&line));
    }
    weir_text_deinit(&line);
    return !output->is_gone;
}

static WeirStatus run_diff(const CdcCall *call, WeirError *err)
{
    CdcLog *log = NULL;
    WEIR_CDC_TRY(weir_cdc_log_open(call->db, call->cdc->table, &log, err));
    DiffOutput diff = {
        .shell = call->shell,
        .is_json = call->options->style.mode == PRINT_JSON,
        .err = err,
    };
    const WeirStatus status =
        weir_cdc_net(call->db, log, call->from, call->to, put_difference, &diff, err);
    weir_cdc_images_deinit(&diff.images);
    weir_cdc_log_close(log);
    return status == WEIR_OK ? diff.status : status;
}

/* ---- the list ------------------------------------------------------------------------------- */

static const CdcCommand COMMANDS[] = {
#define X(name, usage, count, options, how, parse, run, help) \
    {name, usage, count, options, CDC_OPEN_##how, parse, run, help},
#include "shell/cdc_commands.def"
#undef X
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

void weir_cdc_help(void)
{
    (void)puts("weir cdc FILE [COMMAND] [ARGUMENT...] [OPTION...]\n"
               "\n"
               "What changes in the SQLite database FILE, recorded by SQLite itself. Without a\n"
               "COMMAND: status.\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char command[32];
        (void)snprintf(command, sizeof command, "%s %s", COMMANDS[i].name, COMMANDS[i].usage);
        (void)printf("  %-16s %s\n", command, COMMANDS[i].help);
    }
    (void)puts("");
    weir_options_list(OPTIONS_CDC);
}

static const CdcCommand *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            return &COMMANDS[i];
        }
    }
    return NULL;
}

/* True if the word is one of those in the list. */
static bool is_listed(const char *list, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The command of the options; NULL after telling what is wrong with them. */
static const CdcCommand *choose_command(Shell *shell, const CdcOptions *cdc)
{
    const char *const name = cdc->word_count < 2 ? "status" : cdc->words[1];
    const CdcCommand *const command = find_command(name);
    if (cdc->word_count == 0) {
        weir_shell_fail_text(shell, (Place){0}, "weir cdc needs a FILE; weir cdc -help tells more");
        return NULL;
    }
    if (command == NULL) {
        weir_shell_fail_text(shell, (Place){0}, "unknown command \"%s\"; weir cdc -help lists all",
                             name);
        return NULL;
    }
    if (cdc->word_count - (cdc->word_count < 2 ? 1 : 2) != command->argument_count) {
        weir_shell_fail_text(shell, (Place){0}, "usage: weir cdc FILE %s%s%s", command->name,
                             *command->usage == '\0' ? "" : " ", command->usage);
        return NULL;
    }
    for (size_t i = 0; i < cdc->given_count; i++) {
        if (!is_listed(command->options, cdc->given[i])) {
            weir_shell_fail_text(shell, (Place){0}, "%s has no option -%s", command->name,
                                 cdc->given[i]);
            return NULL;
        }
    }
    return command;
}

static void interrupt(void *handle)
{
    sqlite3_interrupt(handle);
}

void weir_cdc_command(Shell *shell, const Options *options)
{
    const CdcOptions *const cdc = &options->cdc;
    const CdcCommand *const command = choose_command(shell, cdc);
    CdcCall call = {.shell = shell, .options = options, .cdc = cdc, .arguments = cdc->words + 2};
    WeirError err;
    if (command == NULL) {
        shell->exit_status = 2;
        return;
    }
    if (command->parse(&call, &err) != WEIR_OK) {
        weir_shell_fail(shell, &err, (Place){0});
        shell->exit_status = 2;
        return;
    }
    WeirStatus status = weir_cdc_open(cdc->words[0], command->how, &call.db, &err);
    if (status == WEIR_OK) {
        weir_signals_set_target(interrupt, call.db);
        weir_signals_enter(ACTIVITY_RUNNING);
        status = command->run(&call, &err);
        shell->is_interrupted = weir_signals_is_interrupted() && !cdc->wants_follow;
        weir_signals_enter(ACTIVITY_IDLE);
        weir_signals_set_target(NULL, NULL);
        sqlite3_close_v2(call.db);
    }
    if (status != WEIR_OK) {
        weir_shell_fail(shell, &err, (Place){0});
    }
    weir_shell_flush(shell, (Place){0});
}
