/* db_priv.h: the structs behind weir.h. Only for src/api. */
#ifndef WEIR_API_DB_PRIV_H
#define WEIR_API_DB_PRIV_H

#include "api/statement.h"
#include "duckdb/capture.h"
#include "duckdb/text.h"

/* An open database, shared by its connections. */
typedef struct OpenDatabase {
    duckdb_database handle;
    WeirDatabase *database; /* one reference */
    _Atomic size_t ref_count;
} OpenDatabase;

struct WeirDb {
    OpenDatabase *shared; /* one reference */
    duckdb_connection connection;
    WeirDatabase *database; /* the shared one */
    Mem *mem;               /* the database's */
    Capture *capture;
    _Atomic unsigned running; /* calls that may work on views */
};

struct WeirResult {
    Mem *mem;
    Arena arena; /* names, types */
    CapturedResult captured;
    size_t chunks_used; /* of those fetched already */
    Schema schema;
    const char **type_texts;
    bool has_rows;
    uint64_t rows_changed;
    TextCaster *caster; /* values to text */
    Arena chunk_arena;  /* the texts of the chunk in hand */
    Arena row_arena;    /* the texts asked for of the present row */
    duckdb_data_chunk chunk;
    Vector *texts; /* one VARCHAR vector per column */
    size_t chunk_count;
    size_t row; /* in the chunk; the next one */
};

/* Takes the result over. */
Status weir_result_new(WeirDb *db, CapturedResult *result, WeirResult **out, Error *err)
    WEIR_MUST_CHECK;

/* One whose rows come from elsewhere, a batch at a time. What the schema points to is borrowed, as is
 * the connection, whose session prints the values. */
Status weir_result_new_rows(WeirDatabase *database, duckdb_connection connection,
                            const Schema *schema, WeirResult **out, Error *err) WEIR_MUST_CHECK;

/* The rows are those of the batch from now on, before the first one. */
Status weir_result_take_batch(WeirResult *result, const Batch *batch, Error *err) WEIR_MUST_CHECK;

/* To the next row of the batch; false behind the last one. */
bool weir_result_step(WeirResult *result);

/* A connection of its own, with the session's settings that print values. */
Status weir_db_connect_alike(WeirDb *db, duckdb_connection *out, Error *err) WEIR_MUST_CHECK;

/* A reference to the open database, and its end: the last one closes it. */
OpenDatabase *weir_open_database_ref(OpenDatabase *shared);
void weir_open_database_unref(OpenDatabase *shared);

#endif
