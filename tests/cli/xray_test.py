#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XRay logs: a program is built and run under XRay, and `import` says what llvm-xray says."""

import csv
import glob
import io
import os
import shutil
import subprocess
import unittest

from harness import CommandTest

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = ["", "-19", "-18", "-17", "-16", "-15", "-14"]


def tool(name, works=lambda path: True):
    for version in VERSIONS:
        path = shutil.which(name + version)
        if path and works(path):
            return path
    return None


def compiler_for(folder):
    """A clang++ whose XRay runtime is installed."""
    def builds(path):
        return subprocess.run(
            [path, "-O1", "-std=c++17", "-fxray-instrument", "-fxray-instruction-threshold=1",
             os.path.join(HERE, "programs", "xray_program.cpp"), "-o", os.path.join(folder, "boxes"),
             "-lpthread"], check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode == 0
    return tool("clang++", builds)


class XRay(CommandTest):

    def setUp(self):
        super().setUp()
        self.llvm_xray = tool("llvm-xray")
        if not self.llvm_xray:
            self.skipTest("llvm-xray is not installed")
        if not compiler_for(self.dir):
            self.skipTest("no clang++ with XRay's runtime (libclang-rt-14-dev)")

    def record(self, *arguments, **environment):
        subprocess.run([self.path("boxes"), *arguments], cwd=self.dir, timeout=60, check=True,
                       stderr=subprocess.DEVNULL, env={**os.environ, **environment})
        logs = glob.glob(self.path("xray-log.*"))
        self.assertEqual(len(logs), 1, logs)
        return logs[0]

    def basic(self):
        return self.record(
            XRAY_OPTIONS="patch_premain=true xray_mode=xray-basic verbosity=0",
            XRAY_BASIC_OPTIONS="func_duration_threshold_us=0")

    def ours(self, *arguments):
        """Of each function: how many calls, and their length in ns."""
        done = self.run_command("import", *arguments, "-o", "t.sbt")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.run_command(
            "query", "--csv", "t.sbt",
            "select name, count(*), sum(duration_ns), min(duration_ns), max(duration_ns) from range"
            " where category = 'XRay function' and kind = 'range' group by name")
        self.assertEqual(rows.returncode, 0, rows.stderr)
        table = list(csv.reader(io.StringIO(rows.stdout.decode())))[1:]
        return {row[0]: [int(v) for v in row[1:]] for row in table}, done.stderr.decode()

    def llvm(self, log):
        """The same from llvm-xray, which wants one order of time over all threads."""
        sorted_log = self.path("sorted.raw")
        subprocess.run([self.llvm_xray, "convert", "-sort", "-f", "raw", log, "-o", sorted_log],
                       check=True)
        with open(sorted_log, "r+b") as file:
            file.write(b"\1\0\0\0")  # what it writes is basic, whatever it says that it was
        text = subprocess.run(
            [self.llvm_xray, "account", sorted_log, "-keep-going", "-f", "csv", "-m",
             self.path("boxes")],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        result = {}
        for row in csv.DictReader(io.StringIO(text)):
            result[row["function"]] = [int(row["count"])] + [
                round(float(row[key]) * 1e9) for key in ("sum", "min", "max")]
        return result

    def same(self, ours, theirs):
        self.assertEqual(set(ours), set(theirs))
        for name, (count, *times) in theirs.items():
            self.assertEqual(ours[name][0], count, name)
            for mine, other in zip(ours[name][1:], times):
                self.assertLessEqual(abs(mine - other), 1 + other * 1e-6, name)  # it prints 7 digits

    def test_basic_is_what_llvm_says(self):
        log = self.basic()
        ours, said = self.ours(log)  # the program lies beside it, and its name says so
        self.same(ours, self.llvm(log))
        self.assertEqual(ours["shapes::leaf(int)"][0], 2400)
        self.assertNotIn("have numbers for names", said)

    def test_fdr_is_what_llvm_says(self):
        log = self.record("xray-fdr")
        ours, _ = self.ours(log, "--binary", self.path("boxes"))
        self.same(ours, self.llvm(log))

    def test_events_are_instants(self):
        log = self.record("xray-fdr", "events")
        self.ours(log)
        events = self.run_command("query", "--csv", "t.sbt",
                                  "select name from range where category = 'XRay custom event'")
        self.assertEqual(events.stdout.decode().splitlines()[1:], ["an event of the program"])

    def test_without_the_program_functions_have_numbers(self):
        log = self.basic()
        os.rename(log, self.path("log"))
        ours, said = self.ours(self.path("log"))
        self.assertIn("function #1", ours)
        self.assertIn("--binary", said)

    def test_a_program_that_is_none(self):
        log = self.basic()
        for name, content in (("none", b"text"), ("empty", b"")):
            with open(self.path(name), "wb") as file:
                file.write(content)
            done = self.run_command("import", log, "--binary", self.path(name))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("not an ELF file", done.stderr.decode())
        done = self.run_command("import", log, "--binary", "/bin/true")
        self.assertIn("-fxray-instrument", done.stderr.decode())

    def test_damaged_programs_do_no_harm(self):
        log = self.basic()
        with open(self.path("boxes"), "rb") as file:
            good = file.read()
        state = 12345
        for i in range(60):
            bad = bytearray(good)
            for _ in range(1 + i % 40):
                state = (state * 1103515245 + 12345) & 0x7fffffff
                where = state % (64 if i % 3 == 0 else len(bad))
                if i % 3 == 1:
                    where = len(bad) - 1 - where % (37 * 64)  # the headers of the sections
                bad[where] = state >> 8 & 0xff
            if i % 5 == 0:
                bad = bad[:state % len(bad)]
            with open(self.path("bad"), "wb") as file:
                file.write(bad)
            done = self.run_command("import", log, "--binary", self.path("bad"), "-o", "bad.sbt")
            self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)


if __name__ == "__main__":
    unittest.main()
