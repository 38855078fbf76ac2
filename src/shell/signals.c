/* signals.c: the thread that waits for signals. */
#include "shell/signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* One a program: signals belong to the process. */
static struct {
    pthread_mutex_t lock;       /* protects activity and the target */
    Activity activity;          /* of the main thread */
    void (*interrupt)(void *);  /* the target of Ctrl-C */
    void *handle;               /* borrowed */
    atomic_bool is_interrupted; /* read between rows, without the lock */
    atomic_bool is_stopping;
    bool is_started;
    pthread_t thread;
    sigset_t waited_for;
    int events[2]; /* pipe: read end, write end */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .events = {-1, -1}};

void weir_signals_die(int signal_number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    (void)signal(signal_number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(signal_number);
}

static void send_event(char event)
{
    /* A full pipe holds enough events to act on. */
    const ssize_t written = write(watch.events[1], &event, 1);
    (void)written;
}

static void handle_interrupt(void)
{
    pthread_mutex_lock(&watch.lock);
    switch (watch.activity) {
    case ACTIVITY_IDLE: weir_signals_die(SIGINT); break;
    case ACTIVITY_RUNNING:
        if (atomic_exchange(&watch.is_interrupted, true)) {
            weir_signals_die(SIGINT);
        }
        if (watch.interrupt != NULL) {
            watch.interrupt(watch.handle);
        }
        break;
    case ACTIVITY_EDITING: send_event(EVENT_INTERRUPT); break;
    }
    pthread_mutex_unlock(&watch.lock);
}

static void *watch_signals(void *unused)
{
    (void)unused;
    for (;;) {
        int number = 0;
        if (sigwait(&watch.waited_for, &number) != 0) {
            continue;
        }
        if (atomic_load(&watch.is_stopping)) {
            return NULL;
        }
        if (number == SIGINT) {
            handle_interrupt();
        } else {
            send_event(number == SIGWINCH ? EVENT_RESIZE : EVENT_CONTINUE);
        }
    }
}

bool weir_signals_start(void)
{
    struct sigaction action;
    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(&watch.waited_for);
    sigaddset(&watch.waited_for, SIGWINCH);
    sigaddset(&watch.waited_for, SIGCONT);
    /* Started in the background, or by nohup's like: Ctrl-C is not meant for us. */
    if (sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
        sigaddset(&watch.waited_for, SIGINT);
    }
    if (pipe2(watch.events, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    pthread_sigmask(SIG_BLOCK, &watch.waited_for, NULL);
    watch.is_started = pthread_create(&watch.thread, NULL, watch_signals, NULL) == 0;
    return watch.is_started;
}

void weir_signals_stop(void)
{
    if (watch.is_started) {
        atomic_store(&watch.is_stopping, true);
        pthread_kill(watch.thread, SIGWINCH);
        pthread_join(watch.thread, NULL);
        watch.is_started = false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (watch.events[i] >= 0) {
            (void)close(watch.events[i]);
            watch.events[i] = -1;
        }
    }
}

void weir_signals_set_target(void (*interrupt)(void *handle), void *handle)
{
    pthread_mutex_lock(&watch.lock);
    watch.interrupt = interrupt;
    watch.handle = handle;
    pthread_mutex_unlock(&watch.lock);
}

void weir_signals_enter(Activity activity)
{
    pthread_mutex_lock(&watch.lock);
    if (activity == ACTIVITY_RUNNING) {
        atomic_store(&watch.is_interrupted, false);
    }
    watch.activity = activity;
    pthread_mutex_unlock(&watch.lock);
}

bool weir_signals_is_interrupted(void)
{
    return atomic_load(&watch.is_interrupted);
}

int weir_signals_fd(void)
{
    return watch.events[0];
}
