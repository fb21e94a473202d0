# SPDX-License-Identifier: Apache-2.0
"""Many threads, many processes, little room: each with its figure, printed as it is measured."""

import csv
import io
import os
import subprocess
import time
import unittest

from harness import BIN, PROGRAM, CommandTest, environment

FLOOD = os.path.join(BIN, "cl_flood")
THREADS = 1000
AT_ONCE = 64
SHORT = 10_000


class Scale(CommandTest):
    def query(self, trace, sql):
        result = self.run_command("query", "--csv", trace, sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return list(csv.DictReader(io.StringIO(result.stdout.decode())))

    def number(self, trace, sql):
        return int(next(iter(self.query(trace, sql)[0].values())))

    def dropped(self, trace):
        """Of launches and calls; the kernel's reports of processes are another matter."""
        return self.number(trace, "SELECT coalesce(sum(dropped), 0) FROM loss "
                                  "WHERE source = 'OpenCL records'")

    def profile(self, *arguments, prefix=(), env=None):
        """Runs it; returns its messages and how long it took."""
        begin = time.monotonic()
        result = subprocess.run([*prefix, PROGRAM, "profile", *arguments], cwd=self.dir, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=240, env=env or environment())
        message = result.stderr.decode()
        self.assertEqual(result.returncode, 0, message)
        return message, time.monotonic() - begin

    def figure(self, text):
        print(f"scale: {text}", flush=True)

    def size(self, name):
        return os.path.getsize(self.path(name))

    def need_opencl(self):
        probe = subprocess.run([FLOOD, "probe", "1", "1", "0"], cwd=self.dir, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())

    def mount(self, name, options):
        """Needs root."""
        os.mkdir(self.path(name))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", self.path(name)],
                                 check=False, stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest("no mount: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", self.path(name)], check=False)

    def test_a_thousand_threads(self):
        self.need_opencl()
        launches = 20
        _, seconds = self.profile("-b", "64K", "-o", "t.sbt", "--", FLOOD, "counts", str(THREADS),
                                  str(launches), "done")
        kernels = self.number("t.sbt", "SELECT count(*) FROM kernel")
        threads = self.number("t.sbt", "SELECT count(DISTINCT thread_id) FROM host_call")
        self.assertEqual(kernels, THREADS * launches)
        self.assertGreaterEqual(threads, THREADS)
        self.assertEqual(self.dropped("t.sbt"), 0)
        self.figure(f"{THREADS} threads: {kernels} of {THREADS * launches} launches, 0 dropped, "
                    f"{self.size('t.sbt') / kernels:.1f} bytes each, {seconds:.1f} s")

    def test_many_processes_at_once(self):
        self.need_opencl()
        launches = 100
        script = f'for i in $(seq {AT_ONCE}); do "{FLOOD}" c$i 1 {launches} done & done; wait'
        _, seconds = self.profile("-b", "64K", "-o", "t.sbt", "--", "bash", "-c", script)
        rows = self.query("t.sbt", "SELECT process_id, count(*) AS n FROM kernel GROUP BY 1")
        self.assertEqual([int(row["n"]) for row in rows], [launches] * AT_ONCE)
        self.assertEqual(self.dropped("t.sbt"), 0)
        self.figure(f"{AT_ONCE} processes at once: {launches * AT_ONCE} launches from all of them, "
                    f"0 dropped, {seconds:.1f} s")

    def short_processes(self, how, prefix=()):
        script = f"i=0; while [ $i -lt {SHORT} ]; do /bin/true; i=$((i+1)); done"
        begin = time.monotonic()
        subprocess.run(["sh", "-c", script], check=True, stdin=subprocess.DEVNULL, timeout=240)
        alone = time.monotonic() - begin
        message, seconds = self.profile("-o", "t.sbt", "--", "sh", "-c", script, prefix=prefix)
        rows = self.query("t.sbt", "SELECT command_line, end_ns, exit_code FROM process")
        lost = self.number("t.sbt", "SELECT coalesce(sum(dropped), 0) FROM loss")
        named = sum("/bin/true" in row["command_line"] for row in rows) - 1
        with_exit = sum(row["exit_code"] == "0" for row in rows)
        self.assertLessEqual(len(rows), SHORT + 1, message)
        self.assertGreaterEqual(len(rows) + lost, SHORT + 1, message)
        self.assertGreaterEqual(with_exit + lost, SHORT + 1, message)
        self.figure(f"{SHORT} processes one after another, {how}: {len(rows) - 1} in the trace, "
                    f"{named} with their command line, {with_exit - 1} with their exit code, "
                    f"{lost} reports lost, {self.size('t.sbt') / len(rows):.1f} bytes each; "
                    f"{seconds:.1f} s, alone {alone:.1f} s")
        return named

    def test_short_processes(self):
        self.short_processes("as this user")

    def test_short_processes_without_the_process_connector(self):
        # The kernel reports processes in its first network namespace alone.
        prefix = ["unshare", "--net"]
        can = subprocess.run([*prefix, "true"], check=False, stderr=subprocess.PIPE)
        if can.returncode != 0:
            self.skipTest("no network namespace: " + can.stderr.decode().strip())
        # Each leaves a record of its own, so nothing depends on being fast enough.
        self.assertEqual(self.short_processes("by preload", prefix), SHORT)

    def test_64_megabytes_for_arenas(self):
        self.need_opencl()
        self.mount("small", "size=64m")
        count, launches = 16, 2000
        script = f'for i in $(seq {count}); do "{FLOOD}" c$i 1 {launches} done & done; wait'
        message, _ = self.profile("-o", "small/t.sbt", "--", "bash", "-c", script)
        recorded = self.number("small/t.sbt", "SELECT count(DISTINCT process_id) FROM kernel")
        kernels = self.number("small/t.sbt", "SELECT count(*) FROM kernel")
        named = self.query("small/t.sbt", "SELECT reason FROM loss WHERE reason LIKE '%make its rings%'")
        # Three fit; two that reserve theirs at once may keep a third from it.
        self.assertGreaterEqual(recorded, 1)
        self.assertEqual(kernels, recorded * launches)
        self.assertEqual(recorded + len(named), count)
        self.assertIn("No space left on device", named[0]["reason"])
        self.assertIn("-b BYTES", message)
        self.assertEqual(message.count("could not make"), 1, message)
        message, _ = self.profile("-b", "256K", "-o", "small/u.sbt", "--", "bash", "-c", script)
        self.assertEqual(self.number("small/u.sbt", "SELECT count(*) FROM kernel"),
                         count * launches)
        self.assertEqual(sorted(os.listdir(self.path("small"))), ["t.sbt", "u.sbt"])
        self.figure(f"64 MB for arenas, {count} processes: {recorded} recorded whole and "
                    f"{len(named)} named as not recorded; all {count} with -b 256K")

    def test_a_read_only_home(self):
        self.need_opencl()
        self.mount("home", "ro,size=1m")
        env = environment(HOME=self.path("home"))
        for name in list(env):
            if name.startswith("XDG_"):
                del env[name]
        # The driver's own cache would lie in the home.
        env["POCL_CACHE_DIR"] = self.path("cache")
        os.mkdir(env["POCL_CACHE_DIR"])
        message, _ = self.profile("-o", "t.sbt", "--", FLOOD, "counts", "2", "100", "done", env=env)
        self.assertNotIn("home", message)
        self.assertEqual(self.number("t.sbt", "SELECT count(*) FROM kernel"), 200)
        for arguments in (("view", "--stats", "t.sbt"), ("info", "t.sbt"), ("verify", "t.sbt"),
                          ("export", "t.sbt", "-o", "t.perfetto")):
            result = self.run_command(*arguments, env=env)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn(b"home", result.stderr)
        self.figure("read-only home: 200 of 200 launches, every command works")


if __name__ == "__main__":
    unittest.main()
