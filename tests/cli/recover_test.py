# SPDX-License-Identifier: Apache-2.0
"""tracesmith recover touches no file that is not the session's, and profile replaces no good trace by
an empty one."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import DEMO, PROGRAM, CommandTest, environment


SESSION_ID = "SELECT value FROM metadata WHERE key = 'session_id'"
KERNEL = "SELECT 1 FROM kernel LIMIT 1"
# Launches until it is killed.
FLOOD = (os.path.join(os.path.dirname(DEMO), "cl_flood"), "flood", "2", "0", "0")


class Sessions(CommandTest):
    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def make_good(self, name="good.sbt"):
        """A trace with events, from no device."""
        result = self.run_command("record", "-q", "-p", "simulation", "-d", "0.02", "-o", name)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.read(name)

    def events(self, name):
        result = self.run_command("query", "--csv", name, "SELECT count(*) FROM kernel")
        self.assertEqual(result.returncode, 0, result.stderr)
        return int(result.stdout.split()[-1])

    def session_id(self, name):
        result = self.run_command("query", "--csv", name, SESSION_ID)
        return result.stdout.decode().split()[-1]

    def start_and_kill(self, *options, command=("sleep", "60"), output="t.sbt"):
        """A recording that is killed with its program, once its trace has its id and what the program does."""
        process = subprocess.Popen([PROGRAM, "profile", "-q", "-o", output, *options, "--", *command],
                                   cwd=self.dir, stdin=subprocess.DEVNULL, env=environment(),
                                   stdout=subprocess.DEVNULL, start_new_session=True)
        self.wait_until(lambda: self.has_rows(output, KERNEL if command is FLOOD else SESSION_ID),
                        "nothing is recorded")
        process.send_signal(signal.SIGKILL)
        process.wait()
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.assertIn(output + ".session", self.files())

    def need_opencl(self):
        probe = subprocess.run([DEMO], cwd=self.dir, stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.PIPE, timeout=120)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())


class Recover(Sessions):
    def test_a_program_that_still_runs_is_waited_for(self):
        self.need_opencl()
        recording = subprocess.Popen([PROGRAM, "profile", "-q", "-o", "t.sbt", "--", *FLOOD],
                                     cwd=self.dir, stdin=subprocess.DEVNULL, env=environment(),
                                     stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            self.wait_until(lambda: self.has_rows("t.sbt", KERNEL), "nothing is recorded")
            recording.kill()
            recording.wait()
            result = self.run_command("recover", "t.sbt.session")
            self.assert_fails(result, 1, "t.sbt.session", "still runs", "--force")
            self.assertTrue(any(name.endswith(".arena")
                                for name in os.listdir(self.path("t.sbt.session"))))
            result = self.run_command("recover", "--force", "t.sbt.session")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"still runs", result.stderr)
            losses = self.run_command("query", "--csv", "t.sbt", "SELECT reason FROM loss")
            self.assertIn(b"still ran when its recording was recovered", losses.stdout)
        finally:
            os.killpg(recording.pid, signal.SIGKILL)

    def test_a_file_that_session_txt_names_is_not_touched(self):
        self.write("any.txt", b"precious")
        os.mkdir(self.path("s.session"), 0o700)
        self.write("s.session/session.txt", f"output={self.path('any.txt')}\n".encode())
        result = self.run_command("recover", "s.session")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.read("any.txt"), b"precious")
        self.assertEqual(self.files(), ["any.txt", "s.session"])
        # Nor is one that the directory's name leads to.
        os.rename(self.path("s.session"), self.path("any.txt.session"))
        result = self.run_command("recover", "any.txt.session")
        self.assert_fails(result, 1, "any.txt", "cannot be read as a trace")
        self.assertEqual(self.read("any.txt"), b"precious")
        self.assertEqual(self.files(), ["any.txt", "any.txt.session"])

    def test_a_trace_and_its_session_may_be_moved_together(self):
        self.start_and_kill()
        before = self.session_id("t.sbt")
        os.mkdir(self.path("new"))
        for name in ("t.sbt", "t.sbt.session"):
            os.rename(self.path(name), self.path("new/" + name))
        result = self.run_command("recover", "new/t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["new"])
        self.assertEqual(os.listdir(self.path("new")), ["t.sbt"])
        self.assertEqual(self.run_command("verify", "new/t.sbt").returncode, 0)
        self.assertEqual(self.session_id("new/t.sbt"), before)

    def test_a_copied_pair_is_finished_like_the_original(self):
        self.start_and_kill()
        os.mkdir(self.path("new"))
        shutil.copy2(self.path("t.sbt"), self.path("new/t.sbt"))
        shutil.copytree(self.path("t.sbt.session"), self.path("new/t.sbt.session"))
        os.remove(self.path("new/t.sbt.session/trace.sbt"))  # only the one beside it is left
        result = self.run_command("recover", "new/t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.run_command("verify", "new/t.sbt").returncode, 0)

    def test_another_trace_at_the_output_is_left_alone_and_both_are_named(self):
        good = self.make_good()
        self.start_and_kill()
        self.start_and_kill(output="u.sbt")
        mine, other = self.session_id("t.sbt"), self.session_id("u.sbt")
        os.rename(self.path("u.sbt"), self.path("t.sbt"))
        result = self.run_command("recover", "t.sbt.session")
        self.assert_fails(result, 1, "t.sbt", mine, other)
        self.assertEqual(self.session_id("t.sbt"), other)
        self.write("t.sbt", good)
        result = self.run_command("recover", "t.sbt.session")
        self.assert_fails(result, 1, "t.sbt", mine, "without a session id")
        self.assertEqual(self.read("t.sbt"), good)
        # With another name it has a place of its own.
        os.rename(self.path("t.sbt.session"), self.path("v.sbt.session"))
        self.assertEqual(self.run_command("recover", "v.sbt.session").returncode, 0)
        self.assertEqual(self.session_id("v.sbt"), mine)
        self.assertEqual(self.read("t.sbt"), good)

    def test_a_directory_that_is_not_named_after_its_trace_says_what_to_do(self):
        self.start_and_kill()
        os.rename(self.path("t.sbt.session"), self.path("kept"))
        self.assert_fails(self.run_command("recover", "kept"), 1, "kept", "rename it", ".session")
        self.assertEqual(self.files(), ["kept", "t.sbt"])

    def test_a_removed_output_loses_nothing(self):
        self.start_and_kill()
        os.remove(self.path("t.sbt"))
        self.assertEqual(self.run_command("recover", "t.sbt.session").returncode, 0)
        self.assertEqual(self.files(), ["t.sbt"])
        self.assertEqual(self.run_command("verify", "t.sbt").returncode, 0)

    def test_when_the_rows_that_were_written_are_gone_the_session_is_kept(self):
        self.need_opencl()
        self.start_and_kill(command=FLOOD)
        for path in ("t.sbt", "t.sbt.session/trace.sbt"):
            self.write(path, b"")
        result = self.run_command("recover", "t.sbt.session")
        self.assert_fails(result, 1, "t.sbt.session", "session is kept")
        self.assertTrue(any(name.endswith(".arena")
                            for name in os.listdir(self.path("t.sbt.session"))))

    def test_a_damaged_trace_is_not_called_complete(self):
        self.need_opencl()
        self.start_and_kill(command=FLOOD)
        data = bytearray(self.read("t.sbt.session/trace.sbt"))
        data[len(data) // 3] ^= 0xFF
        with open(self.path("t.sbt.session/trace.sbt"), "r+b") as file:
            file.write(data)
        result = self.run_command("recover", "t.sbt.session")
        self.assertNotEqual(result.returncode, 0, result.stderr)
        self.assertIn("t.sbt.session", self.files())

    def test_a_session_whose_trace_was_put_to_its_place_is_only_cleared_away(self):
        self.start_and_kill()
        shutil.copytree(self.path("t.sbt.session"), self.path("again"))
        self.assertEqual(self.run_command("recover", "t.sbt.session").returncode, 0)
        done = self.read("t.sbt")
        os.rename(self.path("again"), self.path("t.sbt.session"))
        os.remove(self.path("t.sbt.session/trace.sbt"))
        self.assertEqual(self.run_command("recover", "t.sbt.session").returncode, 0)
        self.assertEqual(self.read("t.sbt"), done)
        self.assertEqual(self.files(), ["t.sbt"])


class OlderRecover(Sessions):
    """Directories of versions that wrote to the output itself and had no id."""

    def make_older(self):
        self.start_and_kill(command=FLOOD)
        os.remove(self.path("t.sbt.session/trace.sbt"))
        path = self.path("t.sbt.session/session.txt")
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith(("session_id", "replaces"))]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)

    def test_a_trace_that_is_not_of_the_arenas_is_left_alone(self):
        self.need_opencl()
        self.make_older()
        good = self.make_good()
        os.rename(self.path("good.sbt"), self.path("t.sbt"))
        result = self.run_command("recover", "t.sbt.session")
        self.assert_fails(result, 1, "t.sbt", "older version")
        self.assertEqual(self.read("t.sbt"), good)
        os.remove(self.path("t.sbt"))
        result = self.run_command("recover", "t.sbt.session")
        self.assert_fails(result, 1, "t.sbt", "the session is kept")
        self.assertIn("t.sbt.session", self.files())


class Replace(Sessions):
    def test_an_empty_trace_does_not_replace_a_good_one(self):
        good = self.make_good()
        result = self.run_command("profile", "-o", "good.sbt", "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.read("good.sbt"), good)
        self.assertEqual(self.files(), ["good-2.sbt", "good.sbt"])
        notes = [l for l in result.stderr.decode().splitlines() if "stays as it was" in l]
        self.assertEqual(len(notes), 1, result.stderr)
        self.assertIn("good-2.sbt", notes[0])
        self.assertIn("--force", notes[0])
        self.assertEqual(self.run_command("verify", "good-2.sbt").returncode, 0)
        # The next one does not replace that one either.
        self.run_command("profile", "-q", "-o", "good.sbt", "--", "true")
        self.assertEqual(self.files(), ["good-2.sbt", "good-3.sbt", "good.sbt"])

    def test_force_replaces_it(self):
        self.make_good()
        result = self.run_command("profile", "--force", "-o", "good.sbt", "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.files(), ["good.sbt"])
        self.assertEqual(self.events("good.sbt"), 0)

    def test_an_empty_trace_replaces_an_empty_one(self):
        for _ in range(2):
            self.assertEqual(self.run_command("profile", "-o", "t.sbt", "--", "true").returncode, 0)
        self.assertEqual(self.files(), ["t.sbt"])

    def test_a_trace_with_events_replaces_it_and_keeps_its_mode(self):
        self.need_opencl()
        good = self.make_good()
        os.chmod(self.path("good.sbt"), 0o640)
        self.assertEqual(self.run_command("profile", "-q", "-o", "good.sbt", "--", DEMO).returncode, 0)
        self.assertNotEqual(self.read("good.sbt"), good)
        self.assertGreater(self.events("good.sbt"), 0)
        self.assertEqual(self.files(), ["good.sbt"])
        self.assertEqual(os.stat(self.path("good.sbt")).st_mode & 0o777, 0o640)

    def test_a_program_that_cannot_be_started_costs_no_trace(self):
        good = self.make_good()
        self.assertEqual(self.run_command("profile", "-o", "good.sbt", "--", "no-such-program")
                         .returncode, 127)
        self.assertEqual(self.read("good.sbt"), good)
        self.assertEqual(self.files(), ["good.sbt"])

    def test_killed_at_any_moment_the_old_one_is_whole_and_the_new_one_recoverable(self):
        good = self.make_good()
        for after in (0.02, 0.1, 0.4, 1.5):
            process = subprocess.Popen([PROGRAM, "profile", "-q", "-o", "good.sbt", "--", "sleep",
                                        "0.3"], cwd=self.dir, env=environment())
            time.sleep(after)
            process.kill()
            process.wait()
            time.sleep(0.4)
            self.assertEqual(self.read("good.sbt"), good, after)
            if "good.sbt.session" in self.files():
                result = self.run_command("recover", "good.sbt.session")
                self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.read("good.sbt"), good, after)
            self.assertNotIn("good.sbt.session", self.files())
        for name in self.files():
            self.assertEqual(self.run_command("verify", name).returncode, 0, name)

    def test_the_recording_beside_it_stays_with_its_trace(self):
        self.need_opencl()
        self.run_command("profile", "-q", "--record", "-o", "r.sbt", "--", DEMO)
        trace, recording = self.read("r.sbt"), self.read("r.sbr")
        self.run_command("profile", "-q", "--record", "-o", "r.sbt", "--", "true")
        self.assertEqual((self.read("r.sbt"), self.read("r.sbr")), (trace, recording))
        self.assertEqual(self.files(), ["r-2.sbt", "r.sbr", "r.sbt"])
        # A trace without a recording would be replayed with that of the other.
        result = self.run_command("profile", "-o", "r.sbt", "--", DEMO)
        self.assertIn(b"r.old.sbr", result.stderr)
        self.assertEqual(self.read("r.old.sbr"), recording)
        self.assertNotIn("r.sbr", self.files())
        # A newer recording replaces an older one.
        self.run_command("profile", "-q", "--record", "-o", "r.sbt", "--", DEMO)
        self.assertIn("r.sbr", self.files())

    def test_an_export_of_the_good_one_stays_too(self):
        self.make_good("x.sbt")
        self.write("x.json", b"[]")
        self.run_command("profile", "-o", "x.json", "--", "true")
        self.assertEqual(self.read("x.json"), b"[]")
        self.assertIn("x-2.json", self.files())

    def test_a_link_leads_to_the_trace_that_is_replaced(self):
        os.mkdir(self.path("far"))
        os.symlink("far/real.sbt", self.path("link.sbt"))
        self.assertEqual(self.run_command("profile", "-o", "link.sbt", "--", "true").returncode, 0)
        self.assertTrue(os.path.islink(self.path("link.sbt")))
        self.assertEqual(self.run_command("verify", "far/real.sbt").returncode, 0)


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
