/* join_world.h: a circuit source, source -> join -> collector, driven by weighted rows. */
#ifndef WEIR_TESTS_UNIT_OP_JOIN_WORLD_H
#define WEIR_TESTS_UNIT_OP_JOIN_WORLD_H

#include "join_model.h"

#include "trace/page_pool.h"

/* --- the collector --------------------------------------------------------------------------- */

/* Prints what it gets. */
typedef struct Collector {
    Op op;
    Mem *mem;
    TextSet *out; /* the test's */
    size_t row_count;
    size_t batch_count;
} Collector;

static inline void vector_text(const Vector *vector, size_t row, char *out)
{
    const size_t place = weir_vector_place(vector, row);
    if (weir_vector_is_null(vector, row)) {
        put_text(out, "~");
    } else if (vector->phys == PHYS_I32) {
        put_text(out, "%d", ((const int32_t *)vector->data)[place]);
    } else if (vector->phys == PHYS_I64) {
        put_text(out, "%lld", (long long)((const int64_t *)vector->data)[place]);
    } else if (vector->phys == PHYS_F64) {
        real_text(((const double *)vector->data)[place], out);
    } else if (vector->phys == PHYS_U8) {
        put_text(out, "%d", ((const uint8_t *)vector->data)[place]);
    } else {
        assert_int_equal(vector->phys, PHYS_STRING);
        const String *string = (const String *)vector->data + place;
        put_text(out, "%.*s", (int)weir_string_size(string), weir_string_data(string));
    }
}

static inline Status collector_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    WEIR_UNUSED(step);
    WEIR_UNUSED(err);
    Collector *self = WEIR_DOWNCAST(Collector, op);
    char text[ROW_TEXT_SIZE];
    char cell[TEXT_SIZE];
    for (size_t i = 0; i < batch->count; i++) {
        text[0] = '\0';
        for (size_t c = 0; c < batch->column_count; c++) {
            vector_text(&batch->columns[c], i, cell);
            text_append(text, cell);
        }
        assert_int_not_equal(weir_batch_weight(batch, i), 0);
        text_set_add(self->out, text, weir_batch_weight(batch, i));
    }
    self->row_count += batch->count;
    self->batch_count += 1;
    return WEIR_OK;
}

static inline void collector_free(Op *op)
{
    Collector *self = WEIR_DOWNCAST(Collector, op);
    weir_mem_free(self->mem, self);
}

static const OpType collector_type = {
    .name = "collector",
    .cost = "none",
    .push = collector_push,
    .free = collector_free,
};

