#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diff`: two runs, several runs a side, and what its numbers say of each other."""

import json
import os
import random
import re
import unittest

from harness import CommandTest


class Diff(CommandTest):
    def run_of(self, name, kernels, pace=1.0):
        """A trace whose kernels take these times, in us."""
        events = []
        at = 0.0
        for kernel, durations in kernels.items():
            for duration in durations:
                events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7,
                               "ts": at, "dur": duration * pace,
                               "args": {"device": 0, "stream": 7}})
                at += duration * pace + 1
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return name

    def report(self, *arguments):
        run = self.run_command("diff", *arguments, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_two_runs_are_two_runs(self):
        chance = random.Random(3)
        draw = lambda mean, count: [chance.gauss(mean, mean / 20) for _ in range(count)]
        steady = draw(50, 60)
        self.run_of("a.json", {"gemm": draw(100, 3000), "five": [100, 104, 98, 101, 107],
                               "steady": steady})
        self.run_of("b.json", {"gemm": draw(150, 3000), "five": [132, 137, 130, 141, 129],
                               "steady": steady})
        report = self.report("a.json", "b.json")
        rows = {row["name"]: row for row in report["diff_names"]}
        for name, change in (("gemm", 0.5), ("five", 0.32)):
            row = rows[name]
            self.assertEqual(row["status"], "slower")
            self.assertAlmostEqual(row["relative"], change, delta=0.03)
            self.assertLess(0, row["relative_low"])
            self.assertLess(row["relative_low"], row["relative"])
            self.assertLess(row["relative"], row["relative_high"])
            self.assertLess(0, row["p"])
            self.assertLessEqual(row["p_adjusted"], 0.05)
        self.assertEqual(rows["steady"]["status"], "same")
        self.assertIn("these two runs only", report["notes"]["diff_names"])
        shown = self.run_command("diff", "a.json", "b.json").stdout.decode()
        self.assertIn("By name in these two runs", shown)
        self.assertIn("<1e-15", shown)
        self.assertIsNone(re.search(r"\b0e[+-]00", shown), shown)

    def test_a_run_counts_once(self):
        for name in ("a.json", "b.json", "c.json"):
            self.run_of(name, {"gemm": [100, 104, 98]})
        os.link(self.path("a.json"), self.path("linked.json"))
        for files in (["a.json", "a.json", "--", "b.json"], ["a.json", "linked.json", "--", "b.json"],
                      ["a.json", "b.json", "--", "c.json", "./b.json"]):
            run = self.run_command("diff", *files)
            self.assertEqual((run.returncode, run.stdout), (2, b""), files)
            self.assertIn(b"give each file once", run.stderr)
        self.assertEqual(self.run_command("diff", "a.json", "a.json").returncode, 0)

    def test_several_runs_a_side(self):
        chance = random.Random(4)
        sides = []
        for side, change in (("a", 1.0), ("b", 1.6)):
            sides.append([])
            for i in range(6):
                # Each run has a pace of its own, which is no change.
                kernels = {"same": [chance.gauss(50, 0.1) for _ in range(40)],
                           "slower": [chance.gauss(100 * change, 0.1) for _ in range(40)]}
                sides[-1].append(self.run_of(f"{side}{i}.json", kernels, chance.gauss(1, 0.04)))
        before, after = sides
        report = self.report(*before, "--", *after)
        rows = {row["name"]: row for row in report["diff_names"]}
        self.assertEqual(rows["slower"]["status"], "slower")
        self.assertEqual((rows["slower"]["runs_a"], rows["slower"]["runs_b"]), (6, 6))
        self.assertEqual((rows["slower"]["count_a"], rows["slower"]["count_b"]), (40, 40))
        self.assertNotIn(rows["same"]["status"], ("slower", "faster"))
        self.assertNotIn("these two runs", report["notes"]["diff_names"])
        trace = {row["what"]: row for row in report["diff"]}["trace"]
        self.assertGreater(trace["relative_low"], 0)
        self.assertLess(trace["p"], 0.05)
        # Options may follow the second group, and 3 runs a side tell nothing.
        run = self.run_command("diff", *before[:3], "--", *after[:3], "--limit", "1")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("3 and 3 runs are too few", run.stdout.decode())
        self.assertIn("1 more", run.stdout.decode())

    def test_groups_that_are_none(self):
        self.run_of("a.json", {"k": [1, 2]})
        for arguments, words in ((("a.json",), "one trace is given"),
                                 (("a.json",) * 3, "3 traces are given"),
                                 (("a.json", "--"), "one trace is given"),
                                 (("--", "a.json"), "A is missing"),
                                 ((), "A is missing")):
            run = self.run_command("diff", *arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn(words, run.stderr.decode())
        run = self.run_command("diff", "a.json", "--", "gone.json")
        self.assertEqual(run.returncode, 1)
        self.assertIn("gone.json", run.stderr.decode())
        self.assertEqual(self.run_command("diff", "a.json", "--", "a.json").returncode, 0)


if __name__ == "__main__":
    unittest.main()
