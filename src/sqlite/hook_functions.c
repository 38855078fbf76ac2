/* hook_functions.c: SQL functions that show what the log holds as JSON.
 *
 *     table_columns_json_array(name)          the columns of a table of main: ["a","b"]
 *     bin_record_json_object(names, record)   a record's fields by name; refuses BLOBs
 *     bin_record_json_object_full(names, record)
 *         the same, with BLOBs as {"base64":"..."}; a record with twice as many fields as there are
 *         names is what an UPDATE set: shown are the columns that were set, with their new values. */
#include "sqlite/capture.h"

/* --- table_columns_json_array --- */

static bool has_argument_count(sqlite3_context *context, int count, int wanted)
{
    if (count == wanted) {
        return true;
    }
    char *const message = sqlite3_mprintf("%s() function must have exactly %d argument%s",
                                          context->pFunc->zName, wanted, wanted == 1 ? "" : "s");
    if (message == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, message, -1);
        sqlite3_free(message);
    }
    return false;
}

static void result_error(sqlite3_context *context, const char *text)
{
    char *const message = sqlite3_mprintf("%s: %s", context->pFunc->zName, text);
    if (message == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, message, -1);
        sqlite3_free(message);
    }
}

/* The schema may never have been read, or be old, where the statement reads nothing of main. It is left alone
 * while a statement writes, which may hold on to its tables. */
static int refresh_schema(sqlite3 *db)
{
    if (sqlite3BtreeTxnState(db->aDb[0].pBt) != SQLITE_TXN_NONE || db->nVdbeWrite > 0) {
        return SQLITE_OK;
    }
    if (weir_capture_get(db) == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    Suspended saved;
    weir_capture_suspend(db, &saved);
    const int rc = sqlite3_exec(db, "SELECT 1 FROM main.sqlite_schema LIMIT 1", NULL, NULL, NULL);
    weir_capture_resume(db, &saved);
    return rc;
}

/* The table of main, virtual ones included; the schema of a view is not that of a table. */
static Table *find_listed_table(sqlite3 *db, const char *name)
{
    const bool is_schema =
        sqlite3StrICmp(name, "sqlite_schema") == 0 || sqlite3StrICmp(name, "sqlite_master") == 0;
    Table *const table = weir_find_table(db, is_schema ? "sqlite_master" : name);
    return table == NULL || IsView(table) ? NULL : table;
}

static void table_columns_json_array(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    sqlite3 *const db = sqlite3_context_db_handle(context);
    if (!has_argument_count(context, count, 1)) {
        return;
    }
    if (sqlite3_value_type(arguments[0]) != SQLITE_TEXT) {
        result_error(context, "function argument must be of type TEXT");
        return;
    }
    const char *const name = (const char *)sqlite3_value_text(arguments[0]);
    if (name == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const int rc = refresh_schema(db);
    if (rc != SQLITE_OK) {
        sqlite3_result_error_code(context, rc);
        return;
    }
    const Table *const table = find_listed_table(db, name);
    if (table == NULL) {
        char *const text = sqlite3_mprintf("table %s doesn't exists", name);
        result_error(context, text == NULL ? "out of memory" : text);
        sqlite3_free(text);
        return;
    }
    JsonString json;
    jsonStringInit(&json, context);
    jsonAppendChar(&json, '[');
    for (int i = 0; i < table->nCol; i++) {
        const char *const column = table->aCol[i].zCnName;
        jsonAppendSeparator(&json);
        jsonAppendString(&json, column, (u32)strlen(column));
    }
    jsonAppendChar(&json, ']');
    jsonReturnString(&json, NULL, NULL);
    sqlite3_result_subtype(context, JSON_SUBTYPE);
}

/* --- values as JSON --- */

static bool is_utf8(const u8 *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        const u8 lead = text[i++];
        if (lead < 0x80) {
            continue;
        }
        const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc2 || lead > 0xf4 || size - i < more) {
            return false;
        }
        u32 point = lead & (0x3fu >> more);
        for (size_t k = 0; k < more; k++) {
            if ((text[i] & 0xc0) != 0x80) {
                return false;
            }
            point = point << 6 | (text[i++] & 0x3fu);
        }
        if ((more == 2 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) ||
            (more == 3 && (point < 0x10000 || point > 0x10ffff))) {
            return false;
        }
    }
    return true;
}

