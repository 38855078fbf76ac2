/* told_function.c: the registry of handles and the scalar function over it.
 *
 * The function is volatile, so that it is evaluated where it stands: once for each row of the
 * projection that it is part of. */
#include "duckdb/told_function.h"

#include <inttypes.h>
#include <time.h>

#include "base/lock.h"
#include "duckdb/type_map.h"
#include "types/vector.h"

#define FUNCTION_NAME "dbsp_internal_told"

typedef struct Ear {
    uint64_t handle;
    ToldHear hear; /* NULL = nobody listens */
    void *user;    /* borrowed */
} Ear;

struct ToldRegistry {
    Mem *mem;
    Lock lock; /* protects the ears, and who is told while a chunk is heard */
    uint64_t next;
    Ear *ears; /* owned */
    size_t count;
    size_t capacity;
};

/* What the extra_info of each overload is. */
typedef struct ToldOwner {
    ToldRegistry *registry;
    ToldKeeper keeper;
    const LogicalType *type; /* of a value */
} ToldOwner;

/* ---- handles ---------------------------------------------------------------------------------- */

Status weir_told_registry_new(Mem *mem, ToldRegistry **out, Error *err)
{
    ToldRegistry *registry = weir_mem_zalloc(mem, sizeof *registry, err);
    if (registry == NULL) {
        return err->code;
    }
    registry->mem = mem;
    const Status status = weir_lock_init(&registry->lock, LOCK_RANK_TOLD, err);
    if (status != WEIR_OK) {
        weir_mem_free(mem, registry);
        return status;
    }
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    registry->next = (uint64_t)now.tv_nsec << 20 ^ (uintptr_t)registry;
    *out = registry;
    return WEIR_OK;
}

void weir_told_registry_free(ToldRegistry *registry)
{
    if (registry != NULL) {
        weir_lock_deinit(&registry->lock);
        weir_mem_free(registry->mem, registry->ears);
        weir_mem_free(registry->mem, registry);
    }
}

/* Lock held. */
static Ear *find_ear(ToldRegistry *registry, uint64_t handle)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (registry->ears[i].handle == handle) {
            return &registry->ears[i];
        }
    }
    return NULL;
}

static Status reserve_ear(ToldRegistry *registry, Error *err)
{
    if (registry->count < registry->capacity) {
        return WEIR_OK;
    }
    const size_t capacity = WEIR_MAX(2 * registry->capacity, (size_t)8);
    Ear *ears = weir_mem_realloc(registry->mem, registry->ears, capacity * sizeof *ears, err);
    if (ears == NULL) {
        return err->code;
    }
    registry->ears = ears;
    registry->capacity = capacity;
    return WEIR_OK;
}

Status weir_told_handle_add(ToldRegistry *registry, uint64_t *handle, Error *err)
{
    weir_lock_acquire(&registry->lock);
    const Status status = reserve_ear(registry, err);
    if (status == WEIR_OK) {
        registry->next += UINT64_C(0x9E3779B97F4A7C15); /* odd: none comes twice */
        *handle = registry->next;
        registry->ears[registry->count++] = (Ear){.handle = *handle};
    }
    weir_lock_release(&registry->lock);
    return status;
}

void weir_told_handle_remove(ToldRegistry *registry, uint64_t handle)
{
    weir_lock_acquire(&registry->lock);
    Ear *const ear = find_ear(registry, handle);
    WEIR_ASSERT(ear != NULL);
    if (ear != NULL) {
        *ear = registry->ears[--registry->count];
    }
    weir_lock_release(&registry->lock);
}

void weir_told_listen(ToldRegistry *registry, uint64_t handle, ToldHear hear, void *user)
{
    weir_lock_acquire(&registry->lock);
    Ear *const ear = find_ear(registry, handle);
    WEIR_ASSERT(ear != NULL);
    if (ear != NULL) {
        ear->hear = hear;
        ear->user = user;
    }
    weir_lock_release(&registry->lock);
}

void weir_told_put_call(Buf *buf, uint64_t handle)
{
    weir_buf_printf(buf, "system.main." FUNCTION_NAME "(%" PRIu64 "::UBIGINT", handle);
}

/* ---- the function ----------------------------------------------------------------------------- */

/* The arguments are flat, also constant ones. */
static uint64_t read_handle(duckdb_data_chunk chunk)
{
    duckdb_vector handles = duckdb_data_chunk_get_vector(chunk, 0);
    uint64_t *const validity = duckdb_vector_get_validity(handles);
    const bool is_null = validity != NULL && !duckdb_validity_row_is_valid(validity, 0);
    return is_null ? 0 : *(const uint64_t *)duckdb_vector_get_data(handles);
}

