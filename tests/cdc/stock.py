#!/usr/bin/env python3
"""The same as stock.c with the SQLite that this Python has: stock.py DATABASE SQL..."""
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
for sql in sys.argv[2:]:
    for statement in sql.split(";"):  # none has one within
        db.execute(statement).fetchall()
db.close()
