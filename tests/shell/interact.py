#!/usr/bin/env python3
"""interact.py WEIR: uses the shell on a terminal, as a person would.

Every step sends keys and waits for what must appear. The terminal is 80 columns wide.

Two things must not be relied on. libedit redraws only what differs, so a line that replaces another
one need not appear as a whole: what is waited for is printed anew. And keys mean what the terminal's
mode at their arrival says: Ctrl-D typed before the prompt is back is no end of input for libedit, and
Ctrl-C throws away what has not been read. So nothing is sent before the prompt.
"""
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE = 60  # seconds for something to appear; sanitizers are slow
MAIN = "weir> "
MORE = "   ...> "
CANCEL, END, TAB, SEARCH, DELETE = "\x03", "\x04", "\t", "\x12", "\x7f"
UP, LEFT = "\x1b[A", "\x1b[D"


class Terminal:
    def __init__(self, arguments, environment, columns=80):
        self.environment = environment
        self.fd, slave = os.openpty()
        self.resize(columns)  # before the program looks
        self.child = subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave,
                                      env=environment, start_new_session=True,
                                      preexec_fn=self.prepare)
        os.close(slave)
        self.seen = ""  # since the last wait

    @staticmethod
    def prepare():
        """In the child: its own terminal, and SIGINT as a login gives it; jobs in the background
        have it ignored."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def resize(self, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, seconds):
        """What comes within that time; None at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return ""
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return None
        return data.decode("utf-8", "replace") if data else None

    def wait(self, text):
        """Waits until the text appears, and returns everything up to it."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            more = self.read(0.2)
            if more is None or time.monotonic() > deadline:
                raise AssertionError(f"waited for {text!r}, saw {self.seen!r}")
            self.seen += more
        before, self.seen = self.seen.split(text, 1)
        return before

    def ask(self, keys, prompt=MAIN):
        """Sends a line; returns what is printed before the prompt."""
        self.send(keys + "\r")
        self.wait("\n")  # the echo of the line
        return self.wait(prompt).replace("\r\n", "\n").replace("\r", "")

    def finish(self):
        """Waits for the program's end, and returns its exit status."""
        deadline = time.monotonic() + PATIENCE
        while True:
            more = self.read(0.05)
            self.seen += more or ""
            status = self.child.poll()
            if status is not None:
                os.close(self.fd)
                return status
            if time.monotonic() > deadline:
                raise AssertionError(f"does not end, printed {self.seen!r}")
            if more is None:
                time.sleep(0.05)

    def kill(self):
        """Of a program that a failed test has left."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"printed {actual!r}, expected {expected!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def test_lines(start):
    """Statements over several lines, dot commands, errors; Ctrl-D leaves with status 0."""
    shell = start()
    greeting = shell.wait(MAIN)
    true(greeting.startswith("Weir v"), greeting)
    true(".help" in greeting and "in memory" in greeting, greeting)
    equal(shell.ask(".mode list"), "")
    equal(shell.ask("SELECT 1 AS a;"), "a\n1\n")
    equal(shell.ask("SELECT 2", MORE), "")
    equal(shell.ask("  AS b", MORE), "")
    equal(shell.ask("; SELECT 'c;", MORE), "b\n2\n")
    equal(shell.ask("d' AS e;"), "e\nc;\nd\n")
    equal(shell.ask("-- nothing"), "")
    equal(shell.ask("/* more", MORE), "")
    equal(shell.ask("*/"), "")
    equal(shell.ask(""), "")
    true(shell.ask("SELECT nosuch;").startswith("Binder Error: "), "no error")
    equal(shell.ask("DROP MATERIALIZED VIEW v;").split("\n")[0],
          "Error: DBSP-E201: there is no view v")
    equal(shell.ask(".nosuch"), 'Error: unknown command ".nosuch"; .help lists all of them\n')
    equal(shell.ask("CREATE TABLE t (a INTEGER);"), "")
    equal(shell.ask("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t;"), "")
    equal(shell.ask("INSERT INTO t VALUES (1), (2);"), "")
    equal(shell.ask("SELECT * FROM v;"), "n\n2\n")
    shell.send(END)
    equal(shell.finish(), 0)


def test_quit(start):
    shell = start()
    shell.wait(MAIN)
    shell.send("SELECT nosuch; .quit\r")
    equal(shell.finish(), 0)
    shell = start()
    shell.wait(MAIN)
    shell.send(".exit 3\r")
    equal(shell.finish(), 3)


def test_cancel(start):
    """Ctrl-C drops what is being typed, and interrupts what runs; the session goes on."""
    shell = start()
    shell.wait(MAIN)
    shell.ask(".mode list")
    shell.send("SELECT 'this is dropped'")
    shell.wait("dropped'")
    shell.send(CANCEL)
    shell.wait("^C")
    shell.wait(MAIN)
    equal(shell.ask("SELECT 1", MORE), "")
    shell.send(CANCEL)
    shell.wait(MAIN)
    equal(shell.ask("SELECT 2 AS a;"), "a\n2\n")
    shell.send("SELECT 'star' || 'ted' AS b; SELECT sum(a.range * b.range % 7) "
               "FROM range(1000000) a, range(1000000) b; SELECT 'dropped too';\r")
    shell.wait("started")
    time.sleep(1)
    shell.send(CANCEL)
    printed = shell.wait(MAIN)
    true("DBSP-E005: interrupted" in printed and "too" not in printed, printed)
    equal(shell.ask("SELECT 3 AS a;"), "a\n3\n")
    shell.send(END)
    equal(shell.finish(), 0)


def test_cancel_views(start):
    """Ctrl-C ends the filling and the following of a view, and the session goes on."""
    def interrupt(statement, what):
        shell.send(f"SELECT 'star' || 'ted' AS a; {statement};\r")
        shell.wait("started")
        time.sleep(1)
        begin = time.monotonic()
        shell.send(CANCEL)
        printed = shell.wait(MAIN)
        true("DBSP-E005: " in printed, f"{what}: {printed}")
        true(time.monotonic() - begin < 10, f"{what} took long to end")

    shell = start()
    shell.wait(MAIN)
    shell.ask(".mode list")
    query = "SELECT count(*) AS n FROM t AS x, t AS y WHERE x.a + y.a < 0"
    shell.ask("CREATE TABLE t AS FROM range(200000) AS r (a);")
    interrupt(f"CREATE MATERIALIZED VIEW v AS {query}", "CREATE")
    equal(shell.ask("SELECT count(*) AS n FROM dbsp_views();"), "n\n0\n")
    shell.ask("DELETE FROM t;")
    equal(shell.ask(f"CREATE MATERIALIZED VIEW v AS {query};"), "")
    interrupt("INSERT INTO t FROM range(200000)", "INSERT")
    interrupt("REFRESH MATERIALIZED VIEW v", "REFRESH")
    equal(shell.ask("DELETE FROM t;"), "")
    equal(shell.ask("FROM v;"), "n\n0\n")
    shell.send(END)
    equal(shell.finish(), 0)


def test_progress(start):
    """A view that takes long to fill shows how far it is, and leaves nothing of that behind."""
    shell = start()
    shell.wait(MAIN)
    shell.ask("CREATE TABLE t AS FROM range(200000) AS r (a);")
    shell.send("CREATE MATERIALIZED VIEW slow AS SELECT count(*) AS n FROM t AS x, t AS y "
               "WHERE x.a + y.a < 0;\r")
    shell.wait("\rslow █")
    shell.wait("%\x1b[K")
    shell.send(CANCEL)
    printed = shell.wait(MAIN)
    left = printed.rsplit("\r\x1b[K", 1)[1]
    true("DBSP-E005: " in left and "%" not in left, printed)
    shell.ask(".mode list")
    equal(shell.ask("CREATE MATERIALIZED VIEW quick AS SELECT count(*) AS n FROM t; FROM quick;"),
          "n\n200000\n")
    shell.send(END)
    equal(shell.finish(), 0)


def test_long_results(start):
    """On a terminal a long result loses its middle, a wide one is cut."""
    shell = start()
    shell.wait(MAIN)
    lines = shell.ask("SELECT range AS a FROM range(1000);").split("\n")

    def row(value, width=20):
        return "│ " + value.rjust(width) + " │"

    def rule(left, right, width=20):
        return left + "─" * (width + 2) + right

    equal(lines, [rule("┌", "┐"), "│          a           │", "│        int64         │",
                  rule("├", "┤")] + [row(str(i)) for i in range(20)] + [row("·")] * 3 +
          [row(str(i)) for i in range(980, 1000)] +
          [rule("├", "┤"), "│ 1000 rows (40 shown) │", rule("└", "┘"), ""])
    shell.ask(".maxrows 0")
    equal(len(shell.ask("SELECT range AS a FROM range(1000);").split("\n")), 1008)
    shell.ask(".maxrows 2")
    equal(shell.ask("SELECT range AS a FROM range(6);").split("\n")[4:],
          [row(value, 16) for value in "0···5"] +
          [rule("├", "┤", 16), "│ 6 rows (2 shown) │", rule("└", "┘", 16), ""])
    # Five rows are as many lines as two rows and a gap.
    equal(shell.ask("SELECT range AS a FROM range(5);").split("\n")[4:],
          [row(value, 5) for value in "01234"] + [rule("└", "┘", 5), ""])
    wide = shell.ask("SELECT 1 AS a, repeat('x', 200) AS b;").split("\n")
    equal([len(line) for line in wide], [80] * 6 + [0])
    equal(wide[4], "│     1 │ " + "x" * 67 + "… │")
    names = ", ".join(f"{i} AS c{i}" for i in range(30))
    many = shell.ask(f"SELECT {names};").split("\n")
    true(all(len(line) <= 80 for line in many), many)
    true(re.search(r"│ c0 .*│ … │.* c29 ", re.sub(" +", " ", many[1])), many[1])
    true("30 columns (9 shown)" in many[-3], many[-3])
    shell.resize(120)
    time.sleep(0.5)
    shell.ask("")
    wide = shell.ask("SELECT 1 AS a, repeat('x', 200) AS b;").split("\n")
    equal([len(line) for line in wide], [120] * 6 + [0])
    shell.send(END)
    equal(shell.finish(), 0)


def test_editing(start):
    """Arrow keys and Ctrl-R bring lines back, also those of earlier sessions; Tab completes."""
    shell = start()
    shell.wait(MAIN)
    shell.ask(".mode list")
    shell.ask('CREATE TABLE "zürich_zoo" (animal_name VARCHAR, animal_age INTEGER);')
    shell.send("SELECT count(*) AS n FROM zür" + TAB)
    equal(shell.ask(";"), "n\n0\n")
    shell.send("sele" + TAB)
    equal(shell.ask("1 AS a;"), "a\n1\n")
    shell.send("SELECT animal" + TAB + TAB)  # both begin with animal_
    shell.wait("animal_age")
    shell.wait("animal_name")
    shell.wait(MAIN + "SELECT animal_")
    shell.send("ag" + TAB)
    equal(shell.ask("FROM zürich_zoo;"), "animal_age\n")
    shell.send(".tab" + TAB)
    equal(shell.ask(""), "zürich_zoo\n")
    shell.send("SELECT 'ab日本x' AS a;" + LEFT * 7 + DELETE)
    equal(shell.ask(""), "a\nab日本\n")
    shell.send(END)
    equal(shell.finish(), 0)
    shell = start()
    shell.wait(MAIN)
    shell.ask(".mode list")
    shell.send(UP + UP)
    equal(shell.ask(""), "a\nab日本\n")
    shell.send(SEARCH + "count\r")  # finds the line and runs it; this database has no such table
    shell.wait("LINE 1: SELECT count(*) AS n FROM")
    shell.wait(MAIN)
    shell.send(SEARCH)
    shell.wait("bck:")
    shell.send(CANCEL)
    shell.wait("^C")
    shell.wait(MAIN)
    equal(shell.ask("SELECT 1 AS a;"), "a\n1\n")
    shell.send(END)
    equal(shell.finish(), 0)


def test_sqlite(start):
    """The same for SQLite: statements over lines, names completed, Ctrl-C, what does not apply."""
    shell = start(["/bin/sh", "-c", 'exec "$0" -sqlite'])
    true("SQLite" in shell.wait(MAIN), "no greeting")
    shell.ask(".mode list")
    shell.ask("CREATE TABLE animals (animal_name, animal_age);")
    shell.send("CREATE TRIGGER g AFTER INSERT ON animals BEGIN SELECT 1;\r")
    shell.wait(MORE)
    equal(shell.ask("END;"), "")
    shell.send("SELECT count(*) AS n FROM ani" + TAB + TAB)
    shell.wait("animal_age")
    shell.wait("animals")
    shell.wait(MAIN + "SELECT count(*) AS n FROM animal")
    equal(shell.ask("s;"), "n\n0\n")
    shell.send(".tab" + TAB)
    equal(shell.ask(""), "animals\n")
    shell.send("sele" + TAB)
    equal(shell.ask("2 AS a;"), "a\n2\n")
    shell.send("SELECT 'star' || 'ted'; WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
               "FROM c) SELECT count(*) FROM c;\r")
    shell.wait("started")
    time.sleep(0.5)
    shell.send(CANCEL)
    true("DBSP-E005: interrupted" in shell.wait(MAIN), "not interrupted")
    true("unknown command" in shell.ask(".watch v"), "views")
    equal(shell.ask("SELECT 3 AS a;"), "a\n3\n")
    shell.send(END)
    equal(shell.finish(), 0)


def test_no_conversation(start):
    """With its output elsewhere, a terminal is an input like a file: no greeting, no prompts."""
    shell = start(["/bin/sh", "-c", 'exec "$0" -list >"$HOME/out"'])
    shell.send("SELECT 1 AS a;\n.print done\n")
    shell.send(END)
    equal(shell.finish(), 0)
    with open(os.path.join(shell.environment["HOME"], "out"), encoding="utf-8") as file:
        equal(file.read(), "a\n1\ndone\n")


def main():
    weir = os.path.abspath(sys.argv[1])
    failures = 0
    for test in [test_lines, test_quit, test_cancel, test_cancel_views, test_progress,
                 test_long_results, test_editing, test_sqlite, test_no_conversation]:
        home = tempfile.mkdtemp()
        environment = dict(os.environ, HOME=home, TERM="xterm", LC_ALL="C.UTF-8",
                           XDG_STATE_HOME=os.path.join(home, "state"))
        environment.pop("COLUMNS", None)
        shells = []

        def start(before=()):
            shells.append(Terminal([*before, weir], environment))
            return shells[-1]

        try:
            test(start)
            print(f"passed: {test.__name__}")
        except AssertionError as failure:
            print(f"FAILED: {test.__name__}: {failure}")
            failures += 1
        finally:
            for shell in shells:
                shell.kill()
            shutil.rmtree(home)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
