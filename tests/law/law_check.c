/* law_check.c: one expression, natively and in DuckDB. */
#include "law.h"

#include <stdio.h>

enum { MESSAGES_MAX = 3 };

/* DuckDB's message without where it happened: the query's text, and the column a cast came from. */
static void trim_message(char *message)
{
    static const char *const tails[] = {"\n\nLINE", " when casting from source column"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(tails); i++) {
        char *tail = strstr(message, tails[i]);
        if (tail != NULL) {
            *tail = '\0';
        }
    }
}

const char *law_sql(Law *law, const Expr *expr)
{
    Buf buf;
    weir_buf_init(&buf, law->mem, SIZE_MAX);
    weir_expr_put_sql(&buf, expr);
    const char *sql = NULL;
    if (weir_buf_status(&buf, &law->err) == WEIR_OK) {
        sql = weir_arena_strndup(&law->plan, buf.data, buf.size, &law->err);
    }
    weir_buf_deinit(&buf);
    return sql;
}

void law_print_value(const LogicalType *type, const Vector *v, size_t row)
{
    if (weir_vector_is_null(v, row)) {
        printf("NULL");
        return;
    }
    const size_t width = weir_phys_width(v->phys);
    const unsigned char *bytes = (const unsigned char *)v->data + weir_vector_place(v, row) * width;
    if (v->phys == PHYS_STRING) {
        String s;
        memcpy(&s, bytes, sizeof s);
        printf("'%.*s'", (int)weir_string_size(&s), weir_string_data(&s));
    } else if (v->phys == PHYS_F64) {
        double x;
        memcpy(&x, bytes, sizeof x);
        printf("%.17g", x);
    } else if (v->phys == PHYS_F32) {
        float x;
        memcpy(&x, bytes, sizeof x);
        printf("%.9g", (double)x);
    } else if (v->phys == PHYS_INTERVAL) {
        Interval x;
        memcpy(&x, bytes, sizeof x);
        printf("%d months %d days %lld us", x.months, x.days, (long long)x.micros);
    } else if (width == 16) {
        uint64_t words[2];
        memcpy(words, bytes, sizeof words);
        printf("0x%016llx%016llx", (unsigned long long)words[1], (unsigned long long)words[0]);
    } else {
        int64_t x = 0;
        memcpy(&x, bytes, width);
        const bool is_signed = v->phys <= PHYS_I128;
        const unsigned shift = (unsigned)(64 - 8 * width);
        x = is_signed ? (int64_t)((uint64_t)x << shift) >> shift : x;
        printf("%lld", (long long)x);
    }
    WEIR_UNUSED(type);
}

static bool same_value(const Vector *a, const Vector *b, size_t row)
{
    const bool a_is_null = weir_vector_is_null(a, row);
    const bool b_is_null = weir_vector_is_null(b, row);
    if (a_is_null || b_is_null) {
        return a_is_null == b_is_null;
    }
    const size_t width = weir_phys_width(a->phys);
    const unsigned char *x = (const unsigned char *)a->data + weir_vector_place(a, row) * width;
    const unsigned char *y = (const unsigned char *)b->data + weir_vector_place(b, row) * width;
    if (a->phys == PHYS_STRING) {
        String s;
        String t;
        memcpy(&s, x, sizeof s);
        memcpy(&t, y, sizeof t);
        return weir_string_equal(&s, &t) && weir_string_compare(&s, &t) == 0;
    }
    if (memcmp(x, y, width) == 0) {
        return true;
    }
    if (a->phys == PHYS_F64) {
        double s;
        double t;
        memcpy(&s, x, sizeof s);
        memcpy(&t, y, sizeof t);
        return s != s && t != t;
    }
    if (a->phys == PHYS_F32) {
        float s;
        float t;
        memcpy(&s, x, sizeof s);
        memcpy(&t, y, sizeof t);
        return s != s && t != t;
    }
    return false;
}

bool law_same(const LogicalType *type, const Vector *a, const Vector *b, size_t count, size_t *row)
{
    WEIR_UNUSED(type);
    for (size_t i = 0; i < count; i++) {
        if (!same_value(a, b, i)) {
            *row = i;
            return false;
        }
    }
    return true;
}

/* A call with a NULL constant does not get into a plan: the binder folds it. So its type, and whether
 * its other arguments fail, mean nothing. */
