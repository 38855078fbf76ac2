/* model.h: one round of the oracle as data: tables, views, transactions.
 *
 * A round is made once from its seed, and from then on only read, printed or cut down. */
#ifndef WEIR_TESTS_ORACLE_MODEL_H
#define WEIR_TESTS_ORACLE_MODEL_H

#include "text.h"
#include "verify.h"

#include <stdint.h>

/* The column types, then the words that a template may use instead of one (templates.def). */
typedef enum TypeId {
#define X(id, sql, level, flags, tame, literals) TYPE_##id,
#define LITERALS(...)
#include "types.def"
#undef LITERALS
#undef X
    TYPE_COUNT,
    TYPE_ANY = TYPE_COUNT,
    TYPE_NONE,
    TYPE_RESULT,
    TYPE_SAME,
    TYPE_LITERAL,
    TYPE_SMALL,
    TYPE_INT,
    TYPE_PLAIN,
    TYPE_SCALAR,
    TYPE_TAME,
} TypeId;

enum {
    TYPE_FLAG_AMBIGUOUS = 1,
    TYPE_FLAG_NUMBER = 2,
    TYPE_FLAG_NESTED = 4,
    COLUMNS_MAX = 16,
    TABLES_MAX = 4,
    VIEWS_MAX = 10,
    KEY_VALUES = 15,
};

typedef struct TypeInfo {
    const char *sql;
    int level;
    unsigned flags;
    size_t tame;
    const char *literals[16]; /* ends with NULL */
    size_t literal_count;
} TypeInfo;

const TypeInfo *type_info(TypeId type);
bool type_is_ambiguous(TypeId type);
bool type_is_small(TypeId type);
bool type_is_integer(TypeId type);
bool type_is_float(TypeId type);
bool type_is_decimal(TypeId type);

/* What is known of the doubles of a column, which decides how their sum may be compared. */
typedef enum FloatKind {
    FLOAT_ANY,    /* nothing: never summed */
    FLOAT_DYADIC, /* short binary fractions: every order of addition gives the same sum */
    FLOAT_ROUGH,  /* none negative: every order gives nearly the same sum */
} FloatKind;

typedef struct Column {
    char name[8];
    TypeId type;
    FloatKind kind;
    bool is_tame;          /* holds only the tame literals of its type */
    bool is_key;           /* PRIMARY KEY */
    bool is_poison;        /* text that is a small number, but for a few values (--errors) */
    unsigned null_percent; /* how many values are NULL */
    size_t first;          /* its domain: literals first, first + 1, ... */
    size_t count;
} Column;

typedef struct Table {
    char name[8];
    Column columns[COLUMNS_MAX];
    size_t column_count;
    bool has_index; /* on its first column */
} Table;

typedef struct ViewColumn {
    char name[8];
    TypeId type;
    ColumnMode mode;
    FloatKind kind;
} ViewColumn;

typedef struct View {
    char name[8];
    char *sql; /* owned */
    ViewColumn columns[COLUMNS_MAX];
    size_t column_count;
    unsigned views;   /* a bit for each view that it names */
    unsigned weight;  /* how many tables are multiplied in it */
    size_t create_at; /* it is made before this transaction */
    bool is_leaf;     /* its column names are no good for other views */
    bool can_fail;    /* some rows make it fail (--errors) */
} View;

/* A statement: its text, or rows to insert into a table. */
typedef struct Statement {
    size_t connection;
    char *sql;    /* owned; for an insert the words before the table's name */
    char *suffix; /* owned, for an insert: what follows the rows */
    size_t table; /* for an insert */
    char **cells; /* owned, row after row, a literal for each column; NULL: no insert */
    size_t row_count;
    size_t column_count;
} Statement;

/* The views are compared where all statements of a group have run, and after each commit inside. */
typedef struct Group {
    Statement *items; /* owned */
    size_t count;
    size_t capacity;
    bool is_quiet;  /* not compared: the next comparison sees several commits at once */
    bool is_reopen; /* the file is closed and opened first */
} Group;

typedef struct Case {
    uint64_t seed;
    uint64_t round;
    bool is_file; /* the database is a file */
    Table tables[TABLES_MAX];
    size_t table_count;
    View views[VIEWS_MAX];
    size_t view_count;
    Group *groups; /* owned */
    size_t group_count;
    size_t group_capacity;
} Case;

Case *case_clone(const Case *source);
void case_free(Case *test);
Group *case_add_group(Case *test);
Statement *group_add(Group *group, size_t connection);
Statement *group_add_sql(Group *group, size_t connection, const char *sql);
void group_remove(Group *group, size_t index);
void case_remove_group(Case *test, size_t index);
/* Removes a view, and the views that name it. */
void case_remove_view(Case *test, size_t index);

/* CREATE TYPE, CREATE TABLE and CREATE INDEX, one statement an item. */
void case_schema(const Case *test, TextList *statements);
/* The text of a statement; the caller owns it. */
char *statement_sql(const Case *test, const Statement *statement);
/* The definition with the views it names replaced by their definitions; the caller owns it. */
char *view_expand(const Case *test, size_t index);
/* The case as a file for the program sqllogic. */
void case_print(const Case *test, const char *comment, Text *out);

#endif
