/* cdc_print.c: a change as a line of text or as JSON.
 *
 *   + t 1: id=1, name='ann'                 an insert; - is a delete
 *   ~ t 1: name='ann' -> 'bob'              an update: what is another value
 *   ~ w (7, 'x'): name='ann' -> 'bob'       of a WITHOUT ROWID table, by its key
 *   + table t: CREATE TABLE t(id, name)     a change of the schema
 *
 * Where the columns are not known, the values are listed: [1, 'ann']. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shell/cdc.h"

static WeirStatus read_image(CdcRecord *record, CdcBytes bytes, WeirError *err)
{
    record->count = 0;
    return bytes.data == NULL ? WEIR_OK : weir_cdc_record_read(record, bytes, err);
}

WeirStatus weir_cdc_images_read(CdcImages *images, const CdcChange *change, WeirError *err)
{
    if (read_image(&images->before, change->before, err) != WEIR_OK ||
        read_image(&images->after, change->after, err) != WEIR_OK ||
        read_image(&images->updates, change->updates, err) != WEIR_OK) {
        return err->code;
    }
    return WEIR_OK;
}

void weir_cdc_images_deinit(CdcImages *images)
{
    weir_cdc_record_deinit(&images->before);
    weir_cdc_record_deinit(&images->after);
    weir_cdc_record_deinit(&images->updates);
}

/* The names of an image's fields; NULL if they are not known. */
static char *const *image_names(const CdcRecord *record, const CdcColumns *columns)
{
    return columns != NULL && columns->stored_count == record->count ? columns->names : NULL;
}

