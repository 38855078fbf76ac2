/* aggregate.c: the registry of aggregates.def. */
#include "agg/aggregate_priv.h"

/* Classes of argument types. */
typedef enum AggregateArgument {
    ARGUMENT_NONE,
    ARGUMENT_ANY,
    ARGUMENT_ORDERED, /* anything with an order */
    ARGUMENT_BOOLEAN,
    ARGUMENT_SMALLINT, /* an integer or decimal of 16 bits */
    ARGUMENT_INTEGER,  /* an integer or decimal of at most 64 bits */
    ARGUMENT_HUGEINT,  /* an integer or decimal of 128 bits */
    ARGUMENT_DOUBLE,
    ARGUMENT_INSTANT, /* TIMESTAMP, TIMESTAMP WITH TIME ZONE, TIME */
    ARGUMENT_INTERVAL,
    ARGUMENT_BITS, /* integers */
} AggregateArgument;

typedef struct AggregateEntry {
    AggregateDef def;
    AggregateArgument argument;
} AggregateEntry;

static const AggregateEntry aggregates[] = {
#define X(function, class, state, result, bits)           \
    {                                                     \
        .def =                                            \
            {                                             \
                .name = #function,                        \
                .accumulator = &weir_accumulator_##state, \
                .finish = weir_finish_##result,           \
                .flags = (bits),                          \
            },                                            \
        .argument = ARGUMENT_##class,                     \
    },
#include "agg/aggregates.def"
#undef X
};

static bool is_exact_number(const LogicalType *type)
{
    return weir_type_is_integer(type) || type->id == TYPE_DECIMAL;
}

static bool argument_matches(AggregateArgument argument, const LogicalType *type)
{
    if (type == NULL || argument == ARGUMENT_NONE) {
        return type == NULL && argument == ARGUMENT_NONE;
    }
    switch (argument) {
    case ARGUMENT_NONE: return false;
    case ARGUMENT_ANY: return true;
    case ARGUMENT_ORDERED: return type->id != TYPE_SQLNULL;
    case ARGUMENT_BOOLEAN: return type->id == TYPE_BOOLEAN;
    case ARGUMENT_SMALLINT: return is_exact_number(type) && type->phys == PHYS_I16;
    case ARGUMENT_INTEGER:
        return is_exact_number(type) && type->phys != PHYS_I128 && type->phys != PHYS_U128;
    case ARGUMENT_HUGEINT: return is_exact_number(type) && type->phys == PHYS_I128;
    case ARGUMENT_DOUBLE: return type->id == TYPE_DOUBLE;
    case ARGUMENT_INSTANT:
        return type->id == TYPE_TIMESTAMP || type->id == TYPE_TIMESTAMP_TZ || type->id == TYPE_TIME;
    case ARGUMENT_INTERVAL: return type->id == TYPE_INTERVAL;
    case ARGUMENT_BITS: return weir_type_is_integer(type);
    }
    return false;
}

const AggregateDef *weir_aggregate_find(const AggregateSignature *call)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(aggregates); i++) {
        const AggregateEntry *entry = &aggregates[i];
        const uint32_t distinct = AGGREGATE_DISTINCT | AGGREGATE_DISTINCT_MOOT;
        if (strcmp(entry->def.name, call->name) == 0 &&
            argument_matches(entry->argument, call->arg)) {
            return call->is_distinct && (entry->def.flags & distinct) == 0 ? NULL : &entry->def;
        }
    }
    return NULL;
}

Status weir_accumulator_open(Accumulator *accumulator, const AccumulatorType *type,
                             const LogicalType *arg, Mem *mem, PagePool *pool, Error *err)
{
    WEIR_ASSERT(type->shown_bytes % 8 == 0 && type->hidden_bytes % 8 == 0);
    *accumulator = (Accumulator){
        .type = type,
        .arg = arg,
        .mem = mem,
        .pool = pool,
        .hidden_bytes = type->hidden_bytes,
    };
    return type->open(accumulator, err);
}

void weir_accumulator_close(Accumulator *accumulator)
{
    if (accumulator->type != NULL && accumulator->type->close != NULL) {
        accumulator->type->close(accumulator);
    }
    *accumulator = (Accumulator){0};
}

Status weir_aggregate_overflow(Error *err)
{
    return weir_error_set(err, WEIR_ERR_WEIGHT, "an aggregate left its range");
}
