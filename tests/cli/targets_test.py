# SPDX-License-Identifier: Apache-2.0
"""Where import and export write: what is there already is replaced whole, or stays."""

import json
import os
import signal
import stat
import subprocess
import time
import unittest

from harness import LIMIT_S, PROGRAM, CommandTest, environment

EVENTS = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
           "args": {"stream": 7, "device": 0}}]


class Targets(CommandTest):
    def setUp(self):
        super().setUp()
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": EVENTS}, file)
        self.writers = [("import", "in.json"), ("export", "made.sbt", "-f", "sbt")]
        self.assertEqual(
            self.run_command("import", "in.json", "-o", "made.sbt", "-q").returncode, 0)

    def test_a_pipe_or_device_stays_one(self):
        os.mkfifo(self.path("pipe"))
        targets = ["pipe"]
        try:
            os.mknod(self.path("null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            targets.append("null")
        except PermissionError:
            pass  # only root can make one
        for target in targets:
            for command in self.writers:
                with self.subTest(target=target, command=command[0]):
                    before = os.lstat(self.path(target))
                    self.assert_fails(self.run_command(*command, "-o", target), 1, target,
                                      "regular file")
                    self.assertEqual(os.lstat(self.path(target)).st_mode, before.st_mode)

    def test_standard_output_is_no_file(self):
        files = self.files()
        for command in self.writers:
            result = self.run_command(*command, "-o", "-")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(b"cannot be piped", result.stderr)
            self.assertEqual(result.stdout, b"")
        self.assertEqual(self.files(), files)

    def test_a_link_is_followed(self):
        for command in self.writers:
            os.symlink("real.sbt", self.path("link.sbt"))
            self.assertEqual(self.run_command(*command, "-o", "link.sbt").returncode, 0)
            self.assertTrue(os.path.islink(self.path("link.sbt")))
            self.assertEqual(self.run_command("verify", "real.sbt").returncode, 0)
            os.remove(self.path("link.sbt"))
            os.remove(self.path("real.sbt"))

    def test_an_import_without_a_name_replaces_only_an_earlier_one(self):
        for _ in range(2):
            self.assertEqual(self.run_command("import", "in.json").returncode, 0)
        os.replace(self.path("in.json"), self.path("made.json"))
        with open(self.path("made.sbt"), "rb") as file:
            before = file.read()
        self.assert_fails(self.run_command("import", "made.json"), 2, "made.sbt", "-o")
        with open(self.path("made.sbt"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(
            self.run_command("import", "made.json", "-o", "made.sbt").returncode, 0)

    def test_an_import_that_is_killed_leaves_nothing(self):
        files = self.files()
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(how.name):
                self.assertTrue(any(self.is_interrupted(how, events)
                                    for events in (400_000, 1_200_000, 4_000_000)))
                self.assertEqual(self.files(), files)

    def is_interrupted(self, how, events):
        """Sends a signal while a document is read; False: it came too late."""
        with open(self.path("long.json"), "w", encoding="utf-8") as file:
            file.write("[" + ",\n".join([json.dumps(EVENTS[0])] * events) + "]")
        process = subprocess.Popen([PROGRAM, "import", "long.json", "-o", "o.sbt"], cwd=self.dir,
                                   env=environment(), stderr=subprocess.PIPE)
        while process.poll() is None and not self.is_writing(process.pid):
            time.sleep(0.005)
        process.send_signal(how)
        process.communicate(timeout=LIMIT_S)
        os.remove(self.path("long.json"))
        if process.returncode == 0:
            os.remove(self.path("o.sbt"))
        return process.returncode != 0

    def is_writing(self, pid):
        """Whether the process has a file open in this folder that it does not read."""
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            return False  # it has ended
        for descriptor in descriptors:
            try:
                to = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            except OSError:
                continue
            if to.startswith(self.dir) and not to.endswith("long.json"):
                return True
        return False


if __name__ == "__main__":
    unittest.main()
