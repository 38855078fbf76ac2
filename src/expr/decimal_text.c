/* decimal_text.c: see decimal_text.h. Without digits in front of the point if the type has none. */
#include "expr/decimal_text.h"

size_t weir_decimal_text(i128 value, const LogicalType *type, char out[DECIMAL_TEXT_SIZE])
{
    char reversed[DECIMAL_TEXT_SIZE];
    size_t count = 0;
    u128 magnitude = value < 0 ? -(u128)value : (u128)value;
    const size_t scale = type->scale;
    while (magnitude > 0 || count < scale) {
        reversed[count++] = (char)('0' + (int)(magnitude % 10));
        magnitude /= 10;
    }
    size_t size = 0;
    if (value < 0) {
        out[size++] = '-';
    }
    if (count == scale && (scale == 0 || type->width > scale)) {
        out[size++] = '0';
    }
    for (size_t i = count; i > 0; i--) {
        if (i == scale) {
            out[size++] = '.';
        }
        out[size++] = reversed[i - 1];
    }
    out[size] = '\0';
    return size;
}
