# SPDX-License-Identifier: Apache-2.0
"""profile --system: functions of Python in samples and in waits, with each version of CPython that is here."""
import glob
import os
import re
import subprocess
import sys
import unittest
from collections import Counter

from system_harness import CALLS, WHY_NO_CALLS, System


def interpreters():
    """One of each minor version from 3.11 on: this one, and those of pyenv. {(3, 11): path}"""
    found = {}
    for path in [sys.executable, *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[1-9]*/bin/python3")))]:
        result = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=False)
        version = tuple(map(int, result.stdout.split()))
        if len(version) == 2 and (3, 11) <= version <= (3, 13):
            found.setdefault(version, path)
    return found


# Each part prints the processor time (of waits: the time) that it took, as it measured it.
PROGRAM = r'''
import os, sys, threading, time

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(2000): pass

class Work:
    def long(self):
        spin(0.3)
    def short(self):
        spin(0.1)
    @staticmethod
    def wait():
        time.sleep(0.3)

def steps():
    yield spin(0.1)

def deep(n):
    if n == 0: spin(0.2)
    else: deep(n - 1)

def of_thread():
    Work().long()

def measured(name, function):
    begin, wall = time.thread_time(), time.monotonic()
    function()
    print(name, time.thread_time() - begin, time.monotonic() - wall, flush=True)

time.sleep(0.2)  # until the recorder has found the interpreter
measured("long", Work().long)
measured("short", Work().short)
measured("wait", Work.wait)
measured("steps", lambda: [*steps()])
sorted([1, 2], key=lambda _: spin(0.1) or 0)
sys.setrecursionlimit(5000)
measured("deep", lambda: deep(400))
threads = [threading.Thread(target=of_thread) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if os.fork() == 0:
    def in_child(): spin(0.2)
    in_child()
    os._exit(0)
os.wait()
'''


@unittest.skipUnless(CALLS, WHY_NO_CALLS)
class Python(System):
    def stacks(self):
        """Samples by stack: {(names of the Python functions, outermost first): ns}."""
        result = self.run_command("export", "t.sbt", "--by", "cpu-time", "-f", "folded", "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        out = Counter()
        for line in result.stdout.decode().splitlines():
            stack, ns = line.rsplit(" ", 1)
            out[stack] += int(ns)
        return out

    def test_functions_of_each_version(self):
        versions = interpreters()
        self.assertTrue(versions)
        with open(self.path("work.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for version, python in versions.items():
            with self.subTest(version=version):
                self.check_functions(python)

    def check_functions(self, python):
        out = self.profile(python, "work.py")
        measured = {line.split()[0]: tuple(map(float, line.split()[1:])) for line in out.splitlines()}
        self.assertEqual(self.value("SELECT value FROM metadata WHERE key = 'system_python'"), "recorded")
        (loss,) = self.rows("SELECT written, dropped FROM loss WHERE source = 'Python stacks'")
        self.assertGreater(loss["written"], 1000)
        self.assertLess(loss["dropped"], 0.1 * loss["written"])
        stacks = self.stacks()

        def ns(pattern):
            return sum(time for stack, time in stacks.items() if re.search(pattern, stack))
        for name, pattern in (("long", r"Work\.long"), ("short", r"Work\.short"), ("steps", r"steps")):
            expected = measured[name][0] * 1e9
            found = ns(rf"<module>[^;]*;.*measured[^;]*;.*{pattern}[^;]*;.*spin")
            self.assertGreater(found, 0.85 * expected, (name, stacks))
            self.assertLess(found, 1.1 * expected + 10e6, (name, stacks))
        self.assertGreater(ns(r"<lambda>[^;]*;.*spin"), 150e6)
        # Stacks of more than 128 functions have the innermost ones.
        self.assertGreater(ns(r"more callers[^;]*;(deep[^;]*;){100,}"), 150e6, stacks)
        # Its threads, and a forked child from its beginning.
        self.assertGreater(ns(r"of_thread[^;]*;.*Work\.long[^;]*;.*spin"), 500e6, stacks)
        self.assertGreater(ns(r"in_child[^;]*;.*spin"), 170e6, stacks)
        # Lines: the loop's are those of the function.
        lines = self.rows("SELECT DISTINCT line FROM frame WHERE function = 'spin' AND module = 'Python' AND "
                          "file LIKE '%work.py'")
        self.assertTrue({row["line"] for row in lines} <= {4, 5, 6, 7}, lines)
        self.assert_waits()

    def assert_waits(self):
        waits = self.rows("SELECT call_path_id AS path, duration_ns AS ns FROM thread_state WHERE state = 'sleeping' AND "
                          "duration_ns > 250000000")
        names = [self.functions(row["path"]) for row in waits if row["path"] is not None]
        self.assertTrue(any("Work.wait" in name and "<module>" in name for name in names), names)

    def functions(self, path):
        return {row["function"] for row in self.rows(
            "WITH RECURSIVE up(id, parent, frame_id) AS (SELECT id, parent, frame FROM call_path WHERE id = "
            f"{path} UNION ALL SELECT c.id, c.parent, c.frame FROM call_path c JOIN up ON c.id = up.parent) "
            "SELECT function FROM up JOIN frame ON frame.id = up.frame_id")}


if __name__ == "__main__":
    unittest.main()