static bool has_null_constant(const Expr *expr)
{
    if (expr->kind == EXPR_CONSTANT && expr->value.is_null) {
        return true;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (has_null_constant(expr->args[i])) {
            return true;
        }
    }
    return false;
}

/* DuckDB prints a wrong tail of large floats, and odd digits of some floats. */
static bool same_message(const char *native, const char *duck)
{
    static const char *const vague[] = {
        "Conversion Error: Could not cast value ",
        "Conversion Error: Type FLOAT with value ",
        "Conversion Error: Type DOUBLE with value ",
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(vague); i++) {
        const size_t size = strlen(vague[i]);
        if (strncmp(native, vague[i], size) == 0) {
            return strncmp(native, duck, size) == 0;
        }
    }
    return strcmp(native, duck) == 0;
}

static Status run_native(Law *law, const Expr *expr, const Schema *schema, const Batch *batch,
                         Vector *out, Error *err)
{
    Evaluator *ev = NULL;
    WEIR_TRY(weir_evaluator_new(law->mem, &law->host, &expr, 1, schema, &ev, err));
    Vector result = {0};
    const Status status = weir_evaluator_run(ev, batch, &law->step, &result, err);
    if (status == WEIR_OK) { /* constants, and the bytes of strings, live in the evaluator */
        if (weir_vector_flatten(&result, batch->count, &law->step, &result, err) != WEIR_OK ||
            weir_vector_own_strings(&result, batch->count, &law->step, err) != WEIR_OK) {
            law_die("memory", err->message);
        }
    }
    *out = result;
    weir_evaluator_free(ev);
    return status;
}

static void report(Law *law, const char *name, const char *sql, const Schema *schema,
                   const Batch *batch, size_t row)
{
    law->failures++;
    printf("FAIL %s: %s\n  row %zu of %zu:", name, sql, row, batch->count);
    for (size_t c = 0; c < schema->count; c++) {
        printf(" c%zu=", c);
        law_print_value(schema->types[c], &batch->columns[c], row);
    }
    printf("\n");
}

/* The values of two vectors over the batch. */
static void compare_vectors(Law *law, const char *name, const Expr *expr, const Schema *schema,
                            const Batch *batch, const char *sql, const Vector *vectors)
{
    const Vector *native = &vectors[0];
    const Vector *duck = &vectors[1];
    if (duck->phys != native->phys) {
        if (!has_null_constant(expr)) {
            report(law, name, sql, schema, batch, 0);
            printf("  types differ\n");
        }
        return;
    }
    size_t row = 0;
    if (!law_same(expr->type, native, duck, batch->count, &row)) {
        report(law, name, sql, schema, batch, row);
        printf("  native ");
        law_print_value(expr->type, native, row);
        printf("\n  DuckDB ");
        law_print_value(expr->type, duck, row);
        printf("\n");
    }
}

/* TRY of the expression, on a batch with rows that fail. vectors[1]: DuckDB's; false if even that
 * fails: some errors are not caught. */
static bool compare_tries(Law *law, const char *name, const Expr *expr, const Schema *schema,
                          const Batch *batch, const char *sql, Vector vectors[2])
{
    const Expr *args[] = {expr};
    const Expr attempt = {.kind = EXPR_TRY, .type = expr->type, .args = args, .arg_count = 1};
    Error err = {0};
    char *text = weir_arena_printf(&law->plan, &law->err, "TRY(%s)", sql);
    const char *list[] = {text};
    if (law_query(law, &(LawQuery){.table = "b", .sql = list, .count = 1, .rows = batch->count},
                  &law->step, &vectors[1], &err) != WEIR_OK) {
        return false;
    }
    if (run_native(law, &attempt, schema, batch, &vectors[0], &err) != WEIR_OK) {
        report(law, name, sql, schema, batch, 0);
        printf("  native TRY: %s\n", err.message);
        return false;
    }
    compare_vectors(law, name, expr, schema, batch, sql, vectors);
    return true;
}

/* A batch of one row, loaded. */
static Batch one_row(Law *law, const Schema *schema, const Batch *batch, size_t row)
{
    const uint16_t selection[] = {(uint16_t)row};
    Batch one;
    if (weir_batch_gather(batch, selection, 1, &law->step, &one, &law->err) != WEIR_OK) {
        law_die("memory", law->err.message);
    }
    law_load(law, "b", schema, &one);
    return one;
}

