/* replay.c: see replay.h. */
#include "replay.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64 };

/* --- rules --- */

int replay_check_rules(sqlite3 *db, const char *log, Text *problem)
{
    char *const sql = sqlite3_mprintf(
        "SELECT change_id, change_txn_id, change_type FROM main.\"%w\" ORDER BY change_id", log);
    sqlite3_stmt *rows = NULL;
    sqlite3_int64 first = 0;
    sqlite3_int64 last = 0;
    (void)sqlite3_prepare_v2(db, sql, -1, &rows, NULL);
    sqlite3_free(sql);
    while (problem->size == 0 && sqlite3_step(rows) == SQLITE_ROW) {
        const sqlite3_int64 id = sqlite3_column_int64(rows, 0);
        const sqlite3_int64 transaction = sqlite3_column_int64(rows, 1);
        const int is_commit = sqlite3_column_int(rows, 2) == 2;
        if (id <= last) {
            text_add(problem, "id %lld after %lld", id, last);
        }
        if (!is_commit && first == 0) {
            first = id;
        }
        if (transaction != (first == 0 ? -1 : first)) {
            text_add(problem, "record %lld has transaction %lld, not %lld", id, transaction, first);
        }
        first = is_commit ? 0 : first;
        last = id;
    }
    if (first != 0 && problem->size == 0) {
        text_add(problem, "transaction %lld has no COMMIT record", first);
    }
    sqlite3_finalize(rows);
    return problem->size > 0;
}

/* --- tables --- */

typedef struct Shape {
    char name[64];
    char columns[FIELDS_MAX][32];
    int is_stored[FIELDS_MAX];   /* has a field in images */
    int is_writable[FIELDS_MAX]; /* is not generated */
    int is_key[FIELDS_MAX];
    int count;
    int has_rowid;
} Shape;

static int read_shape(sqlite3 *db, const char *table, Shape *shape)
{
    sqlite3_stmt *rows = NULL;
    *shape = (Shape){.count = 0};
    sqlite3_snprintf((int)sizeof shape->name, shape->name, "%s", table);
    (void)sqlite3_prepare_v2(db,
                             "SELECT x.name, x.hidden, x.pk, l.wr FROM pragma_table_list(?1) AS l, "
                             "pragma_table_xinfo(?1,'main') AS x WHERE l.schema='main'",
                             -1, &rows, NULL);
    (void)sqlite3_bind_text(rows, 1, table, -1, SQLITE_STATIC);
    while (sqlite3_step(rows) == SQLITE_ROW && shape->count < FIELDS_MAX) {
        const int hidden = sqlite3_column_int(rows, 1);
        sqlite3_snprintf(32, shape->columns[shape->count], "%s", sqlite3_column_text(rows, 0));
        shape->is_writable[shape->count] = hidden == 0;
        shape->is_key[shape->count] = sqlite3_column_int(rows, 2) > 0;
        shape->has_rowid = sqlite3_column_int(rows, 3) == 0;
        shape->is_stored[shape->count++] = hidden != 2;
    }
    sqlite3_finalize(rows);
    return shape->count;
}

static void bind_field(sqlite3_stmt *statement, int index, const Field *field)
{
    switch (field->type) {
    case SQLITE_INTEGER: (void)sqlite3_bind_int64(statement, index, field->integer); break;
    case SQLITE_FLOAT: (void)sqlite3_bind_double(statement, index, field->real); break;
    case SQLITE_TEXT:
        (void)sqlite3_bind_text(statement, index, (const char *)field->data, field->size,
                                SQLITE_STATIC);
        break;
    case SQLITE_BLOB:
        (void)sqlite3_bind_blob(statement, index, field->data, field->size, SQLITE_STATIC);
        break;
    default: (void)sqlite3_bind_null(statement, index); break;
    }
}

/* The bits: 0.0 and -0.0 differ. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int is_equal(const Field *a, const Field *b)
{
    return a->type == b->type && a->integer == b->integer && bits_of(a->real) == bits_of(b->real) &&
           a->size == b->size &&
           (a->size == 0 ||
            (a->data != NULL && b->data != NULL && memcmp(a->data, b->data, (size_t)a->size) == 0));
}

static Field field_of_column(sqlite3_stmt *row, int column)
{
    Field field = {.type = sqlite3_column_type(row, column)};
    if (field.type == SQLITE_INTEGER) {
        field.integer = sqlite3_column_int64(row, column);
    } else if (field.type == SQLITE_FLOAT) {
        field.real = sqlite3_column_double(row, column);
    } else if (field.type != SQLITE_NULL) {
        field.data = sqlite3_column_blob(row, column);
        field.size = sqlite3_column_bytes(row, column);
    }
    return field;
}

/* --- one change --- */

