# SPDX-License-Identifier: Apache-2.0
"""A copy-on-write file system that becomes full while a program is recorded on it: fallocate() does
not protect the files that are mapped there. The program ends with its own output and exit code,
nobody dies of SIGBUS or hangs, and what is lost is told. Needs root, loop devices, btrfs and xfs."""

import contextlib
import errno
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
# pylint: disable=wrong-import-position
from harness import BIN, DEMO, PROGRAM, CommandTest, environment

FLOOD = os.path.join(BIN, "cl_flood")
FAILING_DISK = os.path.join(BIN, "torture_failing_disk")
IMAGE_BYTES = 320 << 20  # xfs makes none below 300 MB
LAUNCHES = int(os.environ.get("TORTURE_LAUNCHES", "10000"))  # of each of two threads
ENDS_WITH = 7
AT_LEAST = 2000  # launches before the disk is filled
LIMIT_S = 60


class FullFileSystem:
    """The tests; a class of each file system has them."""

    kind = ""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount a file system")
        for tool in ("mkfs." + self.kind, "mount"):
            if shutil.which(tool, path="/usr/sbin:/sbin:" + os.environ["PATH"]) is None:
                self.skipTest(f"{tool} is not installed")
        with open(self.path("image"), "wb") as image:
            image.truncate(IMAGE_BYTES)
        os.mkdir(self.path("disk"))
        for command in (["mkfs." + self.kind, "-q", self.path("image")],
                        ["mount", "-o", "loop", self.path("image"), self.path("disk")]):
            made = subprocess.run(command, check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            if made.returncode != 0:
                self.skipTest(f"{command[0]}: " + made.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.path("disk")], check=False)
        self.session = self.path("disk/t.sbt.session")

    def need_opencl(self):
        probe = subprocess.run([DEMO], cwd=self.dir, stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.PIPE, timeout=120)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())

    def start(self, *options, command=None, prefix=()):
        command = command or (FLOOD, self.path("counts"), "2", str(LAUNCHES), str(ENDS_WITH))
        process = subprocess.Popen([*prefix, PROGRAM, "profile", *options, "-o", "disk/t.sbt", "--",
                                    *command], cwd=self.dir, env=environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def await_true(self, what, condition):
        end = time.monotonic() + LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), end, what + " never came")
            time.sleep(0.01)

    def counts(self):
        """What the program has noted: its number, its launches, whether it came to its end."""
        try:
            with open(self.path("counts"), "rb") as file:
                return struct.unpack("<3Q", file.read(24))
        except (FileNotFoundError, struct.error):
            return (0, 0, 0)

    def stop_amid_work(self):
        self.await_true("the program's work", lambda: self.counts()[1] >= AT_LEAST)
        os.kill(self.counts()[0], signal.SIGSTOP)
        time.sleep(0.05)

    def fill(self):
        """To the last block. Afterwards each page of a mapped file is clean and needs a new block."""
        if self.kind == "xfs":  # it rewrites in place, unless the blocks have a second owner
            os.mkdir(self.path("disk/clones"))
            for name in os.listdir(self.session):
                clone = ["cp", "--reflink=always", f"{self.session}/{name}", "disk/clones/"]
                subprocess.run(clone, cwd=self.dir, check=True)
        os.sync()
        for number in range(4):
            step = 64 << 20
            with contextlib.suppress(OSError), open(self.path(f"disk/fill{number}"), "xb") as file:
                at = 0
                while step >= 512:
                    try:
                        os.posix_fallocate(file.fileno(), at, step)
                        at += step
                    except OSError as error:
                        self.assertEqual(error.errno, errno.ENOSPC)
                        step //= 2
            os.sync()
        room = os.statvfs(self.path("disk"))
        self.assertLess(room.f_bavail * room.f_frsize, 128 << 10)

    def make_room(self):
        for number in range(4):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path(f"disk/fill{number}"))
        os.sync()

    def finish(self, process):
        """Its exit code and what it said. A hang fails the test."""
        try:
            _, said = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.fail(f"it hangs: {self.counts()}")
        return process.returncode, said.decode()

    def assert_program_ran(self):
        self.assertEqual(self.counts()[1:], (2 * LAUNCHES, 1))

    def query(self, sql):
        result = self.run_command("query", "--csv", "disk/t.sbt", sql)
        self.assertIn(result.returncode, (0, 3), result.stderr)
        return result.stdout.decode().splitlines()[1:]

    def test_the_program_goes_on_and_the_loss_is_told(self):
        self.need_opencl()
        process = self.start("-b", "256K")
        self.stop_amid_work()
        self.fill()
        os.kill(self.counts()[0], signal.SIGCONT)
        code, said = self.finish(process)
        self.assertEqual(code, ENDS_WITH, said)
        self.assert_program_ran()
        # Whichever meets the full disk first: the recorder's next block, or a page of the program's.
        self.assertRegex(said, "not complete: .*No space left on device|"
                               "could not write to its rings any more")
        kernels = int(self.query("SELECT count(*) FROM kernel")[0])
        self.assertIn(f"{kernels} kernels", said)

    def test_a_program_that_lost_its_rings_says_so_although_it_can_make_no_file(self):
        self.need_opencl()
        if self.kind == "btrfs":
            self.skipTest("btrfs keeps room for empty files, and nothing of NOCOW files is lost there")
        process = self.start("-b", "256K")
        self.stop_amid_work()
        # The recorder sleeps while the disk is full, and finds all in order when it wakes.
        os.kill(process.pid, signal.SIGSTOP)
        self.fill()
        os.kill(self.counts()[0], signal.SIGCONT)
        self.await_true("the program's end", lambda: self.counts()[2] == 1)
        time.sleep(0.2)
        self.make_room()
        os.kill(process.pid, signal.SIGCONT)
        code, said = self.finish(process)
        self.assertEqual(code, ENDS_WITH, said)
        self.assert_program_ran()
        kernels = int(self.query("SELECT count(*) FROM kernel")[0])
        lost = sum(int(row) for row in self.query("SELECT dropped FROM loss"))
        self.assertGreater(lost, 0, said)
        if kernels + lost < 2 * LAUNCHES:  # then some were not even counted
            self.assertIn("could not write to its rings any more", said)
            self.assertIn("could not write to its rings any more",
                          "\n".join(self.query("SELECT reason FROM loss")))

    def test_a_recording_for_replay_ends_and_the_program_does_not(self):
        self.need_opencl()
        process = self.start("--record", "--record-buffer", "8M", "-b", "256K")
        self.stop_amid_work()
        self.fill()
        os.kill(self.counts()[0], signal.SIGCONT)
        code, said = self.finish(process)
        self.assertEqual(code, ENDS_WITH, said)
        self.assert_program_ran()
        self.assertRegex(said, "the recording is not complete: .*No space left on device|"
                               "the recording ended early: process [1-9][0-9]*.*"
                               "(could not write to its rings any more|its disk failed)")

    def test_a_process_that_ends_writes_to_its_log_in_vain(self):
        prefix = ["unshare", "--net"]  # the kernel reports processes in its first network namespace
        script = 'touch "$0.up"; while [ ! -e "$0" ]; do sleep 0.05; done; echo done; exit 3'
        process = self.start("-b", "64K", command=("bash", "-c", script, self.path("go")),
                             prefix=prefix)
        self.await_true("the program", lambda: os.path.exists(self.path("go.up")))
        self.assertGreater(os.path.getsize(self.session + "/processes.log"), 0)
        self.fill()
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        try:
            out, said = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.fail("it hangs")
        self.assertEqual((process.returncode, out), (3, b"done\n"), said)

    def test_recover_waits_for_room(self):
        self.need_opencl()
        process = self.start("-b", "256K")
        self.stop_amid_work()
        process.kill()
        process.wait()
        self.fill()
        os.kill(self.counts()[0], signal.SIGCONT)
        # On btrfs, where nobody but the recorder would end the recording, each page is a search for
        # room: the program may take long, but goes on.
        before = self.counts()[1]
        self.await_true("more work", lambda: self.counts()[1] > before + AT_LEAST)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.counts()[0], signal.SIGKILL)
        time.sleep(0.5)
        launched = self.counts()[1]
        recovered = self.run_command("recover", "disk/t.sbt.session")
        if recovered.returncode != 0:
            self.assertIn(b"No space left on device", recovered.stderr)
            self.assertTrue(os.path.isdir(self.session))
            self.make_room()
            recovered = self.run_command("recover", "disk/t.sbt.session")
        self.assertEqual(recovered.returncode, 0, recovered.stderr)
        self.assertFalse(os.path.exists(self.session))
        self.assertEqual(self.run_command("verify", "disk/t.sbt").returncode, 0)
        kernels = int(self.query("SELECT count(*) FROM kernel")[0])
        self.assertGreater(kernels, 0)
        if kernels < launched:
            self.assertGreater(sum(int(row) for row in self.query("SELECT dropped FROM loss")), 0)

    def test_a_writer_of_a_trace_keeps_what_it_had_written(self):
        space = os.statvfs(self.path("disk"))
        with open(self.path("disk/fill0"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - (4 << 20))
        result = subprocess.run([FAILING_DISK, self.path("disk/run.sbt"), "space"], check=False,
                                timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, result.stdout)


class Btrfs(FullFileSystem, CommandTest):
    kind = "btrfs"


class Xfs(FullFileSystem, CommandTest):
    kind = "xfs"


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