static inline Status collector_new(Circuit *circuit, Op *input, TextSet *set, Collector **out,
                                   Error *err)
{
    Mem *mem = weir_circuit_env(circuit)->mem;
    Collector *self = weir_mem_zalloc(mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    self->op.type = &collector_type;
    self->op.schema = input->schema;
    self->mem = mem;
    self->out = set;
    WEIR_TRY(weir_circuit_add(circuit, &self->op, &input, 1, err));
    *out = self;
    return WEIR_OK;
}

/* --- residual expressions -------------------------------------------------------------------- */

static inline const Expr *plain_column(Arena *arena, size_t column, TypeId type)
{
    Error err;
    const Expr *expr = weir_expr_column(arena, column, weir_type_simple(type), &err);
    assert_non_null(expr);
    return expr;
}

static inline const Expr *compare_of(Arena *arena, CompareOp op, const Expr *a, const Expr *b)
{
    Error err;
    Expr *expr = weir_arena_zalloc(arena, sizeof *expr, &err);
    const Expr **args = weir_arena_calloc(arena, 2, sizeof(const Expr *), &err);
    assert_non_null(expr);
    assert_non_null(args);
    args[0] = a;
    args[1] = b;
    *expr = (Expr){
        .kind = EXPR_COMPARE,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = args,
        .arg_count = 2,
        .compare = op,
    };
    return expr;
}

static inline const Expr *sum_of_numbers(Arena *arena)
{
    Error err;
    const Expr **args = weir_arena_calloc(arena, 2, sizeof(const Expr *), &err);
    assert_non_null(args);
    args[0] = plain_column(arena, NUMBER_COLUMN, TYPE_BIGINT);
    args[1] = plain_column(arena, COLUMNS + NUMBER_COLUMN, TYPE_BIGINT);
    const Expr *sum = weir_expr_call(arena, "+", weir_type_simple(TYPE_BIGINT), args, 2, &err);
    assert_non_null(sum);
    return sum;
}

static inline const Expr *residual_expr(Arena *arena, ResidualKind kind)
{
    Error err;
    const Expr *less =
        compare_of(arena, COMPARE_LT, plain_column(arena, NUMBER_COLUMN, TYPE_BIGINT),
                   plain_column(arena, COLUMNS + NUMBER_COLUMN, TYPE_BIGINT));
    const int64_t six = 6;
    Value value = {.type = weir_type_simple(TYPE_BIGINT)};
    memcpy(value.data.bytes, &six, sizeof six);
    switch (kind) {
    case RESIDUAL_LESS: return less;
    case RESIDUAL_LESS_AND_TEXT: {
        const Expr **parts = weir_arena_calloc(arena, 2, sizeof(const Expr *), &err);
        assert_non_null(parts);
        parts[0] = less;
        parts[1] = compare_of(arena, COMPARE_NE, plain_column(arena, TEXT_COLUMN, TYPE_VARCHAR),
                              plain_column(arena, COLUMNS + TEXT_COLUMN, TYPE_VARCHAR));
        return weir_expr_and(arena, parts, 2, &err);
    }
    case RESIDUAL_SUM:
        return compare_of(arena, COMPARE_GT, sum_of_numbers(arena),
                          weir_expr_constant(arena, &value, &err));
    case RESIDUAL_UNKNOWN:
        value = (Value){.type = weir_type_simple(TYPE_BOOLEAN), .is_null = true};
        return weir_expr_constant(arena, &value, &err);
    case RESIDUAL_NONE:
    case RESIDUAL_COUNT: break;
    }
    return NULL;
}

/* --- the world ------------------------------------------------------------------------------- */

typedef struct World {
    Mem *plan_mem; /* never fails */
    Arena plan;
    Mem *mem;
    CircuitEnv env;
    Circuit *circuit;
    Op *sources[2];
    Op *join;
    Collector *collector;
    JoinConfig config;
    RowSet sides[2]; /* the model */
    TextSet out;     /* sum of all outputs */
    Random random;   /* shapes of vectors */
    Error err;
} World;

static inline void world_init(World *world, const JoinConfig *config, uint64_t seed)
{
    *world = (World){
        .plan_mem = weir_mem_new(0),
        .mem = weir_mem_new(0),
        .config = *config,
        .random = {.state = seed},
    };
    assert_non_null(world->plan_mem);
    assert_non_null(world->mem);
    weir_arena_init(&world->plan, world->plan_mem, 0);
    world->env = (CircuitEnv){
        .mem = world->mem,
        .pool = weir_page_pool_new(world->mem, &world->err),
    };
    assert_non_null(world->env.pool);
}

static inline void world_deinit(World *world)
{
    weir_mem_fail_after(world->mem, 0, false);
    weir_circuit_free(world->circuit);
    assert_int_equal(weir_page_pool_used_bytes(world->env.pool), 0);
    weir_page_pool_free(world->env.pool);
    assert_int_equal(weir_mem_used(world->mem), 0);
    weir_mem_free_allocator(world->mem);
    weir_arena_deinit(&world->plan);
    weir_mem_free_allocator(world->plan_mem);
    row_set_free(&world->sides[0]);
    row_set_free(&world->sides[1]);
    text_set_free(&world->out);
}

static const TypeId column_types[COLUMNS] = {TYPE_INTEGER, TYPE_VARCHAR, TYPE_DOUBLE, TYPE_BIGINT,
                                             TYPE_VARCHAR};

static inline const LogicalType **output_types(World *world, size_t *count)
{
    const JoinConfig *config = &world->config;
    const LogicalType **types =
        weir_arena_calloc(&world->plan, 2 * COLUMNS + 1, sizeof(const LogicalType *), &world->err);
    assert_non_null(types);
    *count = 0;
    for (size_t o = 0; o < config->left_output_count; o++) {
        types[*count] = weir_type_simple(column_types[config->left_output[o]]);
        *count += 1;
    }
    for (size_t o = 0; o < config->right_output_count; o++) {
        types[*count] = weir_type_simple(column_types[config->right_output[o]]);
        *count += 1;
    }
    if (config->kind == JOIN_MARK) {
        types[*count] = weir_type_simple(TYPE_BOOLEAN);
        *count += 1;
    }
    return types;
}

/* Builds the circuit; is_self: both ports are fed by the left source. */
static inline Status world_open(World *world, bool is_self)
{
    Error *err = &world->err;
    static const size_t keys[KEY_COLUMNS] = {0, 1, 2};
    const LogicalType **types =
        weir_arena_calloc(&world->plan, COLUMNS, sizeof(const LogicalType *), err);
    assert_non_null(types);
    for (size_t c = 0; c < COLUMNS; c++) {
        types[c] = weir_type_simple(column_types[c]);
    }
    const Schema input = {.count = COLUMNS, .types = types};
    JoinSpec spec = {
        .kind = world->config.kind,
        .left_keys = keys,
        .right_keys = keys,
        .is_null_safe = world->config.is_null_safe,
        .key_count = world->config.key_count,
        .residual = residual_expr(&world->plan, world->config.residual),
        .left_output = world->config.left_output,
        .left_output_count = world->config.left_output_count,
        .right_output = world->config.right_output,
        .right_output_count = world->config.right_output_count,
    };
    spec.schema.types = output_types(world, &spec.schema.count);
    WEIR_TRY(weir_circuit_new(&world->env, &world->circuit, err));
    WEIR_TRY(weir_op_source_new(world->circuit, &input, "left", &world->sources[0], err));
    WEIR_TRY(weir_op_source_new(world->circuit, &input, "right", &world->sources[1], err));
    WEIR_TRY(weir_op_join_new(world->circuit, world->sources[0], world->sources[is_self ? 0 : 1],
                              &spec, &world->join, err));
    return collector_new(world->circuit, world->join, &world->out, &world->collector, err);
}

/* --- batches --------------------------------------------------------------------------------- */

/* Columns of a batch; all memory is freed behind the push, so that nobody can keep using it. */
typedef struct RowColumns {
    int32_t ints[BATCH_CAPACITY];
    String keys[BATCH_CAPACITY];
    double reals[BATCH_CAPACITY];
    int64_t numbers[BATCH_CAPACITY];
    String texts[BATCH_CAPACITY];
    char bytes[BATCH_CAPACITY][2][TEXT_SIZE];
    uint64_t validity[COLUMNS][VECTOR_VALIDITY_WORDS];
    int64_t weights[BATCH_CAPACITY];
    Vector vectors[COLUMNS];
} RowColumns;

static inline void set_string(String *slot, char *bytes, int code, bool is_key)
{
    if (is_key) {
        key_text(code, bytes);
    } else {
        payload_text(code, bytes);
    }
    *slot = weir_string_make(bytes, strlen(bytes));
}

/* Values under NULL are garbage. */
static inline void set_row(RowColumns *columns, size_t i, const TestRow *row)
{
    const int codes[COLUMNS] = {row->key[0], row->key[1], row->key[2], row->number, row->text};
    columns->ints[i] = codes[0] == NONE ? 4711 : codes[0];
    columns->reals[i] = codes[2] == NONE ? 8.25 : real_value(codes[2], row->form);
    columns->numbers[i] = codes[3] == NONE ? INT64_MAX : number_value(codes[3]);
    set_string(&columns->keys[i], columns->bytes[i][0], codes[1] == NONE ? 7 : codes[1], true);
    set_string(&columns->texts[i], columns->bytes[i][1], codes[4] == NONE ? 7 : codes[4], false);
    for (size_t c = 0; c < COLUMNS; c++) {
        if (codes[c] == NONE) {
            weir_validity_set_null(columns->validity[c], i);
        }
    }
}

/* Pushes up to BATCH_CAPACITY rows into a source. */
static inline Status world_push(World *world, size_t port, const WeightedRow *rows, size_t count)
{
    RowColumns *columns = calloc(1, sizeof *columns);
    assert_non_null(columns);
    memset(columns->validity, 0xFF, sizeof columns->validity);
    bool is_plain = true;
    for (size_t i = 0; i < count; i++) {
        set_row(columns, i, &rows[i].row);
        columns->weights[i] = rows[i].weight;
        is_plain = is_plain && rows[i].weight == 1;
    }
    void *data[COLUMNS] = {columns->ints, columns->keys, columns->reals, columns->numbers,
                           columns->texts};
    for (size_t c = 0; c < COLUMNS; c++) {
        bool has_null = false;
        for (size_t i = 0; i < count; i++) {
            has_null = has_null || !weir_validity_get(columns->validity[c], i);
        }
        columns->vectors[c] = (Vector){
            .phys = weir_type_simple(column_types[c])->phys,
            .is_constant = count == 1 && random_chance(&world->random, 30),
            .data = data[c],
            .validity = has_null || random_chance(&world->random, 20) ? columns->validity[c] : NULL,
        };
    }
    const Batch batch = {
        .count = count,
        .column_count = COLUMNS,
        .columns = columns->vectors,
        .weights = is_plain && random_chance(&world->random, 50) ? NULL : columns->weights,
    };
    const Status status =
        weir_circuit_push(world->circuit, world->sources[port], &batch, &world->err);
    free(columns);
    return status;
}

/* A step of one push a side. */
static inline Status world_step(World *world, const WeightedRow *left, size_t left_count,
                                const WeightedRow *right, size_t right_count)
{
    WEIR_TRY(weir_circuit_begin_step(world->circuit, &world->err));
    Status status = left_count == 0 ? WEIR_OK : world_push(world, 0, left, left_count);
    if (status == WEIR_OK && right_count > 0) {
        status = world_push(world, 1, right, right_count);
    }
    if (status == WEIR_OK) {
        status = weir_circuit_finish_step(world->circuit, &world->err);
    }
    weir_circuit_end_step(world->circuit);
    return status;
}

/* The sum of the outputs is the join of what is there. */
static inline void world_check(World *world)
{
    TextSet want = {0};
    model_join(&world->config, &world->sides[0], &world->sides[1], &want);
    assert_true(text_set_equal(&world->out, &want));
    text_set_free(&want);
}

#endif