typedef struct Change {
    sqlite3_int64 id;
    int type;
    const char *table;
    int has_rowid;
    sqlite3_int64 rowid;
    Field before[FIELDS_MAX];
    Field after[FIELDS_MAX];
    Field updates[2 * FIELDS_MAX];
    int before_count; /* -1: there is none */
    int after_count;
    int updates_count;
} Change;

static int read_image(sqlite3_stmt *row, int column, Field *fields, int max)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL) {
        return -1;
    }
    const int count = record_read(sqlite3_column_blob(row, column),
                                  sqlite3_column_bytes(row, column), fields, max);
    return count < 0 ? -2 : count;
}

static void read_change(sqlite3_stmt *row, Change *change)
{
    memset(change, 0, sizeof *change);
    change->id = sqlite3_column_int64(row, 0);
    change->type = sqlite3_column_int(row, 3);
    change->table = (const char *)sqlite3_column_text(row, 4);
    change->has_rowid = sqlite3_column_type(row, 5) != SQLITE_NULL;
    change->rowid = sqlite3_column_int64(row, 5);
    change->before_count = read_image(row, 6, change->before, FIELDS_MAX);
    change->after_count = read_image(row, 7, change->after, FIELDS_MAX);
    change->updates_count = read_image(row, 8, change->updates, 2 * FIELDS_MAX);
}

static int run(sqlite3 *db, sqlite3_stmt *statement, const Change *change, Text *problem)
{
    (void)sqlite3_step(statement);
    if (sqlite3_finalize(statement) != SQLITE_OK) {
        text_add(problem, "record %lld: %s", change->id, sqlite3_errmsg(db));
    }
    return problem->size > 0;
}

static sqlite3_stmt *prepare(sqlite3 *db, Text *sql)
{
    sqlite3_stmt *statement = NULL;
    (void)sqlite3_prepare_v2(db, text_get(sql), -1, &statement, NULL);
    text_free(sql);
    return statement;
}

/* Which row: that of the change, with the key of an image of it. */
static void add_identity(Text *sql, const Shape *shape)
{
    const char *separator = " WHERE ";
    if (shape->has_rowid) {
        text_add(sql, " WHERE rowid=?");
        return;
    }
    for (int i = 0; i < shape->count; i++) {
        if (shape->is_key[i]) {
            text_add(sql, "%s\"%s\"=?", separator, shape->columns[i]);
            separator = " AND ";
        }
    }
}

static void bind_identity(sqlite3_stmt *statement, int at, const Shape *shape, const Change *change,
                          const Field *image)
{
    if (shape->has_rowid) {
        (void)sqlite3_bind_int64(statement, at, change->rowid);
        return;
    }
    for (int i = 0, stored = 0; i < shape->count; i++) {
        if (shape->is_key[i]) {
            bind_field(statement, at++, &image[stored]);
        }
        stored += shape->is_stored[i];
    }
}

/* The row must be what the image says. */
static int check_row(sqlite3 *db, const Shape *shape, const Change *change, const Field *image,
                     int count, Text *problem)
{
    Text sql = {0};
    text_add(&sql, "SELECT 1");
    for (int i = 0; i < shape->count; i++) {
        if (shape->is_stored[i]) {
            text_add(&sql, ",\"%s\"", shape->columns[i]);
        }
    }
    text_add(&sql, " FROM main.\"%s\"", shape->name);
    add_identity(&sql, shape);
    sqlite3_stmt *const row = prepare(db, &sql);
    bind_identity(row, 1, shape, change, image);
    if (shape->has_rowid != change->has_rowid) {
        text_add(problem, "record %lld: %s", change->id, shape->has_rowid ? "no id" : "an id");
    }
    if (sqlite3_step(row) != SQLITE_ROW) {
        text_add(problem, "record %lld: no row %lld in %s", change->id, change->rowid, shape->name);
    } else if (sqlite3_column_count(row) != count + 1) {
        text_add(problem, "record %lld: %d fields, not %d", change->id, count,
                 sqlite3_column_count(row) - 1);
    } else {
        for (int i = 0; i < count; i++) {
            const Field field = field_of_column(row, i + 1);
            if (!is_equal(&field, &image[i])) {
                text_add(problem, "record %lld: field %d is not as in the row", change->id, i);
            }
        }
    }
    sqlite3_finalize(row);
    return problem->size > 0;
}

