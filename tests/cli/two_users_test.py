# SPDX-License-Identifier: Apache-2.0
"""Another local user can neither make TraceSmith write to a file of ours, nor feed it files of theirs.
docs/security.md names these tests."""

import os
import shutil
import subprocess
import time
import unittest

from harness import BIN, DEMO, PROGRAM, CommandTest, environment

OTHER = 65534  # the user "nobody"
EVENTS = '{"traceEvents": [{"ph": "X", "name": "k", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}'
PROTECTED_SYMLINKS = "/proc/sys/fs/protected_symlinks"
# Watches a folder until `end` is there. Tries to read, write and replace each entry as soon as it
# appears. Prints how many entries it met, then each attempt that succeeded.
INTRUDER = """
import os, sys
folder, end, victim = sys.argv[1:]
met, done = set(), []
def attempt(what, action, *arguments):
    try:
        action(*arguments)
        done.append(what)
    except OSError:
        pass
open(end + ".ready", "w").close()
while not os.path.exists(end):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name not in met:
            met.add(name)
            attempt("read " + name, lambda: os.listdir(path) if os.path.isdir(path) else open(path).read())
            attempt("wrote into " + name, os.symlink, victim, os.path.join(path, "link"))
            attempt("moved " + name, os.rename, path, path + ".moved")
            attempt("removed " + name, os.rmdir, path)
print(len(met), *done, sep="\\n")
"""


