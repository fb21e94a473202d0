# SPDX-License-Identifier: Apache-2.0
"""record --system --pid: what the threads of a program do that runs already."""
import os
import shutil
import subprocess
import sys
import time
import unittest

from harness import PROGRAM, environment
from system_harness import CALLS, RIGHTS, WHY_NO_CALLS, System

# One thread computes, one sleeps all the time; from time to time a child computes. It ends with its input.
WORK = r'''
import os, sys, threading, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def computes():
    while True: spin(0.1)
def children():
    while True:
        child = os.fork()
        if child == 0:
            spin(0.05)
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.05)
for name in (computes, lambda: time.sleep(1000), children):
    threading.Thread(target=name, daemon=True).start()
print("runs", flush=True)
sys.stdin.read()
'''


@unittest.skipIf(RIGHTS == "nothing", "this user may not look at processors")
class Attach(System):
    def setUp(self):
        super().setUp()
        self.programs = []

    def tearDown(self):
        for program in self.programs:
            program.stdin.close()
            program.stdout.close()
            program.wait(20)
        super().tearDown()

    def start(self, *command, prefix=()):
        program = subprocess.Popen([*prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        self.programs.append(program)
        self.assertEqual(program.stdout.readline(), b"runs\n")
        return program

    def record(self, pid, *options, prefix=()):
        return subprocess.run([*prefix, PROGRAM, "record", "-q", "--system", "--pid", str(pid), "-o", "t.sbt", *options],
                              cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env=environment(HOME=self.dir))

    def test_a_program_that_was_not_prepared(self):
        program = self.start(sys.executable, "-c", WORK)
        result = self.record(program.pid, "-d", "1.5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"was not started with `tracesmith arm`: its work on the GPU is not recorded", result.stderr)
        self.assertIsNone(program.poll(), "it goes on")
        self.assert_nothing_lost()
        (root,) = self.rows(f"SELECT command_line FROM process WHERE pid = {program.pid}")
        self.assertIn("-c", root["command_line"])
        states = self.rows(f"SELECT tid, state, sum(duration_ns) AS ns FROM thread_state WHERE pid = {program.pid} GROUP BY 1, 2")
        ran = {row["tid"]: row["ns"] for row in states if row["state"] == "running"}
        sampled = self.value(f"SELECT sum(weight_ns) FROM cpu_sample WHERE tid = {max(ran, key=ran.get)}")
        self.assertGreater(max(ran.values()), 100e6)
        self.assertLess(sampled, 1.1 * max(ran.values()) + 5e6, "no thread is recorded twice")
        self.assertGreater(sampled, (0.8 if RIGHTS == "all" else 0.5) * max(ran.values()) - 5e6)
        waits = "sleeping" if CALLS else "waiting"
        slept = [row["ns"] for row in states if row["state"] in (waits, "sleeping")]
        self.assertGreater(max(slept), 1.3e9, "also of a thread that never ran")
        children = self.value(f"SELECT count(DISTINCT process_id) FROM cpu_sample WHERE pid != {program.pid}")
        self.assertGreater(children, 1)
        if CALLS:
            names = {row["function"] for row in self.rows("SELECT DISTINCT function FROM frame WHERE module = 'Python'")}
            self.assertTrue({"computes", "spin"} <= names, names)

    def test_a_program_that_ends(self):
        program = self.start("sh", "-c", "echo runs; sleep 1; exit 3")
        begin = time.monotonic()
        result = self.record(program.pid)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertGreater(self.value("SELECT count(*) FROM thread_state"), 0)

    def test_what_cannot_be_recorded(self):
        result = self.record(2 ** 22 + 7)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"there is no such process", result.stderr)
        self.assertEqual(self.files(), [])
        program = self.start("sh", "-c", "echo runs; cat")
        result = self.run_command("record", "--pid", str(program.pid), "-d", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"tracesmith arm", result.stderr)

    def test_of_a_started_program(self):
        result = self.run_command("record", "-q", "--system", "-d", "0.5", "-o", "t.sbt", "--", "sh", "-c",
                                  "while :; do :; done")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(self.value("SELECT count(*) FROM cpu_sample"), 100)

    @unittest.skipUnless(CALLS, WHY_NO_CALLS)
    def test_the_program_goes_on_when_the_recorder_is_killed(self):
        program = self.start(sys.executable, "-c", WORK)
        recorder = subprocess.Popen([PROGRAM, "record", "-q", "--system", "--pid", str(program.pid), "-o", "t.sbt"],
                                    cwd=self.dir, env=environment())
        for _ in range(500):
            if self.programs_of(recorder.pid):
                break
            time.sleep(0.02)
        self.assertTrue(self.programs_of(recorder.pid))
        recorder.kill()  # they go with its descriptors
        recorder.wait()
        self.assertIsNone(program.poll())

    @staticmethod
    def programs_of(pid):
        """Programs in the kernel that a process keeps there."""
        found = []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass  # closed meanwhile
        return [link for link in found if "bpf" in link]

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, to be somebody else")
    def test_of_another_user(self):
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) > 2:
                self.skipTest("kernel.perf_event_paranoid does not allow it to users")
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        os.chmod(self.dir, 0o777)
        program = self.start("sh", "-c", "echo runs; while read -r line; do :; done < /dev/zero", prefix=nobody)
        result = self.record(program.pid, "-d", "0.5", prefix=nobody)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.rows("SELECT DISTINCT mode FROM cpu_sample"), [{"mode": "user"}])
        program.kill()
        other = self.start("sh", "-c", "echo runs; cat")
        result = self.record(other.pid, "-d", "0.5", prefix=nobody)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"run as root", result.stderr)


if __name__ == "__main__":
    unittest.main()
