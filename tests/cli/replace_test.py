# SPDX-License-Identifier: Apache-2.0
"""No command replaces a trace that has events by one that has none, or by half a trace."""

import os
import unittest

from harness import PROGRAM, CommandTest

EMPTY_IMPORT = b'{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]}'
SOME_IMPORT = (b'{"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1,'
               b' "dur": 2, "args": {"stream": 7, "device": 0}}]}')


class Replace(CommandTest):
    def setUp(self):
        super().setUp()
        result = self.run_command("record", "-q", "-p", "simulation", "-d", "0.02", "-o", "good.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.good = self.read("good.sbt")
        for name, content in (("empty.json", EMPTY_IMPORT), ("some.json", SOME_IMPORT)):
            with open(self.path(name), "wb") as file:
                file.write(content)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def traces(self):
        return [name for name in self.files() if not name.endswith(".json")]

    def test_an_import_without_events_does_not(self):
        result = self.run_command("import", "empty.json", "-o", "good.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read("good.sbt"), self.good)
        self.assertEqual(self.traces(), ["good-2.sbt", "good.sbt"])
        self.assertIn(b"good.sbt holds events", result.stderr)
        self.assertIn(b"good-2.sbt (--force replaces it)", result.stderr)
        self.assertIn(b"tracesmith view good-2.sbt", result.stderr)
        self.assertEqual(self.run_command("verify", "good-2.sbt").returncode, 0)

    def test_an_import_with_events_does(self):
        result = self.run_command("import", "some.json", "-o", "good.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(self.read("good.sbt"), self.good)
        self.assertEqual(self.traces(), ["good.sbt"])

    def test_force_does(self):
        result = self.run_command("import", "--force", "empty.json", "-o", "good.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(self.read("good.sbt"), self.good)
        self.assertEqual(self.traces(), ["good.sbt"])

    def test_an_import_of_nothing_that_is_known_costs_no_trace(self):
        with open(self.path("text.json"), "wb") as file:
            file.write(b"no trace")
        self.assertNotEqual(self.run_command("import", "text.json", "-o", "good.sbt").returncode, 0)
        self.assertEqual(self.read("good.sbt"), self.good)

    def test_a_simulation_that_cannot_be_written_costs_no_trace(self):
        result = self.shell("trap '' XFSZ; ulimit -f 8; \"$T\" record -p simulation -d 5 -o good.sbt")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"good.sbt: cannot write the trace: File too large", result.stderr)
        self.assertEqual(self.read("good.sbt"), self.good)
        self.assertEqual(self.traces(), ["good.sbt"])

    def test_a_simulation_replaces_another_and_takes_its_mode(self):
        os.chmod(self.path("good.sbt"), 0o640)
        result = self.run_command("record", "-p", "simulation", "-d", "0.03", "-o", "good.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(self.read("good.sbt"), self.good)
        self.assertEqual(os.stat(self.path("good.sbt")).st_mode & 0o777, 0o640)


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