static void append_base64(JsonString *json, const u8 *data, size_t size)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    jsonAppendRaw(json, "{\"base64\":\"", 11);
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const u32 bits = (u32)data[i] << 16 | (left > 1 ? (u32)data[i + 1] << 8 : 0) |
                         (left > 2 ? data[i + 2] : 0);
        char group[4] = {DIGITS[bits >> 18], DIGITS[bits >> 12 & 63], '=', '='};
        if (left > 1) {
            group[2] = DIGITS[bits >> 6 & 63];
        }
        if (left > 2) {
            group[3] = DIGITS[bits & 63];
        }
        jsonAppendRaw(json, group, 4);
    }
    jsonAppendRaw(json, "\"}", 2);
}

static bool is_minus_zero(double value)
{
    i64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits == SMALLEST_INT64;
}

/* What cannot be shown is said by returning a text, else NULL. */
static const char *append_value(JsonString *json, const Mem *value, bool shows_blobs)
{
    if ((value->flags & MEM_Str) != 0) {
        if (!is_utf8((const u8 *)value->z, (size_t)value->n)) {
            return "text stored in binary record is not valid UTF-8";
        }
        jsonAppendString(json, value->z, (u32)value->n);
    } else if ((value->flags & MEM_Blob) != 0) {
        if (!shows_blobs) {
            return "formatting of BLOB values stored in binary record is not supported";
        }
        append_base64(json, (const u8 *)value->z, (size_t)value->n);
    } else if ((value->flags & MEM_Int) != 0) {
        jsonPrintf(32, json, "%lld", value->u.i);
    } else if ((value->flags & MEM_Real) != 0) {
        jsonPrintf(100, json, "%s%!0.17g", is_minus_zero(value->u.r) ? "-" : "", value->u.r);
    } else {
        jsonAppendRaw(json, "null", 4);
    }
    return NULL;
}

/* --- records --- */

/* The names: elements of a JSON array, read one after the other. */
typedef struct Names {
    JsonParse *parse;
    u32 at;
    u32 end;
} Names;

static bool names_init(Names *names, JsonParse *parse)
{
    u32 size;
    const u32 header = jsonbPayloadSize(parse, 0, &size);
    *names = (Names){.parse = parse, .at = header, .end = header + size};
    return header != 0 && (parse->aBlob[0] & 0x0f) == JSONB_ARRAY;
}

/* Moves to the next element; false if the one here is no string. */
static bool names_skip(Names *names)
{
    u32 size;
    const u32 header = jsonbPayloadSize(names->parse, names->at, &size);
    const u8 type = names->parse->aBlob[names->at] & 0x0f;
    names->at += header + size;
    return header != 0 && type >= JSONB_TEXT && type <= JSONB_TEXTRAW;
}

/* The number of names, or -1 if one of them is no string. */
static int names_count(Names names)
{
    int count = 0;
    while (names.at < names.end) {
        if (!names_skip(&names)) {
            return -1;
        }
        count++;
    }
    return count;
}

static const char CORRUPT[] = "binary record is corrupt";

/* The number of fields of a record, or -1 if it is no record. */
static int count_fields(Span record)
{
    Reader reader = {0};
    if (record.size == 0 || weir_reader_init(&reader, record) != SQLITE_OK) {
        return -1;
    }
    int count = 0;
    while (weir_reader_next(&reader)) {
        if (reader.serial == 10 || reader.serial == 11) {
            return -1;
        }
        count++;
    }
    return weir_reader_is_sound(&reader) ? count : -1;
}

