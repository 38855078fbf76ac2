/* cast_to_text.c: casts to VARCHAR. Row by row: a row under NULL is not looked at. */
#include "expr/decimal_text.h"
#include "expr/float_text.h"
#include "expr/text_out.h"
#include "expr/time_text.h"

enum { ROW_TEXT_SIZE = 64 };

static size_t integer_text(const KernelCall *call, size_t row, char *out)
{
    char digits[KERNEL_INTEGER_TEXT_SIZE];
    const char *text = weir_kernel_argument_text(call, 0, row, digits);
    const size_t size = strlen(text);
    memcpy(out, text, size + 1);
    return size;
}

static size_t uuid_text(u128 value, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const u128 bits = value ^ ((u128)1 << 127);
    size_t size = 0;
    for (int nibble = 31; nibble >= 0; nibble--) {
        out[size++] = digits[(unsigned)(bits >> (4 * nibble)) & 15];
        if (nibble == 24 || nibble == 20 || nibble == 16 || nibble == 12) {
            out[size++] = '-';
        }
    }
    return size;
}

/* The text of a valid row. */
static size_t row_text(const KernelCall *call, size_t row, char out[ROW_TEXT_SIZE])
{
    const Vector *from = &call->args[0];
    const LogicalType *type = call->expr->args[0]->type;
    switch (type->id) {
    case TYPE_DOUBLE:
        return weir_double_text(((const double *)from->data)[row], out, ROW_TEXT_SIZE);
    case TYPE_DECIMAL: return weir_decimal_text(weir_kernel_integer(call, 0, row), type, out);
    case TYPE_DATE: return weir_date_text((int32_t)weir_kernel_integer(call, 0, row), out);
    case TYPE_TIME: return weir_time_text((int64_t)weir_kernel_integer(call, 0, row), out);
    case TYPE_TIMESTAMP:
        return weir_timestamp_text((int64_t)weir_kernel_integer(call, 0, row), 1000000, out);
    case TYPE_TIMESTAMP_S:
        return weir_timestamp_text((int64_t)weir_kernel_integer(call, 0, row), 1, out);
    case TYPE_TIMESTAMP_MS:
        return weir_timestamp_text((int64_t)weir_kernel_integer(call, 0, row), 1000, out);
    case TYPE_TIMESTAMP_NS:
        return weir_timestamp_text((int64_t)weir_kernel_integer(call, 0, row), 1000000000, out);
    case TYPE_UUID: return uuid_text((u128)weir_kernel_integer(call, 0, row), out);
    default: return integer_text(call, row, out);
    }
}

Status weir_kernel_cast_to_text(const KernelCall *call, Error *err)
{
    TextOut out = {.arena = call->arena};
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            slots[row] = (String){.words = {0, 0}};
            continue;
        }
        char text[ROW_TEXT_SIZE];
        const size_t size = row_text(call, row, text);
        WEIR_TRY(weir_text_copy(&out, text, size, &slots[row], err));
    }
    return WEIR_OK;
}

Status weir_kernel_cast_double_to_text(const KernelCall *call, Error *err)
{
    const double *values = call->args[0].data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (weir_kernel_is_valid(call, row) && weir_double_is_odd(values[row])) {
            return KERNEL_DECLINES;
        }
    }
    return weir_kernel_cast_to_text(call, err);
}

Status weir_kernel_cast_boolean_to_text(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const String texts[] = {weir_string_make("false", 5), weir_string_make("true", 4)};
    const uint8_t *values = call->args[0].data;
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = texts[values[row] != 0];
    }
    return WEIR_OK;
}

/* The names live as long as the type, which outlives the evaluator. */
Status weir_kernel_cast_enum_to_text(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const LogicalType *type = call->expr->args[0]->type;
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (weir_kernel_is_valid(call, row)) {
            const size_t index = (size_t)weir_kernel_integer(call, 0, row);
            WEIR_ASSERT(index < type->name_count);
            slots[row] = weir_string_make(type->names[index], strlen(type->names[index]));
        }
    }
    return WEIR_OK;
}
