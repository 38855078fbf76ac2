/* follow_test.h: a followed table, with the sum of all differences that were reported. */
#ifndef WEIR_TEST_FOLLOW_TEST_H
#define WEIR_TEST_FOLLOW_TEST_H

#include "host_test.h"

/* A followed table and the sum of everything reported. */
typedef struct Follower {
    World *w;
    HostTable *table;
    const char *columns; /* comma separated */
    const char *names[16];
    const LogicalType *types[16];
    size_t count;
    Bag sum;
    SyncReport report;
} Follower;

static const TableName T = {.catalog = "memory", .schema = "main", .name = "t"};

/* Follows the named columns of t. Inside begin .. end. */
static inline void follow(Follower *f, World *w, const char *const *names, size_t count)
{
    *f = (Follower){.w = w, .count = count};
    Schema schema = {0};
    ASSERT_OK(w->host.table_schema(w->host.context, &T, &w->arena, &schema, &w->err), &w->err);
    for (size_t i = 0; i < count; i++) {
        f->names[i] = names[i];
        for (size_t c = 0; c < schema.count; c++) {
            if (strcmp(schema.names[c], names[i]) == 0) {
                f->types[i] = schema.types[c];
            }
        }
        assert_non_null(f->types[i]);
    }
    ASSERT_OK(w->host.table_open(w->host.context, &T, &f->table, &w->err), &w->err);
    ASSERT_OK(w->host.table_follow(w->host.context, f->table, f->names, f->types, count, &w->err),
              &w->err);
    bag_init(&f->sum, w->mem, f->types, count);
    ASSERT_OK(w->host.table_scan(w->host.context, f->table, bag_visit, &f->sum, &w->err), &w->err);
}

static inline void unfollow(Follower *f)
{
    f->w->host.table_close(f->w->host.context, f->table);
    bag_deinit(&f->sum);
}

static inline void select_text(const Follower *f, char *sql, size_t size)
{
    size_t used = (size_t)snprintf(sql, size, "SELECT ");
    for (size_t i = 0; i < f->count; i++) {
        used += (size_t)snprintf(sql + used, size - used, "%s%s", i == 0 ? "" : ", ", f->names[i]);
    }
    assert_in_range(snprintf(sql + used, size - used, " FROM t"), 1, size - used - 1);
}

/* The sum, the baseline and the snapshot hold the same rows. Inside begin .. end. */
static inline void check_content(Follower *f)
{
    World *w = f->w;
    char sql[1024];
    Bag now;
    Bag baseline;
    bag_init(&now, w->mem, f->types, f->count);
    bag_init(&baseline, w->mem, f->types, f->count);
    select_text(f, sql, sizeof sql);
    bag_add_query(&now, w, w->duck->scan, sql, f->types);
    assert_int_equal(w->host.table_row_count(f->table), now.count);
    ASSERT_OK(w->host.table_scan(w->host.context, f->table, bag_visit, &baseline, &w->err),
              &w->err);
    bag_assert_equal(&now, &baseline);
    bag_assert_equal(&now, &f->sum);
    bag_deinit(&now);
    bag_deinit(&baseline);
}

static inline void sync_and_check(Follower *f)
{
    World *w = f->w;
    world_begin(w);
    ASSERT_OK(
        w->host.table_sync(w->host.context, f->table, bag_visit, &f->sum, &f->report, &w->err),
        &w->err);
    check_content(f);
    world_end(w);
}

/* Runs a statement and expects sync to find its effect by this method. */
static inline void expect(Follower *f, const char *sql, SyncMethod method)
{
    duck_run(f->w->user, sql);
    sync_and_check(f);
    if (f->report.method != method) {
        fail_msg("%s: found by method %d, not %d", sql, (int)f->report.method, (int)method);
    }
}

#endif
