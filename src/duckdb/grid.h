/* grid.h: a small result: rows of texts, numbers and flags, built whole and then read in batches. */
#ifndef WEIR_DUCKDB_GRID_H
#define WEIR_DUCKDB_GRID_H

#include "types/batch.h"

enum { GRID_MAX_COLUMNS = 16 };

typedef struct GridCell {
    bool is_null;
    union {
        String text;
        uint64_t number; /* UBIGINT */
        double real;
        bool flag;
    } value;
} GridCell;

typedef struct Grid {
    Mem *mem;
    Arena arena;          /* texts and columns */
    const Schema *schema; /* borrowed */
    GridCell *cells;      /* owned: row_count * schema->count */
    size_t cell_count;
    size_t cell_capacity;
    size_t place;  /* next row to read */
    Status status; /* sticky */
    Error err;
} Grid;

void weir_grid_init(Grid *grid, Mem *mem, const Schema *schema);
void weir_grid_deinit(Grid *grid);

/* Room for the cells of a first row: numbers and flags that are added to it cannot fail. */
Status weir_grid_reserve(Grid *grid, Error *err) WEIR_MUST_CHECK;

/* Back to no rows. */
void weir_grid_clear(Grid *grid);

/* Cells are added row by row, column by column, by the type of the column. text NULL = NULL. */
void weir_grid_text(Grid *grid, const char *text);
void weir_grid_number(Grid *grid, uint64_t number);
void weir_grid_real(Grid *grid, double real);
void weir_grid_flag(Grid *grid, bool flag);

/* WEIR_OK, or the first failure of an add. */
Status weir_grid_status(const Grid *grid, Error *err) WEIR_MUST_CHECK;

/* The next up to BATCH_CAPACITY rows; count 0 at the end. */
Status weir_grid_next(Grid *grid, Arena *arena, Batch *out, Error *err) WEIR_MUST_CHECK;

/* "a VARCHAR, b UBIGINT" as a schema; types: VARCHAR, UBIGINT, DOUBLE, BOOLEAN. */
Status weir_grid_schema(Arena *arena, const char *columns, Schema *out, Error *err) WEIR_MUST_CHECK;

#endif
