/* line_edit.c: line editing with libedit.
 *
 * libedit is given its characters by read_char, which waits for the keyboard and for events of
 * signals.h alike: Ctrl-C ends the reading of the line, a new size of the terminal is passed on.
 * libedit's own signal handling is off. */
#include "shell/line.h"

#include <errno.h>
#include <histedit.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/complete.h"
#include "shell/history.h"
#include "shell/signals.h"

struct LineReader {
    Shell *shell; /* borrowed */
    EditLine *edit;
    History *history;
    Text history_path;
    Text line; /* the one read last */
    const char *prompt;
    bool is_cancelled; /* Ctrl-C ended the present line */
};

static LineReader *reader_of(EditLine *edit)
{
    void *data = NULL;
    (void)el_get(edit, EL_CLIENTDATA, &data);
    return data;
}

static const char *get_prompt(EditLine *edit)
{
    return reader_of(edit)->prompt;
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* False if the line is to end. */
static bool handle_event(EditLine *edit)
{
    char event = '\0';
    if (read(weir_signals_fd(), &event, 1) != 1) {
        return true;
    }
    if (event == EVENT_INTERRUPT) {
        reader_of(edit)->is_cancelled = true;
        return false;
    }
    if (event == EVENT_RESIZE) {
        el_resize(edit);
    } else {
        /* Whoever had the terminal while we were stopped may have changed it. */
        (void)el_set(edit, EL_PREP_TERM, 0);
        (void)el_set(edit, EL_PREP_TERM, 1);
        (void)el_set(edit, EL_REFRESH);
    }
    return true;
}

/* One byte from the keyboard: 1, 0 at the end, -1 after Ctrl-C or a failure. */
static int read_byte(EditLine *edit, char *out)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = weir_signals_fd(), .events = POLLIN}};
        if (poll(fds, 2, -1) < 0) {
            if (errno != EINTR) {
                return -1;
            }
            continue;
        }
        if (fds[1].revents != 0 && !handle_event(edit)) {
            errno = EINTR;
            return -1;
        }
        if (fds[0].revents != 0) {
            const ssize_t size = read(STDIN_FILENO, out, 1);
            if (size >= 0 || errno != EINTR) {
                return (int)size;
            }
        }
    }
}

/* libedit's el_rfunc_t. */
static int read_char(EditLine *edit, wchar_t *out)
{
    char bytes[4];
    size_t size = 0;
    uint32_t point = UTF8_INVALID;
    while (size < sizeof bytes) {
        const int status = read_byte(edit, &bytes[size]);
        if (status != 1) {
            return status;
        }
        size++;
        const unsigned char first = (unsigned char)bytes[0];
        const bool is_whole =
            weir_utf8_decode(bytes, size, &point) == size && point != UTF8_INVALID;
        if (is_whole || first < 0xC2 || first >= 0xF5) {
            break;
        }
    }
    *out = (wchar_t)point;
    return 1;
}

/* ---- completion ----------------------------------------------------------------------------- */

/* Below the line, to the terminal: wherever .output sends results. */
static void put_choices(const Completion *completion)
{
    size_t widest = 0;
    for (size_t i = 0; i < completion->choice_count; i++) {
        const Text *const choice = &completion->choices[i];
        const size_t width = weir_utf8_width(choice->data, choice->size);
        widest = width > widest ? width : widest;
    }
    Output output = {.file = stdout};
    const size_t room = weir_output_columns(&output) / (widest + 2);
    const size_t across = room == 0 ? 1 : room;
    for (size_t i = 0; i < completion->choice_count; i++) {
        const Text *const choice = &completion->choices[i];
        weir_output_puts(&output, i % across == 0 ? "\r\n" : "");
        weir_output_write(&output, choice->data, choice->size);
        weir_output_repeat(&output, " ", widest + 2 - weir_utf8_width(choice->data, choice->size));
    }
    weir_output_puts(&output, "\r\n");
    weir_output_flush(&output);
}

/* How many characters the bytes are: libedit counts those. */
static int count_chars(const char *bytes, size_t size)
{
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        count += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    }
    return count;
}

