/* fake_host.h: a database for the tests of src/view: tables t and u of (a INTEGER, n BIGINT), plans
 * from tests/fixtures/view, and a planned failure of any call.
 *
 * Transactions change the committed rows under a mutex; begin copies them as the snapshot. */
#ifndef WEIR_TESTS_UNIT_VIEW_FAKE_HOST_H
#define WEIR_TESTS_UNIT_VIEW_FAKE_HOST_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "view/engine.h"
#include "view/names.h"

enum { FAKE_TABLES = 2, FAKE_PLANS_MAX = 32, FAKE_BATCH = 3 };

typedef struct FakeRow {
    int32_t a;
    int64_t n;
} FakeRow;

typedef struct FakeRows {
    FakeRow *items; /* owned */
    size_t count;
    size_t capacity;
} FakeRows;

typedef struct FakeTable {
    const char *name;
    FakeRows committed;
    FakeRows snapshot;
    bool is_gone; /* dropped or altered */
} FakeTable;

/* The calls that can be made to fail. */
typedef enum FakeCall {
    FAKE_NOTHING,
    FAKE_BEGIN,
    FAKE_PLAN,
    FAKE_PLAN_DIGEST,
    FAKE_OPEN,
    FAKE_FOLLOW,
    FAKE_SYNC,      /* before anything is compared */
    FAKE_SYNC_LATE, /* after the first batch has been told, if there is one */
    FAKE_SCAN,
} FakeCall;

typedef struct FakePlan {
    const char *name;
    const char *columns;
    const char *json;
} FakePlan;

typedef struct FakeHost {
    FakeTable tables[FAKE_TABLES];
    pthread_mutex_t mutex; /* protects the committed rows */
    char *plans_text;      /* owned */
    FakePlan plans[FAKE_PLANS_MAX];
    size_t plan_count;
    bool reads_others;    /* so every definition says */
    uint64_t plan_digest; /* of every definition */
    bool is_open;         /* between begin and end */
    size_t open_tables;
    FakeCall fail_call;
    Status fail_code;
} FakeHost;

struct HostTable {
    FakeTable *table;
    FakeRows baseline;
    size_t columns[2]; /* which are followed, in order: 0 = a, 1 = n */
    size_t column_count;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static inline void rows_add(FakeRows *rows, FakeRow row)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity == 0 ? 16 : 2 * rows->capacity;
        rows->items = realloc(rows->items, rows->capacity * sizeof *rows->items);
        assert_non_null(rows->items);
    }
    rows->items[rows->count++] = row;
}

static inline bool rows_remove(FakeRows *rows, FakeRow row)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i].a == row.a && rows->items[i].n == row.n) {
            rows->items[i] = rows->items[--rows->count];
            return true;
        }
    }
    return false;
}

static inline void rows_copy(FakeRows *to, const FakeRows *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        rows_add(to, from->items[i]);
    }
}

static inline FakeTable *fake_table(FakeHost *fake, const char *name)
{
    for (size_t i = 0; i < FAKE_TABLES; i++) {
        if (weir_name_part_equal(fake->tables[i].name, name)) {
            return &fake->tables[i];
        }
    }
    return NULL;
}

static inline void fake_insert(FakeHost *fake, const char *table, int32_t a, int64_t n)
{
    pthread_mutex_lock(&fake->mutex);
    rows_add(&fake_table(fake, table)->committed, (FakeRow){.a = a, .n = n});
    pthread_mutex_unlock(&fake->mutex);
}

static inline void fake_delete(FakeHost *fake, const char *table, int32_t a, int64_t n)
{
    pthread_mutex_lock(&fake->mutex);
    const bool found = rows_remove(&fake_table(fake, table)->committed, (FakeRow){.a = a, .n = n});
    pthread_mutex_unlock(&fake->mutex);
    assert_true(found);
}

/* ---- planned failures ------------------------------------------------------------------------- */

/* The next such call fails, once. */
static inline void fake_fail(FakeHost *fake, FakeCall call, Status code)
{
    fake->fail_call = call;
    fake->fail_code = code;
}

static inline Status fake_check(FakeHost *fake, FakeCall call, Error *err)
{
    if (fake->fail_call != call) {
        return WEIR_OK;
    }
    fake->fail_call = FAKE_NOTHING;
    return weir_error_set(err, fake->fail_code, "planned failure");
}

/* ---- the host's functions --------------------------------------------------------------------- */