/* The shortest digits that give the number back; infinity as SQL and JSON can write it. */
static void put_real(Text *text, double value)
{
    char digits[64];
    if (isnan(value)) {
        weir_text_puts(text, "null"); /* of a damaged log: SQLite stores none */
        return;
    }
    if (isinf(value)) {
        weir_text_puts(text, value < 0 ? "-9.0e+999" : "9.0e+999");
        return;
    }
    sqlite3_snprintf((int)sizeof digits, digits, "%!.15g", value);
    if (strtod(digits, NULL) != value) {
        sqlite3_snprintf((int)sizeof digits, digits, "%!.17g", value);
    }
    weir_text_puts(text, digits);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void put_quoted(Text *line, const CdcField *field)
{
    Text quoted = {0};
    for (size_t i = 0; i < field->size; i++) {
        weir_text_append(&quoted, (const char *)&field->data[i], 1);
        if (field->data[i] == '\'') {
            weir_text_putc(&quoted, '\'');
        }
    }
    weir_text_putc(line, '\'');
    weir_text_put_visible(line, weir_text_string(&quoted), quoted.size);
    weir_text_putc(line, '\'');
    weir_text_deinit(&quoted);
}

/* As SQL writes it, but on one line. */
static void put_value(Text *line, const CdcField *field)
{
    switch (field->type) {
    case SQLITE_INTEGER: weir_text_printf(line, "%lld", field->integer); break;
    case SQLITE_FLOAT: put_real(line, field->real); break;
    case SQLITE_TEXT: put_quoted(line, field); break;
    case SQLITE_BLOB:
        weir_text_puts(line, "x'");
        for (size_t i = 0; i < field->size; i++) {
            weir_text_printf(line, "%02x", field->data[i]);
        }
        weir_text_putc(line, '\'');
        break;
    default: weir_text_puts(line, "NULL"); break;
    }
}

static void put_name(Text *line, const char *name)
{
    weir_text_put_visible(line, name, strlen(name));
}

static void put_row(Text *line, const CdcRecord *record, const CdcColumns *columns)
{
    char *const *const names = image_names(record, columns);
    weir_text_puts(line, names == NULL ? "[" : "");
    for (size_t i = 0; i < record->count; i++) {
        weir_text_puts(line, i == 0 ? "" : ", ");
        if (names != NULL) {
            put_name(line, names[i]);
            weir_text_putc(line, '=');
        }
        put_value(line, &record->fields[i]);
    }
    weir_text_puts(line, names == NULL ? "]" : "");
}

static const CdcField *find_field(const CdcRecord *record, char *const *names, const char *name)
{
    for (size_t i = 0; i < record->count; i++) {
        if (sqlite3_stricmp(names[i], name) == 0) {
            return &record->fields[i];
        }
    }
    return NULL;
}

/* The columns with other values; those that there were not, or are not any more. */
static void put_differences(Text *line, const CdcImages *images, char *const *before_names,
                            char *const *names)
{
    const char *gap = "";
    for (size_t i = 0; i < images->after.count; i++) {
        const CdcField *const after = &images->after.fields[i];
        const CdcField *const before = find_field(&images->before, before_names, names[i]);
        if (before != NULL && weir_cdc_field_is_equal(before, after)) {
            continue;
        }
        weir_text_puts(line, gap);
        gap = ", ";
        put_name(line, names[i]);
        weir_text_putc(line, '=');
        if (before != NULL) {
            put_value(line, before);
            weir_text_puts(line, " -> ");
        }
        put_value(line, after);
    }
    for (size_t i = 0; i < images->before.count; i++) {
        if (find_field(&images->after, names, before_names[i]) == NULL) {
            weir_text_puts(line, gap);
            gap = ", ";
            put_name(line, before_names[i]);
            weir_text_puts(line, " is gone");
        }
    }
    weir_text_puts(line, *gap == '\0' ? "nothing" : "");
}

static void put_update(Text *line, const CdcImages *images, const CdcChange *change)
{
    const bool has_before = change->before.data != NULL;
    const bool has_after = change->after.data != NULL;
    char *const *const before_names = image_names(&images->before, change->before_columns);
    char *const *const names = image_names(&images->after, change->columns);
    if (has_before && has_after && before_names != NULL && names != NULL) {
        put_differences(line, images, before_names, names);
        return;
    }
    if (has_before) {
        put_row(line, &images->before, change->before_columns);
    }
    weir_text_puts(line, has_before ? " -> " : "? -> ");
    if (has_after) {
        put_row(line, &images->after, change->columns);
    }
    weir_text_puts(line, has_after ? "" : "?");
}

static bool put_schema(Text *line, const CdcImages *images)
{
    const CdcRecord *const row = images->before.count > 0 ? &images->before : &images->after;
    const CdcField *const kind = weir_cdc_field_text(row, CDC_SCHEMA_TYPE);
    const CdcField *const name = weir_cdc_field_text(row, CDC_SCHEMA_NAME);
    if (kind == NULL || name == NULL) {
        return false;
    }
    const size_t altered = images->updates.count / 2 + CDC_SCHEMA_SQL;
    const CdcField *sql = weir_cdc_field_text(&images->updates, altered);
    sql = sql != NULL ? sql : weir_cdc_field_text(&images->after, CDC_SCHEMA_SQL);
    weir_text_put_visible(line, (const char *)kind->data, kind->size);
    weir_text_putc(line, ' ');
    weir_text_put_visible(line, (const char *)name->data, name->size);
    if (sql != NULL) {
        weir_text_puts(line, ": ");
        weir_text_put_visible(line, (const char *)sql->data, sql->size);
    }
    return true;
}

/* What tells the row: its rowid, or the values of its key, if they are known. */
static void put_identity(Text *line, const CdcImages *images, const CdcChange *change)
{
    const bool is_before = change->before.data != NULL;
    const CdcRecord *const image = is_before ? &images->before : &images->after;
    const CdcColumns *const columns = is_before ? change->before_columns : change->columns;
    if (change->has_id) {
        weir_text_printf(line, " %lld", change->id);
    } else if (image_names(image, columns) != NULL) {
        for (size_t i = 0; i < columns->key_count; i++) {
            weir_text_puts(line, i == 0 ? " (" : ", ");
            put_value(line, &image->fields[columns->key[i]]);
        }
        weir_text_puts(line, columns->key_count > 0 ? ")" : "");
    }
}

static void put_change(Text *line, const CdcImages *images, const CdcChange *change)
{
    if (sqlite3_stricmp(change->table, CDC_SCHEMA_TABLE) == 0 && put_schema(line, images)) {
        return;
    }
    put_name(line, change->table);
    put_identity(line, images, change);
    if (change->before.data == NULL && change->after.data == NULL) {
        return;
    }
    weir_text_puts(line, ": ");
    if (change->type == CDC_UPDATE) {
        put_update(line, images, change);
    } else if (change->after.data != NULL) {
        put_row(line, &images->after, change->columns);
    } else {
        put_row(line, &images->before, change->before_columns);
    }
}

void weir_cdc_put_text(Text *line, const CdcChange *change, const CdcImages *images)
{
    static const char *const SIGNS[] = {"- ", "~ ", "+ "};
    weir_text_puts(line, SIGNS[change->type - CDC_DELETE]);
    put_change(line, images, change);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_base64(Output *output, const unsigned char *data, size_t size)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                                 "=";
    enum { PADDING = 64 };
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned bits = (unsigned)data[i] << 16 |
                              (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                              (left > 2 ? (unsigned)data[i + 2] : 0);
        weir_output_putc(output, DIGITS[bits >> 18]);
        weir_output_putc(output, DIGITS[bits >> 12 & 63]);
        weir_output_putc(output, DIGITS[left > 1 ? bits >> 6 & 63 : PADDING]);
        weir_output_putc(output, DIGITS[left > 2 ? bits & 63 : PADDING]);
    }
}

static void put_json_value(Output *output, const CdcField *field)
{
    Text real = {0};
    switch (field->type) {
    case SQLITE_INTEGER: weir_output_printf(output, "%lld", field->integer); break;
    case SQLITE_FLOAT:
        put_real(&real, field->real);
        weir_output_puts(output, weir_text_string(&real));
        weir_text_deinit(&real);
        break;
    case SQLITE_TEXT: weir_print_json_string(output, (const char *)field->data, field->size); break;
    case SQLITE_BLOB:
        weir_output_puts(output, "{\"base64\":\"");
        put_base64(output, field->data, field->size);
        weir_output_puts(output, "\"}");
        break;
    default: weir_output_puts(output, "null"); break;
    }
}

static void put_json_image(Output *output, const char *member, const CdcRecord *record,
                           const CdcColumns *columns, bool is_recorded)
{
    char *const *const names = image_names(record, columns);
    weir_output_printf(output, ",\"%s\":", member);
    if (!is_recorded) {
        weir_output_puts(output, "null");
        return;
    }
    weir_output_putc(output, names == NULL ? '[' : '{');
    for (size_t i = 0; i < record->count; i++) {
        weir_output_puts(output, i == 0 ? "" : ",");
        if (names != NULL) {
            weir_print_json_string(output, names[i], strlen(names[i]));
            weir_output_putc(output, ':');
        }
        put_json_value(output, &record->fields[i]);
    }
    weir_output_putc(output, names == NULL ? ']' : '}');
}

/* What the UPDATE set. The record has a flag for each column, then a value for each. */
static void put_json_updates(Output *output, const CdcRecord *updates, const CdcColumns *columns)
{
    const char *gap = "";
    if (columns == NULL || columns->all_count * 2 != updates->count) {
        return;
    }
    weir_output_puts(output, ",\"updates\":{");
    for (size_t i = 0; i < columns->all_count; i++) {
        if (updates->fields[i].integer == 1) {
            weir_output_puts(output, gap);
            gap = ",";
            weir_print_json_string(output, columns->all_names[i], strlen(columns->all_names[i]));
            weir_output_putc(output, ':');
            put_json_value(output, &updates->fields[columns->all_count + i]);
        }
    }
    weir_output_putc(output, '}');
}

void weir_cdc_put_json(Output *output, const CdcChange *change, const CdcImages *images)
{
    static const char *const TYPES[] = {"delete", "update", "insert", "commit"};
    weir_output_printf(output, "\"type\":\"%s\"", TYPES[change->type - CDC_DELETE]);
    if (change->type != CDC_COMMIT) {
        weir_output_puts(output, ",\"table\":");
        weir_print_json_string(output, change->table, strlen(change->table));
        weir_output_puts(output, ",\"id\":");
        if (change->has_id) {
            weir_output_printf(output, "%lld", change->id);
        } else {
            weir_output_puts(output, "null");
        }
        put_json_image(output, "before", &images->before, change->before_columns,
                       change->before.data != NULL);
        put_json_image(output, "after", &images->after, change->columns,
                       change->after.data != NULL);
        put_json_updates(output, &images->updates, change->columns);
    }
}