static int insert_row(sqlite3 *db, const Shape *shape, const Change *change, const Field *image,
                      Text *problem)
{
    Text sql = {0};
    const char *separator = shape->has_rowid ? "," : "";
    text_add(&sql, "INSERT INTO main.\"%s\"(%s", shape->name, shape->has_rowid ? "rowid" : "");
    for (int i = 0; i < shape->count; i++) {
        if (shape->is_writable[i]) {
            text_add(&sql, "%s\"%s\"", separator, shape->columns[i]);
            separator = ",";
        }
    }
    separator = shape->has_rowid ? "," : "";
    text_add(&sql, ") VALUES (%s", shape->has_rowid ? "?" : "");
    for (int i = 0; i < shape->count; i++) {
        if (shape->is_writable[i]) {
            text_add(&sql, "%s?", separator);
            separator = ",";
        }
    }
    text_add(&sql, ")");
    sqlite3_stmt *const statement = prepare(db, &sql);
    int at = 1;
    if (shape->has_rowid) {
        (void)sqlite3_bind_int64(statement, at++, change->rowid);
    }
    for (int i = 0, stored = 0; i < shape->count; i++) {
        if (shape->is_writable[i]) {
            bind_field(statement, at++, &image[stored]);
        }
        stored += shape->is_stored[i];
    }
    return run(db, statement, change, problem);
}

static int update_row(sqlite3 *db, const Shape *shape, const Change *change, const Field *image,
                      Text *problem)
{
    Text sql = {0};
    text_add(&sql, "UPDATE main.\"%s\" SET ", shape->name);
    const char *separator = "";
    for (int i = 0; i < shape->count; i++) {
        if (shape->is_writable[i]) {
            text_add(&sql, "%s\"%s\"=?", separator, shape->columns[i]);
            separator = ",";
        }
    }
    add_identity(&sql, shape);
    sqlite3_stmt *const statement = prepare(db, &sql);
    int at = 1;
    for (int i = 0, stored = 0; i < shape->count; i++) {
        if (shape->is_writable[i]) {
            bind_field(statement, at++, &image[stored]);
        }
        stored += shape->is_stored[i];
    }
    bind_identity(statement, at, shape, change, image);
    return run(db, statement, change, problem);
}

static int delete_row(sqlite3 *db, const Shape *shape, const Change *change, const Field *image,
                      Text *problem)
{
    Text sql = {0};
    text_add(&sql, "DELETE FROM main.\"%s\"", shape->name);
    add_identity(&sql, shape);
    sqlite3_stmt *const statement = prepare(db, &sql);
    bind_identity(statement, 1, shape, change, image);
    return run(db, statement, change, problem);
}

/* Set columns have the value of the image after, all others that of the image before. */
static int check_updates(const Shape *shape, const Change *change, Text *problem)
{
    static const Field NULL_FIELD = {.type = SQLITE_NULL};
    if (change->updates_count != 2 * shape->count) {
        text_add(problem, "record %lld: updates have %d fields", change->id, change->updates_count);
        return 1;
    }
    for (int i = 0, stored = 0; i < shape->count; i++) {
        const Field *const value = &change->updates[shape->count + i];
        const int is_set = change->updates[i].integer == 1;
        if (shape->is_stored[i]) {
            if (is_set ? !is_equal(value, &change->after[stored])
                       : !is_equal(&change->before[stored], &change->after[stored])) {
                text_add(problem, "record %lld: updates of column %d are wrong", change->id, i);
            }
            stored++;
        }
        if (!is_set && !is_equal(value, &NULL_FIELD)) {
            text_add(problem, "record %lld: column %d has a value and is not set", change->id, i);
        }
    }
    return problem->size > 0;
}

