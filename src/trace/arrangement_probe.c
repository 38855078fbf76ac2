/* arrangement_probe.c: reading an arrangement: probes, key weights, walking all rows.
 *
 * A probe keeps up to PROBE_LIVE keys in flight. Each round emits one row of every light key and
 * prefetches the next of its chain; a heavy key streams a stretch of its vector. When half of the
 * keys in flight are done, the next group of 32 is looked up. */
#include "trace/arrangement_priv.h"

enum {
    PROBE_LIVE = 2 * HASH_GROUP,
    HEAVY_STRETCH = 256, /* rows a heavy key emits per round */
};

typedef struct LiveKey {
    uint32_t value; /* the next row of the chain, or the heavy key */
    uint32_t next;  /* place in a heavy key's vector */
    uint16_t place; /* of the key in the columns */
} LiveKey;

typedef struct ArrangementProbePriv {
    const Vector *const *keys; /* borrowed */
    KeyPipe pipe;              /* keys not yet live */
    bool is_drained;           /* the pipe is empty */
    size_t live_count;
    LiveKey live[PROBE_LIVE];
    uint32_t hashes[BATCH_CAPACITY]; /* by place */
} ArrangementProbePriv;

Status weir_arrangement_probe_new(Arrangement *arrangement, ArrangementProbe *probe, Error *err)
{
    probe->priv = weir_mem_zalloc(arrangement->mem, sizeof *probe->priv, err);
    return probe->priv == NULL ? err->code : WEIR_OK;
}

void weir_arrangement_probe_free(Arrangement *arrangement, ArrangementProbe *probe)
{
    weir_mem_free(arrangement->mem, probe->priv);
    probe->priv = NULL;
}

void weir_arrangement_probe_start(Arrangement *arrangement, ArrangementProbe *probe,
                                  const Vector *const *keys, const uint16_t *selection,
                                  size_t count)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    ArrangementProbePriv *priv = probe->priv;
    priv->keys = keys;
    priv->live_count = 0;
    priv->is_drained = false;
    weir_hash_columns(keys, arrangement->layout.key.count, weir_selection_end(selection, count),
                      priv->hashes);
    weir_key_pipe_start(&priv->pipe, arrangement, selection, priv->hashes, count);
}

/* Looks up the next group of keys; those that are there become live. */
static void probe_load(const Arrangement *arrangement, ArrangementProbePriv *priv)
{
    KeyGroup *group = weir_key_pipe_next(&priv->pipe);
    if (group == NULL) {
        priv->is_drained = true;
        return;
    }
    weir_key_group_confirm(arrangement, priv->keys, group);
    for (size_t i = 0; i < group->count; i++) {
        WEIR_ASSERT(priv->live_count < PROBE_LIVE);
        priv->live[priv->live_count] =
            (LiveKey){.value = group->values[i], .place = group->places[i]};
        priv->live_count += group->values[i] != 0;
    }
}

/* Where a round writes its pairs. */
typedef struct ProbeOut {
    uint16_t *places;
    Row **rows;
    size_t count;
    size_t capacity;
} ProbeOut;

/* A stretch of a heavy key's rows; true when it is done. */
static bool emit_heavy(const Arrangement *arrangement, LiveKey *live, ProbeOut *out)
{
    const HeavyKey *key = weir_heavy_key(arrangement, live->value);
    const size_t room = WEIR_MIN(out->capacity - out->count, (size_t)HEAVY_STRETCH);
    const uint32_t stretch = (uint32_t)WEIR_MIN(room, (size_t)(key->count - live->next));
    for (uint32_t i = 0; i < stretch; i++) {
        Row *row = weir_row_at(&arrangement->store, key->refs[live->next + i]);
        weir_arrangement_prefetch(arrangement, row);
        out->rows[out->count + i] = row;
        out->places[out->count + i] = live->place;
    }
    out->count += stretch;
    live->next += stretch;
    return live->next == key->count;
}

/* One round over the live keys. */
static void probe_round(const Arrangement *arrangement, ArrangementProbePriv *priv, ProbeOut *out)
{
    size_t kept = 0;
    for (size_t k = 0; k < priv->live_count; k++) {
        LiveKey live = priv->live[k];
        bool is_done = false;
        if (out->count == out->capacity) {
            is_done = false; /* its turn comes in the next call */
        } else if (WEIR_UNLIKELY(weir_key_is_heavy(live.value))) {
            is_done = emit_heavy(arrangement, &live, out);
        } else {
            Row *row = weir_row_at(&arrangement->store, live.value);
            out->rows[out->count] = row;
            out->places[out->count] = live.place;
            out->count++;
            live.value = weir_row_link(row);
            is_done = live.value == 0;
            if (!is_done) {
                weir_arrangement_prefetch(arrangement,
                                          weir_row_at(&arrangement->store, live.value));
            }
        }
        priv->live[kept] = live;
        kept += !is_done;
    }
    priv->live_count = kept;
}

size_t weir_arrangement_probe_next(Arrangement *arrangement, ArrangementProbe *probe,
                                   uint16_t *places, Row **rows, size_t capacity)
{
    WEIR_ASSERT(capacity > 0 && capacity <= BATCH_CAPACITY);
    ArrangementProbePriv *priv = probe->priv;
    ProbeOut out = {.rows = rows, .capacity = capacity};
    out.places = places;
    while (out.count < capacity) {
        if (priv->live_count <= PROBE_LIVE - HASH_GROUP && !priv->is_drained) {
            probe_load(arrangement, priv);
        } else if (priv->live_count == 0) {
            break;
        }
        probe_round(arrangement, priv, &out);
    }
    return out.count;
}

