/* promise.c: what users promise of tables: that rows are only added, that some columns are a key.
 *
 * What a view holds never depends on a key. Every pass checks the promises with the tables' net changes;
 * one that is found broken says how, and is not looked at again.
 *
 *   key: rows are counted by the key columns, as GROUP BY counts them, NULLs included
 *        counts += change;  then no count that was touched may be above 1, or 0 if a column is NULL
 *
 * Only sums are compared, after the whole change: rows that trade their keys, or are told of in any
 * order, are no offence. Counts that are not known to be right (the table was given up or read anew)
 * are forgotten, and made again from the table's contents. */
#include "view/engine_priv.h"

#include "base/sql_lexer.h"
#include "op/group_table.h"

enum {
    KEY_VALUE_BYTES = 200, /* of a text in a message */
    KEY_TEXT_BYTES = 4096, /* of all values, before the message is cut */
};

struct KeyPromise {
    Mem *mem;          /* borrowed */
    Schema schema;     /* of the table, when the promise was made; borrowed from it */
    size_t *places;    /* owned: the key columns among the table's */
    size_t count;      /* of them */
    GroupTable counts; /* valid if has_counts */
    bool has_counts;
    Error error; /* how it was found broken, or why it is not checked; code 0 = it is kept */
};

/* ---- columns of a key ------------------------------------------------------------------------- */

static Status key_syntax_error(const char *text, Error *err)
{
    weir_error_set(err, WEIR_ERR_ARGUMENT, "key := '%s' is not a list of columns", text);
    weir_error_hint(err, "write names separated by commas; put names with special characters in "
                         "double quotes");
    return err->code;
}

static Status find_column(const Schema *schema, const char *name, size_t *out, Error *err)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (weir_name_part_equal(schema->names[i], name)) {
            *out = i;
            return WEIR_OK;
        }
    }
    weir_error_set(err, WEIR_ERR_ARGUMENT,
                   "the table has no column %s, or one whose type cannot be followed", name);
    weir_error_hint(err, "a key is a list of the table's columns, as in key := 'a, b'");
    return err->code;
}

static Status add_key_column(const SqlToken *token, const Schema *schema, Arena *arena,
                             KeyColumns *out, Error *err)
{
    size_t column = 0;
    size_t count = 0;
    const char *parts[NAME_MAX_PARTS];
    const char *const text =
        weir_arena_strndup(arena, token->start, (size_t)(token->end - token->start), err);
    if (text == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_name_split(arena, text, parts, &count, err)); /* a token is one part */
    WEIR_TRY(find_column(schema, parts[0], &column, err));
    for (size_t i = 0; i < out->count; i++) {
        if (out->names[i] == schema->names[column]) {
            return weir_error_set(err, WEIR_ERR_ARGUMENT, "column %s is named twice in the key",
                                  schema->names[column]);
        }
    }
    out->names[out->count++] = schema->names[column];
    return WEIR_OK;
}

Status weir_key_columns_parse(const char *text, const Schema *schema, Arena *arena, KeyColumns *out,
                              Error *err)
{
    *out = (KeyColumns){.names = weir_arena_calloc(arena, schema->count, sizeof *out->names, err)};
    if (out->names == NULL) {
        return err->code;
    }
    SqlToken token = {.end = text};
    do {
        if (!weir_sql_token_next(&token) || !weir_sql_token_is_name(&token)) {
            return key_syntax_error(text, err);
        }
        WEIR_TRY(add_key_column(&token, schema, arena, out, err));
        const char *const rest = weir_sql_skip_blank(token.end);
        if (rest != NULL && *rest == '\0') {
            return WEIR_OK;
        }
    } while (weir_sql_token_next(&token) && weir_sql_token_is(&token, ","));
    return key_syntax_error(text, err);
}

/* ---- counting --------------------------------------------------------------------------------- */

static void key_forget(KeyPromise *key)
{
    if (key->has_counts) {
        weir_group_table_deinit(&key->counts);
        key->has_counts = false;
    }
}

static void key_free(KeyPromise *key)
{
    if (key != NULL) {
        key_forget(key);
        weir_mem_free(key->mem, key->places);
        weir_mem_free(key->mem, key);
    }
}

