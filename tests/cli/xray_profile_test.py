#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""profile --xray: the calls of a program's own functions, counted by the program itself."""

import json
import os
import subprocess
import unittest

from harness import PROGRAM, CommandTest, environment
from xray_test import tool

HERE = os.path.dirname(os.path.abspath(__file__))


class XRayProfile(CommandTest):

    def setUp(self):
        super().setUp()

        self.compiler = tool("clang++", lambda path: self.builds(path, "calls") is None)
        if not self.compiler:
            self.skipTest("no clang++ with XRay's runtime (libclang-rt-14-dev)")

    def builds(self, compiler, name, *options):
        """Makes programs/xray_NAME.cpp; returns what is wrong with it."""
        done = subprocess.run(
            [compiler, "-O1", "-std=c++17", "-fxray-instrument", "-fxray-ignore-loops",
             "-fxray-instruction-threshold=1000000", *options,
             os.path.join(HERE, "programs", f"xray_{name}.cpp"), "-o", self.path(name),
             "-lpthread"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return None if done.returncode == 0 else done.stderr.decode()

    def profile(self, *arguments, options=(), program="./calls", code=3):
        result = self.run_command("profile", "--xray", *options, "-o", "t.sbt", "--", program,
                                  *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        verified = self.run_command("verify", "t.sbt")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        return result

    def rows(self, sql):
        result = self.run_command("query", "t.sbt", sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def calls(self):
        return {row["name"]: row["n"] for row in self.rows(
            "SELECT name, count(*) AS n FROM range WHERE category = 'XRay function' GROUP BY name")}

    def loss(self):
        rows = self.rows("SELECT reason FROM loss WHERE source = 'function calls'")
        return "; ".join(row["reason"] for row in rows)

    def test_every_call_is_there_once(self):
        result = self.profile()
        self.assertEqual(result.stdout, b"done\n")
        calls = self.calls()
        self.assertEqual(calls["inner(int)"], 301)
        self.assertEqual(calls["leaf(int)"], 3000 + 2 * 5 + 7 + 1 + 20)
        self.assertEqual(calls["thrower(int)"], 5)  # they are left by an exception
        self.assertEqual(calls["catcher(int)"], 5)
        self.assertEqual(calls["jumped()"], 7)
        self.assertEqual(calls["jumper()"], 7)
        self.assertEqual(calls["never_left()"], 1)
        lost = self.rows("SELECT sum(dropped) AS n FROM loss WHERE source = 'XRay records'")
        self.assertEqual(lost[0]["n"], 0)
        self.assertIn("end with their caller", self.loss())
        self.assertIn(b"function calls", result.stderr)
        # They lie in one another, in the thread that called them.
        apart = self.rows(
            "SELECT count(*) AS n FROM range l WHERE l.name = 'leaf(int)' AND NOT EXISTS (SELECT 1 "
            "FROM range o WHERE o.thread_id = l.thread_id AND o.name <> 'leaf(int)' AND "
            "o.start_ns <= l.start_ns AND o.end_ns >= l.end_ns)")
        self.assertEqual(apart[0]["n"], 0)
        slow = self.rows("SELECT duration_ns AS ns FROM range WHERE name = 'slow()'")
        self.assertGreaterEqual(slow[0]["ns"], 3_000_000)
        self.assertEqual(len(self.rows("SELECT DISTINCT process_id FROM range")), 2)

    def test_short_calls_can_be_left_out(self):
        self.profile(options=("--xray-min", "2ms"))
        calls = self.calls()
        self.assertIn("slow()", calls)
        self.assertLess(sum(calls.values()), 50)
        self.assertIn("shorter than was asked for", self.loss())
        self.assert_fails(self.run_command("profile", "--xray-min", "2ms", "--", "true"), 125,
                          "--xray")

    def test_a_full_ring_makes_the_program_wait_or_counts(self):
        self.profile("20000", code=0, options=("-b", "64K"))
        self.assertEqual(self.calls()["leaf(int)"], 41 * 20000)
        self.profile("20000", code=0, options=("-b", "64K", "--overflow", "drop"))
        row = self.rows("SELECT emitted, written, dropped FROM loss WHERE source = 'XRay records'")[0]
        self.assertEqual(row["emitted"], row["written"] + row["dropped"])
        self.assertEqual(row["emitted"], 2 * (41 * (20000 + 1) + 1))

    def test_what_can_not_be_traced_says_why(self):
        result = self.profile(program="/bin/true", code=0)
        self.assertIn(b"-fxray-instrument", result.stderr)
        subprocess.run(["strip", "-s", self.path("calls")], check=True)
        result = self.profile()
        self.assertIn(b"stripped", result.stderr)
        self.assertEqual(result.stdout, b"done\n")
        self.assertEqual(self.calls(), {})

    def test_a_killed_program_has_its_calls(self):
        with open(self.path("run.sh"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n./calls 3000000 & sleep 0.7; kill -9 $!; wait; exit 0\n")
        os.chmod(self.path("run.sh"), 0o755)
        self.profile(program="./run.sh", code=0)
        self.assertGreater(self.calls()["leaf(int)"], 1000)
        self.assertIn("had not returned", self.loss())

    def test_functions_whose_arguments_are_logged_are_traced_and_events_do_no_harm(self):
        self.assertIsNone(self.builds(self.compiler, "events"))
        for words, said in (((), b"20100 0 0\n"), (("own handlers",), b"20100 100 100\n")):
            result = self.profile(*words, program="./events", code=0)
            self.assertEqual(result.stdout, said)
            self.assertEqual(self.calls(), {"outer(int)": 100, "logged(int)": 200,
                                            "custom(int)": 100, "typed(int)": 100})
            self.assertEqual(self.loss(), "")
            row = self.rows("SELECT emitted, written FROM loss WHERE source = 'XRay records'")[0]
            self.assertEqual(row, {"emitted": 1000, "written": 1000})

    def test_a_signal_that_comes_while_the_program_is_told_does_no_harm(self):
        # The functions of libc that the agent calls are the program's, if that exports them.
        self.assertIsNone(self.builds(self.compiler, "interrupted", "-fno-builtin", "-rdynamic"))
        result = self.profile("20", program="./interrupted", code=0)
        self.assertEqual(result.stdout, b"20\n")
        rows = self.rows("SELECT source, dropped, reason FROM loss WHERE source = 'XRay records'"
                         " AND dropped > 0")
        self.assertEqual(len(rows), 20, rows)
        for row in rows:
            self.assertEqual((row["source"], row["dropped"]), ("XRay records", 2))
            self.assertIn("signal handler", row["reason"])
        self.assertEqual(self.calls(), {"leaf(int)": 20 * 10})

    def test_what_was_to_be_left_out_is_left_out_by_recover_too(self):
        process = subprocess.Popen(
            [PROGRAM, "profile", "-q", "--xray", "--xray-min", "2ms", "-o", "t.sbt", "--", "sh",
             "-c", "echo ready; read go; ./calls; echo over"], cwd=self.dir, env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        process.wait(timeout=30)
        process.stdin.write(b"go\n")  # nobody reads the rings now
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"done\nover\n")
        process.stdout.close()
        result = self.run_command("recover", "t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = self.calls()
        self.assertEqual(calls["slow()"], 1)
        self.assertLess(sum(calls.values()), 50)
        self.assertIn("shorter than was asked for", self.loss())


if __name__ == "__main__":
    unittest.main()
