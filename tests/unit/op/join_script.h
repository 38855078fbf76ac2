/* join_script.h: random steps for join worlds. */
#ifndef WEIR_TESTS_UNIT_OP_JOIN_SCRIPT_H
#define WEIR_TESTS_UNIT_OP_JOIN_SCRIPT_H

#include "join_world.h"

/* How large the domains of random rows are. */
typedef struct Domain {
    int keys;     /* codes of each key column */
    int payloads; /* codes of number and text */
    size_t null_percent;
} Domain;

static inline TestRow random_row(Random *random, const Domain *domain)
{
    TestRow row = {.form = 0};
    for (size_t k = 0; k < KEY_COLUMNS; k++) {
        const bool is_null = random_chance(random, domain->null_percent);
        row.key[k] = is_null ? NONE : (int)random_below(random, (size_t)domain->keys);
    }
    if (row.key[2] == 0 || row.key[2] == 1) {
        row.form = (int)random_below(random, 2);
    }
    const bool has_number = !random_chance(random, domain->null_percent);
    const bool has_text = !random_chance(random, domain->null_percent);
    row.number = has_number ? (int)random_below(random, (size_t)domain->payloads) : NONE;
    row.text = has_text ? (int)random_below(random, (size_t)domain->payloads) : NONE;
    return row;
}

/* The events of one step, in the order of their pushing: side 0 and side 1 entries. */
typedef struct Event {
    size_t port;
    WeightedRow row;
} Event;

typedef struct Script {
    Event *events;
    size_t count;
    size_t capacity;
} Script;

static inline void script_free(Script *script)
{
    free(script->events);
    *script = (Script){0};
}

static inline void script_add(Script *script, size_t port, const TestRow *row, int64_t weight)
{
    if (script->count == script->capacity) {
        script->capacity = script->capacity == 0 ? 64 : 2 * script->capacity;
        script->events = realloc(script->events, script->capacity * sizeof *script->events);
        assert_non_null(script->events);
    }
    script->events[script->count] = (Event){
        .port = port,
        .row = {.row = *row, .weight = weight},
    };
    script->count++;
}

static inline void script_shuffle(Script *script, size_t first, Random *random)
{
    for (size_t i = script->count; i > first + 1; i--) {
        const size_t j = first + random_below(random, i - first);
        const Event swap = script->events[i - 1];
        script->events[i - 1] = script->events[j];
        script->events[j] = swap;
    }
}

/* Appends a step of about `count` changes: insertions, removals, rows that come and go within the
 * step. `sides` are the rows before the step, and become those after it. */
static inline void script_step(Script *script, RowSet sides[2], size_t count, const Domain *domain,
                               Random *random)
{
    const size_t first = script->count;
    const size_t insert_percent = 20 + random_below(random, 60);
    for (size_t i = 0; i < count; i++) {
        const size_t port = random_below(random, 2);
        RowSet *side = &sides[port];
        const size_t dice = random_below(random, 100);
        if (dice < 15) {
            const TestRow row = random_row(random, domain);
            script_add(script, port, &row, 1);
            script_add(script, port, &row, -1);
        } else if (dice < insert_percent || side->count == 0) {
            const TestRow row = random_row(random, domain);
            const int64_t weight = random_chance(random, 80) ? 1 : 3;
            script_add(script, port, &row, weight);
            row_set_add(side, &row, weight);
        } else {
            const WeightedRow gone = side->rows[random_below(random, side->count)];
            const int64_t weight = random_chance(random, 70) ? gone.weight : 1;
            script_add(script, port, &gone.row, -weight);
            row_set_add(side, &gone.row, -weight);
        }
    }
    script_shuffle(script, first, random);
}

/* Removes every row of a side. */
static inline void script_clear(Script *script, RowSet sides[2], size_t port)
{
    for (size_t i = 0; i < sides[port].count; i++) {
        script_add(script, port, &sides[port].rows[i].row, -sides[port].rows[i].weight);
    }
    sides[port].count = 0;
}

/* Pushes the events [first, count) in batches of random sizes, each of one side. */
static inline Status push_events(World *world, const Script *script, size_t first, Random *random)
{
    WeightedRow *batch[2];
    size_t sizes[2] = {0, 0};
    Status status = WEIR_OK;
    for (size_t s = 0; s < 2; s++) {
        batch[s] = calloc(BATCH_CAPACITY, sizeof *batch[s]);
        assert_non_null(batch[s]);
    }
    for (size_t i = first; i < script->count && status == WEIR_OK; i++) {
        const size_t port = script->events[i].port;
        batch[port][sizes[port]] = script->events[i].row;
        sizes[port]++;
        if (sizes[port] == BATCH_CAPACITY || random_chance(random, 5)) {
            status = world_push(world, port, batch[port], sizes[port]);
            sizes[port] = 0;
        }
    }
    const size_t last = random_below(random, 2);
    for (size_t s = 0; s < 2; s++) {
        const size_t port = s == 0 ? last : 1 - last;
        if (sizes[port] > 0 && status == WEIR_OK) {
            status = world_push(world, port, batch[port], sizes[port]);
        }
    }
    free(batch[0]);
    free(batch[1]);
    return status;
}

/* One step of the events [first, count). */
static inline Status run_events(World *world, const Script *script, size_t first, Random *random)
{
    WEIR_TRY(weir_circuit_begin_step(world->circuit, &world->err));
    Status status = push_events(world, script, first, random);
    if (status == WEIR_OK) {
        status = weir_circuit_finish_step(world->circuit, &world->err);
    }
    weir_circuit_end_step(world->circuit);
    return status;
}

static inline void assert_ok(const World *world, Status status)
{
    if (status != WEIR_OK) {
        print_error("%s\n", world->err.message);
    }
    assert_int_equal(status, WEIR_OK);
}

/* All columns are shown, or a few. */
static inline void show_columns(JoinConfig *config, bool shows_all)
{
    static const size_t few_left[] = {3, 2};
    static const size_t few_right[] = {4};
    const bool shows_right =
        config->kind == JOIN_INNER || config->kind == JOIN_LEFT || config->kind == JOIN_FULL;
    config->left_output_count = shows_all ? COLUMNS : WEIR_ARRAY_COUNT(few_left);
    config->right_output_count = shows_all ? COLUMNS : WEIR_ARRAY_COUNT(few_right);
    for (size_t c = 0; c < COLUMNS; c++) {
        config->left_output[c] = c;
        config->right_output[c] = COLUMNS - 1 - c;
    }
    if (!shows_all) {
        memcpy(config->left_output, few_left, sizeof few_left);
        memcpy(config->right_output, few_right, sizeof few_right);
    }
    if (!shows_right) {
        config->right_output_count = 0;
    }
}

static inline JoinConfig random_config(JoinKind kind, ResidualKind residual, size_t key_count,
                                       Random *random)
{
    JoinConfig config = {.kind = kind, .residual = residual, .key_count = key_count};
    for (size_t k = 0; k < KEY_COLUMNS; k++) {
        config.is_null_safe[k] = random_chance(random, 40);
    }
    show_columns(&config, random_chance(random, 60));
    return config;
}

#endif
