# SPDX-License-Identifier: Apache-2.0
"""Where profile puts its trace: an output that cannot be one is refused before the program runs, and
what lies there is never lost by an empty trace."""

import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import DEMO, PROGRAM
from recover_test import Sessions


def with_newer_major(trace):
    """The same trace with the header of format 99.0, whose checksum does not hold either."""
    return trace[:8] + struct.pack("<HH", 99, 0) + b"\xff" * 52 + b"\xff" * (len(trace) - 64)


class Unusable(Sessions):
    """The program of each test would leave the file `ran`."""

    def assert_refused(self, output, *words, files=()):
        result = self.run_command("profile", "-o", output, "--", "touch", "ran")
        self.assert_fails(result, 125, *words)
        self.assertEqual(self.files(), sorted(files))

    def test_a_link_into_a_folder_that_is_missing(self):
        os.symlink("missing/t.sbt", self.path("l.sbt"))
        self.assert_refused("l.sbt", "l.sbt", "missing", files=["l.sbt"])

    def test_links_that_never_end(self):
        os.symlink("b.sbt", self.path("a.sbt"))
        os.symlink("a.sbt", self.path("b.sbt"))
        self.assert_refused("a.sbt", "too many symbolic links", files=["a.sbt", "b.sbt"])

    def test_standard_output_and_files_of_the_system(self):
        self.assert_refused("-", "cannot be piped", "./-")
        for output in ("/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"):
            self.assert_refused(output, output, "regular file")
        os.symlink("/dev/stdout", self.path("l.sbt"))
        self.assert_refused("l.sbt", "regular file", files=["l.sbt"])
        self.assertFalse(os.path.exists("/dev/stdout.session"))

    def test_shared_memory_is_a_place_like_others(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm cannot be written to")
        folder = tempfile.mkdtemp(prefix="tracesmith-cli-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder)
        result = self.run_command("profile", "-q", "-o", folder + "/t.sbt", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(folder), ["t.sbt"])

    def test_a_synthetic_trace_goes_to_a_file_too(self):
        result = self.run_command("record", "-q", "-p", "simulation", "-d", "0.01", "-o", "-")
        self.assert_fails(result, 1, "cannot be piped")
        self.assertEqual(self.files(), [])

    def test_an_export_that_cannot_be_written(self):
        os.symlink("missing/t.json", self.path("l.json"))
        self.assert_refused("l.json", "l.json", files=["l.json"])

    def test_a_file_that_is_mounted_is_written_in_place(self):
        self.write("t.sbt", b"")
        self.write("real", b"")
        script = 'mount --bind real t.sbt && "$0" profile -q -o t.sbt -- true && "$0" verify real'
        probe = subprocess.run(["unshare", "-m", "true"], check=False, stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("no mount namespace: " + probe.stderr.decode().strip())
        result = self.run_command("-m", "bash", "-c", script, PROGRAM, program="unshare")
        if b"mount:" in result.stderr:
            self.skipTest(result.stderr.decode().strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["real", "t.sbt"])


class Kept(Sessions):
    def profile(self, *options, command=("true",), output="t.sbt"):
        return self.run_command("profile", *options, "-o", output, "--", *command)

    def test_an_empty_trace_replaces_no_trace_that_cannot_be_read(self):
        good = self.make_good("t.sbt")
        self.write("newer.sbt", with_newer_major(good))
        self.assertIn(b"99.0", self.run_command("info", "newer.sbt").stderr)
        for content in (with_newer_major(good), good[:40]):
            self.write("t.sbt", content)
            result = self.profile()
            self.assertEqual(self.read("t.sbt"), content)
            self.assertIn(b"stays as it was", result.stderr)
            os.remove(self.path("t-2.sbt"))

    def test_an_empty_trace_replaces_no_trace_whose_events_are_damaged(self):
        good = bytearray(self.make_good("t.sbt"))
        good[200:-200] = b"\xff" * (len(good) - 400)
        self.write("t.sbt", good)
        self.profile()
        self.assertEqual(self.read("t.sbt"), good)

    def test_notes_are_replaced_only_by_a_trace_with_events_or_by_force(self):
        self.write("notes.txt", b"precious")
        result = self.profile(command=("false",), output="notes.txt")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.read("notes.txt"), b"precious")
        self.assertIn(b"notes-2.txt", result.stderr)
        self.assertIn(b"cannot be read as a trace", result.stderr)
        self.profile("--force", output="notes.txt")
        self.assertEqual(self.run_command("verify", "notes.txt").returncode, 0)
        self.need_opencl()
        self.write("notes.txt", b"precious")
        self.profile("-q", command=(DEMO,), output="notes.txt")
        self.assertGreater(self.events("notes.txt"), 0)

    def test_a_recording_is_not_lost_by_force(self):
        self.need_opencl()
        self.profile("-q", "--record", command=(DEMO,))
        recording = self.read("t.sbr")
        for options, kept in ((("--force",), "t.old.sbr"), (("--force", "--record"), "t.old-2.sbr")):
            self.write("t.sbr", recording)
            result = self.profile("-q", *options)
            self.assertEqual(self.read(kept), recording)
            self.assertIn(kept, result.stderr.decode())
        self.assertIn("a new recording that holds commands",
                      " ".join(self.run_command("profile", "--help").stdout.decode().split()))

    def test_a_directory_that_is_no_session_stays_as_it_is(self):
        os.mkdir(self.path("f.session"), 0o700)
        for name in ("session.txt", "novel.new", "trace.sbr"):
            self.write("f.session/" + name, b"mine")
        os.chmod(self.path("f.session"), 0o755)
        for name in ("novel.new", "session.txt", "trace.sbr"):
            result = self.profile(output="f")
            self.assert_fails(result, 125, "f.session", "left alone")
            if name != "trace.sbr":
                self.assertNotEqual(self.run_command("recover", "f.session").returncode, 0)
            self.assertEqual(self.read("f.session/" + name), b"mine")
            self.assertEqual(os.stat(self.path("f.session")).st_mode & 0o777, 0o755)
            os.remove(self.path("f.session/" + name))
        self.assertEqual(self.profile(output="f").returncode, 0)

    def test_a_folder_with_a_trace_and_a_file_of_the_user_stays_as_it_is(self):
        self.assertEqual(self.profile(output="r.sbt").returncode, 0)
        os.mkdir(self.path("t.sbt.session"), 0o755)
        os.rename(self.path("r.sbt"), self.path("t.sbt.session/trace.sbt"))
        for name in ("processes.log", "readme"):
            self.write("t.sbt.session/" + name, b"mine")
        self.assert_fails(self.profile(), 125, "t.sbt.session", "readme", "left alone")
        self.assertEqual(sorted(os.listdir(self.path("t.sbt.session"))),
                         ["processes.log", "readme", "trace.sbt"])

    def test_an_export_replaces_no_file_that_nobody_named(self):
        self.make_good("x.sbt")
        for name in ("x.json", "x-2.json"):
            self.write(name, b"precious")
        result = self.profile(output="x.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("x.json", "x-2.json"):
            self.assertEqual(self.read(name), b"precious")
        self.assertIn(b"x-3.json", result.stderr)

    def test_the_export_of_an_empty_trace_replaces_nothing_but_by_force(self):
        self.make_good("x.json")
        good = self.read("x.json")
        os.remove(self.path("x.sbt"))
        for command in (("profile", "-o", "x.json", "--", "true"),
                        ("profile", "--perfetto", "-o", "x.json", "--", "true")):
            result = self.run_command(*command)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"x.json stays as it was", result.stderr)
            self.assertEqual(self.read("x.json"), good)
        self.assertIn("x-2.json", self.files())
        self.profile("--force", output="x.json")
        self.assertNotEqual(self.read("x.json"), good)

    def test_a_session_of_a_newer_version_stays_as_it_is(self):
        self.start_and_kill()
        good = self.make_good()
        self.write("t.sbt.session/trace.sbt", with_newer_major(good))
        before = sorted(os.listdir(self.path("t.sbt.session")))
        self.assert_fails(self.profile("-q"), 125, "t.sbt.session", "99.0", "left alone")
        self.assertEqual(sorted(os.listdir(self.path("t.sbt.session"))), before)
        self.assertEqual(self.read("t.sbt.session/trace.sbt"), with_newer_major(good))


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
