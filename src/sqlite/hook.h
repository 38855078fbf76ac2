/* hook.h: what patched SQLite calls. Included by the patched amalgamation after its own types.
 *
 * Capture records every row change of a connection in a log table of the main database, in the
 * transaction that makes the change. A statement is compiled for capture or without: the gates below
 * note the mode in the Vdbe (weirMode), and only such a statement calls the hooks of rows and of its
 * end. A connection that never captured has a NULL sqlite3.weir.
 *
 * Functions that return int return a result code of SQLite. */
#ifndef WEIR_SQLITE_HOOK_H
#define WEIR_SQLITE_HOOK_H

/* While a statement is compiled. The gates leave an error in `parse` and return nonzero if the table
 * or the schema cannot be changed while capture is on. */
int weir_gate_write(Parse *parse, Table *table);
void weir_gate_schema(Parse *parse, int database);
/* The statement alters or drops `table`. */
void weir_gate_alter(Parse *parse, const Table *table);
void weir_gate_drop_rows(Parse *parse, const Table *table);
/* Forgets the version of a dropped log table. */
void weir_gate_drop_table(Parse *parse, const Table *table, int database);
/* Notes which columns an UPDATE sets (columns[i] >= 0), just before its OP_Delete. */
void weir_gate_update(Parse *parse, const Table *table, const int *columns);
/* True if `source` is the log: a statement that reads it must not write it at the same time. */
int weir_gate_is_log(Parse *parse, const Table *source);
/* The log's table, or NULL if the statement is not captured. */
Table *weir_gate_log(Parse *parse);
/* The pragmas: capture_data_changes_conn shows the setting, or sets it to `value`; capture_data_changes_default
 * does so for all connections; capture_data_changes_gaps lists where the log lacks changes. */
enum { WEIR_PRAGMA_CONN, WEIR_PRAGMA_DEFAULT, WEIR_PRAGMA_GAPS };
void weir_pragma(Parse *parse, Vdbe *vm, const char *value, int which);

/* While a statement runs: before OP_Insert and OP_Delete act. `data` is the new record. */
int weir_row_insert(Vdbe *vm, const Op *op, VdbeCursor *cursor, Mem *data, i64 rowid);
int weir_row_delete(Vdbe *vm, const Op *op, VdbeCursor *cursor);
/* Around a write of an incremental blob. */
int weir_blob_before(Vdbe *vm, BtCursor *cursor);
int weir_blob_after(Vdbe *vm, BtCursor *cursor, int column);

/* A captured statement ends, with vm->rc; may set vm->rc. */
void weir_statement_end(Vdbe *vm);
/* The transaction is about to be committed: nothing but I/O can keep it from that. */
int weir_commit(sqlite3 *db, Vdbe *vm);
/* Everything, or everything since a savepoint, was rolled back. */
void weir_rollback(sqlite3 *db);
void weir_rollback_to(sqlite3 *db);

/* The schema of main was read. */
int weir_schema_loaded(sqlite3 *db);

/* The connection is freed. */
void weir_close(sqlite3 *db);
/* Adds the SQL functions to the built-in ones. */
void weir_register_functions(void);

#endif