static unsigned char complete_word(EditLine *edit, int key)
{
    LineReader *const reader = reader_of(edit);
    const LineInfo *const info = el_line(edit);
    Completion completion;
    unsigned char action = CC_ERROR;
    (void)key;
    weir_complete(reader->shell, info->buffer, (size_t)(info->cursor - info->buffer), &completion);
    if (completion.common_size > completion.word_size || completion.choice_count == 1) {
        Text text = {0};
        weir_text_append(&text, completion.choices[0].data, completion.common_size);
        weir_text_puts(&text, completion.choice_count == 1 ? " " : "");
        el_deletestr(edit, count_chars(info->cursor - completion.word_size, completion.word_size));
        action = el_insertstr(edit, text.data) == 0 ? CC_REFRESH : CC_ERROR;
        weir_text_deinit(&text);
    } else if (completion.choice_count > 1) {
        put_choices(&completion);
        action = CC_REDISPLAY;
    }
    weir_completion_deinit(&completion);
    return action;
}

/* ---- opening -------------------------------------------------------------------------------- */

static void load_line(void *user, const char *line)
{
    LineReader *const reader = user;
    HistEvent event;
    (void)history(reader->history, &event, H_ENTER, line);
}

static void set_up_history(LineReader *reader)
{
    HistEvent event;
    reader->history = history_init();
    if (reader->history == NULL) {
        return;
    }
    (void)history(reader->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)history(reader->history, &event, H_SETUNIQUE, 1);
    (void)el_set(reader->edit, EL_HIST, history, reader->history);
    weir_history_find_path(&reader->history_path);
    weir_history_load(weir_text_string(&reader->history_path), load_line, reader);
}

LineReader *weir_line_open(Shell *shell)
{
    LineReader *const reader = weir_shell_alloc(sizeof *reader);
    reader->shell = shell;
    reader->prompt = "";
    reader->edit = el_init("weir", stdin, stdout, stderr);
    if (reader->edit == NULL) {
        weir_shell_fail_text(shell, (Place){0}, "cannot read from this terminal");
        weir_line_close(reader);
        return NULL;
    }
    (void)el_set(reader->edit, EL_CLIENTDATA, reader);
    (void)el_set(reader->edit, EL_SIGNAL, 0);
    (void)el_set(reader->edit, EL_EDITOR, "emacs");
    (void)el_set(reader->edit, EL_PROMPT, get_prompt);
    (void)el_set(reader->edit, EL_GETCFN, read_char);
    /* el_set would leak copies of the names. */
    (void)el_wset(reader->edit, EL_ADDFN, L"weir-complete", L"complete the word", complete_word);
    (void)el_set(reader->edit, EL_BIND, "^I", "weir-complete", NULL);
    (void)el_set(reader->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    set_up_history(reader);
    (void)el_source(reader->edit, NULL); /* the user's ~/.editrc */
    return reader;
}

void weir_line_close(LineReader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->edit != NULL) {
        el_end(reader->edit);
    }
    if (reader->history != NULL) {
        history_end(reader->history);
    }
    weir_text_deinit(&reader->history_path);
    weir_text_deinit(&reader->line);
    free(reader);
}

/* ---- lines ---------------------------------------------------------------------------------- */

void weir_line_remember(LineReader *reader, const char *line)
{
    HistEvent event;
    if (reader->history == NULL || line[strspn(line, " \t")] == '\0') {
        return;
    }
    const bool is_same =
        history(reader->history, &event, H_FIRST) == 0 && strcmp(event.str, line) == 0;
    (void)history(reader->history, &event, H_ENTER, line);
    if (!is_same && reader->history_path.size > 0) {
        weir_history_append(reader->history_path.data, line);
    }
}

LineStatus weir_line_read(LineReader *reader, const char *prompt, const char **line)
{
    int count = 0;
    reader->prompt = prompt;
    reader->is_cancelled = false;
    /* libedit does this only behind the prompt: what is typed until then would show up twice. */
    (void)el_set(reader->edit, EL_PREP_TERM, 1);
    const char *const text = el_gets(reader->edit, &count);
    if (text == NULL || count <= 0) {
        (void)fputs(reader->is_cancelled ? "^C\n" : "\n", stdout);
        (void)fflush(stdout);
        return reader->is_cancelled ? LINE_CANCELLED : LINE_END;
    }
    weir_text_clear(&reader->line);
    weir_text_append(&reader->line, text, strcspn(text, "\r\n"));
    *line = weir_text_string(&reader->line);
    return LINE_READ;
}