static inline Status fake_begin(void *context, Error *err)
{
    FakeHost *const fake = context;
    assert_false(fake->is_open);
    if (fake_check(fake, FAKE_BEGIN, err) != WEIR_OK) {
        return err->code;
    }
    fake->is_open = true;
    pthread_mutex_lock(&fake->mutex);
    for (size_t i = 0; i < FAKE_TABLES; i++) {
        rows_copy(&fake->tables[i].snapshot, &fake->tables[i].committed);
    }
    pthread_mutex_unlock(&fake->mutex);
    return WEIR_OK;
}

static inline void fake_end(void *context)
{
    FakeHost *const fake = context;
    assert_true(fake->is_open);
    fake->is_open = false;
}

/* The columns of a plan, separated by commas. */
static inline Status fake_columns(const char *text, Arena *arena, HostPlan *out, Error *err)
{
    const char **names = weir_arena_calloc(arena, 4, sizeof *names, err);
    if (names == NULL) {
        return err->code;
    }
    out->column_names = names;
    for (const char *c = text; *c != '\0';) {
        const size_t size = strcspn(c, ",");
        names[out->column_count] = weir_arena_strndup(arena, c, size, err);
        if (names[out->column_count++] == NULL) {
            return err->code;
        }
        c += size + (c[size] == ',');
    }
    return WEIR_OK;
}

/* sql is the name of a plan of the fixture. */
static inline Status fake_plan(void *context, const ViewSettings *settings, const char *sql,
                               Arena *arena, HostPlan *out, Error *err)
{
    FakeHost *const fake = context;
    WEIR_UNUSED(settings);
    assert_true(fake->is_open);
    WEIR_TRY(fake_check(fake, FAKE_PLAN, err));
    *out = (HostPlan){0};
    for (size_t i = 0; i < fake->plan_count; i++) {
        if (strcmp(fake->plans[i].name, sql) == 0) {
            out->json = fake->plans[i].json;
            out->json_size = strlen(out->json);
            out->digest = fake->plan_digest;
            out->reads_others = fake->reads_others;
            return fake_columns(fake->plans[i].columns, arena, out, err);
        }
    }
    return weir_error_set(err, WEIR_ERR_PLAN, "no plan %s", sql);
}

static inline FakePlan *fake_find_plan(FakeHost *fake, const char *name)
{
    size_t i = 0;
    while (i < fake->plan_count && strcmp(fake->plans[i].name, name) != 0) {
        i++;
    }
    assert_true(i < fake->plan_count);
    return &fake->plans[i];
}

/* The definition `name` means what `other` does, and the other way round. */
static inline void fake_exchange_plans(FakeHost *fake, const char *name, const char *other)
{
    FakePlan *const place = fake_find_plan(fake, name);
    FakePlan *const other_place = fake_find_plan(fake, other);
    const FakePlan kept = *place;
    *place = (FakePlan){kept.name, other_place->columns, other_place->json};
    *other_place = (FakePlan){other_place->name, kept.columns, kept.json};
    fake->plan_digest++;
}

static inline Status fake_plan_digest(void *context, const ViewSettings *settings, const char *sql,
                                      uint64_t *out, Error *err)
{
    FakeHost *const fake = context;
    WEIR_UNUSED(settings);
    WEIR_UNUSED(sql);
    assert_true(fake->is_open);
    WEIR_TRY(fake_check(fake, FAKE_PLAN_DIGEST, err));
    *out = fake->plan_digest;
    return WEIR_OK;
}

static inline Status fake_stability(void *context, const char *function, FunctionStability *out,
                                    Error *err)
{
    WEIR_UNUSED(context);
    WEIR_UNUSED(function);
    WEIR_UNUSED(err);
    *out = STABILITY_CONSISTENT;
    return WEIR_OK;
}

static inline Status fake_resolve_name(void *context, const ViewSettings *settings,
                                       const char *name, Arena *arena, TableName *out, Error *err)
{
    const char *parts[NAME_MAX_PARTS];
    size_t count = 0;
    WEIR_UNUSED(context);
    WEIR_TRY(weir_name_split(arena, name, parts, &count, err));
    const char *schema = count > 1 ? parts[count - 2] : "main";
    if (settings->search_path != NULL && count == 1) {
        schema = weir_arena_strdup(arena, settings->search_path, err);
    }
    *out = (TableName){.catalog = "memory", .schema = schema, .name = parts[count - 1]};
    return schema == NULL ? err->code : WEIR_OK;
}

static inline Status fake_name_exists(void *context, const TableName *name, bool *out, Error *err)
{
    WEIR_UNUSED(err);
    *out = fake_table(context, name->name) != NULL;
    return WEIR_OK;
}

