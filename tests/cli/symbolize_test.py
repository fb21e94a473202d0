# SPDX-License-Identifier: Apache-2.0
"""tracesmith symbolize, as its users meet it. What it finds is tested beside the code."""
import os
import unittest

from harness import CommandTest


class Symbolize(CommandTest):
    def setUp(self):
        super().setUp()
        result = self.run_command("record", "-q", "-p", "simulation", "-d", "0.01", "-o", "t.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.before = self.read("t.sbt")

    def read(self, name):
        with open(os.path.join(self.dir, name), "rb") as file:
            return file.read()

    def test_a_trace_without_stacks_is_left_as_it_is(self):
        result = self.run_command("symbolize", "t.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"0 of 0 frames", result.stderr)
        self.assertEqual(self.read("t.sbt"), self.before)

    def test_an_output_is_a_trace_of_its_own(self):
        result = self.run_command("symbolize", "--debug-dir", ".", "--debug-dir", "/nowhere", "t.sbt",
                                  "-o", "named.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read("named.sbt"), self.before)

    def test_what_is_no_trace_of_ours_is_refused(self):
        with open(os.path.join(self.dir, "x.json"), "w", encoding="utf-8") as file:
            file.write("{\"traceEvents\": []}")
        self.assert_fails(self.run_command("symbolize", "x.json"), 1, "x.json")
        self.assert_fails(self.run_command("symbolize", "missing.sbt"), 1, "missing.sbt")
        self.assert_fails(self.run_command("symbolize"), 2)


if __name__ == "__main__":
    unittest.main()
