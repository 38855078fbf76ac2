/* map_failed.c: the rows put aside, and the message of the one that stays.
 *
 * A row's error is not kept: the row is evaluated again, expression by expression, so that the
 * message names the one that fails and shows the values it reads. */
#include "op/map_failed.h"

#include "base/checked.h"
#include "op/op_priv.h"

enum {
    FAILED_TEXT_BYTES = 160, /* of an expression, as shown */
    FAILED_VALUE_BYTES = 40, /* of a value, as shown */
    FAILED_SHOWN_COLUMNS = 8,
    FAILED_BUF_LIMIT = 1 << 20,
};

static Status failed_open(MapFailed *failed, Error *err)
{
    if (failed->table != NULL) {
        return WEIR_OK;
    }
    Mem *mem = failed->env->mem;
    PhysType *types = weir_mem_calloc(mem, failed->read_count, sizeof *types, err);
    RowTable *table = types == NULL ? NULL : weir_mem_zalloc(mem, sizeof *table, err);
    Status status = table == NULL ? WEIR_ERR_NOMEM : WEIR_OK;
    if (status == WEIR_OK) {
        for (size_t i = 0; i < failed->read_count; i++) {
            types[i] = failed->input->types[failed->read_columns[i]]->phys;
        }
        const RowLayoutSpec spec = {.key = types, .key_count = failed->read_count};
        status = weir_row_table_init(table, mem, failed->env->pool, &spec, err);
    }
    if (status == WEIR_OK) {
        failed->table = table;
    } else {
        weir_mem_free(mem, table);
    }
    weir_mem_free(mem, types);
    return status;
}

Status weir_map_failed_add(MapFailed *failed, const Batch *row, Arena *arena, Error *err)
{
    WEIR_ASSERT(row->count == 1);
    WEIR_TRY(failed_open(failed, err));
    Batch read = {.count = 1, .column_count = failed->read_count};
    read.columns = weir_arena_calloc(arena, failed->read_count, sizeof(Vector), err);
    if (read.columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < failed->read_count; i++) {
        read.columns[i] = row->columns[failed->read_columns[i]];
    }
    const Vector *const *keys = NULL;
    Row *held = NULL;
    WEIR_TRY(weir_op_raw_keys(&read, arena, &keys, err));
    WEIR_TRY(weir_row_table_upsert(failed->table, keys, 1, &held, NULL, err));
    int64_t weight = 0;
    if (weir_add_i64(weir_row_weight(held), weir_batch_weight(row, 0), &weight)) {
        return weir_error_set(err, WEIR_ERR_WEIGHT, "a row stands too often in a step");
    }
    weir_row_set_weight(held, weight);
    return WEIR_OK;
}

/* --- the message ----------------------------------------------------------------------------- */

/* Appends at most `limit` bytes of text, cut at a character border. */
static void put_shortened(Buf *out, const char *text, size_t size, size_t limit)
{
    if (text == NULL || size <= limit) {
        weir_buf_append(out, text, text == NULL ? 0 : size);
        return;
    }
    size_t end = limit;
    while (end > 0 && ((unsigned char)text[end] & 0xC0u) == 0x80u) {
        end--;
    }
    weir_buf_append(out, text, end);
    weir_buf_puts(out, "...");
}

/* A value as in SQL, without the cast around its text. */
static void put_value(Buf *out, const LogicalType *type, const Vector *column)
{
    static const char cast[] = "CAST(";
    if (weir_vector_is_null(column, 0)) {
        weir_buf_puts(out, "NULL");
        return;
    }
    if (weir_type_is_nested(type)) {
        weir_buf_puts(out, "...");
        return;
    }
    Value value = {.type = type};
    memcpy(value.data.bytes, column->data, weir_phys_width(type->phys));
    Buf sql;
    weir_buf_init(&sql, out->mem, FAILED_BUF_LIMIT);
    weir_value_put_sql(&sql, &value);
    const char *text = sql.data;
    size_t size = sql.size;
    if (size > sizeof cast && memcmp(text, cast, sizeof cast - 1) == 0) {
        text += sizeof cast - 1;
        size -= sizeof cast - 1;
        for (size_t i = size; i >= 4; i--) {
            if (memcmp(text + i - 4, " AS ", 4) == 0) {
                size = i - 4;
                break;
            }
        }
    }
    put_shortened(out, text, size, FAILED_VALUE_BYTES);
    weir_buf_deinit(&sql);
}

static void put_column(Buf *out, const MapFailed *failed, const Batch *row, size_t column)
{
    const Schema *input = failed->input;
    if (input->names != NULL && input->names[column] != NULL) {
        weir_buf_printf(out, "%s = ", input->names[column]);
    } else {
        weir_buf_printf(out, "c%zu = ", column);
    }
    put_value(out, input->types[column], &row->columns[column]);
}

/* "(a = 1, b = NULL)": the values that an expression reads. */
static void put_row(Buf *out, const MapFailed *failed, const Batch *row, const Expr *expr,
                    bool *is_used)
{
    memset(is_used, 0, row->column_count * sizeof *is_used);
    weir_expr_collect_columns(expr, is_used);
    size_t shown = 0;
    weir_buf_putc(out, '(');
    for (size_t i = 0; i < row->column_count; i++) {
        if (!is_used[i]) {
            continue;
        }
        weir_buf_puts(out, shown == 0 ? "" : ", ");
        if (shown == FAILED_SHOWN_COLUMNS) {
            weir_buf_puts(out, "...");
            break;
        }
        put_column(out, failed, row, i);
        shown++;
    }
    weir_buf_putc(out, ')');
}

