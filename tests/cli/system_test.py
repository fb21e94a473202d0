# SPDX-License-Identifier: Apache-2.0
"""profile --system: samples and states of threads, and what analyze makes of them."""
import ctypes
import json
import os
import shutil
import subprocess
import unittest

from harness import BIN, PROGRAM, environment
from system_harness import CALLS, RIGHTS, WHY_NO_CALLS, System

LATE = os.path.join(BIN, "cl_late")
TIMES = 20


def of(causes, *names):
    """Time of causes that begin with one of the names."""
    return sum(ns for name, ns in causes.items() if name.startswith(names))


@unittest.skipIf(RIGHTS == "nothing", "this user may not look at processors")
class OfPrograms(System):
    def test_every_process_of_a_pipeline(self):
        self.profile("sh", "-c", "for i in 1 2 3; do gzip -c /usr/bin/perl | wc -c; done; sleep 0.3")
        self.assert_nothing_lost()
        processes = self.rows("SELECT command_line AS name, sum(weight_ns) AS ns FROM cpu_sample JOIN process "
                              "USING (process_id) GROUP BY process_id")
        self.assertEqual(sum(row["name"].startswith("gzip") for row in processes), 3)
        # Each process is one row, whoever noticed it.
        self.assertEqual(self.value("SELECT count(*) FROM process"), self.value("SELECT count(DISTINCT pid) FROM process"))
        self.assertEqual(self.value("SELECT count(*) FROM cpu_sample WHERE thread_id IS NULL"), 0)
        waited = self.value("SELECT max(duration_ns) FROM thread_state s JOIN process p USING (process_id) WHERE "
                            "command_line LIKE 'sleep%' AND state IN ('waiting', 'sleeping')")
        self.assertGreaterEqual(waited, 300_000_000)

    def test_samples_are_as_long_as_threads_ran(self):
        self.profile("perl", "-e", "for (1..6000000) { $x += $_ * 2 }")
        ran = self.value("SELECT sum(duration_ns) FROM thread_state WHERE state = 'running'")
        sampled = self.value("SELECT sum(weight_ns) FROM cpu_sample")
        # Without rights for the kernel, there are no samples in it.
        self.assertLess(sampled, 1.05 * ran + 2e6)
        # A machine that others share may not interrupt it each time.
        self.assertGreater(sampled, (0.8 if RIGHTS == "all" else 0.6) * ran - 2e6)
        spans = self.rows("SELECT thread_id, start_ns, end_ns FROM thread_state ORDER BY thread_id, start_ns")
        for before, after in zip(spans, spans[1:]):
            if before["thread_id"] == after["thread_id"]:
                self.assertEqual(before["end_ns"], after["start_ns"], "states of a thread have no gaps")

    def test_flame_graph_by_processor_time(self):
        self.profile("perl", "-e", "for (1..3000000) { $x += $_ * 2 }")
        result = self.run_command("export", "t.sbt", "--by", "cpu-time", "-f", "folded", "-o", "-")
        lines = result.stdout.decode().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines),
                         self.value("SELECT sum(weight_ns) FROM cpu_sample"))
        self.assertTrue(all(line.startswith("perl;") for line in lines), lines)

    @unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux"), "needs root, and BTF")
    def test_root_has_programs_in_the_kernel(self):
        try:
            ctypes.CDLL("libbpf.so.1")
        except OSError as error:
            self.skipTest(str(error))
        if "run as root" in WHY_NO_CALLS or "made without" in WHY_NO_CALLS:  # a container, a build without clang
            self.skipTest(WHY_NO_CALLS)
        self.assertEqual(WHY_NO_CALLS, "recorded")

    @unittest.skipUnless(CALLS, WHY_NO_CALLS)
    def test_system_calls_are_those_that_strace_counts(self):
        command = ["md5sum", "/usr/bin/perl"]
        strace = shutil.which("strace")
        if strace is None:
            self.skipTest("strace is not installed")
        subprocess.run([strace, "-c", "-o", self.path("counts"), *command], check=True, stdout=subprocess.PIPE)
        expected = {}
        with open(self.path("counts"), encoding="ascii") as file:
            for line in file:
                words = line.split()
                if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
                    expected[words[-1]] = int(words[3])
        self.profile(*command)
        if "preload" in self.value("SELECT value FROM metadata WHERE key = 'process_tracking'"):
            self.skipTest("a library that sees processes calls the system, too")
        counted = {row["name"]: row["calls"] for row in self.rows("SELECT name, calls FROM system_call_count")}
        self.assertEqual(counted.pop("exit_group"), 1)  # strace leaves out the call that does not return
        self.assertEqual(counted, expected)

    @unittest.skipUnless(CALLS, WHY_NO_CALLS)
    def test_waits_are_as_many_as_the_kernel_counts(self):
        program = r"""
import re, time
def switches():
    with open("/proc/self/status") as file:
        return int(re.search(r"\nvoluntary_ctxt_switches:\t(\d+)", file.read())[1])
before, begin = switches(), time.monotonic_ns()
for _ in range(100): time.sleep(0.001)
end, after = time.monotonic_ns(), switches()
print(begin, end, after - before)
"""
        begin, end, switches = map(int, self.profile("python3", "-c", program).split())
        within = f"start_ns BETWEEN {begin} AND {end}"
        waits = self.value(f"SELECT count(*) FROM thread_state WHERE state IN ('sleeping', 'disk_wait') AND {within}")
        self.assertAlmostEqual(waits, switches, delta=1)
        self.assertEqual(self.value(f"SELECT count(*) FROM system_call WHERE name = 'clock_nanosleep' AND {within}"), 100)
        woken = self.rows(f"SELECT waker, count(*) AS n FROM wakeup WHERE time_ns BETWEEN {begin} AND {end} GROUP BY 1")
        self.assertGreaterEqual(sum(row["n"] for row in woken if row["waker"] == "[interrupt]"), 95, woken)

    @unittest.skipUnless(CALLS, WHY_NO_CALLS)
    def test_nothing_stays_in_the_kernel_when_the_recorder_is_killed(self):
        process = subprocess.Popen([PROGRAM, "profile", "-q", "--system", "-o", "t.sbt", "--", "cat"],
                                   cwd=self.dir, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"runs\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"runs\n")

        def links():
            for fd in os.listdir(f"/proc/{process.pid}/fd"):
                try:
                    yield os.readlink(f"/proc/{process.pid}/fd/{fd}")
                except OSError:
                    pass  # closed meanwhile
        self.assertTrue(any("bpf" in link for link in links()))
        os.kill(process.pid, 9)
        process.wait()
        process.stdin.close()  # cat ends
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()
        result = self.run_command("recover", "t.sbt.session", "--force")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_rates(self):
        self.profile("perl", "-e", "for (1..3000000) { $x += $_ * 2 }", options=("--sample-rate", "0"))
        self.assertEqual(self.value("SELECT count(*) FROM cpu_sample"), 0)
        self.assertGreater(self.value("SELECT count(*) FROM thread_state"), 0)
        result = self.run_command("profile", "--system", "--sample-rate", "1000000", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"at most 20000", result.stderr)
        for options, said in ((("--sample-rate", "10"), b"--system"), (("--system", "--per-host"), b"exclude each other"),
                              (("--system", "--flight-recorder", "5s"), b"exclude each other")):
            result = self.run_command("profile", *options, "--", "true")
            self.assertEqual(result.returncode, 125)
            self.assertIn(said, result.stderr)

    def test_a_command_that_does_not_exist(self):
        result = self.run_command("profile", "--system", "--", "no-such-command")
        self.assertEqual(result.returncode, 127, result.stderr)
        self.assertEqual(self.files(), [])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, to be somebody else")
    def test_of_another_user(self):
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) > 2:
                self.skipTest("kernel.perf_event_paranoid does not allow it to users")
        self.profile("sh", "-c", "gzip -c /usr/bin/perl | wc -c", user=65534)
        self.assertEqual(self.rows("SELECT DISTINCT mode FROM cpu_sample"), [{"mode": "user"}])
        self.assertEqual(self.value("SELECT value FROM metadata WHERE key = 'system_rights'"), "user")
        self.assertGreater(self.value("SELECT count(*) FROM thread_state"), 0)


