#!/usr/bin/env python3
"""Whether Turso and SQLite with our capture write the same log: compare_turso.py ADDON LIBRARY.

ADDON is the native addon of the npm package @tursodatabase/database, LIBRARY the folder with our libsqlite3.so.0. The cases are
in cases.sql; every record is compared but for its time. Of a record about the schema, the number of its row and its
root page are left out: Turso keeps tables of its own there. Ends with 77 if there is no addon or no node.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
results = []
for sql in json.load(sys.stdin):
    try:
        results.append(db.execute(sql).fetchall())
    except sqlite3.Error as error:
        results.append({"error": str(error)})
json.dump(results, sys.stdout)
"""


def read_cases(path):
    cases = []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("-- case "):
            name, setting = line[8:].split(" ")
            cases.append((name, setting, []))
        elif line and not line.startswith("--"):
            cases[-1][2].append(line)
    return cases


def statements(setting, lines):
    table = setting.partition(",")[2] or "turso_cdc"
    sql = [f"PRAGMA capture_data_changes_conn('{setting}')" if line == "!on" else line for line in lines]
    return sql + ["SELECT change_id, change_txn_id, change_type, table_name, id, hex(before), hex(after), "
                  f"hex(updates) FROM {table} ORDER BY change_id"]


def run(command, environment, sql):
    result = subprocess.run(command, input=json.dumps(sql), text=True, capture_output=True, env=environment,
                            timeout=120)
    if result.returncode != 0:
        sys.exit(f"{command[0]}: {result.stderr}")
    return json.loads(result.stdout)


def read_varint(data, at):
    value = 0
    for i in range(9):
        byte = data[at + i]
        value = value << 8 | byte if i == 8 else value << 7 | byte & 0x7f
        if byte < 0x80:
            break
    return value, at + i + 1


def fields(record):
    """The types and bodies of a record."""
    header, at = read_varint(record, 0)
    body = header
    found = []
    while at < header:
        kind, at = read_varint(record, at)
        size = (kind - 12) // 2 if kind >= 12 else [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][kind]
        found.append((kind, record[body:body + size]))
        body += size
    return found


def comparable(row):
    if row[3] != "sqlite_schema":
        return row
    images = []
    for image in row[5:8]:
        parts = fields(bytes.fromhex(image)) if image else []
        # Turso writes the text of a statement anew, with other blanks.
        images.append([(min(kind, 13), body.replace(b" ", b"")) for i, (kind, body) in enumerate(parts) if i % 5 != 3])
    return row[:4] + images


def main():
    addon, library = sys.argv[1:3]
    if not os.path.exists(addon) or shutil.which("node") is None:
        print("no addon of Turso, or no node: skipped")
        return 77
    environment = dict(os.environ, LD_LIBRARY_PATH=library)
    differing = 0
    cases = read_cases(os.path.join(HERE, "cases.sql"))
    for name, setting, lines in cases:
        sql = statements(setting, lines)
        with tempfile.TemporaryDirectory() as directory:
            theirs = run(["node", os.path.join(HERE, "turso.cjs"), addon, os.path.join(directory, "a")], None, sql)
            ours = run([sys.executable, "-c", OURS, os.path.join(directory, "b")], environment, sql)
        for text, a, b in zip(sql[:-1], theirs, ours):
            if ("error" in a) != ("error" in b):
                print(f"{name}: {text}\n  Turso: {a}\n  ours:  {b}")
                differing += 1
        a = [comparable(row) for row in theirs[-1]] if isinstance(theirs[-1], list) else theirs[-1]
        b = [comparable(row) for row in ours[-1]] if isinstance(ours[-1], list) else ours[-1]
        if a != b:
            differing += 1
            print(f"{name}: the logs differ")
            for i in range(max(len(a), len(b))):
                x, y = (rows[i] if i < len(rows) else None for rows in (a, b))
                if x != y:
                    print(f"  Turso: {x}\n  ours:  {y}")
    print(f"{len(cases)} cases, {differing} differences")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
