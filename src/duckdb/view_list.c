/* view_list.c: writing by hand, since one string is all that has to be escaped; reading by json-c, which
 * allocates with the C library: the tree lives only while it is read. */
#include "duckdb/view_list.h"

#include <json-c/json.h>

#include "view/names.h"

#define LIST_FORMAT "weir views"

enum { LIST_VERSION = 1, LIST_MAX_NESTING = 8 };

/* ---- writing ---------------------------------------------------------------------------------- */

static void put_string(Buf *out, const char *text)
{
    weir_buf_putc(out, '"');
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\') {
            weir_buf_printf(out, "\\%c", *c);
        } else if (byte < 0x20) {
            weir_buf_printf(out, "\\u%04x", byte);
        } else {
            weir_buf_putc(out, *c);
        }
    }
    weir_buf_putc(out, '"');
}

/* "key": "text", with what separates it from the field before; nothing if there is no text. */
static void put_field(Buf *out, const char **separator, const char *key, const char *text)
{
    if (text == NULL) {
        return;
    }
    weir_buf_puts(out, *separator);
    put_string(out, key);
    weir_buf_puts(out, ": ");
    put_string(out, text);
    *separator = ", ";
}

static void put_columns(Buf *out, const Schema *schema, Mem *mem)
{
    Buf type;
    weir_buf_init(&type, mem, (size_t)1 << 20);
    for (size_t i = 0; i < schema->count; i++) {
        Error err = {0};
        const char *separator = i == 0 ? "{" : ",\n      {";
        weir_buf_clear(&type);
        weir_type_put_sql(&type, schema->types[i]);
        if (weir_buf_status(&type, &err) != WEIR_OK) {
            weir_buf_fail(out, &err);
            break;
        }
        put_field(out, &separator, "name", schema->names[i]);
        put_field(out, &separator, "type", type.data);
        weir_buf_putc(out, '}');
    }
    weir_buf_deinit(&type);
}

static void put_view(Buf *out, const ViewDefinition *view, const char *home_database)
{
    const char *separator = "{";
    const bool is_home = weir_name_part_equal(view->name.catalog, home_database);
    put_field(out, &separator, "database", is_home ? NULL : view->name.catalog);
    put_field(out, &separator, "schema", view->name.schema);
    put_field(out, &separator, "name", view->name.name);
    weir_buf_puts(out, ",\n    \"sql\": ");
    put_string(out, view->sql);
    weir_buf_puts(out, ",\n    \"settings\": {");
    separator = "";
    put_field(out, &separator, "search_path", view->settings.search_path);
    put_field(out, &separator, "time_zone", view->settings.time_zone);
    put_field(out, &separator, "calendar", view->settings.calendar);
    weir_buf_puts(out, "},\n    \"columns\": [");
    put_columns(out, &view->schema, out->mem);
    weir_buf_puts(out, "]}");
}

Status weir_view_list_write(const ViewDefinition *views, size_t count, const char *home_database,
                            Buf *out, Error *err)
{
    weir_buf_printf(out, "{\"format\": \"%s\", \"version\": %d, \"views\": [", LIST_FORMAT,
                    (int)LIST_VERSION);
    for (size_t i = 0; i < count; i++) {
        weir_buf_puts(out, i == 0 ? "\n  " : ",\n  ");
        put_view(out, &views[i], home_database);
    }
    weir_buf_puts(out, "\n]}\n");
    return weir_buf_status(out, err);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static Status malformed(Error *err, const char *what)
{
    return weir_error_set(err, WEIR_ERR_ARGUMENT, "it is no list of views: %s", what);
}

/* The text of a field, copied; *out NULL if it is not there. */
static Status read_text(json_object *object, const char *key, bool is_needed, Arena *arena,
                        const char **out, Error *err)
{
    json_object *value = NULL;
    *out = NULL;
    if (!json_object_object_get_ex(object, key, &value)) {
        return is_needed ? weir_error_set(err, WEIR_ERR_ARGUMENT,
                                          "it is no list of views: \"%s\" is missing", key)
                         : WEIR_OK;
    }
    const char *const text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
    if (text == NULL || strlen(text) != (size_t)json_object_get_string_len(value)) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT,
                              "it is no list of views: \"%s\" is not a text", key);
    }
    *out = weir_arena_strdup(arena, text, err);
    return *out == NULL ? err->code : WEIR_OK;
}