@unittest.skipIf(os.geteuid() != 0, "only root can be two users")
class TwoUsers(CommandTest):
    """The victim is root, and the attacker another user; or the other way round."""

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("shared"))
        os.chmod(self.path("shared"), 0o1777)
        self.write("victim.txt", "precious")

    def write(self, name, text, owner=0):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chown(self.path(name), owner, owner)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def as_other(self, *command):
        return subprocess.run(["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups",
                               *command], cwd=self.dir, stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env=environment(XDG_RUNTIME_DIR=None))

    def attack(self, *command):
        result = self.as_other(*command)
        if b"setpriv" in result.stderr:
            self.skipTest(result.stderr.decode())
        self.assertEqual(result.returncode, 0, result.stderr)

    @staticmethod
    def set_protected_symlinks(value):
        with open(PROTECTED_SYMLINKS, "w", encoding="ascii") as file:
            file.write(value)

    def without_protected_symlinks(self, value="0"):
        """The kernel does not help: as on systems where this setting is 0."""
        try:
            with open(PROTECTED_SYMLINKS, "r+", encoding="ascii") as file:
                before = file.read().strip()
                file.seek(0)
                file.write(value)
        except OSError as error:
            print(f"with {PROTECTED_SYMLINKS} as it is: {error}")
            return
        self.addCleanup(self.set_protected_symlinks, before)

    def make_trace(self, name):
        result = self.run_command("record", "-q", "-p", "simulation", "-d", "0.01", "-o", name)
        self.assertEqual(result.returncode, 0, result.stderr)

    def make_session(self, name):
        os.mkdir(self.path(name), 0o700)

    def assert_refused(self, result, *words):
        self.assert_fails(result, 125, *words)
        self.assertEqual(self.read("victim.txt"), "precious")

    def test_a_session_directory_of_another_user_is_refused(self):
        self.attack("mkdir", "-m", "777", "shared/t.sbt.session")
        for name in ("session.txt.new", "probe.new", "trace.sbt"):
            self.attack("ln", "-s", self.path("victim.txt"), "shared/t.sbt.session/" + name)
        self.without_protected_symlinks()
        result = self.run_command("profile", "-o", "shared/t.sbt", "--", "true")
        self.assert_refused(result, "belongs to user 65534")
        self.assertEqual(len(os.listdir(self.path("shared/t.sbt.session"))), 3)

    def test_a_session_directory_that_is_a_link_is_refused(self):
        os.mkdir(self.path("private"), 0o700)
        self.write("private/1.2.new", "precious")
        self.attack("ln", "-s", self.path("private"), "shared/t.sbt.session")
        self.without_protected_symlinks()
        result = self.run_command("profile", "-o", "shared/t.sbt", "--", "true")
        self.assert_refused(result, "symbolic link")
        self.assertEqual(self.read("private/1.2.new"), "precious")

    def test_an_output_that_another_user_links_elsewhere_is_refused(self):
        self.attack("ln", "-s", self.path("victim.txt"), "shared/t.sbt")
        self.without_protected_symlinks()
        result = self.run_command("profile", "-o", "shared/t.sbt", "--", "true")
        self.assert_refused(result, "shared/t.sbt", "belongs to user 65534")

    def test_what_other_commands_write_follows_no_link_of_another_user(self):
        self.make_trace("good.sbt")
        self.write("events.json", EVENTS)
        for name in ("t.sbt", "t.json", "t.csv"):
            self.attack("ln", "-s", self.path("victim.txt"), "shared/" + name)
        self.without_protected_symlinks()
        for words in (("record", "-p", "simulation", "-d", "0.01", "-o", "shared/t.sbt"),
                      ("import", "events.json", "-o", "shared/t.sbt"),
                      ("export", "good.sbt", "-o", "shared/t.json"),
                      ("export", "good.sbt", "-f", "csv", "--table", "kernel", "-o", "shared/t.csv"),
                      ("symbolize", "good.sbt", "-o", "shared/t.sbt")):
            result = self.run_command(*words)
            self.assertEqual(result.returncode, 1, (words, result.stderr))
            self.assertIn(b"belongs to user 65534", result.stderr, words)
            self.assertEqual(self.read("victim.txt"), "precious", words)

    def test_a_program_that_records_itself_follows_no_link_of_another_user(self):
        program = os.path.join(BIN, "session_demo")
        if not os.path.exists(program):
            self.skipTest("session_demo is not built")
        self.attack("ln", "-s", self.path("victim.txt"), "shared/t.sbt")
        self.without_protected_symlinks()
        result = self.run_command(self.path("shared/t.sbt"), program=program)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn(b"belongs to user 65534", result.stderr)
        self.assertEqual(self.read("victim.txt"), "precious")

    def test_a_recording_that_another_user_links_elsewhere_is_refused(self):
        self.attack("ln", "-s", self.path("victim.txt"), "shared/t.sbr")
        self.without_protected_symlinks()
        result = self.run_command("profile", "--record", "-o", "shared/t.sbt", "--", "touch", "ran")
        self.assert_refused(result, "shared/t.sbr", "belongs to user 65534")
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(self.read("victim.txt"), "precious")

    def test_a_session_that_another_user_opened_to_all_is_not_recovered(self):
        self.make_session("shared/t.sbt.session")
        os.chmod(self.path("shared/t.sbt.session"), 0o777)
        self.attack("ln", "-s", self.path("victim.txt"), "shared/t.sbt.session/session.txt")
        result = self.run_command("recover", "shared/t.sbt.session")
        self.assert_fails(result, 1, "shared/t.sbt.session")
        self.assertEqual(self.read("victim.txt"), "precious")

    def test_links_in_a_session_directory_lead_nowhere(self):
        """Made while it was open to all; the directory itself is in order again."""
        self.make_session("t.sbt.session")
        os.chmod(self.path("t.sbt.session"), 0o777)
        for name in ("session.txt.new", "probe.new", "trace.sbt", "trace.sbr", "processes.log"):
            self.attack("ln", "-s", self.path("victim.txt"), "t.sbt.session/" + name)
        os.chmod(self.path("t.sbt.session"), 0o700)
        self.without_protected_symlinks()
        for words in (("recover", "t.sbt.session"), ("profile", "-o", "t.sbt", "--", "true")):
            result = self.run_command(*words)
            self.assertEqual(self.read("victim.txt"), "precious", (words, result.stderr))

    def test_each_link_of_a_chain_is_checked(self):
        self.attack("ln", "-s", self.path("victim.txt"), "shared/z.sbt")
        self.attack("ln", "-s", self.dir, "shared/folder")
        os.symlink("shared/z.sbt", self.path("mine.sbt"))
        os.symlink("shared/folder/victim.txt", self.path("other.sbt"))
        self.without_protected_symlinks()
        for output in ("mine.sbt", "other.sbt"):
            result = self.run_command("profile", "-o", output, "--", "touch", "ran")
            self.assert_refused(result, "shared/", "belongs to user 65534", "choose another name")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_link_into_a_closed_folder_is_an_error_like_others(self):
        os.mkdir(self.path("closed"), 0o700)
        os.symlink(self.path("closed/t.sbt"), self.path("shared/t.sbt"))
        result = self.as_other(PROGRAM, "profile", "-o", "shared/t.sbt", "--", "true")
        self.assert_refused(result, "closed/t.sbt", "Permission denied")

    def assert_exports_refused(self, link):
        for command in (("export", "good.sbt"), ("import", "good.json"),
                        ("record", "-p", "simulation", "-d", "0.01")):
            result = self.run_command(*command, "-o", "shared/x.sbt")
            self.assert_fails(result, 1, "shared/x.sbt", "belongs to user 65534")
        self.assertEqual(self.read("victim.txt"), "precious")
        self.assertEqual(os.path.islink(self.path("shared/x.sbt")), link)
        result = self.run_command("profile", "-o", "shared/y.json", "--", "touch", "ran")
        self.assert_refused(result, "shared/y.json", "belongs to user 65534")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_an_export_goes_neither_through_a_link_nor_to_a_file_of_another_user(self):
        self.make_trace("good.sbt")
        self.run_command("export", "good.sbt", "-f", "json", "-o", "good.json")
        for name in ("shared/x.sbt", "shared/y.json"):
            self.attack("ln", "-s", self.path("victim.txt"), name)
        for value in ("1", "0"):
            self.without_protected_symlinks(value)
            self.assert_exports_refused(True)
        for name in ("shared/x.sbt", "shared/y.json"):
            os.remove(self.path(name))
            self.attack("install", "-m", "666", "/dev/null", name)
        self.assert_exports_refused(False)

    def test_root_takes_no_mode_from_another_user(self):
        self.make_trace("good.sbt")
        self.attack("install", "-m", "666", "/dev/null", "shared/r.sbt")
        result = self.run_command("profile", "-o", "shared/r.sbt", "--", "true")
        self.assert_refused(result, "belongs to user 65534")
        for command in ("profile -q -o r.sbt -- true", "export good.sbt -o r.sbt"):
            self.write("r.sbt", "", OTHER)
            os.chmod(self.path("r.sbt"), 0o666)
            result = self.shell(f'umask 077; "$T" {command}')
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(os.stat(self.path("r.sbt")).st_mode & 0o777, 0o600, command)
            self.assertEqual(os.stat(self.path("r.sbt")).st_uid, 0)

    def test_a_recording_of_another_user_is_refused(self):
        self.attack("touch", "shared/s.sbr")
        result = self.run_command("profile", "--record", "-o", "shared/s.sbt", "--", "touch", "ran")
        self.assert_refused(result, "shared/s.sbr", "belongs to user 65534")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_recording_that_another_user_puts_there_meanwhile_costs_nothing(self):
        probe = self.run_command(program=DEMO)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())
        result = self.run_command(
            "profile", "--record", "-o", "shared/s.sbt", "--", "sh", "-c",
            f'setpriv --reuid={OTHER} --regid={OTHER} --clear-groups touch shared/s.sbr && "$0"', DEMO)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"shared/s.sbr: belongs to user 65534", result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("shared"))), ["s-2.sbr", "s-2.sbt", "s.sbr"])
        self.assertEqual(self.run_command("verify", "shared/s-2.sbt").returncode, 0)

    def test_an_output_of_another_user_in_a_shared_folder_is_refused(self):
        self.write("shared/t.sbt", "theirs")
        os.chmod(self.path("shared/t.sbt"), 0o666)
        result = self.as_other(PROGRAM, "profile", "-o", "shared/t.sbt", "--", "true")
        self.assert_refused(result, "belongs to user 0")
        self.assertEqual(self.read("shared/t.sbt"), "theirs")

    def test_a_session_of_another_user_is_not_recovered(self):
        self.attack("mkdir", "shared/victim.txt.session")
        self.attack("sh", "-c", f"echo output={self.path('victim.txt')} "
                    "> shared/victim.txt.session/session.txt")
        shutil.move(self.path("shared/victim.txt.session"), self.path("victim.txt.session"))
        result = self.run_command("recover", "victim.txt.session")
        self.assert_fails(result, 1, "belongs to user 65534")
        self.assertEqual(self.read("victim.txt"), "precious")

    def test_what_a_session_holds_is_closed_to_others(self):
        result = self.run_command("profile", "-q", "-o", "shared/t.sbt", "--", "setpriv",
                                  f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "ls",
                                  "shared/t.sbt.session")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"Permission denied", result.stderr)

    def watched_by_an_intruder(self, *command, program=PROGRAM):
        """Runs a command whose temporary folder all users share. Returns its result and how many
        entries of that folder another user met, who must not have got into any of them."""
        folder, end = self.path("temporary"), self.path("shared/end")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
        for name in (end, end + ".ready"):
            if os.path.exists(name):
                os.remove(name)
        with subprocess.Popen(
                ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "/usr/bin/python3", "-c",
                 INTRUDER, folder, end, self.path("victim.txt")],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as intruder:
            while not os.path.exists(end + ".ready"):
                if intruder.poll() is not None:
                    self.skipTest(f"no second user: {intruder.stderr.read().decode()}")
                time.sleep(0.01)
            try:
                result = self.run_command(*command, program=program, env=environment(TMPDIR=folder))
            finally:
                with open(end, "w", encoding="ascii"):
                    pass
            met, *done = intruder.communicate(timeout=60)[0].decode().split("\n")[:-1]
        self.assertEqual(done, [], command)
        self.assertEqual(os.listdir(folder), [], command)
        self.assertEqual(self.read("victim.txt"), "precious")
        return result, int(met)

    def test_the_intruder_of_these_tests_does_get_into_an_open_folder(self):
        with self.assertRaises(AssertionError) as caught:
            self.watched_by_an_intruder("-c", 'umask 0; mkdir "$TMPDIR/open"; sleep 0.5; rm -rf "$TMPDIR/open"',
                                        program="/bin/sh")
        self.assertIn("read open", str(caught.exception))
        self.assertIn("wrote into open", str(caught.exception))

    def test_temporary_folders_are_closed_to_others(self):
        if self.run_command(program=DEMO).returncode != 0:
            self.skipTest("no OpenCL device")
        os.makedirs(self.path("inc/deep"))  # a replay writes recorded headers to its scratch folder
        for header, text in (("first.h", '#include "deep/second.h"\n#define PUT(a, i) a[i] = TIMES(i)\n'),
                             ("deep/second.h", "#define TIMES(x) (x) * BY\n")):
            self.write("inc/" + header, text)
        result = self.run_command("profile", "-q", "--record", "-o", "t.sbt", "--", os.path.join(BIN, "cl_cases"),
                                  "includes", self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        for command in (("replay", "t.sbr"), ("benchmark", "-n", "1000", "--rounds", "1")):
            result, met = self.watched_by_an_intruder(*command)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(met, 0, command)

    def test_temporary_files_are_closed_to_others(self):
        """Imports keep what they have read in a file without a name, or in one for its owner alone."""
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            file.write(EVENTS)
        result, _ = self.watched_by_an_intruder("import", "t.json", "-o", "t.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_control_directory_of_another_user_is_refused(self):
        control = self.path("shared/control")
        self.attack("mkdir", "-m", "777", control)
        env = environment(TRACESMITH_CONTROL=control)
        result = self.run_command("arm", "--", "true", env=env)
        self.assert_refused(result, control, "this user only")
        self.assertEqual(os.listdir(control), [])
        # Nor is a process captured that says to be armed there.
        program = subprocess.Popen(["sleep", "60"], env=env)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        result = self.run_command("record", "--pid", str(program.pid), "-o", "t.sbt")
        self.assert_fails(result, 1, control, "this user only")

    def test_a_control_directory_that_is_a_link_is_refused(self):
        os.mkdir(self.path("private"), 0o700)
        control = self.path("shared/control")
        self.attack("ln", "-s", self.path("private"), control)
        self.without_protected_symlinks()
        result = self.run_command("arm", "--", "true", env=environment(TRACESMITH_CONTROL=control))
        self.assert_refused(result, control, "this user only")
        self.assertEqual(os.listdir(self.path("private")), [])


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
