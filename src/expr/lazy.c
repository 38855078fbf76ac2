/* lazy.c: AND, OR, CASE, COALESCE and TRY whose branches see only the rows that reach them.
 *
 * Each keeps the rows not yet decided as a list; a branch is run on them and its values are
 * scattered to their rows. */
#include "expr/program_priv.h"

#include "expr/mask.h"

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

/* What a lazy step works with. */
typedef struct LazyRun {
    Evaluator *ev;
    Block *block;
    const Step *step;
    size_t count; /* rows of the block */
    Arena *arena;
    Vector *out;
} LazyRun;

static size_t row_at(RowSet set, size_t k)
{
    return set.rows == NULL ? k : set.rows[k];
}

static size_t place_at(const BranchValue *value, RowSet set, size_t k)
{
    if (value->vector.is_constant) {
        return 0;
    }
    return value->is_by_row ? row_at(set, k) : k;
}

#define SCATTER(type)                                           \
    do {                                                        \
        type *to = out->data;                                   \
        const type *from = value->vector.data;                  \
        for (size_t k = 0; k < set.count; k++) {                \
            to[row_at(set, k)] = from[place_at(value, set, k)]; \
        }                                                       \
    } while (0)

static void scatter_values(Vector *out, const BranchValue *value, RowSet set)
{
    switch (weir_phys_width(out->phys)) {
    case 1: SCATTER(uint8_t); break;
    case 2: SCATTER(uint16_t); break;
    case 4: SCATTER(uint32_t); break;
    case 8: SCATTER(uint64_t); break;
    default: SCATTER(Bytes16); break;
    }
}

#undef SCATTER

/* out[row] = value for the rows of the set; rows of out are valid until they are made NULL. */
static Status scatter(const LazyRun *run, const BranchValue *value, RowSet set, Error *err)
{
    scatter_values(run->out, value, set);
    if (value->vector.validity == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_vector_add_validity(run->out, run->count, run->arena, err));
    for (size_t k = 0; k < set.count; k++) {
        if (!weir_validity_get(value->vector.validity, place_at(value, set, k))) {
            weir_validity_set_null(run->out->validity, row_at(set, k));
        }
    }
    return WEIR_OK;
}

static Status run_branch(const LazyRun *run, size_t index, RowSet set, BranchValue *out, Error *err)
{
    return weir_branch_run(run->ev, run->block, &run->step->branches[index], set, run->arena, out,
                           err);
}

/* Room for a list of all rows of the block. */
static uint16_t *new_rows(const LazyRun *run, Error *err)
{
    return weir_arena_alloc(run->arena, run->count * sizeof(uint16_t), err);
}

/* --- AND, OR ------------------------------------------------------------------------------------- */

/* FALSE decides an AND, TRUE an OR; a row is NULL if it stays undecided and some branch was. In a
 * condition NULL decides an AND too. */
static Status run_logic(const LazyRun *run, bool decider, Error *err)
{
    uint8_t *values = run->out->data;
    memset(values, !decider, run->count);
    RowSet set = {.count = run->count};
    const bool does_null_decide = run->step->expr->is_negated && !decider;
    uint16_t *rows = new_rows(run, err);
    if (rows == NULL) {
        return err->code;
    }
    for (size_t b = 0; b < run->step->branch_count && set.count > 0; b++) {
        BranchValue value;
        WEIR_TRY(run_branch(run, b, set, &value, err));
        const uint8_t *bytes = value.vector.data;
        size_t left = 0;
        for (size_t k = 0; k < set.count; k++) {
            const size_t row = row_at(set, k);
            const size_t place = place_at(&value, set, k);
            const bool is_valid = weir_validity_get(value.vector.validity, place);
            if (is_valid && (bytes[place] != 0) == decider) {
                values[row] = decider;
                continue;
            }
            if (!is_valid) {
                WEIR_TRY(weir_vector_add_validity(run->out, run->count, run->arena, err));
                weir_validity_set_null(run->out->validity, row);
            }
            if (is_valid || !does_null_decide) {
                rows[left++] = (uint16_t)row;
            }
        }
        set = (RowSet){.rows = left == run->count ? NULL : rows, .count = left};
    }
    if (run->out->validity != NULL) {
        for (size_t row = 0; row < run->count; row++) { /* decided after a NULL */
            run->out->validity[row / 64] |= (uint64_t)(values[row] == decider) << (row % 64);
        }
    }
    return WEIR_OK;
}

/* --- CASE, COALESCE ------------------------------------------------------------------------------ */

/* Splits the set by a BOOLEAN: TRUE to taken, the others stay in rest (which may be set.rows). */
static size_t split_true(const BranchValue *value, RowSet set, uint16_t *taken, uint16_t *rest)
{
    const uint8_t *bytes = value->vector.data;
    size_t taken_count = 0;
    size_t rest_count = 0;
    for (size_t k = 0; k < set.count; k++) {
        const size_t place = place_at(value, set, k);
        const uint16_t row = (uint16_t)row_at(set, k);
        if (weir_validity_get(value->vector.validity, place) && bytes[place] != 0) {
            taken[taken_count++] = row;
        } else {
            rest[rest_count++] = row;
        }
    }
    return taken_count;
}

