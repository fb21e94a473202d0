# SPDX-License-Identifier: Apache-2.0
"""recover neither replaces a finished trace by a part of it, nor removes records that are in none."""

import os
import shutil
import subprocess
import unittest

from harness import PROGRAM, environment
from recover_test import FLOOD, SESSION_ID, Sessions


class Parts(Sessions):
    def host_calls(self, name):
        result = self.run_command("query", "--csv", name, "SELECT count(*) FROM host_call")
        return int(result.stdout.split()[-1])

    def kill_collector(self):
        """Kills the collector of FLOOD while its program goes on, until the rings hold records."""
        self.need_opencl()
        self.start_and_kill(command=FLOOD)
        names = os.listdir(self.path("t.sbt.session"))
        self.assertTrue(any(name.endswith(".arena") for name in names), names)

    def test_a_finished_trace_is_not_replaced_by_a_copy_from_before(self):
        process = subprocess.Popen([PROGRAM, "profile", "-q", "-o", "t.sbt", "--", "cat"],
                                   cwd=self.dir, env=environment(), stdin=subprocess.PIPE)
        self.wait_until(lambda: self.has_rows("t.sbt", SESSION_ID), "nothing is recorded")
        shutil.copytree(self.path("t.sbt.session"), self.path("bak"))
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        done = self.read("t.sbt")
        os.rename(self.path("bak"), self.path("t.sbt.session"))
        result = self.run_command("recover", "t.sbt.session")
        self.assert_fails(result, 1, "t.sbt", "finished trace of this session", "move this trace")
        self.assertEqual(self.read("t.sbt"), done)
        self.assertIn("trace.sbt", os.listdir(self.path("t.sbt.session")))
        # With the finished one out of the way the part is finished as well.
        os.rename(self.path("t.sbt"), self.path("done.sbt"))
        self.assertEqual(self.run_command("recover", "t.sbt.session").returncode, 0)
        self.assertEqual(self.files(), ["done.sbt", "t.sbt"])

    def test_records_that_are_in_no_trace_are_not_removed(self):
        self.kill_collector()
        result = self.run_command("export", "t.sbt", "-o", "x.sbt")
        self.assertIn(result.returncode, (0, 3), result.stderr)  # 3: the trace has no end
        shutil.move(self.path("t.sbt.session/trace.sbt"), self.path("own.sbt"))
        os.replace(self.path("x.sbt"), self.path("t.sbt"))
        self.assertEqual(self.session_id("t.sbt"), self.session_id("own.sbt"))
        arenas = os.listdir(self.path("t.sbt.session"))
        # Beside the session, or in the place of the session's own trace.
        for place in ("t.sbt", "t.sbt.session/trace.sbt"):
            if place != "t.sbt":
                shutil.copy(self.path("t.sbt"), self.path(place))
            result = self.run_command("recover", "t.sbt.session")
            self.assert_fails(result, 1, ".arena", "session is kept", "t.sbt.session/trace.sbt")
            self.assertLessEqual(set(arenas), set(os.listdir(self.path("t.sbt.session"))))
        # As the message says.
        exported = self.host_calls("t.sbt")
        os.remove(self.path("t.sbt"))
        os.replace(self.path("own.sbt"), self.path("t.sbt.session/trace.sbt"))
        result = self.run_command("recover", "t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(self.host_calls("t.sbt"), exported)
        self.assertNotIn("t.sbt.session", self.files())

    def test_a_kill_while_the_session_is_cleared_away_leaves_what_recover_needs(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        cleared = 0
        # Notes, as agents leave them, so that there is more to remove than session.txt.
        notes = "cd t.sbt.session && touch 1.28.unrecorded 2.28.unrecorded 3.28.unrecorded"
        for number in range(5, 12):
            result = self.run_command("-f", "-qq", "-o", "/dev/null", "-e", "trace=unlinkat", "-e",
                                      f"inject=unlinkat:signal=KILL:when={number}", PROGRAM,
                                      "profile", "-q", "-o", "t.sbt", "--", "sh", "-c", notes,
                                      program="strace")
            if b"ptrace" in result.stderr.lower():
                self.skipTest(result.stderr.decode())
            if "t.sbt.session" not in self.files():
                continue
            left = os.listdir(self.path("t.sbt.session"))
            if left and "trace.sbt" not in left:
                self.assertIn("session.txt", left, number)
                cleared += 1
            result = self.run_command("recover", "t.sbt.session")
            self.assertEqual(result.returncode, 0, (number, left, result.stderr))
            self.assertNotIn("t.sbt.session", self.files())
            if "t.sbt" in self.files():
                self.assertEqual(self.run_command("verify", "t.sbt").returncode, 0)
                os.remove(self.path("t.sbt"))
        self.assertGreater(cleared, 2, "no kill came while the files were removed")

    def test_a_session_without_its_notes_is_known_by_its_trace(self):
        self.start_and_kill()
        mine = self.session_id("t.sbt")
        os.remove(self.path("t.sbt.session/session.txt"))
        result = self.run_command("recover", "t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.session_id("t.sbt"), mine)
        self.assertEqual(self.run_command("verify", "t.sbt").returncode, 0)
        self.assertEqual(self.files(), ["t.sbt"])


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
