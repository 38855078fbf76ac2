/* extreme.c: min and max, and first of a group of one row.
 *
 * The hidden part is an ordered set of the group's values (trace/ordered_set.h), the shown part the
 * value at its end, read once per touched group at the end of the step. Strings of the shown part
 * point into the set's space, where a freed one stays readable until the end of the step; longer
 * than that only values that are in the set are shown.
 *
 * first(x) is exact for a group of at most one row, where the planner uses it (scalar subqueries);
 * with more rows it is one of the values, always the same one of the same rows. */
#include "agg/aggregate_priv.h"
#include "trace/ordered_set.h"

enum { EXTREME_PREFETCH = 16 }; /* sets ahead */

static Status extreme_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    OrderedSet *sets[BATCH_CAPACITY];
    for (size_t i = 0; i < in->count; i++) {
        const size_t place = in->selection == NULL ? i : in->selection[i];
        sets[place] = state_at(in->rows[place], self->hidden);
    }
    return in->is_first ? weir_ordered_set_load_batch(self->space, sets, in->arg, in->selection,
                                                      in->weights, in->count, err)
                        : weir_ordered_set_add_batch(self->space, sets, in->arg, in->selection,
                                                     in->weights, in->count, err);
}

static Status open_space(Accumulator *self, const LogicalType *type, Error *err)
{
    OrderedSpace *space = NULL;
    WEIR_TRY(weir_ordered_space_new(self->mem, self->pool, type, &space, err));
    self->space = space;
    self->update = extreme_update;
    return WEIR_OK;
}

static Status extreme_open(Accumulator *self, Error *err)
{
    return open_space(self, self->arg, err);
}

/* Floats by their bits, so that -0.0 comes back as it was. */
static Status first_open(Accumulator *self, Error *err)
{
    switch (self->arg->phys) {
    case PHYS_F32: return open_space(self, weir_type_simple(TYPE_UINTEGER), err);
    case PHYS_F64: return open_space(self, weir_type_simple(TYPE_UBIGINT), err);
    case PHYS_I8:
    case PHYS_I16:
    case PHYS_I32:
    case PHYS_I64:
    case PHYS_I128:
    case PHYS_U8:
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64:
    case PHYS_U128:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    return open_space(self, self->arg, err);
}

static void extreme_close(Accumulator *self)
{
    weir_ordered_space_free(self->space);
}

static void extreme_show(const Accumulator *self, Row *row, const void *value)
{
    ValueState *state = state_at(row, self->shown);
    *state = (ValueState){.count = value != NULL};
    if (value != NULL) {
        memcpy(state->words, value, weir_phys_width(self->arg->phys));
    }
}

/* Shows the value at one end of every row's set. */
static Status extreme_settle(const Accumulator *self, Row *const *rows, size_t count, bool of_last,
                             Error *err)
{
    OrderedSpace *space = self->space;
    for (size_t i = 0; i < count; i++) {
        if (i + EXTREME_PREFETCH < count) {
            weir_ordered_set_prefetch(space, state_at(rows[i + EXTREME_PREFETCH], self->hidden));
        }
        OrderedSet *set = state_at(rows[i], self->hidden);
        WEIR_TRY(weir_ordered_set_settle(space, set, err));
        WEIR_TRY(weir_ordered_set_verify(space, set, err));
        const void *value =
            of_last ? weir_ordered_set_max(space, set) : weir_ordered_set_min(space, set);
        extreme_show(self, rows[i], value);
    }
    return WEIR_OK;
}

static Status minimum_settle(Accumulator *self, Row *const *rows, size_t count, Error *err)
{
    return extreme_settle(self, rows, count, false, err);
}

static Status maximum_settle(Accumulator *self, Row *const *rows, size_t count, Error *err)
{
    return extreme_settle(self, rows, count, true, err);
}

static void extreme_forget(Accumulator *self, Row *row)
{
    weir_ordered_set_clear(self->space, state_at(row, self->hidden));
}

static void extreme_end_step(Accumulator *self)
{
    weir_ordered_space_end_step(self->space);
}

static size_t extreme_bytes(const Accumulator *self)
{
    return weir_ordered_space_bytes(self->space);
}

Status weir_finish_extreme(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    const size_t width = weir_phys_width(of->out->phys);
    char *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const ValueState *state = finish_state(of, i);
        memcpy(out + i * width, state->words, width);
        if (state->count == 0) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_minimum = {
    .name = "minimum",
    .shown_bytes = sizeof(ValueState),
    .hidden_bytes = sizeof(OrderedSet),
    .open = extreme_open,
    .close = extreme_close,
    .settle = minimum_settle,
    .forget = extreme_forget,
    .end_step = extreme_end_step,
    .bytes = extreme_bytes,
};

const AccumulatorType weir_accumulator_maximum = {
    .name = "maximum",
    .shown_bytes = sizeof(ValueState),
    .hidden_bytes = sizeof(OrderedSet),
    .open = extreme_open,
    .close = extreme_close,
    .settle = maximum_settle,
    .forget = extreme_forget,
    .end_step = extreme_end_step,
    .bytes = extreme_bytes,
};

const AccumulatorType weir_accumulator_first = {
    .name = "first",
    .shown_bytes = sizeof(ValueState),
    .hidden_bytes = sizeof(OrderedSet),
    .open = first_open,
    .close = extreme_close,
    .settle = minimum_settle,
    .forget = extreme_forget,
    .end_step = extreme_end_step,
    .bytes = extreme_bytes,
};
