#!/bin/sh
# bench/run.sh [quick] [--build DIRECTORY]: run the benchmarks; quick: smaller tables, fewer runs.
#
# Figures are medians, ratios are medians of ratios run by run; a line with a target says whether it
# was met. A miss is not a failure of this script: machines differ. docs/performance.md explains.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)

build=build
mode=
while [ $# -gt 0 ]; do
    case $1 in
    quick) mode=quick ;;
    --build) build=$2; shift ;;
    *) echo "usage: bench/run.sh [quick] [--build DIRECTORY]" >&2; exit 2 ;;
    esac
    shift
done

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
echo "$(nproc) cores of ${cpu:-unknown}, $((${memory:-0} / 1048576)) GiB, load $(cut -d' ' -f1 /proc/loadavg)"
${CC:-cc} --version | head -n 1

# shellcheck disable=SC2086
"$build/bench/bench_engine" $mode
for program in bench_capture bench_live; do
    # shellcheck disable=SC2086
    "$build/bench/$program" $mode
done
for program in bench_populate bench_commit bench_follow bench_wal; do
    # shellcheck disable=SC2086
    "$build/bench/$program" $mode --ext "$build/dbsp.duckdb_extension"
done

work=$(mktemp -d)
case $build in
/*) capture=$build/bench/bench_cdc ;;
*) capture=$root/$build/bench/bench_cdc ;;
esac
(cd "$work" && "$capture" --rows "$([ -n "$mode" ] && echo 30000 || echo 1000000)")
rm -rf "$work"
