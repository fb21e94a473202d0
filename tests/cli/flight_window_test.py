# SPDX-License-Identifier: Apache-2.0
"""profile --flight-recorder: the last seconds of an OpenCL program, saved when there is a reason."""

import glob
import os
import re
import signal
import subprocess
import time
import unittest

from harness import BIN, DEMO, PROGRAM, CommandTest, environment

FLOOD = (os.path.join(BIN, "cl_flood"), "flood", "2", "0", "0")  # launches until it is killed
HEAVY = os.path.join(BIN, "launch_heavy")
WAIT_IN_FLOOD = 2 * 256
WAIT_IN_HEAVY = 100
WINDOW = ("--flight-recorder", "800ms")


class FlightWindow(CommandTest):
    def setUp(self):
        super().setUp()
        probe = subprocess.run([DEMO], cwd=self.dir, stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.PIPE, timeout=120)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())

    def start(self, *program, options=(), output="t.sbt"):
        process = subprocess.Popen([PROGRAM, "profile", *WINDOW, *options, "-o", output, "--", *program],
                                   cwd=self.dir, stdin=subprocess.DEVNULL, env=environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   start_new_session=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(self.kill_group, process)
        return process

    @staticmethod
    def kill_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def parts(self):
        return glob.glob(self.path("t.sbt.session/trace.sbt.past-*"))

    def wait_for_a_window(self, processes=1):
        """Until more than a window has gone by since each process had a kernel: before the first one they compile
        for a while."""
        part = self.path("t.sbt.session/trace.sbt")

        def newest():
            return max((int(re.search(r"\d+$", name)[0]) for name in self.parts()), default=0)

        launching = f"SELECT count(DISTINCT process_id) AS n FROM kernel HAVING n = {processes}"
        self.wait_until(lambda: self.has_rows(part, launching), "no kernel is recorded")
        last = newest() + 12
        self.wait_until(lambda: newest() >= last, "no window goes by")

    def end(self, process, sig=signal.SIGINT):
        process.send_signal(sig)
        said = process.stderr.read().decode()
        process.wait()
        return said

    def files(self):
        return [name for name in super().files() if name != "flood"]  # which the program writes

    def value(self, trace, sql, codes=(0,)):
        result = self.run_command("query", "--csv", trace, sql)
        self.assertIn(result.returncode, codes, result.stderr)
        return result.stdout.decode().split("\n")[-2].strip('"')

    def reason(self, trace):
        return self.value(trace, "SELECT value FROM metadata WHERE key = 'flight_recorder.reason'")

    def assert_window(self, trace, waiting=WAIT_IN_FLOOD):
        """`waiting`: so many launches of the program may wait for the device."""
        verified = self.run_command("verify", trace)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        kernels = int(self.value(trace, "SELECT count(*) FROM kernel"))
        self.assertGreater(kernels, 10)
        launches = int(self.value(trace, "SELECT count(*) FROM kernel k JOIN host_call h ON "
                                         "h.correlation_id = k.correlation_id AND "
                                         "h.process_id = k.process_id"))
        # Kernels at the beginning may have been launched before the window.
        self.assertGreater(launches, 10)
        self.assertGreaterEqual(launches, kernels - waiting)

    def test_saves_its_window_on_request_and_by_signal(self):
        process = self.start(HEAVY, "1000000")
        self.wait_for_a_window()
        asked = self.run_command("trigger", "t.sbt", "--reason", "I looked")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(asked.stdout.decode(), self.path("t.trigger-1.sbt") + "\n")
        self.assert_window("t.trigger-1.sbt", WAIT_IN_HEAVY)
        self.assertEqual(self.reason("t.trigger-1.sbt"), "I looked")
        by_pid = self.run_command("trigger", str(process.pid))
        self.assertIn(b"t.trigger-2.sbt", by_pid.stdout)
        process.send_signal(signal.SIGUSR2)
        self.wait_until(lambda: "t.trigger-3.sbt" in self.files(), "SIGUSR2 does nothing")
        said = self.end(process)
        for number, reason in (1, "I looked"), (2, "tracesmith trigger"), (3, "SIGUSR2"):
            self.assertIn(f"t.trigger-{number}.sbt: saved ({reason})", said)
        self.assert_window("t.sbt", WAIT_IN_HEAVY)
        self.assertEqual(self.files(), ["t.sbt", "t.sbt.summary", "t.trigger-1.sbt", "t.trigger-2.sbt",
                                        "t.trigger-3.sbt"])
        # The summary counts every launch; the fleet takes it for the trace and its windows.
        total = int(re.search(r"(\d+) kernels", said)[1])
        fleet = self.run_command("fleet", ".")
        self.assertEqual(fleet.returncode, 0, fleet.stderr)
        self.assertIn(f"events: kernel {total:,}", re.sub(r" +", " ", fleet.stdout.decode()))
        self.assertRegex(fleet.stdout.decode(), r"traces +1\n")
        info = self.run_command("info", "t.trigger-1.sbt").stdout.decode()
        self.assertIn("the last 0.8 s of a flight recorder, because: I looked", info)

    def test_a_window_is_as_long_as_was_asked_for(self):
        process = self.start(HEAVY, "1000000", options=("--trigger-most", "1000"))
        self.wait_for_a_window()

        spans = []

        def are_long():  # a busy machine may not let the program run for a part of a window, but not for ever
            asked = self.run_command("trigger", "t.sbt")
            self.assertEqual(asked.returncode, 0, asked.stderr)
            saved = asked.stdout.decode().strip()
            spans.append(int(self.value(saved, "SELECT max(start_ns) - min(start_ns) FROM kernel")))
            os.remove(saved)
            return sum(span > 700_000_000 for span in spans) >= 3

        self.wait_until(are_long, "no window is as long as was asked for")
        # Two windows, and what is not written yet.
        self.assertLess(min(spans), 2_000_000_000, spans)
        self.end(process)

    def test_each_request_is_answered_or_refused(self):
        most = 4
        process = self.start(*FLOOD, options=("--trigger-most", str(most)))
        self.wait_for_a_window()
        with self.subTest("two at once"):
            both = [subprocess.Popen([PROGRAM, "trigger", "t.sbt"], cwd=self.dir, stdout=subprocess.PIPE)
                    for _ in range(2)]
            said = [one.communicate()[0] for one in both]
            self.assertEqual([one.returncode for one in both], [0, 0], said)
            self.assertEqual(sorted(os.path.basename(line.split()[-1]) for line in said),
                             [b"t.trigger-1.sbt", b"t.trigger-2.sbt"])
        with self.subTest("one that was given up hinders no other"):
            given_up = subprocess.Popen([PROGRAM, "trigger", "t.sbt"], cwd=self.dir, stdout=subprocess.DEVNULL)
            time.sleep(0.02)
            given_up.kill()
            given_up.wait()
            began = time.monotonic()
            self.assertEqual(self.run_command("trigger", "t.sbt", "--reason", "mine").returncode, 0)
            self.assertLess(time.monotonic() - began, 30)
            newest = sorted(name for name in self.files() if ".trigger-" in name)[-1]
            self.assertEqual(self.reason(newest), "mine")
        with self.subTest("no more often than allowed"):
            refused = self.run_command("trigger", "t.sbt")
            if refused.returncode == 0:  # the one that was given up had asked for nothing yet
                refused = self.run_command("trigger", "t.sbt")
            self.assert_fails(refused, 1, "--trigger-most")
            said = self.end(process)
            self.assertIn(f"1 reason after the window had been saved {most} times", said)
            self.assertNotIn(f"t.trigger-{most + 1}.sbt", self.files())

    def test_a_crash_leaves_the_last_seconds(self):
        process = self.start(HEAVY, "1000000")
        self.wait_for_a_window()
        self.kill_by(signal.SIGSEGV, self.pid_of("launch_heavy", process))
        process.wait(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        self.assert_window("t.sbt", WAIT_IN_HEAVY)
        self.assertEqual(self.reason("t.sbt"), "signal 11 ended the program")

    def test_the_crash_of_one_process_of_several_saves_the_window(self):
        process = self.start("sh", "-c", f"{HEAVY} 1000000 & {' '.join(FLOOD)} & wait")
        self.wait_for_a_window(processes=2)
        program = self.pid_of("launch_heavy", process)
        self.kill_by(signal.SIGABRT, program)
        self.wait_until(lambda: "t.trigger-1.sbt" in self.files(), "the crash was not seen")
        self.assertEqual(self.reason("t.trigger-1.sbt"), f"signal 6 ended process {program}")
        self.kill_by(signal.SIGTERM, self.pid_of("cl_flood", process))
        process.wait(timeout=60)
        self.assert_window("t.sbt", WAIT_IN_HEAVY + WAIT_IN_FLOOD)

    @staticmethod
    def pid_of(name, process):
        """Of a process in the recording's process group."""
        found = subprocess.run(["pgrep", "-g", str(process.pid), "-x", name], check=True,
                               stdout=subprocess.PIPE)
        return int(found.stdout)

    def kill_by(self, sig, pid):
        """PoCL's compiler swallows the first signal of a kind."""
        def is_gone():
            try:
                os.kill(pid, sig)
                with open(f"/proc/{pid}/stat", "rb") as stat:
                    return stat.read().rpartition(b")")[2].split()[0] in b"XZ"
            except (ProcessLookupError, FileNotFoundError):
                return True
        self.wait_until(is_gone, f"it survives signal {sig}")

    def test_a_program_that_hangs_keeps_its_last_events(self):
        process = self.start(HEAVY, "1000000")
        self.wait_for_a_window()
        program = self.pid_of("launch_heavy", process)
        os.kill(program, signal.SIGSTOP)
        time.sleep(2)  # more than two windows
        asked = self.run_command("trigger", "t.sbt", "--reason", "it hangs")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assert_window("t.trigger-1.sbt", WAIT_IN_HEAVY)
        os.kill(program, signal.SIGKILL)  # which leaves no time to say more
        self.end(process)
        self.assert_window("t.sbt", WAIT_IN_HEAVY)

    def test_a_killed_recorder_leaves_its_window_to_recover(self):
        process = self.start(*FLOOD)
        self.wait_for_a_window()
        process.kill()
        process.wait()
        self.kill_group(process)
        time.sleep(0.1)
        again = self.run_command("profile", *WINDOW, "-o", "t.sbt", "--", "true")
        self.assert_fails(again, 125, "tracesmith recover")
        result = self.run_command("recover", "t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["t.sbt"])
        self.assert_window("t.sbt")

    def test_parts_alone_are_not_thrown_away_either(self):
        process = self.start(*FLOOD)
        self.wait_for_a_window()
        process.kill()
        process.wait()
        self.kill_group(process)
        asked = self.run_command("trigger", "t.sbt")
        self.assert_fails(asked, 1, "recorder was killed", "tracesmith recover")
        for path in glob.glob(self.path("t.sbt.session/*.arena")) + [self.path("t.sbt.session/trace.sbt")]:
            os.remove(path)
        parts = sorted(self.parts())
        again = self.run_command("profile", *WINDOW, "-o", "t.sbt", "--", "true")
        self.assert_fails(again, 125, "tracesmith recover")
        self.assertEqual(sorted(self.parts()), parts)

    def test_a_full_disk_at_the_end_keeps_the_parts(self):
        process = self.start(*FLOOD)
        self.wait_for_a_window()
        recording = self.value(self.path("t.sbt.session/trace.sbt"),
                               "SELECT value FROM metadata WHERE key = 'flight_recorder.id'", codes=(0, 3))
        blocker = self.path(f"t.sbt.session/trace.sbt.{recording[:16]}.new")
        while True:  # in the place of the file that is to be written
            try:
                os.mkdir(blocker)
                break
            except FileExistsError:
                pass
        said = self.end(process)
        self.assertIn("tracesmith recover", said)
        self.assertIn("t.sbt.session", self.files())
        os.rmdir(blocker)
        result = self.run_command("recover", "t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_window("t.sbt")

    def test_wrong_options_are_refused_before_the_program_starts(self):
        for options, words in ((("--flight-recorder", "1ms"), "100ms"),
                               (("--trigger-step", "3"), "--flight-recorder"),
                               (("--flight-recorder", "1s", "--trigger-step", "0.5"), "above 1"),
                               (("--flight-recorder", "1s", "--trigger-step", "x"), "above 1"),
                               (("--flight-recorder", "1s", "--record"), "--record"),
                               (("--flight-recorder", "1s", "--studio"), "--studio")):
            result = self.run_command("profile", *options, "--", "touch", "started")
            self.assert_fails(result, 125, words)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
