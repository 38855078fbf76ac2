/* json.c: parsing the text and looking up its fields.
 *
 * json-c allocates with the C library: the tree lives only while a plan is read. Its numbers are
 * int64, uint64 or double; the bare words NaN, Infinity and -Infinity, which DuckDB prints, are
 * doubles too. */
#include "plan/json_priv.h"

#include <json-c/json.h>
#include <limits.h>

Status weir_json_parse(const char *text, size_t size, Json **out, Error *err)
{
    if (size == 0 || size > INT_MAX) {
        return weir_error_set(err, WEIR_ERR_PLAN, "the plan is not a text: %zu bytes", size);
    }
    struct json_tokener *tokener = json_tokener_new_ex(JSON_MAX_NESTING);
    if (tokener == NULL) {
        return weir_error_set(err, WEIR_ERR_NOMEM, "out of memory while a plan is parsed");
    }
    Status status = WEIR_OK;
    Json *json = json_tokener_parse_ex(tokener, text, (int)size);
    const enum json_tokener_error code = json_tokener_get_error(tokener);
    if (code == json_tokener_error_depth) {
        status = weir_error_set(err, WEIR_ERR_LIMIT, "the definition is nested too deeply");
    } else if (code != json_tokener_success || !json_object_is_type(json, json_type_object)) {
        status = weir_error_set(err, WEIR_ERR_PLAN, "the plan cannot be parsed at byte %zu: %s",
                                json_tokener_get_parse_end(tokener), json_tokener_error_desc(code));
    }
    json_tokener_free(tokener);
    if (status != WEIR_OK) {
        weir_json_free(json);
        json = NULL;
    }
    *out = json;
    return status;
}

void weir_json_free(Json *json)
{
    (void)json_object_put(json);
}

Json *weir_json_find(Json *object, const char *key)
{
    Json *value = NULL;
    if (!json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, key, &value)) {
        return NULL;
    }
    return value;
}

const char *weir_json_find_text(Json *object, const char *key)
{
    const char *text = "";
    Error ignored = {0};
    size_t size = 0;
    const Status status = weir_json_as_text(weir_json_find(object, key), &text, &size, &ignored);
    return status == WEIR_OK ? text : "";
}

bool weir_json_find_flag(Json *object, const char *key)
{
    bool flag = false;
    Error ignored = {0};
    const Status status = weir_json_as_flag(weir_json_find(object, key), &flag, &ignored);
    return status == WEIR_OK && flag;
}

Status weir_json_get(Json *object, const char *key, Json **out, Error *err)
{
    *out = weir_json_find(object, key);
    if (*out == NULL) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: \"%s\" is missing", key);
    }
    return WEIR_OK;
}

/* Names the field in the error of a failed conversion. */
static Status name_field(Status status, const char *key, Error *err)
{
    return status == WEIR_OK ? WEIR_OK : weir_error_wrap(err, "field \"%s\"", key);
}

Status weir_json_get_text(Json *object, const char *key, const char **out, Error *err)
{
    Json *json = NULL;
    WEIR_TRY(weir_json_get(object, key, &json, err));
    size_t size = 0;
    WEIR_TRY(name_field(weir_json_as_text(json, out, &size, err), key, err));
    if (strlen(*out) != size) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a NUL byte in \"%s\"", key);
    }
    return WEIR_OK;
}

Status weir_json_get_array(Json *object, const char *key, JsonArray *out, Error *err)
{
    Json *json = NULL;
    WEIR_TRY(weir_json_get(object, key, &json, err));
    return name_field(weir_json_as_array(json, out, err), key, err);
}

Status weir_json_get_index(Json *object, const char *key, uint64_t *out, Error *err)
{
    Json *json = NULL;
    WEIR_TRY(weir_json_get(object, key, &json, err));
    return name_field(weir_json_as_index(json, out, err), key, err);
}

Status weir_json_as_index(Json *json, uint64_t *out, Error *err)
{
    i128 number = 0;
    WEIR_TRY(weir_json_as_integer(json, 0, (i128)UINT64_MAX, &number, err));
    *out = (uint64_t)number;
    return WEIR_OK;
}

Status weir_json_as_array(Json *json, JsonArray *out, Error *err)
{
    if (!json_object_is_type(json, json_type_array)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: an array is expected");
    }
    *out = (JsonArray){.json = json, .count = json_object_array_length(json)};
    return WEIR_OK;
}

Status weir_json_as_text(Json *json, const char **out, size_t *size, Error *err)
{
    if (!json_object_is_type(json, json_type_string)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a text is expected");
    }
    *out = json_object_get_string(json);
    *size = (size_t)json_object_get_string_len(json);
    return WEIR_OK;
}

Json *weir_json_item(const JsonArray *array, size_t i)
{
    WEIR_ASSERT(i < array->count);
    return json_object_array_get_idx(array->json, i);
}

Status weir_json_as_integer(Json *json, i128 low, i128 high, i128 *out, Error *err)
{
    if (!json_object_is_type(json, json_type_int)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: an integer is expected");
    }
    /* A number above INT64_MAX is cut by the one accessor, a negative one by the other. */
    const int64_t with_sign = json_object_get_int64(json);
    const i128 number = with_sign < 0 ? (i128)with_sign : (i128)json_object_get_uint64(json);
    if (number < low || number > high) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a number is out of range");
    }
    *out = number;
    return WEIR_OK;
}

Status weir_json_as_double(Json *json, double *out, Error *err)
{
    if (!json_object_is_type(json, json_type_double) && !json_object_is_type(json, json_type_int)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a number is expected");
    }
    *out = json_object_get_double(json);
    return WEIR_OK;
}

Status weir_json_as_flag(Json *json, bool *out, Error *err)
{
    if (!json_object_is_type(json, json_type_boolean)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: true or false is expected");
    }
    *out = json_object_get_boolean(json) != 0;
    return WEIR_OK;
}

Status weir_json_enter(JsonReader *reader, Error *err)
{
    if (reader->depth >= JSON_MAX_DEPTH) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "the definition is nested more than %d levels",
                              JSON_MAX_DEPTH);
    }
    reader->depth++;
    return WEIR_OK;
}

void weir_json_leave(JsonReader *reader)
{
    WEIR_ASSERT(reader->depth > 0);
    reader->depth--;
}