/* Appends "name":value pairs; returns what is wrong, or NULL. */
static const char *append_fields(JsonString *json, Names names, Span record, bool is_full)
{
    const int name_count = names_count(names);
    const int field_count = count_fields(record);
    if (field_count < 0) {
        return CORRUPT;
    }
    if (field_count < name_count) {
        return "binary record has fewer columns than specified in the columns argument";
    }
    const bool is_updates = is_full && name_count > 0 && field_count == 2 * name_count;
    Reader flags = {0};
    Reader fields;
    if (weir_reader_init(&flags, record) != SQLITE_OK ||
        weir_reader_init(&fields, record) != SQLITE_OK) {
        return CORRUPT;
    }
    for (int i = 0; is_updates && i < name_count; i++) {
        (void)weir_reader_next(&fields);
    }
    const char *problem = NULL;
    sqlite3 *const db = sqlite3_context_db_handle(json->pCtx);
    for (int i = 0; i < name_count && problem == NULL; i++) {
        const u32 name_at = names.at;
        (void)names_skip(&names);
        (void)weir_reader_next(&fields);
        if (is_updates) {
            (void)weir_reader_next(&flags);
            if (flags.serial != 9) {
                continue;
            }
        }
        Mem value;
        weir_reader_get(&fields, db, &value);
        jsonAppendSeparator(json);
        jsonTranslateBlobToText(names.parse, name_at, json);
        jsonAppendChar(json, ':');
        problem = append_value(json, &value, is_full);
    }
    return problem;
}

static void record_to_json(sqlite3_context *context, sqlite3_value **arguments, bool is_full)
{
    if (sqlite3_value_type(arguments[0]) != SQLITE_TEXT ||
        sqlite3_value_type(arguments[1]) != SQLITE_BLOB) {
        if (sqlite3_value_type(arguments[0]) != SQLITE_TEXT ||
            sqlite3_value_type(arguments[1]) != SQLITE_NULL) {
            result_error(context,
                         "function arguments must be of type TEXT and BLOB correspondingly");
        }
        return;
    }
    JsonParse *const parse = jsonParseFuncArg(context, arguments[0], 0);
    if (parse == NULL) {
        return;
    }
    const Span record = {.data = sqlite3_value_blob(arguments[1]),
                         .size = (u64)sqlite3_value_bytes(arguments[1])};
    JsonString json;
    jsonStringInit(&json, context);
    jsonAppendChar(&json, '{');
    Names names;
    const char *problem = NULL;
    if (!names_init(&names, parse)) {
        json.eErr |= (parse->aBlob[0] & 0x0f) == JSONB_OBJECT ? 0 : JSTRING_MALFORMED;
    } else if (names_count(names) < 0) {
        json.eErr |= JSTRING_MALFORMED;
    } else {
        problem = append_fields(&json, names, record, is_full);
    }
    jsonAppendChar(&json, '}');
    if (problem != NULL) {
        jsonStringReset(&json);
        result_error(context, problem);
    } else {
        jsonReturnString(&json, NULL, NULL);
        sqlite3_result_subtype(context, JSON_SUBTYPE);
    }
    jsonParseFree(parse);
}

static void bin_record_json_object(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    if (has_argument_count(context, count, 2)) {
        record_to_json(context, arguments, false);
    }
}

static void bin_record_json_object_full(sqlite3_context *context, int count,
                                        sqlite3_value **arguments)
{
    if (has_argument_count(context, count, 2)) {
        record_to_json(context, arguments, true);
    }
}

void weir_register_functions(void)
{
    /* Any number of arguments, so that a wrong one gets our own message. Of a built-in function the bit of
     * SQLITE_INNOCUOUS says the opposite: without it views and triggers may use the function whether or not the schema
     * is trusted. */
    static FuncDef functions[] = {
        {
            .nArg = -1,
            .funcFlags = SQLITE_FUNC_BUILTIN | SQLITE_UTF8 | SQLITE_RESULT_SUBTYPE,
            .xSFunc = table_columns_json_array,
            .zName = "table_columns_json_array",
        },
        {
            .nArg = -1,
            .funcFlags =
                SQLITE_FUNC_BUILTIN | SQLITE_UTF8 | SQLITE_FUNC_CONSTANT | SQLITE_RESULT_SUBTYPE,
            .xSFunc = bin_record_json_object,
            .zName = "bin_record_json_object",
        },
        {
            .nArg = -1,
            .funcFlags =
                SQLITE_FUNC_BUILTIN | SQLITE_UTF8 | SQLITE_FUNC_CONSTANT | SQLITE_RESULT_SUBTYPE,
            .xSFunc = bin_record_json_object_full,
            .zName = "bin_record_json_object_full",
        },
    };
    sqlite3InsertBuiltinFuncs(functions, ArraySize(functions));
}