/* The name as SQL writes it, with the parts that are given. */
static Status read_name(json_object *object, Arena *arena, const char **out, Error *err)
{
    const char *parts[3] = {0};
    Buf name;
    WEIR_TRY(read_text(object, "database", false, arena, &parts[0], err));
    WEIR_TRY(read_text(object, "schema", true, arena, &parts[1], err));
    WEIR_TRY(read_text(object, "name", true, arena, &parts[2], err));
    weir_buf_init(&name, arena->mem, (size_t)1 << 20);
    for (size_t i = 0; i < 3; i++) {
        if (parts[i] != NULL) {
            weir_buf_puts(&name, name.size == 0 ? "" : ".");
            weir_buf_put_sql_name(&name, parts[i]);
        }
    }
    Status status = weir_buf_status(&name, err);
    if (status == WEIR_OK) {
        *out = weir_arena_strdup(arena, name.data, err);
        status = *out == NULL ? err->code : WEIR_OK;
    }
    weir_buf_deinit(&name);
    return status;
}

static Status read_view(json_object *object, Arena *arena, CreateSpec *out, Error *err)
{
    json_object *settings = NULL;
    if (!json_object_is_type(object, json_type_object)) {
        return malformed(err, "a view is not an object");
    }
    *out = (CreateSpec){.mode = CREATE_NEW};
    WEIR_TRY(read_name(object, arena, &out->name, err));
    WEIR_TRY(read_text(object, "sql", true, arena, &out->sql, err));
    if (!json_object_object_get_ex(object, "settings", &settings)) {
        return WEIR_OK;
    }
    if (!json_object_is_type(settings, json_type_object)) {
        return malformed(err, "\"settings\" is not an object");
    }
    ViewSettings *const read = &out->settings;
    WEIR_TRY(read_text(settings, "search_path", false, arena, &read->search_path, err));
    WEIR_TRY(read_text(settings, "time_zone", false, arena, &read->time_zone, err));
    return read_text(settings, "calendar", false, arena, &read->calendar, err);
}

static Status check_format(json_object *root, Arena *arena, Error *err)
{
    const char *format = NULL;
    json_object *version = NULL;
    WEIR_TRY(read_text(root, "format", true, arena, &format, err));
    if (format == NULL || strcmp(format, LIST_FORMAT) != 0) {
        return malformed(err, "\"format\" is not \"" LIST_FORMAT "\"");
    }
    if (!json_object_object_get_ex(root, "version", &version) ||
        !json_object_is_type(version, json_type_int)) {
        return malformed(err, "\"version\" is missing");
    }
    if (json_object_get_int64(version) != LIST_VERSION) {
        weir_error_set(err, WEIR_ERR_ARGUMENT,
                       "the list of views has version %lld; this Weir reads version %d",
                       (long long)json_object_get_int64(version), (int)LIST_VERSION);
        weir_error_hint(err, "load it with the Weir that saved it");
        return err->code;
    }
    return WEIR_OK;
}

static Status read_root(json_object *root, Arena *arena, CreateSpec **out, size_t *count,
                        Error *err)
{
    json_object *views = NULL;
    if (!json_object_is_type(root, json_type_object)) {
        return malformed(err, "it is not an object");
    }
    WEIR_TRY(check_format(root, arena, err));
    if (!json_object_object_get_ex(root, "views", &views) ||
        !json_object_is_type(views, json_type_array)) {
        return malformed(err, "\"views\" is missing");
    }
    *count = json_object_array_length(views);
    if (*count > VIEW_LIST_MAX_VIEWS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "the list has %zu views, more than %d", *count,
                              (int)VIEW_LIST_MAX_VIEWS);
    }
    *out = weir_arena_calloc(arena, *count, sizeof **out, err);
    if (*out == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < *count; i++) {
        WEIR_TRY(read_view(json_object_array_get_idx(views, i), arena, &(*out)[i], err));
    }
    return WEIR_OK;
}

Status weir_view_list_read(const char *text, size_t size, Arena *arena, CreateSpec **out,
                           size_t *count, Error *err)
{
    if (size == 0) {
        return malformed(err, "it is empty");
    }
    if (size > VIEW_LIST_MAX_BYTES) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "the list has %zu bytes, more than %d", size,
                              (int)VIEW_LIST_MAX_BYTES);
    }
    struct json_tokener *tokener = json_tokener_new_ex(LIST_MAX_NESTING);
    if (tokener == NULL) {
        return weir_error_set(err, WEIR_ERR_NOMEM, "out of memory while a list of views is read");
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *root = json_tokener_parse_ex(tokener, text, (int)size);
    const enum json_tokener_error code = json_tokener_get_error(tokener);
    Status status = WEIR_OK;
    if (code == json_tokener_success) {
        status = read_root(root, arena, out, count, err);
    } else {
        status = weir_error_set(err, WEIR_ERR_ARGUMENT, "it is not JSON at byte %zu: %s",
                                json_tokener_get_parse_end(tokener), json_tokener_error_desc(code));
    }
    (void)json_object_put(root);
    json_tokener_free(tokener);
    return status;
}
