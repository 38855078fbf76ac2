/* join_model.h: rows, Z-sets as text, and a join written as two loops: what the join operators are
 * compared with. */
#ifndef WEIR_TESTS_UNIT_OP_JOIN_MODEL_H
#define WEIR_TESTS_UNIT_OP_JOIN_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "op/op.h"

/* A repeatable sequence (splitmix64). */
typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline size_t random_below(Random *random, size_t limit)
{
    return (size_t)(random_next(random) % limit);
}

static inline bool random_chance(Random *random, size_t percent)
{
    return random_below(random, 100) < percent;
}

/* The seed of a random test: fixed, or from the environment; printed either way. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("WEIR_TEST_SEED");
    const uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* --- text ------------------------------------------------------------------------------------ */

enum { TEXT_SIZE = 64 };

/* snprintf into a cell of TEXT_SIZE. */
static inline void put_text(char *out, const char *format, ...) WEIR_PRINTF(2, 3);
static inline void put_text(char *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(out, TEXT_SIZE, format, args);
    va_end(args);
    assert_true(size >= 0 && size < TEXT_SIZE);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Both sides have the columns INTEGER, VARCHAR, DOUBLE (the keys), BIGINT, VARCHAR. */
enum { KEY_COLUMNS = 3, NUMBER_COLUMN = 3, TEXT_COLUMN = 4, COLUMNS = 5, NONE = -1 };

/* A row by small codes; NONE = NULL. */
typedef struct TestRow {
    int key[KEY_COLUMNS];
    int form;   /* which representation the DOUBLE has: 0.0 or -0.0, one NaN or another */
    int number; /* BIG and above: so large that sums overflow */
    int text;
} TestRow;

enum { BIG = 1000 };

enum { ROW_TEXT_SIZE = 2 * COLUMNS * TEXT_SIZE };

static inline int64_t number_value(int code)
{
    return code >= BIG ? INT64_MAX - (code - BIG) : code;
}

static inline void key_text(int code, char *out)
{
    put_text(out, code % 2 == 0 ? "k%d" : "key number %d is a long one", code);
}

static inline void payload_text(int code, char *out)
{
    put_text(out, code % 3 == 0 ? "t%d" : "text number %d, too long for a slot", code);
}

static inline double real_value(int code, int form)
{
    static const uint64_t nans[2] = {UINT64_C(0x7FF8000000000000), UINT64_C(0xFFF8000000000001)};
    double value = 1.5 * code;
    if (code == 0) {
        value = form == 0 ? 0.0 : -0.0;
    } else if (code == 1) {
        memcpy(&value, &nans[form], sizeof value);
    }
    return value;
}

static inline void real_text(double value, char *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_text(out, "%016llx", (unsigned long long)bits);
}

/* The column of a row as the collector prints it. */
static inline void cell_text(const TestRow *row, size_t column, char *out)
{
    const int code = column < KEY_COLUMNS      ? row->key[column]
                     : column == NUMBER_COLUMN ? row->number
                                               : row->text;
    if (code == NONE) {
        put_text(out, "~");
    } else if (column == 0) {
        put_text(out, "%d", code);
    } else if (column == 1) {
        key_text(code, out);
    } else if (column == 2) {
        real_text(real_value(code, row->form), out);
    } else if (column == NUMBER_COLUMN) {
        put_text(out, "%lld", (long long)number_value(code));
    } else {
        payload_text(code, out);
    }
}

static inline bool row_equal(const TestRow *a, const TestRow *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* --- a Z-set of rows ------------------------------------------------------------------------- */

typedef struct WeightedRow {
    TestRow row;
    int64_t weight;
} WeightedRow;

typedef struct RowSet {
    WeightedRow *rows;
    size_t count;
    size_t capacity;
} RowSet;

static inline void row_set_free(RowSet *set)
{
    free(set->rows);
    *set = (RowSet){0};
}

static inline void row_set_push(RowSet *set, const TestRow *row, int64_t weight)
{
    if (set->count == set->capacity) {
        set->capacity = set->capacity == 0 ? 64 : 2 * set->capacity;
        set->rows = realloc(set->rows, set->capacity * sizeof *set->rows);
        assert_non_null(set->rows);
    }
    set->rows[set->count] = (WeightedRow){.row = *row, .weight = weight};
    set->count++;
}

/* Adds to the weight of the row, which stays one entry. */
static inline void row_set_add(RowSet *set, const TestRow *row, int64_t weight)
{
    for (size_t i = 0; i < set->count; i++) {
        if (row_equal(&set->rows[i].row, row)) {
            set->rows[i].weight += weight;
            if (set->rows[i].weight == 0) {
                set->count--;
                set->rows[i] = set->rows[set->count];
            }
            return;
        }
    }
    row_set_push(set, row, weight);
}

/* --- a Z-set of texts ------------------------------------------------------------------------ */

typedef struct WeightedText {
    char *text;
    int64_t weight;
} WeightedText;

typedef struct TextSet {
    WeightedText *texts;
    size_t count;
    size_t capacity;
} TextSet;

static inline void text_set_free(TextSet *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->texts[i].text);
    }
    free(set->texts);
    *set = (TextSet){0};
}

