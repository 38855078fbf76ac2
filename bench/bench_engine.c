/* bench_engine.c: the operators alone, beside loops written by hand. Random keys, steady state,
 * deltas of 100,000 rows, half of them retractions. One thread. */
#include "world.h"

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    World world;
    world_init(&world, &options);
    report_title("Operators",
                 "ns a row of a 100,000-row delta, half retractions; ratio to a hand-written loop");
    bench_map(&world);
    bench_group(&world, 1000);
    bench_group(&world, 1000000);
    bench_join(&world, 100000);
    bench_join(&world, 1000000);
    bench_chain(&world);
    report_title("State", "bytes as the operators count them");
    bench_memory(&world);
    world_deinit(&world);
    report_end();
    return 0;
}