static inline Status fake_table_schema(void *context, const TableName *name, Arena *arena,
                                       Schema *out, Error *err)
{
    const FakeTable *const table = fake_table(context, name->name);
    if (table == NULL || table->is_gone) {
        return weir_error_set(err, WEIR_ERR_UNKNOWN_TABLE, "no table %s", name->name);
    }
    static const char *const NAMES[] = {"a", "n"};
    const LogicalType **types = weir_arena_calloc(arena, 2, sizeof(const LogicalType *), err);
    if (types == NULL) {
        return err->code;
    }
    types[0] = weir_type_simple(TYPE_INTEGER);
    types[1] = weir_type_simple(TYPE_BIGINT);
    *out = (Schema){.count = 2, .types = types, .names = NAMES};
    return WEIR_OK;
}

static inline Status fake_table_open(void *context, const TableName *name, HostTable **out,
                                     Error *err)
{
    FakeHost *const fake = context;
    assert_true(fake->is_open);
    WEIR_TRY(fake_check(fake, FAKE_OPEN, err));
    FakeTable *const table = fake_table(fake, name->name);
    if (table == NULL || table->is_gone) {
        return weir_error_set(err, WEIR_ERR_UNKNOWN_TABLE, "no table %s", name->name);
    }
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    (*out)->table = table;
    fake->open_tables++;
    return WEIR_OK;
}

static inline void fake_table_close(void *context, HostTable *table)
{
    FakeHost *const fake = context;
    fake->open_tables--;
    free(table->baseline.items);
    free(table);
}

static inline Status fake_table_follow(void *context, HostTable *table, const char *const *columns,
                                       const LogicalType *const *types, size_t count, Error *err)
{
    FakeHost *const fake = context;
    WEIR_UNUSED(types);
    assert_true(fake->is_open);
    WEIR_TRY(fake_check(fake, FAKE_FOLLOW, err));
    if (table->table->is_gone) {
        return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED, "%s is gone", table->table->name);
    }
    for (size_t i = 0; i < count; i++) {
        table->columns[i] = weir_name_part_equal(columns[i], "n");
    }
    table->column_count = count;
    rows_copy(&table->baseline, &table->table->snapshot);
    return WEIR_OK;
}

/* Calls visit with rows, in small batches, each row with this weight. */
static inline Status fake_visit(const HostTable *table, const FakeRows *rows, int64_t weight,
                                HostVisit visit, void *user, Error *err)
{
    int32_t a[FAKE_BATCH];
    int64_t n[FAKE_BATCH];
    int64_t weights[FAKE_BATCH] = {weight, weight, weight};
    for (size_t first = 0; first < rows->count; first += FAKE_BATCH) {
        Vector columns[2] = {0};
        const size_t count = WEIR_MIN(rows->count - first, (size_t)FAKE_BATCH);
        for (size_t i = 0; i < count; i++) {
            a[i] = rows->items[first + i].a;
            n[i] = rows->items[first + i].n;
        }
        for (size_t i = 0; i < table->column_count; i++) {
            columns[i] = table->columns[i] == 0 ? (Vector){.phys = PHYS_I32, .data = a}
                                                : (Vector){.phys = PHYS_I64, .data = n};
        }
        const Batch batch = {.count = count,
                             .column_count = table->column_count,
                             .columns = columns,
                             .weights = weights};
        WEIR_TRY(visit(user, &batch, err));
    }
    return WEIR_OK;
}

/* gone = baseline - snapshot, come = snapshot - baseline. Most rows stand where they stood. */
static inline void fake_compare(const HostTable *table, FakeRows *gone, FakeRows *come)
{
    const FakeRows *const before = &table->baseline;
    const FakeRows *const now = &table->table->snapshot;
    for (size_t i = 0; i < WEIR_MAX(before->count, now->count); i++) {
        const bool is_same = i < before->count && i < now->count &&
                             before->items[i].a == now->items[i].a &&
                             before->items[i].n == now->items[i].n;
        if (!is_same && i < before->count) {
            rows_add(gone, before->items[i]);
        }
        if (!is_same && i < now->count) {
            rows_add(come, now->items[i]);
        }
    }
    for (size_t i = come->count; i-- > 0;) {
        if (rows_remove(gone, come->items[i])) {
            come->items[i] = come->items[--come->count];
        }
    }
}

