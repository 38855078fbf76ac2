/* grid.c: small results. */
#include "duckdb/grid.h"

#include <string.h>

enum { GRID_FIRST_CELLS = 64 };

_Static_assert((int)GRID_FIRST_CELLS >= (int)GRID_MAX_COLUMNS, "a row fits into the first cells");

void weir_grid_init(Grid *grid, Mem *mem, const Schema *schema)
{
    *grid = (Grid){.mem = mem, .schema = schema};
    weir_arena_init(&grid->arena, mem, 0);
}

void weir_grid_deinit(Grid *grid)
{
    if (grid->mem == NULL) {
        return;
    }
    weir_mem_free(grid->mem, grid->cells);
    weir_arena_deinit(&grid->arena);
    *grid = (Grid){0};
}

void weir_grid_clear(Grid *grid)
{
    grid->cell_count = 0;
    grid->place = 0;
    grid->status = WEIR_OK;
}

static Status grid_grow(Grid *grid, size_t capacity, Error *err)
{
    GridCell *cells = weir_mem_realloc(grid->mem, grid->cells, capacity * sizeof *cells, err);
    if (cells == NULL) {
        return err->code;
    }
    grid->cells = cells;
    grid->cell_capacity = capacity;
    return WEIR_OK;
}

Status weir_grid_reserve(Grid *grid, Error *err)
{
    return grid->cell_capacity > 0 ? WEIR_OK : grid_grow(grid, GRID_FIRST_CELLS, err);
}

static GridCell *grid_add(Grid *grid, TypeId expected)
{
    if (grid->status != WEIR_OK) {
        return NULL;
    }
    WEIR_ASSERT(grid->schema->types[grid->cell_count % grid->schema->count]->id == expected);
    WEIR_UNUSED(expected);
    if (grid->cell_count == grid->cell_capacity) {
        grid->status = grid_grow(grid, WEIR_MAX(grid->cell_capacity * 2, (size_t)GRID_FIRST_CELLS),
                                 &grid->err);
        if (grid->status != WEIR_OK) {
            return NULL;
        }
    }
    GridCell *const cell = &grid->cells[grid->cell_count++];
    *cell = (GridCell){0};
    return cell;
}

void weir_grid_text(Grid *grid, const char *text)
{
    GridCell *const cell = grid_add(grid, TYPE_VARCHAR);
    if (cell == NULL) {
        return;
    }
    cell->is_null = text == NULL;
    if (text != NULL) {
        const char *own = weir_arena_strdup(&grid->arena, text, &grid->err);
        if (own == NULL) {
            grid->status = grid->err.code;
            return;
        }
        cell->value.text = weir_string_make(own, strlen(own));
    }
}

void weir_grid_number(Grid *grid, uint64_t number)
{
    GridCell *const cell = grid_add(grid, TYPE_UBIGINT);
    if (cell != NULL) {
        cell->value.number = number;
    }
}

void weir_grid_real(Grid *grid, double real)
{
    GridCell *const cell = grid_add(grid, TYPE_DOUBLE);
    if (cell != NULL) {
        cell->value.real = real;
    }
}

void weir_grid_flag(Grid *grid, bool flag)
{
    GridCell *const cell = grid_add(grid, TYPE_BOOLEAN);
    if (cell != NULL) {
        cell->value.flag = flag;
    }
}

Status weir_grid_status(const Grid *grid, Error *err)
{
    if (grid->status != WEIR_OK) {
        *err = grid->err;
    }
    return grid->status;
}

/* Column `column` of `count` rows from `first` on. */
static Status grid_fill_column(const Grid *grid, size_t first, size_t count, size_t column,
                               Arena *arena, Vector *out, Error *err)
{
    const PhysType phys = grid->schema->types[column]->phys;
    const size_t width = weir_phys_width(phys);
    const size_t room = WEIR_MAX(count, (size_t)1);
    WEIR_TRY(weir_vector_init(out, phys, room, arena, err));
    WEIR_TRY(weir_vector_add_validity(out, room, arena, err));
    for (size_t i = 0; i < count; i++) {
        const GridCell *const cell = &grid->cells[(first + i) * grid->schema->count + column];
        memcpy((char *)out->data + i * width, &cell->value, width);
        if (cell->is_null) {
            weir_validity_set_null(out->validity, i);
        }
    }
    return WEIR_OK;
}

Status weir_grid_next(Grid *grid, Arena *arena, Batch *out, Error *err)
{
    const size_t columns = grid->schema->count;
    const size_t rows = grid->cell_count / columns;
    const size_t count = WEIR_MIN(rows - grid->place, (size_t)BATCH_CAPACITY);
    *out = (Batch){.count = count, .column_count = columns};
    out->columns = weir_arena_calloc(arena, columns, sizeof *out->columns, err);
    if (out->columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < columns; i++) {
        WEIR_TRY(grid_fill_column(grid, grid->place, count, i, arena, &out->columns[i], err));
    }
    grid->place += count;
    return WEIR_OK;
}

/* "name TYPE" between spaces and commas; the name may be in double quotes. */
static Status schema_read_column(Arena *arena, const char **cursor, const char **name,
                                 const LogicalType **type, Error *err)
{
    const char *c = *cursor + strspn(*cursor, " ");
    const bool is_quoted = *c == '"';
    c += is_quoted;
    const size_t name_size = strcspn(c, is_quoted ? "\"" : " ");
    *name = weir_arena_strndup(arena, c, name_size, err);
    c += name_size + is_quoted;
    c += strspn(c, " ");
    const size_t type_size = strcspn(c, ",");
    char *type_name = weir_arena_strndup(arena, c, type_size, err);
    if (*name == NULL || type_name == NULL) {
        return err->code;
    }
    *type = weir_type_simple(weir_type_id_from_name(type_name));
    c += type_size;
    *cursor = c + (*c == ',');
    return WEIR_OK;
}

Status weir_grid_schema(Arena *arena, const char *columns, Schema *out, Error *err)
{
    const char **names = weir_arena_calloc(arena, GRID_MAX_COLUMNS, sizeof *names, err);
    const LogicalType **types =
        weir_arena_calloc(arena, GRID_MAX_COLUMNS, sizeof(const LogicalType *), err);
    if (names == NULL || types == NULL) {
        return err->code;
    }
    size_t count = 0;
    const char *cursor = columns;
    while (*cursor != '\0') {
        WEIR_VERIFY(count < GRID_MAX_COLUMNS, err);
        WEIR_TRY(schema_read_column(arena, &cursor, &names[count], &types[count], err));
        count++;
    }
    *out = (Schema){.count = count, .types = types, .names = names};
    return WEIR_OK;
}