static void compare_messages(Law *law, const char *name, const Expr *expr, const Schema *schema,
                             const Batch *batch, const char *sql)
{
    size_t seen = 0;
    for (size_t row = 0; row < batch->count && seen < MESSAGES_MAX; row++) {
        Error native_err = {0};
        Vector out;
        const uint16_t selection[] = {(uint16_t)row};
        Batch one;
        if (weir_batch_gather(batch, selection, 1, &law->step, &one, &law->err) != WEIR_OK) {
            law_die("memory", law->err.message);
        }
        if (run_native(law, expr, schema, &one, &out, &native_err) == WEIR_OK) {
            continue;
        }
        seen++;
        one = one_row(law, schema, batch, row);
        Error duck_err = {0};
        if (law_query(law, &(LawQuery){.table = "b", .sql = &sql, .count = 1, .rows = 1},
                      &law->step, &out, &duck_err) == WEIR_OK) {
            report(law, name, sql, schema, batch, row);
            printf("  native fails: %s\n  DuckDB does not\n", native_err.message);
            return;
        }
        trim_message(duck_err.message);
        trim_message(native_err.message);
        if (!same_message(native_err.message, duck_err.message)) {
            report(law, name, sql, schema, batch, row);
            printf("  native: %s\n  DuckDB: %s\n", native_err.message, duck_err.message);
            return;
        }
    }
}

/* Runs it both ways; true if neither fails: then the values are compared. */
static bool compare_plain(Law *law, const char *name, const Expr *expr, const Schema *schema,
                          const Batch *batch, const char *sql)
{
    Error native_err = {0};
    Error duck_err = {0};
    Vector vectors[2];
    const Status native = run_native(law, expr, schema, batch, &vectors[0], &native_err);
    const Status duck =
        law_query(law, &(LawQuery){.table = "b", .sql = &sql, .count = 1, .rows = batch->count},
                  &law->step, &vectors[1], &duck_err);
    if (native == WEIR_OK && duck == WEIR_OK) {
        compare_vectors(law, name, expr, schema, batch, sql, vectors);
        return true;
    }
    if (duck == WEIR_OK && has_null_constant(expr)) {
        return true;
    }
    if (native == WEIR_OK || duck == WEIR_OK) {
        report(law, name, sql, schema, batch, 0);
        printf("  native: %s\n  DuckDB: %s\n", native == WEIR_OK ? "no error" : native_err.message,
               duck == WEIR_OK ? "no error" : duck_err.message);
    }
    return false;
}

/* The rows that do not fail, nor are NULL, by themselves: so that kernels see them too that leave a
 * batch with others to the host. */
static void check_good_rows(Law *law, const char *name, const Expr *expr, const Schema *schema,
                            const Batch *batch, const char *sql, const Vector *duck)
{
    uint16_t *rows = weir_arena_calloc(&law->step, batch->count, sizeof *rows, &law->err);
    size_t count = 0;
    for (size_t row = 0; rows != NULL && row < batch->count; row++) {
        if (!weir_vector_is_null(duck, row)) {
            rows[count++] = (uint16_t)row;
        }
    }
    Batch good;
    if (rows == NULL ||
        weir_batch_gather(batch, rows, count, &law->step, &good, &law->err) != WEIR_OK) {
        law_die("memory", law->err.message);
    }
    if (count > 0) {
        law_load(law, "b", schema, &good);
        compare_plain(law, name, expr, schema, &good, sql);
    }
}

void law_check(Law *law, const char *name, const Expr *expr, const Schema *schema,
               const Batch *batch)
{
    const char *sql = law_sql(law, expr);
    if (sql == NULL) {
        law_die(name, law->err.message);
    }
    law->batches++;
    if (compare_plain(law, name, expr, schema, batch, sql)) {
        return;
    }
    Vector vectors[2];
    const bool is_caught = compare_tries(law, name, expr, schema, batch, sql, vectors);
    compare_messages(law, name, expr, schema, batch, sql);
    if (is_caught) {
        check_good_rows(law, name, expr, schema, batch, sql, &vectors[1]);
    }
}