static inline void text_set_add(TextSet *set, const char *text, int64_t weight)
{
    if (set->count == set->capacity) {
        set->capacity = set->capacity == 0 ? 256 : 2 * set->capacity;
        set->texts = realloc(set->texts, set->capacity * sizeof *set->texts);
        assert_non_null(set->texts);
    }
    char *copy = strdup(text);
    assert_non_null(copy);
    set->texts[set->count] = (WeightedText){.text = copy, .weight = weight};
    set->count++;
}

static inline int text_compare(const void *a, const void *b)
{
    const WeightedText *x = a;
    const WeightedText *y = b;
    return strcmp(x->text, y->text);
}

/* Sorts, sums equal texts, drops zeros. */
static inline void text_set_normalise(TextSet *set)
{
    if (set->count == 0) {
        return;
    }
    qsort(set->texts, set->count, sizeof *set->texts, text_compare);
    size_t kept = 0;
    for (size_t i = 0; i < set->count;) {
        WeightedText sum = set->texts[i];
        size_t next = i + 1;
        while (next < set->count && strcmp(set->texts[next].text, sum.text) == 0) {
            sum.weight += set->texts[next].weight;
            free(set->texts[next].text);
            next++;
        }
        if (sum.weight != 0) {
            set->texts[kept] = sum;
            kept++;
        } else {
            free(sum.text);
        }
        i = next;
    }
    set->count = kept;
}

/* Both are put into normal form. */
static inline bool text_set_equal(TextSet *a, TextSet *b)
{
    text_set_normalise(a);
    text_set_normalise(b);
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (strcmp(a->texts[i].text, b->texts[i].text) != 0 ||
            a->texts[i].weight != b->texts[i].weight) {
            print_error("got  %+lld %s\nwant %+lld %s\n", (long long)a->texts[i].weight,
                        a->texts[i].text, (long long)b->texts[i].weight, b->texts[i].text);
            return false;
        }
    }
    if (a->count != b->count) {
        const WeightedText *more = a->count > b->count ? &a->texts[b->count] : &b->texts[a->count];
        print_error("%s %+lld %s\n",
                    a->count > b->count ? "too many:" : "missing:", (long long)more->weight,
                    more->text);
    }
    return a->count == b->count;
}

/* --- the join of the model ------------------------------------------------------------------- */

typedef enum ResidualKind {
    RESIDUAL_NONE,
    RESIDUAL_LESS,          /* left number < right number */
    RESIDUAL_LESS_AND_TEXT, /* and left text <> right text */
    RESIDUAL_SUM,           /* left number + right number > 6: fails if the sum overflows */
    RESIDUAL_UNKNOWN,       /* NULL */
    RESIDUAL_COUNT
} ResidualKind;

typedef struct JoinConfig {
    JoinKind kind;
    size_t key_count;
    bool is_null_safe[KEY_COLUMNS];
    ResidualKind residual;
    size_t left_output[COLUMNS];
    size_t left_output_count;
    size_t right_output[COLUMNS];
    size_t right_output_count;
} JoinConfig;

typedef enum Tri { TRI_FALSE, TRI_TRUE, TRI_NULL } Tri;

static inline Tri tri_and(Tri a, Tri b)
{
    if (a == TRI_FALSE || b == TRI_FALSE) {
        return TRI_FALSE;
    }
    return a == TRI_NULL || b == TRI_NULL ? TRI_NULL : TRI_TRUE;
}

static inline Tri tri_of(bool has_null, bool value)
{
    if (has_null) {
        return TRI_NULL;
    }
    return value ? TRI_TRUE : TRI_FALSE;
}

static inline Tri residual_value(ResidualKind kind, const TestRow *l, const TestRow *r)
{
    const bool has_null = l->number == NONE || r->number == NONE;
    const Tri less = tri_of(has_null, number_value(l->number) < number_value(r->number));
    switch (kind) {
    case RESIDUAL_LESS: return less;
    case RESIDUAL_LESS_AND_TEXT:
        return tri_and(less, tri_of(l->text == NONE || r->text == NONE, l->text != r->text));
    case RESIDUAL_SUM: return tri_of(has_null, l->number + r->number > 6);
    case RESIDUAL_UNKNOWN: return TRI_NULL;
    case RESIDUAL_NONE:
    case RESIDUAL_COUNT: break;
    }
    return TRI_TRUE;
}

static inline bool keys_match(const JoinConfig *config, const TestRow *l, const TestRow *r,
                              bool only_null_safe)
{
    for (size_t k = 0; k < config->key_count; k++) {
        const bool has_null = l->key[k] == NONE || r->key[k] == NONE;
        if (only_null_safe && !config->is_null_safe[k]) {
            continue;
        }
        if (l->key[k] != r->key[k] || (has_null && !config->is_null_safe[k])) {
            return false;
        }
    }
    return true;
}

