/* manual.h: the pages of the manual, as text: tools/manual_text makes it of the pages
 * in docs. */
#ifndef WEIR_SHELL_MANUAL_H
#define WEIR_SHELL_MANUAL_H

typedef struct Manual {
    const char *name;         /* NULL ends the list of pages */
    const char *const *lines; /* NULL ends them */
} Manual;

extern const Manual WEIR_MANUALS[];

#endif
