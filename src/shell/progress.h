/* progress.h: a bar on the terminal while views are filled. */
#ifndef WEIR_SHELL_PROGRESS_H
#define WEIR_SHELL_PROGRESS_H

#include "weir.h"

/* Draws on standard error, if that is a terminal; otherwise nothing is ever drawn. */
void weir_progress_set_up(WeirDb *db);

/* A statement begins: if it takes longer than a second, there may be a bar. */
void weir_progress_begin(void);

/* It has ended: the bar is gone. */
void weir_progress_end(void);

#endif
