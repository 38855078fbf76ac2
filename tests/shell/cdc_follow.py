#!/usr/bin/env python3
"""cdc_follow.py WEIR: weir cdc FILE tail --follow, which has to wait for others.

The writers are processes of their own: weir itself, and Python's sqlite3 for locks.
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from interact import CANCEL, Terminal, equal, true

PATIENCE = 60  # seconds; sanitizers are slow


def run(weir, *arguments):
    return subprocess.run([weir, *arguments], capture_output=True, text=True, timeout=PATIENCE)


def make_database(weir, path):
    for arguments in [("-sqlite", path, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)"),
                      ("cdc", path, "enable", "full"),
                      ("-sqlite", path, "INSERT INTO t VALUES (1, 'ann')")]:
        equal(run(weir, *arguments).returncode, 0)


def follow(weir, path, *options):
    return subprocess.Popen([weir, "cdc", path, "tail", "--follow", *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def seconds_used(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_terminal(weir, path):
    """What comes is shown when it comes; Ctrl-C is the way to end it, and no failure."""
    environment = dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8")
    terminal = Terminal([weir, "cdc", path, "tail", "--follow"], environment)
    try:
        terminal.wait("1 + t 1: id=1, name='ann'")
        run(weir, path, "UPDATE t SET name = 'bob'")
        terminal.wait("3 ~ t 1: name='ann' -> 'bob'")
        terminal.send(CANCEL)
        equal(terminal.finish(), 0)
    finally:
        terminal.kill()


def test_pipe(weir, path):
    """Lines come at once, waiting costs next to nothing, SIGINT ends it with status 0."""
    process = follow(weir, path, "--since", "2", "--json")
    run(weir, "-sqlite", path, "-c", "INSERT INTO t VALUES (2, 'eve')")
    line = process.stdout.readline()
    true(line.startswith('{"change_id":3,') and '"name":"eve"' in line, line)
    true('"type":"commit"' in process.stdout.readline(), "no commit")
    used = seconds_used(process)
    time.sleep(2)
    true(seconds_used(process) - used < 0.2, "waiting is busy")
    process.send_signal(signal.SIGINT)
    equal(process.wait(PATIENCE), 0)
    equal(process.communicate(), ("", ""))


def test_reader_gone(weir, path):
    """A reader that closes the pipe ends it without a word, though nothing comes any more."""
    process = follow(weir, path)
    true(process.stdout.readline().startswith("@@ transaction 1, "), "no head")
    process.stdout.close()
    equal(process.wait(PATIENCE), -signal.SIGPIPE)
    equal(process.stderr.read(), "")


def test_locked(weir, path):
    """A lock is waited for by those who follow; others are told of it."""
    process = follow(weir, path)
    true(process.stdout.readline().startswith("@@ transaction 1, "), "no head")
    process.stdout.readline()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    for arguments in [("tail",), ("enable", "id")]:
        result = run(weir, "cdc", path, *arguments)
        equal((result.returncode, result.stdout, result.stderr),
              (1, "", f"Error: {path} is locked by another connection\n"
                      "Hint: try again when it is done\n"))
    writer.execute("COMMIT")
    writer.close()
    run(weir, path, "INSERT INTO t VALUES (2, 'eve')")
    true(process.stdout.readline().startswith("@@ transaction 3, "), "no head")
    process.send_signal(signal.SIGINT)
    equal(process.wait(PATIENCE), 0)


def main():
    weir = os.path.abspath(sys.argv[1])
    failures = 0
    for test in [test_terminal, test_pipe, test_reader_gone, test_locked]:
        directory = tempfile.mkdtemp()
        path = os.path.join(directory, "data.sqlite")
        try:
            make_database(weir, path)
            test(weir, path)
            print(f"passed: {test.__name__}")
        except AssertionError as failure:
            print(f"FAILED: {test.__name__}: {failure}")
            failures += 1
        finally:
            shutil.rmtree(directory)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
