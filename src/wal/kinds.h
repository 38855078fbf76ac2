/* kinds.h: the numbers of DuckDB's log: kinds of entries and what they mean for tables. */
#ifndef WEIR_WAL_KINDS_H
#define WEIR_WAL_KINDS_H

enum { WAL_PROPERTY_KIND = 100 };

enum { WAL_VERSION_PLAIN = 2, WAL_VERSION_ENCRYPTED = 3 };

/* The entries that matter. */
enum {
    WAL_ENTRY_CREATE_TABLE = 1,
    WAL_ENTRY_DROP_TABLE = 2,
    WAL_ENTRY_DROP_SCHEMA = 4,
    WAL_ENTRY_ALTER = 20,
    WAL_ENTRY_USE_TABLE = 25,
    WAL_ENTRY_INSERT = 26,
    WAL_ENTRY_DELETE = 27,
    WAL_ENTRY_UPDATE = 28,
    WAL_ENTRY_ROW_GROUP = 29,
    WAL_ENTRY_VERSION = 98,
    WAL_ENTRY_CHECKPOINT = 99,
    WAL_ENTRY_FLUSH = 100,
};

/* The entries that change no table: schemas made, views, sequences, macros, types, indexes. */
enum {
    WAL_ENTRY_CREATE_SCHEMA = 3,
    WAL_ENTRY_CREATE_VIEW = 5,
    WAL_ENTRY_DROP_VIEW = 6,
    WAL_ENTRY_CREATE_SEQUENCE = 8,
    WAL_ENTRY_DROP_SEQUENCE = 9,
    WAL_ENTRY_SEQUENCE_VALUE = 10,
    WAL_ENTRY_CREATE_MACRO = 11,
    WAL_ENTRY_DROP_MACRO = 12,
    WAL_ENTRY_CREATE_TYPE = 13,
    WAL_ENTRY_DROP_TYPE = 14,
    WAL_ENTRY_CREATE_TABLE_MACRO = 21,
    WAL_ENTRY_DROP_TABLE_MACRO = 22,
    WAL_ENTRY_CREATE_INDEX = 23,
    WAL_ENTRY_DROP_INDEX = 24,
};

#endif
