# SPDX-License-Identifier: Apache-2.0
"""The check that asks trace_processor fails where that has something to say, and only there. A script
takes its place: it answers as the real one prints its answers."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("trace_processor_check.py")
HEADER = '"name","idx","severity","value"'


class TraceProcessorCheck(unittest.TestCase):
    def check(self, answer, code=0):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "trace_processor"
            asked = pathlib.Path(directory) / "asked"
            program.write_text(f"#!/bin/sh\n[ \"$1\" = -q ] && [ -s \"$2\" ] && [ -s \"$3\" ] || exit 9\n"
                               f"echo \"$3\" >> {asked}\ncat <<'E'\n{answer}\nE\nexit {code}\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            env = {**os.environ, "TRACE_PROCESSOR": str(program), "TRACE_PROCESSOR_CHECK": "short"}
            env.pop("TRACESMITH_TEST_DATA", None)
            done = subprocess.run([sys.executable, "-B", str(CHECK)], env=env, check=False,
                                  capture_output=True, text=True)
            files = asked.read_text().splitlines() if asked.exists() else []
            return done, [os.path.basename(f) for f in files]

    def test_no_rows_are_good(self):
        done, files = self.check(HEADER)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for kind in ("chrome", "empty"):
            for profile in ("gpu", "compat", "full"):
                self.assertIn(f"{kind}.{profile}", files)
        self.assertTrue(any(f.startswith("damaged") for f in files), files)

    def test_any_row_is_not(self):
        done, _ = self.check(HEADER + '\n"clock_sync_unrelatable_clock_domains","","error",1')
        self.assertEqual(done.returncode, 1)
        self.assertIn('chrome, gpu: "clock_sync_unrelatable_clock_domains","","error",1', done.stdout)

    def test_neither_is_a_program_that_fails_or_says_nothing(self):
        self.assertEqual(self.check(HEADER, code=3)[0].returncode, 1)
        self.assertEqual(self.check("no such table")[0].returncode, 1)


if __name__ == "__main__":
    unittest.main()
