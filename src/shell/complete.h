/* complete.h: what a word may be completed to: dot commands, SQL keywords, tables, views, columns. */
#ifndef WEIR_SHELL_COMPLETE_H
#define WEIR_SHELL_COMPLETE_H

#include "shell/shell.h"

typedef struct Completion {
    size_t word_size; /* bytes of the word, before the cursor */
    Text *choices;    /* owned; all begin with the word, in whatever case */
    size_t choice_count;
    size_t common_size; /* bytes that all choices begin with */
} Completion;

/* For the line before the cursor. Never complains: no choices, if there is nothing to say. */
void weir_complete(Shell *shell, const char *before, size_t size, Completion *out);
void weir_completion_deinit(Completion *completion);

#endif
