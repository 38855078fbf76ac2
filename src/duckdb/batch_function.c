/* batch_function.c: the registry of slots and the table function over it.
 *
 * Callbacks find the slot by its handle again each time, under the lock: a bound statement may
 * outlive its slot. */
#include "duckdb/batch_function.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/lock.h"
#include "duckdb/chunk.h"
#include "duckdb/type_map.h"

#define FUNCTION_NAME "dbsp_internal_batch"

typedef struct Slot {
    uint64_t handle;
    const Schema *schema; /* borrowed */
    const Batch *batch;   /* borrowed; NULL = empty */
} Slot;

struct BatchRegistry {
    Mem *mem;
    Lock lock; /* protects the slots and their batches while they are copied */
    uint64_t next;
    Slot *slots; /* owned */
    size_t count;
    size_t capacity;
};

/* What the table function's extra_info is. */
typedef struct FunctionOwner {
    BatchRegistry *registry;
    void *owner;
    duckdb_delete_callback_t destroy;
} FunctionOwner;

/* One execution. */
typedef struct BatchScan {
    uint64_t handle;
    bool is_done;
} BatchScan;

/* --- slots ------------------------------------------------------------------------------------ */

/* Handles that are not guessed by accident. */
static uint64_t next_handle(BatchRegistry *registry)
{
    registry->next += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t h = registry->next;
    h = (h ^ (h >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94D049BB133111EB);
    return h ^ (h >> 31);
}

Status weir_batch_registry_new(Mem *mem, BatchRegistry **out, Error *err)
{
    BatchRegistry *registry = weir_mem_zalloc(mem, sizeof *registry, err);
    if (registry == NULL) {
        return err->code;
    }
    registry->mem = mem;
    const Status status = weir_lock_init(&registry->lock, LOCK_RANK_LEAF, err);
    if (status != WEIR_OK) {
        weir_mem_free(mem, registry);
        return status;
    }
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    registry->next = (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 32) ^ (uintptr_t)registry;
    *out = registry;
    return WEIR_OK;
}

void weir_batch_registry_free(BatchRegistry *registry)
{
    if (registry != NULL) {
        weir_lock_deinit(&registry->lock);
        weir_mem_free(registry->mem, registry->slots);
        weir_mem_free(registry->mem, registry);
    }
}

/* Lock held. */
static Slot *find_slot(BatchRegistry *registry, uint64_t handle)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (registry->slots[i].handle == handle) {
            return &registry->slots[i];
        }
    }
    return NULL;
}

static Status reserve_slot(BatchRegistry *registry, Error *err)
{
    if (registry->count < registry->capacity) {
        return WEIR_OK;
    }
    const size_t capacity = WEIR_MAX(2 * registry->capacity, (size_t)8);
    Slot *slots = weir_mem_realloc(registry->mem, registry->slots, capacity * sizeof *slots, err);
    if (slots == NULL) {
        return err->code;
    }
    registry->slots = slots;
    registry->capacity = capacity;
    return WEIR_OK;
}

Status weir_batch_slot_add(BatchRegistry *registry, const Schema *schema, uint64_t *handle,
                           Error *err)
{
    weir_lock_acquire(&registry->lock);
    const Status status = reserve_slot(registry, err);
    if (status == WEIR_OK) {
        *handle = next_handle(registry);
        registry->slots[registry->count++] = (Slot){.handle = *handle, .schema = schema};
    }
    weir_lock_release(&registry->lock);
    return status;
}

void weir_batch_slot_remove(BatchRegistry *registry, uint64_t handle)
{
    weir_lock_acquire(&registry->lock);
    Slot *const slot = find_slot(registry, handle);
    WEIR_ASSERT(slot != NULL);
    if (slot != NULL) {
        *slot = registry->slots[--registry->count];
    }
    weir_lock_release(&registry->lock);
}

void weir_batch_slot_set(BatchRegistry *registry, uint64_t handle, const Batch *batch)
{
    weir_lock_acquire(&registry->lock);
    Slot *const slot = find_slot(registry, handle);
    WEIR_ASSERT(slot != NULL);
    if (slot != NULL) {
        slot->batch = batch;
    }
    weir_lock_release(&registry->lock);
}

void weir_batch_put_sql(Buf *buf, uint64_t handle)
{
    weir_buf_printf(buf, "system.main." FUNCTION_NAME "(%" PRIu64 "::UBIGINT)", handle);
}

/* --- the table function ----------------------------------------------------------------------- */

static Status add_column(duckdb_bind_info info, const char *name, const LogicalType *type,
                         Error *err)
{
    duckdb_logical_type theirs = NULL;
    WEIR_TRY(weir_type_to_duckdb(type, &theirs, err));
    duckdb_bind_add_result_column(info, name, theirs);
    duckdb_destroy_logical_type(&theirs);
    return WEIR_OK;
}

static Status add_columns(duckdb_bind_info info, const Schema *schema, Error *err)
{
    if (schema->count == 0) {
        return add_column(info, "none", weir_type_simple(TYPE_BOOLEAN), err);
    }
    for (size_t c = 0; c < schema->count; c++) {
        char name[32];
        (void)snprintf(name, sizeof name, "c%zu", c);
        WEIR_TRY(add_column(info, name, schema->types[c], err));
    }
    return WEIR_OK;
}