static inline Status fake_table_sync(void *context, HostTable *table, HostVisit visit, void *user,
                                     SyncReport *report, Error *err)
{
    FakeHost *const fake = context;
    Status status = WEIR_OK;
    FakeRows gone = {0};
    FakeRows come = {0};
    assert_true(fake->is_open);
    *report = (SyncReport){.method = SYNC_DIFFED};
    WEIR_TRY(fake_check(fake, FAKE_SYNC, err));
    if (table->table->is_gone) {
        return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED, "%s is gone", table->table->name);
    }
    fake_compare(table, &gone, &come);
    WEIR_CHECK(fake_visit(table, &gone, -1, visit, user, err));
    if (gone.count > 0) {
        WEIR_CHECK(fake_check(fake, FAKE_SYNC_LATE, err));
    }
    WEIR_CHECK(fake_visit(table, &come, 1, visit, user, err));
    if (come.count > 0) {
        WEIR_CHECK(fake_check(fake, FAKE_SYNC_LATE, err));
    }
    rows_copy(&table->baseline, &table->table->snapshot);
done:
    free(gone.items);
    free(come.items);
    return status;
}

static inline Status fake_table_scan(void *context, HostTable *table, HostVisit visit, void *user,
                                     Error *err)
{
    WEIR_TRY(fake_check(context, FAKE_SCAN, err));
    return fake_visit(table, &table->baseline, 1, visit, user, err);
}

static inline const char *fake_table_method(const HostTable *table)
{
    WEIR_UNUSED(table);
    return "fake";
}

static inline uint64_t fake_table_row_count(const HostTable *table)
{
    return table->baseline.count;
}

static inline size_t fake_table_bytes(const HostTable *table)
{
    return table->baseline.capacity * sizeof(FakeRow);
}

static inline Status fake_expr_open(void *context, const ViewSettings *settings, ExprHost *out,
                                    Error *err)
{
    WEIR_UNUSED(context);
    WEIR_UNUSED(settings);
    WEIR_UNUSED(err);
    *out = (ExprHost){0};
    return WEIR_OK;
}

static inline void fake_expr_close(void *context, ExprHost *expr)
{
    WEIR_UNUSED(context);
    WEIR_UNUSED(expr);
}

static inline Host fake_functions(FakeHost *fake)
{
    return (Host){
        .context = fake,
        .begin = fake_begin,
        .end = fake_end,
        .plan = fake_plan,
        .plan_digest = fake_plan_digest,
        .stability = fake_stability,
        .resolve_name = fake_resolve_name,
        .name_exists = fake_name_exists,
        .table_schema = fake_table_schema,
        .table_open = fake_table_open,
        .table_close = fake_table_close,
        .table_follow = fake_table_follow,
        .table_sync = fake_table_sync,
        .table_scan = fake_table_scan,
        .table_method = fake_table_method,
        .table_row_count = fake_table_row_count,
        .table_bytes = fake_table_bytes,
        .expr_open = fake_expr_open,
        .expr_close = fake_expr_close,
    };
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* Cuts the next line off. */
static inline const char *fake_line(char **rest)
{
    char *const line = *rest;
    char *const end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    *rest = end + 1;
    return line;
}

static inline void fake_read_plans(FakeHost *fake)
{
    FILE *file = fopen(WEIR_TESTS_DIR "/fixtures/view/plans.txt", "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    fake->plans_text = malloc((size_t)size + 1);
    assert_non_null(fake->plans_text);
    assert_int_equal(fread(fake->plans_text, 1, (size_t)size, file), (size_t)size);
    assert_int_equal(fclose(file), 0);
    fake->plans_text[size] = '\0';
    for (char *rest = fake->plans_text; *rest != '\0';) {
        assert_true(fake->plan_count < FAKE_PLANS_MAX);
        FakePlan *const plan = &fake->plans[fake->plan_count++];
        plan->name = fake_line(&rest) + strlen("== ");
        plan->columns = fake_line(&rest);
        plan->json = fake_line(&rest);
    }
}

static inline void fake_open(FakeHost *fake)
{
    *fake = (FakeHost){.tables = {{.name = "t"}, {.name = "u"}}};
    pthread_mutex_init(&fake->mutex, NULL);
    fake_read_plans(fake);
}

static inline void fake_close(FakeHost *fake)
{
    assert_false(fake->is_open);
    assert_int_equal(fake->open_tables, 0);
    for (size_t i = 0; i < FAKE_TABLES; i++) {
        free(fake->tables[i].committed.items);
        free(fake->tables[i].snapshot.items);
    }
    pthread_mutex_destroy(&fake->mutex);
    free(fake->plans_text);
}

#endif