/* Puts expression and row in front of the error. Without memory for the text it stays as it is. */
static Status describe_failure(const MapFailed *failed, const Expr *expr, const Batch *row,
                               Arena *arena, Error *err)
{
    Error ignored = {0};
    bool *is_used = weir_arena_calloc(arena, row->column_count, sizeof *is_used, &ignored);
    if (is_used == NULL) {
        return err->code;
    }
    Buf text;
    Buf out;
    weir_buf_init(&text, failed->env->mem, FAILED_BUF_LIMIT);
    weir_buf_init(&out, failed->env->mem, FAILED_BUF_LIMIT);
    weir_expr_put_text(&text, expr, failed->input->names);
    put_shortened(&out, text.data, text.size, FAILED_TEXT_BYTES);
    weir_buf_puts(&out, " fails on the row ");
    put_row(&out, failed, row, expr, is_used);
    Status status = err->code;
    if (weir_buf_status(&out, &ignored) == WEIR_OK) {
        status = weir_error_wrap(err, "%s", out.data);
        if (err->hint[0] == '\0') {
            weir_error_hint(err, "change the row, or guard the expression with CASE or TRY");
        }
    }
    weir_buf_deinit(&text);
    weir_buf_deinit(&out);
    return status;
}

/* Evaluates one expression on the row: WEIR_OK, or its error with context. *passes: not excluded. */
static Status try_expr(const MapFailed *failed, const Expr *expr, bool is_predicate,
                       const Batch *row, Arena *arena, bool *passes, Error *err)
{
    Evaluator *evaluator = NULL;
    *passes = true;
    WEIR_TRY(weir_evaluator_new(failed->env->mem, failed->env->host, &expr, 1, failed->input,
                                &evaluator, err));
    Status status = WEIR_OK;
    if (is_predicate) {
        uint16_t selection[BATCH_CAPACITY];
        size_t count = 0;
        status = weir_evaluator_select(evaluator, row, arena, selection, &count, err);
        *passes = count > 0;
    } else {
        Vector out = {0};
        status = weir_evaluator_run(evaluator, row, arena, &out, err);
    }
    weir_evaluator_free(evaluator);
    return status == WEIR_ERR_EVALUATION ? describe_failure(failed, expr, row, arena, err) : status;
}

static Status find_failure(const MapFailed *failed, const Batch *row, Arena *arena, Error *err)
{
    const MapSpec *spec = failed->spec;
    bool passes = true;
    for (size_t i = 0; i < spec->predicate_count && passes; i++) {
        WEIR_TRY(try_expr(failed, spec->predicates[i], true, row, arena, &passes, err));
    }
    for (size_t i = 0; spec->exprs != NULL && i < spec->schema.count; i++) {
        WEIR_TRY(try_expr(failed, spec->exprs[i], false, row, arena, &passes, err));
    }
    return weir_error_set(err, WEIR_ERR_EVALUATION, "an expression of the view fails on a row");
}

/* The row as a batch of the input: columns that no expression reads are NULL. */
static Status unpack_row(const MapFailed *failed, Row *row, Arena *arena, Batch *out, Error *err)
{
    const size_t count = failed->input->count;
    Vector *columns = weir_arena_calloc(arena, count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(weir_vector_init(&columns[i], failed->input->types[i]->phys, 1, arena, err));
        memset(columns[i].data, 0, weir_phys_width(columns[i].phys));
        WEIR_TRY(weir_vector_add_validity(&columns[i], 1, arena, err));
        weir_validity_set_null(columns[i].validity, 0);
    }
    for (size_t i = 0; i < failed->read_count; i++) {
        uint64_t *validity =
            weir_arena_zalloc(arena, VECTOR_VALIDITY_WORDS * sizeof *validity, err);
        if (validity == NULL) {
            return err->code;
        }
        Vector *column = &columns[failed->read_columns[i]];
        column->validity = NULL;
        weir_row_unpack(&failed->table->layout, &row, 1, i, column, validity);
    }
    *out = (Batch){.count = 1, .column_count = count, .columns = columns};
    return WEIR_OK;
}

Status weir_map_failed_check(MapFailed *failed, Arena *arena, Error *err)
{
    if (failed->table == NULL) {
        return WEIR_OK;
    }
    uint64_t cursor = 0;
    Row *row = NULL;
    while (weir_row_table_scan(failed->table, &cursor, &row, 1) > 0) {
        if (weir_row_weight(row) != 0) {
            Batch batch = {0};
            WEIR_TRY(unpack_row(failed, row, arena, &batch, err));
            return find_failure(failed, &batch, arena, err);
        }
    }
    weir_map_failed_deinit(failed);
    return WEIR_OK;
}

void weir_map_failed_deinit(MapFailed *failed)
{
    if (failed->table != NULL) {
        weir_row_table_deinit(failed->table);
        weir_mem_free(failed->env->mem, failed->table);
        failed->table = NULL;
    }
}