static Status no_such_slot(uint64_t handle, Error *err)
{
    return weir_error_set(err, WEIR_ERR_ARGUMENT, FUNCTION_NAME ": there is no batch %" PRIu64,
                          handle);
}

static void bind_batch(duckdb_bind_info info)
{
    FunctionOwner *const owner = duckdb_bind_get_extra_info(info);
    BatchRegistry *const registry = owner->registry;
    Error err = {0};
    duckdb_value value = duckdb_bind_get_parameter(info, 0);
    const uint64_t handle = duckdb_is_null_value(value) ? 0 : duckdb_get_uint64(value);
    duckdb_destroy_value(&value);

    weir_lock_acquire(&registry->lock);
    const Slot *const slot = find_slot(registry, handle);
    Status status =
        slot == NULL ? no_such_slot(handle, &err) : add_columns(info, slot->schema, &err);
    weir_lock_release(&registry->lock);

    if (status != WEIR_OK) {
        duckdb_bind_set_error(info, err.message);
        return;
    }
    uint64_t *const bound = duckdb_malloc(sizeof *bound);
    if (bound == NULL) {
        duckdb_bind_set_error(info, "out of memory");
        return;
    }
    *bound = handle;
    duckdb_bind_set_bind_data(info, bound, duckdb_free);
    duckdb_bind_set_cardinality(info, VECTOR_CAPACITY, false);
}

static void init_batch(duckdb_init_info info)
{
    const uint64_t *const handle = duckdb_init_get_bind_data(info);
    BatchScan *const scan = duckdb_malloc(sizeof *scan);
    if (scan == NULL) {
        duckdb_init_set_error(info, "out of memory");
        return;
    }
    *scan = (BatchScan){.handle = *handle};
    duckdb_init_set_init_data(info, scan, duckdb_free);
    duckdb_init_set_max_threads(info, 1); /* the order of the rows is what the caller relies on */
}

/* Lock held. */
static Status copy_batch(BatchRegistry *registry, const Slot *slot, duckdb_data_chunk output,
                         Error *err)
{
    if (slot->batch == NULL) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT, FUNCTION_NAME ": the batch is gone");
    }
    if (slot->schema->count == 0) {
        duckdb_vector none = duckdb_data_chunk_get_vector(output, 0);
        memset(duckdb_vector_get_data(none), 0, slot->batch->count);
    }
    Arena scratch;
    weir_arena_init(&scratch, registry->mem, 0);
    const Status status =
        weir_chunk_write(slot->batch, slot->schema, CHUNK_COPIES, &scratch, output, err);
    weir_arena_deinit(&scratch);
    return status;
}

static void read_batch(duckdb_function_info info, duckdb_data_chunk output)
{
    FunctionOwner *const owner = duckdb_function_get_extra_info(info);
    BatchRegistry *const registry = owner->registry;
    BatchScan *const scan = duckdb_function_get_init_data(info);
    if (scan->is_done) {
        duckdb_data_chunk_set_size(output, 0);
        return;
    }
    scan->is_done = true;
    Error err = {0};
    weir_lock_acquire(&registry->lock);
    const Slot *const slot = find_slot(registry, scan->handle);
    const Status status =
        slot == NULL ? no_such_slot(scan->handle, &err) : copy_batch(registry, slot, output, &err);
    weir_lock_release(&registry->lock);
    if (status != WEIR_OK) {
        duckdb_function_set_error(info, err.message);
    }
}

static void destroy_owner(void *extra_info)
{
    FunctionOwner *const owner = extra_info;
    owner->destroy(owner->owner);
    duckdb_free(owner);
}

Status weir_batch_function_register(duckdb_connection connection, BatchRegistry *registry,
                                    void *owner, duckdb_delete_callback_t destroy, Error *err)
{
    FunctionOwner *const extra_info = duckdb_malloc(sizeof *extra_info);
    if (extra_info == NULL) {
        destroy(owner);
        return weir_error_set(err, WEIR_ERR_NOMEM, "out of memory");
    }
    *extra_info = (FunctionOwner){.registry = registry, .owner = owner, .destroy = destroy};
    duckdb_logical_type ubigint = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
    duckdb_table_function function = duckdb_create_table_function();
    duckdb_table_function_set_name(function, FUNCTION_NAME);
    duckdb_table_function_add_parameter(function, ubigint);
    duckdb_table_function_set_extra_info(function, extra_info, destroy_owner);
    duckdb_table_function_set_bind(function, bind_batch);
    duckdb_table_function_set_init(function, init_batch);
    duckdb_table_function_set_function(function, read_batch);
    const duckdb_state state = duckdb_register_table_function(connection, function);
    duckdb_destroy_table_function(&function);
    duckdb_destroy_logical_type(&ubigint);
    if (state != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_HOST, "cannot register the function " FUNCTION_NAME);
    }
    return WEIR_OK;
}
