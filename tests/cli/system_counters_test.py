# SPDX-License-Identifier: Apache-2.0
"""profile --system: page faults, migrations, signals, limits of cgroups, processes killed because memory ran out."""
import json
import os
import platform
import re
import subprocess
import time
import unittest

from harness import BIN, PROGRAM, environment
from system_harness import CALLS, RIGHTS, WHY_NO_CALLS, System

PAGES = 20_000
# Prints the faults and switches of each thread, as the kernel counts them at its end.
FAULTS = f"""
import mmap, resource, threading, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def touch(pages):
    before = resource.getrusage(resource.RUSAGE_THREAD)
    memory = mmap.mmap(-1, pages * 4096)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(pages): memory[page * 4096] = 1
    spin(0.05)  # until there was another sample
    after = resource.getrusage(resource.RUSAGE_THREAD)
    print(threading.get_native_id(), after.ru_minflt - before.ru_minflt, flush=True)
other = threading.Thread(target=touch, args=({PAGES},))
other.start()
other.join()
touch({2 * PAGES})
"""


def cgroup(kind, **values):
    """A new cgroup of version 1 or 2 with these values, or None: it cannot be made here."""
    for folder in (f"/sys/fs/cgroup/{kind}", "/sys/fs/cgroup"):
        if not os.path.exists(os.path.join(folder, "cgroup.procs")):
            continue
        path = os.path.join(folder, f"tracesmith-test-{os.getpid()}")
        try:
            os.mkdir(path)
            for name, value in values.items():
                with open(os.path.join(path, name.replace("__", ".")), "w", encoding="ascii") as file:
                    file.write(value)
            return path
        except OSError:
            if os.path.isdir(path):
                os.rmdir(path)
    return None