@unittest.skipIf(RIGHTS == "nothing", "this user may not look at processors")
@unittest.skipUnless(os.access(LATE, os.X_OK), "the programs of the tests are not built with OpenCL")
class LateHost(System):
    def late(self, *reasons):
        """(ns that each reason took, ns by cause, functions by ns) of a host that is late for these reasons."""
        out = self.profile(LATE, str(TIMES), *reasons)
        took = {name: int(ns) for name, ns in (line.split() for line in out.splitlines())}
        result = self.run_command("analyze", "t.sbt", "--idle", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        tables = json.loads(result.stdout)
        causes = {}
        for row in tables["late_host"]:
            name = row["cause"] + (" " + row["detail"] if row["detail"] else "")
            causes[name] = row["ns"]
        self.assertEqual(sum(causes.values()), sum(row["host_wait_ns"] for row in tables["idle"]))
        return took, causes, tables["late_host_stacks"]

    def assert_near(self, value, expected, causes, what=""):
        """Within what the launch and the samples of other causes may add. What the program measured has the time in
        which other programs had its processor."""
        self.assertGreater(value, 0.9 * expected - of(causes, "without a processor"), (causes, what))
        self.assertLess(value, 1.1 * expected + 20e6, (causes, what))

    def test_the_cause_is_found(self):
        took, causes, stacks = self.late("compute")
        self.assert_near(of(causes, "computing", "in a system call clock_gettime"), took["compute"], causes)
        self.assertIn("prepareInput", stacks[0]["stack"])
        took, causes, stacks = self.late("sleep", "lock", "stop")
        self.assert_near(of(causes, "waiting", "stopped"), took["sleep"] + took["lock"] + took["stop"], causes)
        if CALLS:
            self.assert_near(of(causes, "waiting clock_nanosleep"), took["sleep"], causes)
            self.assert_near(of(causes, "waiting futex, held by cl_late"), took["lock"], causes)
            self.assert_near(causes["stopped"], took["stop"], causes)
            self.assertTrue(any("waitForLock" in row["stack"] or "main" in row["stack"] for row in stacks
                                if row["cause"].startswith("waiting (futex, held")), stacks)
        result = self.run_command("analyze", "t.sbt", "--findings")
        self.assertRegex(result.stdout.decode().replace("\n", " "), r"They\s+were\s+.*longest\s+in")

    @unittest.skipUnless(RIGHTS == "all", "this user may not look at the kernel")
    def test_the_cause_is_in_the_kernel(self):
        took, causes, stacks = self.late("read", "fault")
        self.assert_near(causes["in a system call read"], took["read"], causes)
        in_touch = sum(row["ns"] for row in stacks if "touchMemory" in row["stack"])
        self.assert_near(in_touch + of(causes, "in a system call munmap"), took["fault"], causes, stacks)
        self.assertGreater(causes["handling page faults"], in_touch / 2)

    def test_another_has_the_processor(self):
        took, causes, _ = self.late("hog")
        computed = of(causes, "computing", "in a system call", "in the kernel", "handling page faults")
        without = of(causes, "without a processor")
        self.assertGreater(without, 0.9 * (took["hog"] - computed), causes)
        self.assertGreater(without, 0.3 * took["hog"])
        if CALLS:
            self.assertIn("without a processor cl_late", causes)


if __name__ == "__main__":
    unittest.main()