static Status run_case(const LazyRun *run, Error *err)
{
    uint16_t *rest = new_rows(run, err);
    uint16_t *taken = new_rows(run, err);
    if (rest == NULL || taken == NULL) {
        return WEIR_ERR_NOMEM;
    }
    RowSet set = {.count = run->count};
    const size_t last = run->step->branch_count - 1;
    BranchValue value;
    for (size_t b = 0; b < last && set.count > 0; b += 2) {
        WEIR_TRY(run_branch(run, b, set, &value, err));
        const size_t count = split_true(&value, set, taken, rest);
        if (count > 0) {
            const RowSet hits = {.rows = count == run->count ? NULL : taken, .count = count};
            WEIR_TRY(run_branch(run, b + 1, hits, &value, err));
            WEIR_TRY(scatter(run, &value, hits, err));
        }
        if (count > 0 || set.rows != NULL) {
            set = (RowSet){.rows = rest, .count = set.count - count};
        }
    }
    if (set.count > 0) {
        WEIR_TRY(run_branch(run, last, set, &value, err));
        WEIR_TRY(scatter(run, &value, set, err));
    }
    return WEIR_OK;
}

static Status run_coalesce(const LazyRun *run, Error *err)
{
    uint16_t *rows = new_rows(run, err);
    if (rows == NULL) {
        return err->code;
    }
    RowSet set = {.count = run->count};
    const size_t last = run->step->branch_count - 1;
    for (size_t b = 0; b <= last && set.count > 0; b++) {
        BranchValue value;
        WEIR_TRY(run_branch(run, b, set, &value, err));
        scatter_values(run->out, &value, set);
        if (value.vector.validity == NULL) {
            return WEIR_OK;
        }
        size_t left = 0;
        for (size_t k = 0; k < set.count; k++) {
            if (!weir_validity_get(value.vector.validity, place_at(&value, set, k))) {
                rows[left++] = (uint16_t)row_at(set, k);
            }
        }
        set = (RowSet){.rows = left == run->count ? NULL : rows, .count = left};
    }
    if (set.count > 0) {
        WEIR_TRY(weir_vector_add_validity(run->out, run->count, run->arena, err));
        for (size_t k = 0; k < set.count; k++) {
            weir_validity_set_null(run->out->validity, row_at(set, k));
        }
    }
    return WEIR_OK;
}

/* --- TRY ----------------------------------------------------------------------------------------- */

/* TRY turns only errors of values into NULL; the message says which they are. */
static bool is_caught(Status status, const Error *err)
{
    static const char *const classes[] = {
        "Conversion Error",
        "Out of Range Error",
        "Invalid Input Error",
    };
    for (size_t i = 0; status == WEIR_ERR_EVALUATION && i < WEIR_ARRAY_COUNT(classes); i++) {
        if (strncmp(err->message, classes[i], strlen(classes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Runs the branch on a range of the rows; where it fails, on halves, down to the row that does. */
static Status run_try_range(const LazyRun *run, const uint16_t *rows, size_t count, Error *err)
{
    const RowSet set = {.rows = rows, .count = count};
    Error failure = {0};
    BranchValue value;
    const Status status = run_branch(run, 0, set, &value, &failure);
    if (status == WEIR_OK) {
        return scatter(run, &value, set, err);
    }
    if (!is_caught(status, &failure)) {
        *err = failure;
        return status;
    }
    if (count == 1) {
        WEIR_TRY(weir_vector_add_validity(run->out, run->count, run->arena, err));
        weir_validity_set_null(run->out->validity, rows[0]);
        return WEIR_OK;
    }
    WEIR_TRY(run_try_range(run, rows, count / 2, err));
    return run_try_range(run, rows + count / 2, count - count / 2, err);
}

static Status run_try(const LazyRun *run, Error *err)
{
    memset(run->out->data, 0, run->count * weir_phys_width(run->out->phys));
    uint16_t *rows = new_rows(run, err);
    if (rows == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < run->count; i++) {
        rows[i] = (uint16_t)i;
    }
    return run_try_range(run, rows, run->count, err);
}

Status weir_step_run_lazy(Evaluator *ev, Block *block, const Step *step, size_t count, Arena *arena,
                          Error *err)
{
    Vector *out = &block->values[step->out];
    WEIR_TRY(weir_vector_init(out, step->expr->type->phys, count, arena, err));
    const LazyRun run = {
        .ev = ev,
        .block = block,
        .step = step,
        .count = count,
        .arena = arena,
        .out = out,
    };
    switch (step->kind) {
    case STEP_AND: return run_logic(&run, false, err);
    case STEP_OR: return run_logic(&run, true, err);
    case STEP_CASE: return run_case(&run, err);
    case STEP_COALESCE: return run_coalesce(&run, err);
    case STEP_TRY: return run_try(&run, err);
    case STEP_KERNEL: break;
    }
    WEIR_ASSERT(false);
    return WEIR_OK;
}