/* NULL with err filled on failure. */
static KeyPromise *key_new(Engine *engine, const TrackedTable *table, const KeyColumns *columns,
                           Error *err)
{
    KeyPromise *key = weir_mem_zalloc(engine->mem, sizeof *key, err);
    if (key == NULL) {
        return NULL;
    }
    key->mem = engine->mem;
    key->schema = weir_table_schema(table);
    key->count = columns->count;
    key->places = weir_mem_calloc(engine->mem, columns->count, sizeof *key->places, err);
    if (key->places == NULL) {
        key_free(key);
        return NULL;
    }
    for (size_t i = 0; i < columns->count; i++) {
        if (find_column(&key->schema, columns->names[i], &key->places[i], err) != WEIR_OK) {
            key_free(key);
            return NULL;
        }
    }
    return key;
}

typedef struct KeyWalk {
    GroupTable *counts;
    const Cancel *cancel; /* NULL = not to be interrupted */
    Arena scratch;        /* of one batch */
} KeyWalk;

static Status key_visit(void *user, const Batch *batch, Error *err)
{
    KeyWalk *const walk = user;
    Row *rows[BATCH_CAPACITY];
    WEIR_TRY(weir_cancel_check(walk->cancel, err));
    weir_arena_reset(&walk->scratch);
    return weir_group_table_apply(walk->counts, batch, &walk->scratch, rows, err);
}

/* Counts the rows that the table is taken to have. */
static Status key_fill(Engine *engine, const TrackedTable *table, KeyPromise *key, Error *err)
{
    const CircuitEnv env = {.mem = engine->mem, .pool = engine->pool};
    const GroupTableSpec spec = {
        .input = &key->schema, .group_columns = key->places, .group_count = key->count};
    KeyWalk walk = {.counts = &key->counts, .cancel = engine->host.cancel};
    key_forget(key);
    WEIR_TRY(weir_group_table_init(&key->counts, &env, &spec, err));
    key->has_counts = true;
    weir_arena_init(&walk.scratch, engine->mem, 0);
    Status status =
        weir_row_table_reserve(&key->counts.table, weir_table_row_count(engine, table), err);
    if (status == WEIR_OK) {
        status = weir_table_visit_contents(engine, table, key_visit, &walk, err);
    }
    weir_arena_deinit(&walk.scratch);
    return status;
}

static Status key_apply(const Engine *engine, TrackedTable *table, Error *err)
{
    KeyWalk walk = {.counts = &table->key->counts};
    weir_arena_init(&walk.scratch, engine->mem, 0);
    const Status status =
        weir_table_visit_delta(table, NULL, table->column_count, key_visit, &walk, err);
    weir_arena_deinit(&walk.scratch);
    return status;
}

static bool key_has_null(const KeyPromise *key, const Row *row)
{
    bool has_null = false;
    for (size_t i = 0; i < key->count && key->counts.table.has_null_keys; i++) {
        has_null = has_null || weir_row_is_null(weir_group_table_layout(&key->counts), row, i);
    }
    return has_null;
}

/* Settles the counts that were touched. A row of a key that is none, or NULL. */
static Row *key_settle(KeyPromise *key)
{
    GroupTable *const counts = &key->counts;
    Row *offence = NULL;
    size_t available = 0;
    size_t index = 0;
    for (;;) {
        const char *const entries = weir_touched_run(&counts->touched, index, &available);
        if (available == 0) {
            break;
        }
        for (size_t i = 0; i < available; i++) {
            GroupEntry entry;
            memcpy(&entry, entries + i * counts->touched.entry_bytes, sizeof entry);
            const int64_t limit = key_has_null(key, entry.row) ? 0 : 1;
            if (offence == NULL && weir_row_weight(entry.row) > limit) {
                offence = entry.row;
            }
            weir_group_table_release(counts, entry.row);
        }
        index += available;
    }
    weir_group_table_end_step(counts);
    return offence;
}

/* ---- telling ---------------------------------------------------------------------------------- */

/* (a, b) */
static void put_columns(Buf *buf, const KeyPromise *key)
{
    for (size_t i = 0; i < key->count; i++) {
        const char *const name = key->schema.names[key->places[i]];
        weir_buf_puts(buf, i == 0 ? "(" : ", ");
        if (weir_name_part_is_plain(name)) {
            weir_buf_puts(buf, name);
        } else {
            weir_buf_put_sql_name(buf, name);
        }
    }
    weir_buf_putc(buf, ')');
}

