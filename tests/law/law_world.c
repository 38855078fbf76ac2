/* law_world.c: opening a Law, random numbers, and the types that are tried. */
#include "law.h"

#include <stdio.h>
#include <stdlib.h>

void law_die(const char *what, const char *message)
{
    (void)fprintf(stderr, "law: %s: %s\n", what, message == NULL ? "?" : message);
    exit(2);
}

uint64_t law_random(Law *law)
{
    uint64_t x = law->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    law->random = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

size_t law_below(Law *law, size_t bound)
{
    return (size_t)(law_random(law) >> 16) % bound;
}

bool law_one_in(Law *law, size_t n)
{
    return law_below(law, n) == 0;
}

static void add_type(Law *law, const LogicalType *type)
{
    if (type == NULL || law->type_count == LAW_TYPES_MAX) {
        law_die("types", law->err.message);
    }
    law->types[law->type_count++] = type;
}

static void add_types(Law *law)
{
    static const TypeId simple[] = {
        TYPE_BOOLEAN,      TYPE_TINYINT,      TYPE_SMALLINT,  TYPE_INTEGER,     TYPE_BIGINT,
        TYPE_HUGEINT,      TYPE_UTINYINT,     TYPE_USMALLINT, TYPE_UINTEGER,    TYPE_UBIGINT,
        TYPE_UHUGEINT,     TYPE_FLOAT,        TYPE_DOUBLE,    TYPE_VARCHAR,     TYPE_BLOB,
        TYPE_DATE,         TYPE_TIME,         TYPE_TIMESTAMP, TYPE_TIMESTAMP_S, TYPE_TIMESTAMP_MS,
        TYPE_TIMESTAMP_NS, TYPE_TIMESTAMP_TZ, TYPE_INTERVAL,  TYPE_UUID,        TYPE_TIME_TZ,
    };
    static const uint8_t decimals[][2] = {
        {4, 0},  {4, 1},  {4, 4},   {9, 3},  {9, 0},   {17, 5},
        {18, 0}, {18, 6}, {18, 18}, {38, 0}, {38, 10}, {30, 4},
    };
    static const char *const moods[] = {"sad", "ok", "happy", "a value longer than twelve"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(simple); i++) {
        add_type(law, weir_type_simple(simple[i]));
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(decimals); i++) {
        add_type(law, weir_type_decimal(&law->kept, decimals[i][0], decimals[i][1], &law->err));
    }
    add_type(law, weir_type_enum(&law->kept, moods, WEIR_ARRAY_COUNT(moods), &law->err));
}

size_t law_types_of(const Law *law, char letter, const LogicalType **out)
{
    size_t count = 0;
    for (size_t i = 0; i < law->type_count; i++) {
        if (weir_type_class_has(letter, law->types[i])) {
            out[count++] = law->types[i];
        }
    }
    return count;
}

static void run_sql(Law *law, const char *sql)
{
    duckdb_result result;
    if (duckdb_query(law->connection, sql, &result) != DuckDBSuccess) {
        law_die(sql, duckdb_result_error(&result));
    }
    duckdb_destroy_result(&result);
}

/* Usage: [-s seed] [-n rounds] [-o] [filter]; -o: with DuckDB's optimizer. */
static void read_arguments(Law *law, int argc, char **argv)
{
    const char *seed = getenv("WEIR_SEED");
    const char *rounds = getenv("WEIR_ROUNDS");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-s") == 0 && i + 1 < argc) {
            seed = argv[++i];
        } else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
            rounds = argv[++i];
        } else if (strcmp(argv[i], "-o") == 0) {
            law->has_optimizer = true;
        } else {
            law->filter = argv[i];
        }
    }
    law->seed = seed == NULL ? 1 : strtoull(seed, NULL, 10);
    law->rounds = rounds == NULL ? 3 : strtoull(rounds, NULL, 10);
    law->random = law->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

void law_open(Law *law, int argc, char **argv)
{
    *law = (Law){0};
    read_arguments(law, argc, argv);
    law->mem = weir_mem_new(0);
    if (law->mem == NULL) {
        law_die("memory", NULL);
    }
    weir_arena_init(&law->plan, law->mem, 0);
    weir_arena_init(&law->step, law->mem, 0);
    weir_arena_init(&law->kept, law->mem, 0);
    if (duckdb_open(NULL, &law->database) != DuckDBSuccess ||
        duckdb_connect(law->database, &law->connection) != DuckDBSuccess) {
        law_die("open", "cannot open DuckDB");
    }
    run_sql(law, "SET threads = 1");
    if (!law->has_optimizer) {
        run_sql(law, "PRAGMA disable_optimizer");
    }
    run_sql(law, "SET TimeZone = 'UTC'");
    law->host = law_host(law);
    add_types(law);
    printf("DuckDB %s, seed %llu\n", duckdb_library_version(), (unsigned long long)law->seed);
}

int law_close(Law *law)
{
    printf("%zu cases, %zu batches, %zu failures\n", law->cases, law->batches, law->failures);
    duckdb_disconnect(&law->connection);
    duckdb_close(&law->database);
    weir_arena_deinit(&law->plan);
    weir_arena_deinit(&law->step);
    weir_arena_deinit(&law->kept);
    weir_mem_free_allocator(law->mem);
    return law->failures == 0 ? 0 : 1;
}
