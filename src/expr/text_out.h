/* text_out.h: making string results: bytes from the arena in large pieces. */
#ifndef WEIR_EXPR_TEXT_OUT_H
#define WEIR_EXPR_TEXT_OUT_H

#include "expr/kernel.h"

typedef struct TextOut {
    Arena *arena; /* borrowed */
    char *next;
    size_t left;
} TextOut;

/* Room for size bytes of one string; NULL with err filled when out of memory. What is not used can
 * be given back by the next call only through weir_text_finish. */
char *weir_text_reserve(TextOut *out, size_t size, Error *err) WEIR_MUST_CHECK;

/* The slot of the string of size bytes written to the room last reserved; keeps the rest. */
String weir_text_finish(TextOut *out, const char *bytes, size_t size);

/* Copies bytes into a slot of their own. */
Status weir_text_copy(TextOut *out, const char *bytes, size_t size, String *slot, Error *err)
    WEIR_MUST_CHECK;

#endif