/* A long text is cut at a character border. */
static Value shorten(const Value *value, bool *is_cut)
{
    String text;
    Value result = *value;
    memcpy(&text, value->data.bytes, sizeof text);
    const bool is_text = value->type->id == TYPE_VARCHAR || value->type->id == TYPE_BLOB;
    *is_cut = !value->is_null && is_text && weir_string_size(&text) > KEY_VALUE_BYTES;
    if (*is_cut) {
        const char *const bytes = weir_string_data(&text);
        size_t size = KEY_VALUE_BYTES;
        while (size > KEY_VALUE_BYTES - 4 && ((unsigned char)bytes[size] & 0xC0U) == 0x80U) {
            size--;
        }
        text = weir_string_make(bytes, size);
        memcpy(result.data.bytes, &text, sizeof text);
    }
    return result;
}

static void put_value(Buf *buf, const Value *value)
{
    const LogicalType *const type = value->type;
    if (value->is_null || (type->id != TYPE_ENUM && !weir_type_is_nested(type))) {
        bool is_cut = false;
        const Expr constant = {
            .kind = EXPR_CONSTANT, .type = type, .value = shorten(value, &is_cut)};
        weir_expr_put_text(buf, &constant, NULL);
        weir_buf_puts(buf, is_cut ? "..." : "");
    } else if (type->id == TYPE_ENUM) {
        uint32_t place = 0;
        memcpy(&place, value->data.bytes, weir_phys_width(type->phys)); /* little endian */
        WEIR_ASSERT(place < type->name_count);
        weir_buf_put_sql_string(buf, type->names[place], strlen(type->names[place]));
    } else {
        weir_buf_puts(buf, "{...}");
    }
}

/* (1, 'x') */
static void put_values(Buf *buf, const KeyPromise *key, Row *row)
{
    for (size_t i = 0; i < key->count; i++) {
        uint64_t validity[VECTOR_VALIDITY_WORDS] = {0};
        Value value = {.type = key->schema.types[key->places[i]]};
        Vector vector = {.phys = value.type->phys, .data = value.data.bytes};
        weir_group_table_unpack(&key->counts, &row, 1, i, &vector, validity);
        value.is_null = weir_vector_is_null(&vector, 0);
        weir_buf_puts(buf, i == 0 ? "(" : ", ");
        put_value(buf, &value);
    }
    weir_buf_putc(buf, ')');
}

/* What does not fit, or cannot be had for want of memory, is left out. */
static const char *cut_text(const Buf *buf)
{
    return buf->data == NULL ? "..." : buf->data;
}

static Status key_offence(const TrackedTable *table, const KeyPromise *key, Row *row, Error *err)
{
    Buf columns;
    Buf values;
    const long long count = weir_row_weight(row);
    weir_buf_init(&columns, key->mem, KEY_TEXT_BYTES);
    weir_buf_init(&values, key->mem, KEY_TEXT_BYTES);
    put_columns(&columns, key);
    put_values(&values, key, row);
    if (key_has_null(key, row)) {
        weir_error_set(err, WEIR_ERR_PROMISE,
                       "table %s has a row with %s = %s, though its key was said to be never NULL",
                       table->name.name, cut_text(&columns), cut_text(&values));
    } else {
        weir_error_set(err, WEIR_ERR_PROMISE,
                       "table %s has %lld rows with %s = %s, though its key was said to be unique",
                       table->name.name, count, cut_text(&columns), cut_text(&values));
    }
    weir_buf_deinit(&columns);
    weir_buf_deinit(&values);
    return err->code;
}

void weir_table_put_promise(const TrackedTable *table, Buf *out)
{
    weir_buf_puts(out, table->is_append_only ? "append_only" : "");
    if (table->key != NULL) {
        weir_buf_puts(out, table->is_append_only ? ", key " : "key ");
        put_columns(out, table->key);
    }
}

static void put_error(Buf *out, const Error *error)
{
    if (error->code != WEIR_OK) {
        weir_buf_printf(out, "%sDBSP-E%03d: %s", out->size == 0 ? "" : "; ", error->code,
                        error->message);
    }
}

void weir_table_put_promise_error(const TrackedTable *table, Buf *out)
{
    put_error(out, &table->promise_error);
    if (table->key != NULL) {
        put_error(out, &table->key->error);
    }
}

