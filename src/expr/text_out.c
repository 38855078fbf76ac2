/* text_out.c: see text_out.h. */
#include "expr/text_out.h"

enum { PIECE_BYTES = 8192 };

char *weir_text_reserve(TextOut *out, size_t size, Error *err)
{
    if (size <= out->left && out->next != NULL) {
        return out->next;
    }
    const size_t piece = WEIR_MAX(size, (size_t)PIECE_BYTES);
    char *bytes = weir_arena_alloc(out->arena, piece, err);
    if (bytes == NULL) {
        return NULL;
    }
    out->next = bytes;
    out->left = piece;
    return bytes;
}

String weir_text_finish(TextOut *out, const char *bytes, size_t size)
{
    WEIR_ASSERT(bytes == out->next && size <= out->left);
    if (size > STRING_INLINE_BYTES) {
        out->next += size;
        out->left -= size;
    }
    return weir_string_make(bytes, size);
}

Status weir_text_copy(TextOut *out, const char *bytes, size_t size, String *slot, Error *err)
{
    if (size <= STRING_INLINE_BYTES) {
        *slot = weir_string_make(bytes, size);
        return WEIR_OK;
    }
    char *room = weir_text_reserve(out, size, err);
    if (room == NULL) {
        return err->code;
    }
    memcpy(room, bytes, size);
    *slot = weir_text_finish(out, room, size);
    return WEIR_OK;
}