static int apply_schema(sqlite3 *db, const Change *change, Text *problem)
{
    Text sql = {0};
    if (change->type == 1) {
        text_add(&sql, "%.*s", change->after[4].size, (const char *)change->after[4].data);
    } else if (change->type == 0) {
        text_add(&sql, "%.*s", change->updates[9].size, (const char *)change->updates[9].data);
    } else {
        text_add(&sql, "DROP %.*s \"%.*s\"", change->before[0].size,
                 (const char *)change->before[0].data, change->before[1].size,
                 (const char *)change->before[1].data);
    }
    return run(db, prepare(db, &sql), change, problem);
}

static int apply(sqlite3 *db, const Change *change, Text *problem)
{
    Shape shape;
    if (strcmp(change->table, "sqlite_schema") == 0) {
        return apply_schema(db, change, problem);
    }
    if (read_shape(db, change->table, &shape) == 0) {
        text_add(problem, "record %lld: no table %s", change->id, change->table);
        return 1;
    }
    if (change->type < 1 &&
        check_row(db, &shape, change, change->before, change->before_count, problem)) {
        return 1;
    }
    if (change->type == 0) {
        return check_updates(&shape, change, problem) ||
               update_row(db, &shape, change, change->after, problem) ||
               check_row(db, &shape, change, change->after, change->after_count, problem);
    }
    if (change->type == -1) {
        return delete_row(db, &shape, change, change->before, problem);
    }
    return insert_row(db, &shape, change, change->after, problem) ||
           check_row(db, &shape, change, change->after, change->after_count, problem);
}

static int undo(sqlite3 *db, const Change *change, Text *problem)
{
    Shape shape;
    (void)read_shape(db, change->table, &shape);
    if (change->type == -1) {
        return insert_row(db, &shape, change, change->before, problem);
    }
    if (check_row(db, &shape, change, change->after, change->after_count, problem)) {
        return 1;
    }
    return change->type == 1 ? delete_row(db, &shape, change, change->after, problem)
                             : update_row(db, &shape, change, change->before, problem);
}

static int replay(sqlite3 *target, sqlite3 *db, const char *log, int is_backward, Text *problem)
{
    char *const sql =
        sqlite3_mprintf("SELECT * FROM main.\"%w\" WHERE change_type<2 ORDER BY change_id%s", log,
                        is_backward ? " DESC" : "");
    sqlite3_stmt *rows = NULL;
    Change change;
    (void)sqlite3_prepare_v2(db, sql, -1, &rows, NULL);
    sqlite3_free(sql);
    while (problem->size == 0 && sqlite3_step(rows) == SQLITE_ROW) {
        read_change(rows, &change);
        (void)(is_backward ? undo(target, &change, problem) : apply(target, &change, problem));
    }
    sqlite3_finalize(rows);
    return problem->size > 0;
}

int replay_forward(sqlite3 *target, sqlite3 *db, const char *log, Text *problem)
{
    return replay(target, db, log, 0, problem);
}

int replay_backward(sqlite3 *target, sqlite3 *db, const char *log, Text *problem)
{
    return replay(target, db, log, 1, problem);
}

/* --- contents --- */

static void dump_table(sqlite3 *db, const char *table, Text *out)
{
    Shape shape;
    Text sql = {0};
    (void)read_shape(db, table, &shape);
    text_add(&sql, "SELECT %s* FROM main.\"%s\"", shape.has_rowid ? "rowid, " : "", table);
    text_add(&sql, shape.has_rowid ? " ORDER BY rowid" : " ORDER BY 1, 2");
    sqlite3_stmt *const rows = prepare(db, &sql);
    text_add(out, "%s\n", table);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(rows); i++) {
            text_add(out, " ");
            text_add_column(out, rows, i);
        }
        text_add(out, "\n");
    }
    sqlite3_finalize(rows);
}

void replay_dump(sqlite3 *db, Text *out)
{
    sqlite3_stmt *tables = NULL;
    (void)sqlite3_prepare_v2(
        db,
        "SELECT name FROM main.sqlite_schema WHERE type='table' AND name NOT LIKE "
        "'sqlite_%' AND name NOT LIKE 'turso_cdc%' ORDER BY name",
        -1, &tables, NULL);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        dump_table(db, (const char *)sqlite3_column_text(tables, 0), out);
    }
    sqlite3_finalize(tables);
}