size_t weir_table_promise_bytes(const TrackedTable *table)
{
    const bool has_counts = table->key != NULL && table->key->has_counts;
    return has_counts ? weir_group_table_bytes(&table->key->counts) : 0;
}

/* ---- promising and checking ------------------------------------------------------------------- */

void weir_table_believe(Engine *engine, TrackedTable *table, bool is_believed)
{
    if (table != NULL && table->host_table != NULL &&
        engine->host.table_believe_append_only != NULL) {
        engine->host.table_believe_append_only(table->host_table,
                                               is_believed && table->is_append_only &&
                                                   table->promise_error.code == WEIR_OK);
    }
}

/* The key is one, as far as the table's contents go. */
static Status key_make(Engine *engine, const TrackedTable *table, const KeyColumns *columns,
                       KeyPromise **out, Error *err)
{
    KeyPromise *key = key_new(engine, table, columns, err);
    if (key == NULL) {
        return err->code;
    }
    Status status = key_fill(engine, table, key, err);
    Row *const offence = status == WEIR_OK ? key_settle(key) : NULL;
    if (offence != NULL) {
        status = key_offence(table, key, offence, err);
        weir_error_hint(err, "nothing was changed; mend those rows, or name other columns");
    }
    if (status != WEIR_OK) {
        key_free(key);
        return status;
    }
    *out = key;
    return WEIR_OK;
}

Status weir_table_promise(Engine *engine, TrackedTable *table, bool is_append_only,
                          const KeyColumns *columns, Error *err)
{
    KeyPromise *key = NULL;
    if (columns->count > 0) {
        WEIR_TRY(key_make(engine, table, columns, &key, err));
    }
    key_free(table->key);
    table->key = key;
    table->is_append_only = is_append_only;
    weir_error_clear(&table->promise_error);
    weir_table_believe(engine, table, true);
    return WEIR_OK;
}

void weir_table_forget_promises(TrackedTable *table)
{
    key_free(table->key);
    table->key = NULL;
}

void weir_table_forget_counts(TrackedTable *table)
{
    if (table->key != NULL) {
        key_forget(table->key);
    }
}

bool weir_table_is_uncounted(const TrackedTable *table)
{
    return table->key != NULL && !table->key->has_counts && table->key->error.code == WEIR_OK &&
           table->error.code == WEIR_OK;
}

/* Rows went, whoever told or noticed. From then on the table is compared as others are. */
static void check_append_only(Engine *engine, TrackedTable *table)
{
    if (!table->is_append_only || !table->has_removed || table->promise_error.code != WEIR_OK) {
        return;
    }
    weir_error_set(&table->promise_error, WEIR_ERR_PROMISE,
                   "rows of table %s were changed or deleted, though it was said to be append-only",
                   table->name.name);
    weir_error_hint(
        &table->promise_error,
        "CALL dbsp_track('%s') takes the promise back; what changed before may have been "
        "seen late",
        table->name.name);
    weir_table_believe(engine, table, true);
}

/* A failure ends the check, not the pass: the views do without it. An interruption only delays it. */
static void check_key(Engine *engine, TrackedTable *table)
{
    KeyPromise *const key = table->key;
    Error err = {0};
    Status status = WEIR_OK;
    if (table->is_fresh || !key->has_counts) {
        status = key_fill(engine, table, key, &err);
    } else if (table->has_changed) {
        status = key_apply(engine, table, &err);
    } else {
        return;
    }
    Row *const offence = status == WEIR_OK ? key_settle(key) : NULL;
    if (offence != NULL) {
        status = key_offence(table, key, offence, &key->error);
    } else if (status != WEIR_OK && status != WEIR_ERR_INTERRUPTED) {
        key->error = err;
        weir_error_wrap(&key->error, "the key of table %s is not checked any more",
                        table->name.name);
    }
    if (status != WEIR_OK) {
        key_forget(key);
    }
}

void weir_table_check_promises(Engine *engine, TrackedTable *table)
{
    check_append_only(engine, table);
    if (table->key == NULL || table->key->error.code != WEIR_OK) {
        return;
    }
    if (table->error.code == WEIR_OK) {
        check_key(engine, table);
    } else if (table->error.code == WEIR_ERR_SOURCE_CHANGED) {
        key_forget(table->key);
    }
}
