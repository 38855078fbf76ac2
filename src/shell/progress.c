/* progress.c: a bar on the terminal while views are filled.
 *
 *   totals ███████████▌                        38%
 *
 * Drawn by the thread that runs the statement, which is the one that would print; a second after the
 * statement began, then ten times a second, and erased when it ends. */
#include "shell/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shell/text.h"

enum { BAR_CELLS = 32, FIRST_MS = 1000, EVERY_MS = 100, NAME_COLUMNS = 24 };

/* One a program: there is one terminal. */
static struct {
    bool is_wanted;
    bool is_drawn;
    double next_ms; /* when to draw */
} bar;

static double now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Eighths of cells. */
static void put_bar(Text *line, double part)
{
    static const char *const EIGHTHS[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    const size_t full = (size_t)(part * BAR_CELLS * 8);
    for (size_t cell = 0; cell < BAR_CELLS; cell++) {
        const size_t left = full > cell * 8 ? full - cell * 8 : 0;
        weir_text_puts(line, EIGHTHS[left < 8 ? left : 8]);
    }
}

static void draw(void *unused, const char *view, uint64_t rows_done, uint64_t rows_expected)
{
    (void)unused;
    const double now = now_ms();
    if (now < bar.next_ms || rows_expected == 0) {
        return;
    }
    Text name = {0};
    Text line = {0};
    const double part = (double)rows_done / (double)rows_expected;
    weir_text_put_visible(&name, view, strlen(view));
    const int size = (int)weir_utf8_fit(weir_text_string(&name), name.size, NAME_COLUMNS, NULL);
    weir_text_printf(&line, "\r%.*s ", size, weir_text_string(&name));
    put_bar(&line, part);
    weir_text_printf(&line, " %3d%%\x1B[K", (int)(part * 100));
    (void)fputs(line.data, stderr);
    (void)fflush(stderr);
    weir_text_deinit(&line);
    weir_text_deinit(&name);
    bar.is_drawn = true;
    bar.next_ms = now + EVERY_MS;
}

void weir_progress_set_up(WeirDb *db)
{
    const char *const terminal = getenv("TERM");
    bar.is_wanted = isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
    if (bar.is_wanted) {
        weir_set_progress(db, draw, NULL);
    }
}

void weir_progress_begin(void)
{
    bar.next_ms = bar.is_wanted ? now_ms() + FIRST_MS : 0;
}

void weir_progress_end(void)
{
    if (bar.is_drawn) {
        (void)fputs("\r\x1B[K", stderr);
        (void)fflush(stderr);
        bar.is_drawn = false;
    }
}
