#!/bin/sh
# tools/append_footer.sh in.so out.duckdb_extension platform version
#
# Makes a loadable DuckDB extension of a shared object: appends the 512-byte footer DuckDB looks
# for. Eight 32-byte fields padded with NULs (three empty, ABI, extension version, C API version,
# platform, magic) and a 256-byte signature, which is zero here: the extension is unsigned.
set -eu
if [ $# != 4 ]; then
    echo "usage: $0 in.so out.duckdb_extension platform version" >&2
    exit 2
fi
field() {
    printf '%s' "$1"
    head -c $((32 - ${#1})) /dev/zero
}
# Written beside the target and renamed: a process that has the old file mapped keeps it.
cp "$1" "$2.part"
{
    field ''
    field ''
    field ''
    field C_STRUCT
    field "$4"
    field v1.2.0
    field "$3"
    field 4
    head -c 256 /dev/zero
} >>"$2.part"
mv -f "$2.part" "$2"