/* A sum of weights, or the nearest number that can be told. */
static int64_t clamp_weight(i128 weight)
{
    if (weight > INT64_MAX) {
        return INT64_MAX;
    }
    return weight < INT64_MIN ? INT64_MIN : (int64_t)weight;
}

/* Sums the chains of a group in lockstep. */
static void weigh_chains(const Arrangement *arrangement, const uint32_t *values, size_t count,
                         int64_t *out)
{
    uint8_t live[HASH_GROUP];
    RowRef refs[HASH_GROUP];
    i128 sums[HASH_GROUP];
    size_t live_count = 0;
    for (size_t i = 0; i < count; i++) {
        sums[i] = 0;
        if (weir_key_is_heavy(values[i])) {
            sums[i] = weir_heavy_key(arrangement, values[i])->weight;
        } else if (values[i] != 0) {
            refs[i] = values[i];
            live[live_count] = (uint8_t)i;
            live_count++;
        }
    }
    while (live_count > 0) {
        size_t kept = 0;
        for (size_t k = 0; k < live_count; k++) {
            const size_t i = live[k];
            const Row *row = weir_row_at(&arrangement->store, refs[i]);
            sums[i] += weir_row_weight(row);
            refs[i] = weir_row_link(row);
            if (refs[i] != 0) {
                __builtin_prefetch(weir_row_at(&arrangement->store, refs[i]));
                live[kept] = (uint8_t)i;
                kept++;
            }
        }
        live_count = kept;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = clamp_weight(sums[i]);
    }
}

void weir_arrangement_key_weights(Arrangement *arrangement, const Vector *const *keys,
                                  const uint16_t *selection, size_t count, int64_t *out)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    uint32_t hashes[BATCH_CAPACITY];
    weir_hash_columns(keys, arrangement->layout.key.count, weir_selection_end(selection, count),
                      hashes);
    KeyPipe pipe;
    weir_key_pipe_start(&pipe, arrangement, selection, hashes, count);
    for (KeyGroup *group = weir_key_pipe_next(&pipe); group != NULL;
         group = weir_key_pipe_next(&pipe)) {
        weir_key_group_confirm(arrangement, keys, group);
        weigh_chains(arrangement, group->values, group->count, out + group->first);
    }
}

/* --- walking all rows --------------------------------------------------------------------------- */

#define SCAN_HEAVY (UINT64_C(1) << 63)

/* cursor = the key index's. Whole chains only: capacity must have room for the longest. */
static size_t scan_light(const Arrangement *arrangement, uint64_t *cursor, Row **rows,
                         size_t capacity)
{
    size_t count = 0;
    while (capacity - count >= ARRANGEMENT_HEAVY) {
        uint32_t values[HASH_GROUP];
        const size_t room = (capacity - count) / ARRANGEMENT_HEAVY;
        const size_t found = weir_hash_index_scan(&arrangement->keys, cursor, values,
                                                  WEIR_MIN(room, (size_t)HASH_GROUP));
        if (found == 0) {
            if (count == 0) {
                *cursor = SCAN_HEAVY;
            }
            break;
        }
        for (size_t i = 0; i < found; i++) {
            if (!weir_key_is_heavy(values[i])) {
                __builtin_prefetch(weir_row_at(&arrangement->store, values[i]));
            }
        }
        for (size_t i = 0; i < found; i++) {
            RowRef ref = weir_key_is_heavy(values[i]) ? 0 : values[i];
            while (ref != 0) {
                rows[count] = weir_row_at(&arrangement->store, ref);
                ref = weir_row_link(rows[count]);
                count++;
            }
        }
    }
    return count;
}

/* cursor = SCAN_HEAVY | heavy number << 32 | place in its vector. */
static size_t scan_heavy(const Arrangement *arrangement, uint64_t *cursor, Row **rows,
                         size_t capacity)
{
    uint32_t number = (uint32_t)((*cursor & ~SCAN_HEAVY) >> 32);
    uint32_t place = (uint32_t)*cursor;
    size_t count = 0;
    while (number < arrangement->heavy_count && count < capacity) {
        const HeavyKey *key = &arrangement->heavy[number];
        const bool is_used = key->refs != NULL;
        while (is_used && place < key->count && count < capacity) {
            rows[count] = weir_row_at(&arrangement->store, key->refs[place]);
            __builtin_prefetch(rows[count]);
            place++;
            count++;
        }
        if (!is_used || place == key->count) {
            number++;
            place = 0;
        }
    }
    *cursor = SCAN_HEAVY | (uint64_t)number << 32 | place;
    return count;
}

size_t weir_arrangement_scan(const Arrangement *arrangement, uint64_t *cursor, Row **rows,
                             size_t capacity)
{
    WEIR_ASSERT(capacity >= ARRANGEMENT_HEAVY);
    if ((*cursor & SCAN_HEAVY) == 0) {
        const size_t count = scan_light(arrangement, cursor, rows, capacity);
        if (count > 0) {
            return count;
        }
    }
    return scan_heavy(arrangement, cursor, rows, capacity);
}