/* The value becomes the result. Both are flat, and of one type. */
static void pass(duckdb_vector from, const LogicalType *type, size_t count, duckdb_vector to)
{
    const uint64_t *const validity = duckdb_vector_get_validity(from);
    if (validity != NULL) {
        duckdb_vector_ensure_validity_writable(to);
        memcpy(duckdb_vector_get_validity(to), validity, (count + 63) / 64 * sizeof *validity);
    }
    if (type->phys != PHYS_STRING) {
        memcpy(duckdb_vector_get_data(to), duckdb_vector_get_data(from),
               count * weir_phys_width(type->phys));
        return;
    }
    const String *const texts = duckdb_vector_get_data(from);
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(validity, i)) {
            duckdb_vector_assign_string_element_len(to, i, weir_string_data(&texts[i]),
                                                    weir_string_size(&texts[i]));
        }
    }
}

static void tell(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector output)
{
    const ToldOwner *const owner = duckdb_scalar_function_get_extra_info(info);
    ToldRegistry *const registry = owner->registry;
    const size_t count = duckdb_data_chunk_get_size(chunk);
    if (count == 0) {
        return;
    }
    weir_lock_acquire(&registry->lock);
    const Ear *const ear = find_ear(registry, read_handle(chunk));
    const bool is_heard = ear != NULL && ear->hear != NULL;
    if (is_heard) {
        ear->hear(ear->user, chunk);
    }
    weir_lock_release(&registry->lock);
    if (!is_heard) {
        duckdb_scalar_function_set_error(info, FUNCTION_NAME ": nobody listens at this handle");
    }
    pass(duckdb_data_chunk_get_vector(chunk, 1), owner->type, count, output);
}

static void destroy_owner(void *extra_info)
{
    ToldOwner *const owner = extra_info;
    owner->keeper.unref(owner->keeper.owner);
    duckdb_free(owner);
}

static const TypeId PASSED[] = {
    TYPE_BOOLEAN,  TYPE_TINYINT,   TYPE_SMALLINT,  TYPE_INTEGER, TYPE_BIGINT, TYPE_HUGEINT,
    TYPE_UTINYINT, TYPE_USMALLINT, TYPE_UINTEGER,  TYPE_UBIGINT, TYPE_FLOAT,  TYPE_DOUBLE,
    TYPE_DATE,     TYPE_TIME,      TYPE_TIMESTAMP, TYPE_VARCHAR, TYPE_BLOB,
};

bool weir_told_passes(const LogicalType *type)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(PASSED); i++) {
        if (PASSED[i] == type->id) {
            return !type->is_json;
        }
    }
    return false;
}

/* Takes the owner. */
static Status add_overload(duckdb_scalar_function_set set, ToldOwner *owner, Error *err)
{
    duckdb_logical_type value = NULL;
    const Status status = weir_type_to_duckdb(owner->type, &value, err);
    if (status != WEIR_OK) {
        destroy_owner(owner);
        return status;
    }
    duckdb_logical_type handle = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_scalar_function_set_name(function, FUNCTION_NAME);
    duckdb_scalar_function_add_parameter(function, handle);
    duckdb_scalar_function_add_parameter(function, value);
    duckdb_scalar_function_set_varargs(function, any);
    duckdb_scalar_function_set_return_type(function, value);
    duckdb_scalar_function_set_special_handling(function); /* rows with NULLs are told too */
    duckdb_scalar_function_set_volatile(function);
    duckdb_scalar_function_set_extra_info(function, owner, destroy_owner);
    duckdb_scalar_function_set_function(function, tell);
    const duckdb_state state = duckdb_add_scalar_function_to_set(set, function);
    duckdb_destroy_scalar_function(&function);
    duckdb_destroy_logical_type(&any);
    duckdb_destroy_logical_type(&value);
    duckdb_destroy_logical_type(&handle);
    return state == DuckDBSuccess
               ? WEIR_OK
               : weir_error_set(err, WEIR_ERR_HOST, "cannot make the function " FUNCTION_NAME);
}

Status weir_told_function_register(duckdb_connection connection, ToldRegistry *registry,
                                   const ToldKeeper *keeper, Error *err)
{
    Status status = WEIR_OK;
    duckdb_scalar_function_set set = duckdb_create_scalar_function_set(FUNCTION_NAME);
    for (size_t i = 0; status == WEIR_OK && i < WEIR_ARRAY_COUNT(PASSED); i++) {
        ToldOwner *const owner = duckdb_malloc(sizeof *owner);
        if (owner == NULL) {
            status = weir_error_set(err, WEIR_ERR_NOMEM, "out of memory");
            break;
        }
        keeper->ref(keeper->owner);
        *owner = (ToldOwner){
            .registry = registry, .keeper = *keeper, .type = weir_type_simple(PASSED[i])};
        status = add_overload(set, owner, err);
    }
    if (status == WEIR_OK &&
        duckdb_register_scalar_function_set(connection, set) != DuckDBSuccess) {
        status = weir_error_set(err, WEIR_ERR_HOST, "cannot register the function " FUNCTION_NAME);
    }
    duckdb_destroy_scalar_function_set(&set);
    return status;
}
