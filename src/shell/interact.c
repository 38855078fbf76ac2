/* interact.c: the conversation on a terminal. */
#include "shell/line.h"
#include "shell/script.h"
#include "shell/signals.h"

#include <string.h>

static void greet(Shell *shell)
{
    weir_shell_command(shell, ".version", (Place){0});
    weir_output_puts(&shell->output, "Enter \".help\" for the commands.\n");
    if (shell->path == NULL) {
        weir_output_puts(&shell->output, "The database is in memory: it ends with this session.\n");
    }
    weir_output_flush(&shell->output);
}

void weir_shell_interact(Shell *shell)
{
    Script script;
    weir_script_init(&script, NULL);
    shell->is_interactive = true;
    greet(shell);
    LineReader *const reader = weir_line_open(shell);
    while (reader != NULL && !shell->must_stop) {
        const char *line = NULL;
        shell->is_interrupted = false;
        weir_signals_enter(ACTIVITY_EDITING);
        const LineStatus status =
            weir_line_read(reader, weir_script_is_pending(&script) ? "   ...> " : "weir> ", &line);
        if (status == LINE_END) {
            break;
        }
        if (status == LINE_CANCELLED) {
            weir_script_clear(&script);
            continue;
        }
        weir_line_remember(reader, line);
        if (weir_script_add(&script, shell, line, strlen(line)) &&
            weir_script_add(&script, shell, "\n", 1)) {
            weir_script_run(&script, shell, false);
        }
        if (shell->is_interrupted) {
            weir_script_clear(&script);
        }
    }
    weir_line_close(reader);
    weir_script_deinit(&script);
}