@unittest.skipIf(RIGHTS == "nothing", "this user may not look at processors")
class Counters(System):
    def last(self, name):
        """The largest value of a counter, by thread."""
        return {row["tid"]: row["value"] for row in self.rows(
            "SELECT t.tid, max(c.value) AS value FROM counter_sample c JOIN thread t USING (thread_id) "
            f"WHERE c.name = '{name}' GROUP BY 1")}

    def setUp(self):
        super().setUp()
        self.cgroups = []

    def tearDown(self):
        for path in self.cgroups:
            for _ in range(50):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.1)
        super().tearDown()

    def in_cgroup(self, kind, *command, **values):
        """The command, in a new cgroup of its own; skips the test if there can be none."""
        path = cgroup(kind, **values)
        if path is None:
            self.skipTest(f"no cgroup can be made here for {kind}")
        self.cgroups.append(path)
        return path, ("sh", "-c", f'echo $$ > {path}/cgroup.procs && exec "$@"', "sh", *command)

    def test_faults_of_each_thread(self):
        out = self.profile("python3", "-c", FAULTS)
        counted = self.value("SELECT value FROM metadata WHERE key = 'system_counters'")
        if "minor page faults" not in counted:
            self.skipTest(counted)
        faults = self.last("minor page faults")
        for line in out.splitlines():
            tid, minor = map(int, line.split())
            self.assertGreaterEqual(faults[tid], 0.99 * minor)
            # Before it counted, too: it started the interpreter.
            self.assertLess(faults[tid], 1.02 * minor + 3000)

    def test_migrations(self):
        program = ("import os, time\n"
                   "def migrations():\n"
                   "    with open('/proc/self/sched') as file:\n"
                   "        return next(int(line.split(':')[1]) for line in file if 'nr_migrations' in line)\n"
                   "begin, before = time.monotonic_ns(), migrations()\n"
                   "both = sorted(os.sched_getaffinity(0))[:2]\n"
                   "for i in range(50): os.sched_setaffinity(0, {both[i % 2]}); time.sleep(0.001)\n"
                   "print(begin, time.monotonic_ns(), migrations() - before)\n")
        if len(os.sched_getaffinity(0)) < 2 or not os.path.exists("/proc/self/sched"):
            self.skipTest("one processor, or a kernel that does not count")
        begin, end, expected = map(int, self.profile("python3", "-c", program).split())
        counted = self.value(f"SELECT count(*) FROM counter_sample WHERE name = 'migrations' AND time_ns BETWEEN {begin} "
                             f"AND {end} AND thread_id = (SELECT max(thread_id) FROM thread JOIN process p ON p.id = "
                             "thread.process_id WHERE p.is_root AND thread.tid = p.pid)")
        # Of moves of a thread that waits for a processor, only the last one is seen.
        self.assertAlmostEqual(counted, expected, delta=3)

    @unittest.skipUnless(CALLS, WHY_NO_CALLS)
    def test_signals(self):
        self.profile("sh", "-c", "trap : USR1; kill -USR1 $$; sleep 0.5 & kill -STOP $!; kill -CONT $!; kill $!; wait")
        signals = self.rows("SELECT name, command_line FROM range JOIN process USING (process_id) WHERE category = 'signal'")
        names = [row["name"] for row in signals]
        for name in ("SIGUSR1 from sh", "SIGSTOP from sh", "SIGCONT from sh", "SIGTERM from sh"):
            self.assertEqual(names.count(name), 1, signals)
        self.assertTrue(any(name.startswith("SIGCHLD") for name in names), signals)

    def test_a_limit_of_processor_time(self):
        spin = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
        path, command = self.in_cgroup("cpu", "python3", "-c", spin, cpu__cfs_period_us="100000", cpu__cfs_quota_us="50000")
        name = os.path.basename(path)

        def held_back():
            with open(os.path.join(path, "cpu.stat"), encoding="ascii") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("throttled_time"))
        self.profile(*command)
        throttled = held_back()
        if throttled < 200e6:
            self.skipTest("others leave too little processor time to reach the limit")
        counted = self.value("SELECT max(value) FROM counter_sample WHERE name LIKE '%held back by its limit' AND "
                             f"name LIKE 'cgroup /{name}%'")
        # Before the first value, and after the last one, up to a period.
        self.assertGreater(counted, throttled - 210e6)
        self.assertLessEqual(counted, throttled)
        ready = self.value("SELECT sum(duration_ns) FROM thread_state WHERE state = 'runnable'")
        self.assertGreater(ready, 0.85 * throttled - 10e6)
        late = os.path.join(BIN, "cl_late")
        if not os.access(late, os.X_OK):
            return
        self.profile("sh", "-c", f'echo $$ > {path}/cgroup.procs && exec {late} 40 compute')
        result = self.run_command("analyze", "t.sbt", "--idle", "--json")
        causes = {(row["cause"], row["detail"]): row["ns"] for row in json.loads(result.stdout)["late_host"]}
        by_limit = causes.get(("without a processor", f"limit of cgroup /{name}"), 0)
        # Of 400 ms that it computes, about as much; others may have the processor for a part.
        self.assertGreater(by_limit, 40e6, causes)

    @unittest.skipUnless(CALLS, WHY_NO_CALLS)
    def test_killed_since_memory_was_short(self):
        _, command = self.in_cgroup("memory", "python3", "-c", "bytearray(400 << 20)",
                                    memory__limit_in_bytes=str(40 << 20))
        result = subprocess.run([PROGRAM, "profile", "-q", "--system", "-o", "t.sbt", "--", *command], cwd=self.dir,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=environment())
        if result.returncode == 0:
            self.skipTest("the memory is not limited here")
        (row,) = self.rows("SELECT signalled, exit_code, out_of_memory FROM process WHERE is_root")
        self.assertEqual((row["signalled"], row["exit_code"]), (1, 9))
        if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 8):
            self.assertEqual(row["out_of_memory"], 1)
        text = self.run_command("info", "t.sbt").stdout.decode()
        self.assertEqual("out of memory" in text, row["out_of_memory"] == 1)


if __name__ == "__main__":
    unittest.main()
