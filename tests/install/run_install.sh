#!/bin/sh
# run_install.sh CMAKE BUILD PYTHON CC: installs what was built into a new prefix, and uses it from there.
set -eu
cmake=$1
build=$2
python=$3
compiler=$4

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
"$cmake" --install "$build" --prefix "$prefix" >"$prefix/log"
find_one() { # name: the one installed file or link of that name
    found=$(find "$prefix" -name "$1")
    if [ ! -e "$found" ]; then
        echo "not installed, or more than once: $1" >&2
        exit 1
    fi
    echo "$found"
}

sqlite=$(dirname "$(find_one libsqlite3.so.0)")
find_one libsqlite3.so >/dev/null
find_one libweir.so >/dev/null
find_one dbsp.duckdb_extension >/dev/null
headers=$(dirname "$(find_one sqlite3.h)")

# A program that was linked against the system's library finds ours, and nothing else in that folder.
[ "$(find "$sqlite" -mindepth 1 | wc -l)" = 2 ]
LD_LIBRARY_PATH=$sqlite "$python" - <<'END'
import sqlite3
db = sqlite3.connect(":memory:", isolation_level=None)
db.execute("CREATE TABLE t(x INTEGER PRIMARY KEY, y)")
db.execute("PRAGMA capture_data_changes_conn('full')")
db.execute("INSERT INTO t VALUES (1, 'a')")
rows = db.execute("SELECT change_id, change_type, table_name, hex(after) FROM turso_cdc").fetchall()
assert rows == [(1, 1, "t", "03090F61"), (2, 2, None, "")], rows
END

# A program of ours is compiled and linked against what is installed.
cat >"$prefix/program.c" <<'END'
#include <sqlite3.h>
#include <weir.h>
int main(void)
{
    return sqlite3_libversion_number() != SQLITE_VERSION_NUMBER;
}
END
includes=$(dirname "$(find_one weir.h)")
"$compiler" -I"$includes" -I"$headers" "$prefix/program.c" -L"$sqlite" -lsqlite3 -Wl,-rpath,"$sqlite" \
    -o "$prefix/program"
"$prefix/program"
