#!/usr/bin/env python3
"""The same as stock.c with the SQLite that this Python has: stock.py DATABASE SQL..."""
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
for sql in sys.argv[2:]:
    db.execute(sql).fetchall()
db.close()
