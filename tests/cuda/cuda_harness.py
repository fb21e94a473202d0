# SPDX-License-Identifier: Apache-2.0
"""What tests of CUDA's agent share: a stand-in program is profiled, and its trace is compared with its own
account. TRACESMITH_STANDINS is the folder of one generation's stand-ins."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import PROGRAM as TRACESMITH  # pylint: disable=wrong-import-position
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "").rstrip("/")
PROGRAM = os.path.join(STANDINS, "standin_program")
GENERATION = os.path.basename(STANDINS)
# Whether the stand-in for CUPTI has several subscribers and lets each have its clock.
SHARES = GENERATION == "13" and int(os.environ.get("STANDIN_CUPTI_VERSION", "130400")) >= 130400


class CudaTest(CommandTest):
    def profile(self, *arguments, options=(), code=0, folder=STANDINS, limit_file_bytes=0, path=PROGRAM,
                **variables):
        env = environment(LD_LIBRARY_PATH=folder, **variables)
        program = [path]
        if limit_file_bytes:
            program = ["prlimit", f"--fsize={limit_file_bytes}", path]
        result = self.run_command("profile", "--force", *options, "-o", "t.sbt", "--", *program, *arguments, env=env)
        self.assertEqual(result.returncode, code, result.stderr)
        verified = self.run_command("verify", "t.sbt")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.said = result.stderr.decode()
        return json.loads(result.stdout) if result.stdout else {}

    def rows(self, sql):
        result = self.run_command("query", "t.sbt", sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def one(self, sql):
        return list(self.rows(sql)[0].values())[0]

    def loss(self, source):
        return "; ".join(row["reason"] or "" for row in
                         self.rows(f"SELECT reason FROM loss WHERE source = '{source}'"))

    def assert_nothing_is_lost(self):
        # What the kernel tells of processes is not ours.
        self.assertEqual(self.rows("SELECT source, dropped, reason FROM loss WHERE dropped > 0 AND "
                                   "source <> 'process events'"), [])

    def assert_all_is_there(self, did):
        kernels = did["kernels"] + did["graph_kernels"]
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), kernels)
        for kind, name in (("host_to_device", "htod"), ("device_to_host", "dtoh"),
                           ("device_to_device", "dtod")):
            row = self.rows(f"SELECT count(*) AS n, sum(bytes) AS bytes FROM copy WHERE kind = '{kind}'")[0]
            self.assertEqual((row["n"], row["bytes"] or 0), (did[name], did[name + "_bytes"]), kind)
        row = self.rows("SELECT count(*) AS n, sum(bytes) AS bytes FROM fill")[0]
        self.assertEqual((row["n"], row["bytes"] or 0), (did["fills"], did["fill_bytes"]))
        # Each kernel has the one call that launched it, and begins after that did.
        self.assertEqual(self.one(
            "SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND "
            "h.correlation_id = k.correlation_id AND h.kind = 'launch' AND "
            "h.start_ns <= k.start_ns AND h.thread_id = k.thread_id"), kernels)
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'"),
                         did["kernels"] + did["failed_launches"] + did["graph_launches"])
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch' AND result <> 0"),
                         did["failed_launches"])
        self.assert_nothing_is_lost()

    def assert_launches_are_accounted_for(self, launched, others=0):
        """What has no kernel is counted, and of copies and sets those that CUPTI had begun to write."""
        kernels = self.one("SELECT count(*) FROM kernel")
        missing = self.one("SELECT coalesce(sum(dropped), 0) FROM loss WHERE source = 'CUDA activity'")
        self.assertGreaterEqual(kernels + missing, launched)
        self.assertLessEqual(kernels + missing, launched + others)
        return kernels

    def recovered_from_a_killed_collector(self, sql, value, *arguments, options=(), **variables):
        """Kills the collector as soon as a query of its unfinished trace gives a value, lets the program end, and
        recovers the trace. What the program said."""
        env = environment(LD_LIBRARY_PATH=STANDINS, **variables)
        deadline = time.monotonic() + 60
        with open(self.path("said"), "wb") as out:
            collector = subprocess.Popen(
                [TRACESMITH, "profile", *options, "-o", "t.sbt", "--", PROGRAM, *arguments], cwd=self.dir, env=env,
                stdout=out, stderr=subprocess.DEVNULL)
            while time.monotonic() < deadline and not self.has(sql, value):
                time.sleep(0.05)
            self.assertTrue(self.has(sql, value), sql)
            with open(f"/proc/{collector.pid}/task/{collector.pid}/children", encoding="ascii") as file:
                programs = file.read().split()
            collector.kill()
            collector.wait()
        while time.monotonic() < deadline and os.path.getsize(self.path("said")) == 0:
            time.sleep(0.05)
        for program in programs:
            self.wait_for_end(program)
        result = self.run_command("recover", "t.sbt.session")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("said"), encoding="utf-8") as file:
            return json.load(file)

    def has(self, sql, value):
        """Of a trace that may be unfinished, or not there yet."""
        if not os.path.exists(self.path("t.sbt")):
            return False
        result = self.run_command("query", "t.sbt", sql, "--csv")
        return result.returncode in (0, 3) and result.stdout.split()[-1:] == [b"%d" % value]
