/* signals.h: Ctrl-C, and the signals a terminal sends, as events.
 *
 * The signals are blocked everywhere and one thread waits for them, so that nothing here runs in a
 * signal handler and a database is interrupted as it may be: from another thread. What Ctrl-C does
 * depends on what the main thread is doing. */
#ifndef WEIR_SHELL_SIGNALS_H
#define WEIR_SHELL_SIGNALS_H

#include <stdbool.h>

typedef enum Activity {
    ACTIVITY_IDLE,    /* nothing worth keeping: Ctrl-C ends the program */
    ACTIVITY_RUNNING, /* a statement: Ctrl-C interrupts it, a second one ends the program */
    ACTIVITY_EDITING, /* a line: Ctrl-C, like the other events, goes to weir_signals_fd */
} Activity;

/* What weir_signals_fd gives, a byte an event. */
enum {
    EVENT_INTERRUPT = 'I', /* Ctrl-C */
    EVENT_RESIZE = 'W',    /* the terminal has another size */
    EVENT_CONTINUE = 'C',  /* after a stop */
};

/* Call before any other thread exists: threads inherit which signals are blocked. */
bool weir_signals_start(void);
void weir_signals_stop(void);

/* What Ctrl-C calls, in another thread, to interrupt what runs; NULL = nothing (any more). */
void weir_signals_set_target(void (*interrupt)(void *handle), void *handle);

/* Says what the main thread does from now on. Entering RUNNING forgets earlier interrupts. */
void weir_signals_enter(Activity activity);

/* True if Ctrl-C came since RUNNING was entered. */
bool weir_signals_is_interrupted(void);

/* Readable when an event for the line editor is there. */
int weir_signals_fd(void);

/* Ends the program as the signal does by itself, so that whoever started it can tell. */
void weir_signals_die(int signal_number);

#endif
