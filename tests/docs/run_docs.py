#!/usr/bin/env python3
"""run_docs WEIR ROOT SQLITE: runs every ```sql and ```console block of the documentation.

In README.md and docs/*.md a block must succeed, and a statement followed by `-- => row / row` (values
separated by |) must give those rows in that order. In docs/errors a block must end in the page's
error code. A ```sqlite block is run like one of sql, by the SQLite library in the directory SQLITE ("" =
left out). A console block is run in an empty directory: every line that begins with `$ ` must print the
lines below it. So are the examples of weir-cdc.1.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

MARK = "@@end-of-statement@@"


def blocks(path, language="sql"):
    text = open(path, encoding="utf-8").read()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def run(weir, sql, options):
    return subprocess.run([weir, *options], input=sql, capture_output=True, text=True, timeout=120)


def statements(block):
    """[(sql, expected rows or None)]: a statement ends at a semicolon that ends a line or precedes a comment."""
    found, lines = [], []
    for line in block.splitlines():
        match = re.match(r"^(.*;)\s*(?:--\s*(?:=>\s*(.*))?.*)?$", line)
        if not match:
            lines.append(line)
            continue
        lines.append(match.group(1))
        expected = match.group(2)
        found.append(("\n".join(lines), None if expected is None else expected.strip()))
        lines = []
    if any(line.strip() and not line.strip().startswith("--") for line in lines):
        raise ValueError("a statement without a semicolon: " + "\n".join(lines))
    return found


def check_block(weir, block):
    parts = [s for s in statements(block) if not s[0].lstrip().upper().startswith("LOAD ")]
    script = "".join(f"{sql}\nSELECT '{MARK}';\n" for sql, _ in parts)
    result = run(weir, script, ["-list", "-noheader", "-separator", "|", "-bail"])
    if result.returncode != 0:
        return f"failed: {result.stderr.strip()}"
    outputs = result.stdout.split(MARK + "\n")
    for (sql, expected), output in zip(parts, outputs):
        got = " / ".join(output.splitlines())
        if expected is not None and got != expected:
            return f"{sql}\n  expected {expected}\n  got      {got}"
    return None


SQLITE_RUNNER = """
import sqlite3, sys
db = sqlite3.connect(":memory:", isolation_level=None)
for sql in sys.stdin.read().split(chr(0)):
    rows = db.execute(sql).fetchall()
    print(" / ".join("|".join("NULL" if v is None else str(v) for v in row) for row in rows))
"""


def check_sqlite_block(library, block):
    parts = statements(re.sub(r";\n-- =>", "; -- =>", block))
    environment = dict(os.environ, LD_LIBRARY_PATH=library)
    result = subprocess.run([sys.executable, "-c", SQLITE_RUNNER], text=True, env=environment,
                            input="\0".join(sql for sql, _ in parts), capture_output=True, timeout=120)
    if result.returncode != 0:
        return f"failed: {result.stderr.strip()}"
    for (sql, expected), got in zip(parts, result.stdout.splitlines()):
        if expected is not None and got != expected:
            return f"{sql}\n  expected {expected}\n  got      {got}"
    return None


def check_error_block(weir, block, code):
    setup = "" if re.search(r"CREATE TABLE t\b", block) else "CREATE TABLE t(a INTEGER);\n"
    result = run(weir, setup + block, [])
    return None if code in result.stderr else f"expected {code}, got: {result.stderr.strip()}"


def check_console_block(weir, block):
    with tempfile.TemporaryDirectory() as directory:
        os.symlink(os.path.abspath(weir), os.path.join(directory, "weir"))
        environment = dict(os.environ, PATH=directory + os.pathsep + os.environ["PATH"])
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            result = subprocess.run(["sh", "-c", command], cwd=directory, env=environment, text=True,
                                    capture_output=True, timeout=120)
            if result.returncode != 0 or result.stdout != expected:
                return f"{command}\n  expected {expected}\n  got      {result.stdout}{result.stderr}"
    return None


def manual_examples(path):
    """The examples of a page of the manual, as a console block has them."""
    text = open(path, encoding="utf-8").read().split(".SH EXAMPLES\n")[1].split(".SH ")[0]
    found = re.findall(r"^\.nf\n\.RS\n(.*?)^\.RE\n\.fi", text, re.M | re.S)
    return [block.replace("\\-", "-") for block in found]


def main():
    weir, root, sqlite = sys.argv[1:4]
    failures = count = 0
    pages = [os.path.join(root, "README.md")] + sorted(glob.glob(os.path.join(root, "docs", "*.md")))
    checks = [(page, block, None) for page in pages for block in blocks(page)]
    for page in sorted(glob.glob(os.path.join(root, "docs", "errors", "E*.md"))):
        code = "DBSP-" + os.path.basename(page)[:-3]
        checks += [(page, block, code) for block in blocks(page)]
    faults = [(page, check_block(weir, block) if code is None else check_error_block(weir, block, code))
              for page, block, code in checks]
    faults += [(page, check_console_block(weir, block)) for page in pages
               for block in blocks(page, "console")]
    page = os.path.join(root, "docs", "weir-cdc.1")
    faults += [(page, check_console_block(weir, block)) for block in manual_examples(page)]
    faults += [(page, check_sqlite_block(sqlite, block)) for page in pages
               for block in blocks(page, "sqlite") if sqlite != ""]
    for page, fault in faults:
        count += 1
        if fault is not None:
            failures += 1
            print(f"{os.path.relpath(page, root)}: {fault}\n")
    print(f"{count - failures} passed, {failures} failed")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
