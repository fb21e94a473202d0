#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/memory_profiler, of its own pool and of a trace."""

import os
import re
import unittest

from harness import BIN, CommandTest

EXAMPLE = os.path.join(BIN, "memory_profiler_example")


@unittest.skipUnless(os.path.exists(EXAMPLE), "the examples are not built")
class MemoryExampleTest(CommandTest):
    def lines(self, *arguments):
        result = self.run_command(*arguments, program=EXAMPLE)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return dict(re.match(r"(.{17})(.*)", line).groups() for line in result.stdout.decode().splitlines())

    def test_a_pool(self):
        lines = {name.strip(): value for name, value in self.lines().items()}
        self.assertEqual(lines["peak"], "96.0 MiB")  # weights, activations, two gradients
        self.assertEqual(lines["now"], "8.00 MiB")
        self.assertEqual(lines["allocations"], "37, 160 MiB")
        self.assertEqual(lines["frees"], "36, 152 MiB")
        self.assertEqual(lines["double frees"], "1")
        self.assertEqual(lines["potential leaks"], "1, 8.00 MiB")
        self.assertIn("gradient", lines[""])

    def test_a_trace(self):
        self.assertEqual(self.run_command("record", "-q", "-p", "simulation", "-d", "1", "-o", "s.sbt").returncode, 0)
        query = "SELECT count(*) FROM memory_event WHERE kind = 'alloc'"
        count = self.run_command("query", "s.sbt", query).stdout.decode().splitlines()[-1].strip()
        lines = {name.strip(): value for name, value in self.lines("s.sbt").items()}
        self.assertGreater(int(count), 0)
        self.assertEqual(lines["allocations"].split(", ")[0].replace(",", ""), count)
        result = self.run_command("nowhere.sbt", program=EXAMPLE)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"nowhere.sbt", result.stderr)


if __name__ == "__main__":
    unittest.main()