static inline bool rows_match(const JoinConfig *config, const TestRow *l, const TestRow *r)
{
    return keys_match(config, l, r, false) && residual_value(config->residual, l, r) == TRI_TRUE;
}

/* NULL in a column that a condition of a MARK join reads. */
static inline bool has_null_condition(const JoinConfig *config, const TestRow *row)
{
    for (size_t k = 0; k < config->key_count; k++) {
        if (!config->is_null_safe[k] && row->key[k] == NONE) {
            return true;
        }
    }
    return config->residual == RESIDUAL_UNKNOWN ||
           (config->residual != RESIDUAL_NONE && row->number == NONE) ||
           (config->residual == RESIDUAL_LESS_AND_TEXT && row->text == NONE);
}

static inline Tri mark_value(const JoinConfig *config, const TestRow *l, const RowSet *right)
{
    bool is_empty = true;
    bool has_null = false;
    for (size_t i = 0; i < right->count; i++) {
        const TestRow *r = &right->rows[i].row;
        if (!keys_match(config, l, r, true)) {
            continue;
        }
        if (rows_match(config, l, r)) {
            return TRI_TRUE;
        }
        is_empty = false;
        has_null = has_null || has_null_condition(config, r);
    }
    if (is_empty) {
        return TRI_FALSE;
    }
    return has_null || has_null_condition(config, l) ? TRI_NULL : TRI_FALSE;
}

/* Appends a cell and a bar. */
static inline void text_append(char *text, const char *cell)
{
    const size_t size = strlen(text);
    const int added = snprintf(text + size, ROW_TEXT_SIZE - size, "%s|", cell);
    assert_true(added > 0 && size + (size_t)added < ROW_TEXT_SIZE);
}

/* An output row of the model; a row that is NULL gives NULLs. */
static inline void joined_text(const JoinConfig *config, const TestRow *l, const TestRow *r,
                               char *out)
{
    char cell[TEXT_SIZE];
    out[0] = '\0';
    for (size_t o = 0; o < config->left_output_count; o++) {
        put_text(cell, "~");
        if (l != NULL) {
            cell_text(l, config->left_output[o], cell);
        }
        text_append(out, cell);
    }
    for (size_t o = 0; o < config->right_output_count; o++) {
        put_text(cell, "~");
        if (r != NULL) {
            cell_text(r, config->right_output[o], cell);
        }
        text_append(out, cell);
    }
}

static inline bool has_match(const JoinConfig *config, const TestRow *row, size_t port,
                             const RowSet *others)
{
    for (size_t i = 0; i < others->count; i++) {
        const TestRow *other = &others->rows[i].row;
        if (port == 0 ? rows_match(config, row, other) : rows_match(config, other, row)) {
            return true;
        }
    }
    return false;
}

static inline void model_pairs(const JoinConfig *config, const RowSet *left, const RowSet *right,
                               TextSet *out)
{
    char text[ROW_TEXT_SIZE];
    for (size_t i = 0; i < left->count; i++) {
        for (size_t j = 0; j < right->count; j++) {
            const WeightedRow *l = &left->rows[i];
            const WeightedRow *r = &right->rows[j];
            if (rows_match(config, &l->row, &r->row)) {
                joined_text(config, &l->row, &r->row, text);
                text_set_add(out, text, l->weight * r->weight);
            }
        }
    }
}

/* The answers of the rows of one side. */
static inline void model_rows(const JoinConfig *config, size_t port, const RowSet *rows,
                              const RowSet *others, TextSet *out)
{
    char text[ROW_TEXT_SIZE];
    for (size_t i = 0; i < rows->count; i++) {
        const TestRow *row = &rows->rows[i].row;
        bool is_shown = true;
        joined_text(config, port == 0 ? row : NULL, port == 0 ? NULL : row, text);
        if (config->kind == JOIN_MARK) {
            static const char *const marks[] = {"0", "1", "~"};
            text_append(text, marks[mark_value(config, row, others)]);
        } else {
            is_shown = has_match(config, row, port, others) == (config->kind == JOIN_SEMI);
        }
        if (is_shown) {
            text_set_add(out, text, rows->rows[i].weight);
        }
    }
}

/* The join of two sets without negative weights. */
static inline void model_join(const JoinConfig *config, const RowSet *left, const RowSet *right,
                              TextSet *out)
{
    const JoinKind kind = config->kind;
    if (kind == JOIN_INNER || kind == JOIN_LEFT || kind == JOIN_FULL) {
        model_pairs(config, left, right, out);
    }
    if (kind != JOIN_INNER) {
        model_rows(config, 0, left, right, out);
    }
    if (kind == JOIN_FULL) {
        model_rows(config, 1, right, left, out);
    }
}

#endif
