#!/bin/sh
# tools/lint.sh [--format] [file...]: clang-format, clang-tidy and cppcheck over our C; no finding
# is tolerated. Without files: all of them. --format rewrites instead of checking the layout.
set -eu
cd "$(dirname "$0")/.."

rewrite=no
if [ "${1:-}" = --format ]; then
    rewrite=yes
    shift
fi
if [ $# -gt 0 ]; then
    files=$(printf '%s\n' "$@")
else
    files=$(find src include tests bench -name '*.[ch]' 2>/dev/null | sort)
fi
if [ -z "$files" ]; then exit 0; fi
jobs=$(nproc)

if [ $rewrite = yes ]; then
    echo "$files" | xargs clang-format -i
    exit 0
fi

status=0
fail() {
    echo "lint: $1 has findings" >&2
    status=1
}

tools/check_style || fail check_style
echo "$files" | xargs clang-format --dry-run -Werror || fail clang-format

# clang-tidy and cppcheck read the compile commands of the clang preset, so that clang's own warnings
# are seen too. Only files that are compiled can be looked at; headers are seen through them.
cmake --preset clang >/dev/null
cmake --build build/clang --target weir_sqlite_source weir_manual >/dev/null
database=build/clang/compile_commands.json
compiled=$(echo "$files" | while read -r file; do
    if grep -qF "\"file\": \"$(pwd -P)/$file\"" $database; then echo "$file"; fi
done)
if [ -n "$compiled" ]; then
    # What clang-tidy says on stderr is the count of warnings in system headers, or why it broke.
    if ! echo "$compiled" |
        xargs -P "$jobs" -n 1 clang-tidy --quiet -p build/clang 2>build/clang/tidy.err; then
        grep -v 'warnings\{0,1\} generated' build/clang/tidy.err >&2 || true
        fail clang-tidy
    fi

    mkdir -p build/clang/cppcheck
    # shellcheck disable=SC2046
    cppcheck --quiet --project=$database --cppcheck-build-dir=build/clang/cppcheck -j "$jobs" \
        --enable=warning,performance,portability --library=posix,gnu --std=c11 \
        --inline-suppr --error-exitcode=1 \
        $(echo "$compiled" | sed 's/^/--file-filter=/') || fail cppcheck
fi
exit $status
