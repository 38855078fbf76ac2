#!/bin/sh
# run_python_tests.sh PYTHON DIRECTORY: Python's tests of its sqlite3 module with the libsqlite3.so.0 of
# DIRECTORY. Ends with 77 if this Python has no such tests.
set -eu
python=$1
directory=$2

if ! "$python" -c 'import test.test_sqlite3' 2>/dev/null; then
    echo "$python has no test.test_sqlite3"
    exit 77
fi
found=$(LD_LIBRARY_PATH=$directory "$python" -c '
import sqlite3
print(sqlite3.connect(":memory:").execute("PRAGMA capture_data_changes_conn").fetchone()[0])')
if [ "$found" != off ]; then
    echo "$python does not use $directory/libsqlite3.so.0"
    exit 1
fi
LD_LIBRARY_PATH=$directory exec "$python" -m test test_sqlite3
