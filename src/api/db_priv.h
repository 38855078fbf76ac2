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
};

struct WeirResult {
    WeirDb *db;
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

#endif
