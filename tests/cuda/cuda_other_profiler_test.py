# SPDX-License-Identifier: Apache-2.0
"""PyTorch's profiler in the process that is captured, with a CUPTI that serves one tool at a time: the program
goes on in every order of beginning and end, and the trace says by name who lacks what. The profiler is a stand-in
that calls CUPTI in Kineto's order."""
import json
import os
import unittest

from cuda_armed_test import STANDINS, Armed

PROFILER = "PyTorch's profiler (Kineto)"


class OtherProfiler(Armed):
    def setUp(self):
        super().setUp()
        self.env["STANDIN_SCRIPT"] = "late_clock=1"

    def reasons(self, trace="t.sbt"):
        return "; ".join(row["reason"] or "" for row in self.rows(
            "SELECT reason FROM loss WHERE source = 'CUDA activity'", trace))

    def assert_times_are_the_hosts(self, trace="t.sbt"):
        """None of the other tool's clock: each kernel lies between the first call and the last, or a second after."""
        self.assertEqual(self.one(
            "SELECT count(*) FROM kernel WHERE start_ns < (SELECT min(start_ns) FROM host_call) OR start_ns > "
            "(SELECT max(start_ns + duration_ns) + 1000000000 FROM host_call)", trace), 0)

    def profiled(self, *commands):
        """What the program says after each command, under tracesmith profile; and what profile says."""
        result = self.run_command("profile", "-o", "t.sbt", "--", os.path.join(STANDINS, "standin_training"), "1",
                                  env=self.env, stdin="\n".join((*commands, "quit")).encode() + b"\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.run_command("verify", "t.sbt").returncode, 0)
        return result.stdout.decode().splitlines(), result.stderr.decode()

    def test_a_profiler_that_begins_later_is_named(self):
        _, said = self.profiled("start", "run 50", "kineto_start", "run 50", "kineto_stop", "run 50")
        self.assertIn(PROFILER, said)
        self.assertIn("taken CUPTI over", self.reasons())
        self.assertIn(PROFILER, self.reasons())
        kernels = self.one("SELECT count(*) FROM kernel")
        self.assertGreater(kernels, 0)
        self.assertLess(kernels, 600)
        # What is missing is counted, and all calls are there.
        self.assert_accounted(600, 150)
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'"), 600)
        self.assert_times_are_the_hosts()

    def test_a_profiler_that_never_ends_is_named(self):
        _, said = self.profiled("start", "run 20", "kineto_start", "run 20")
        self.assertIn(PROFILER, said)
        self.assert_times_are_the_hosts()

    def test_a_profiler_that_is_over_before_it_is_recorded(self):
        self.training()
        self.tell("kineto_start")
        self.tell("run 10")
        self.assertGreater(self.tell("kineto_stop")["kineto_kernels"], 0)
        recorder = self.attached()
        self.tell("run 30")
        self.detach(recorder)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'trainStep'"), 120)
        self.assertIn("has used CUPTI before", self.reasons())
        self.assertIn(PROFILER, self.reasons())
        self.assert_times_are_the_hosts()
        self.quit()

    def test_a_profiler_that_runs_when_recording_begins_and_ends_later(self):
        self.training()
        self.tell("kineto_start")
        self.tell("run 10")
        recorder = self.attached()
        self.tell("run 30")
        said = self.detach(recorder)
        self.tell("kineto_stop")
        self.tell("run 10")
        self.assertIn(PROFILER, said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'trainStep'"), 120)
        self.assert_times_are_the_hosts()
        self.quit()

    def test_a_profiler_that_runs_when_recording_begins_and_ends_first(self):
        self.training()
        self.tell("kineto_start")
        self.tell("run 10")
        recorder = self.attached()
        self.tell("run 30")
        self.tell("kineto_stop")
        self.tell("run 30")
        self.detach(recorder)
        self.assertIn(PROFILER, self.reasons())
        self.assert_times_are_the_hosts()
        # Recorded once more, all is there.
        again = self.attached(output="again.sbt")
        self.tell("run 30")
        self.detach(again)
        self.assert_whole(30, "again.sbt")
        self.quit()

    def test_a_profiler_within_a_recording(self):
        self.training()
        recorder = self.attached()
        self.tell("run 10")
        self.tell("kineto_start")
        self.tell("run 10")
        self.tell("kineto_stop")
        self.tell("run 10")
        self.detach(recorder)
        self.assertIn(PROFILER, self.reasons())
        self.assert_times_are_the_hosts()
        self.quit()

    def test_one_that_subscribes_is_refused_while_we_record(self):
        self.env["STANDIN_KINETO"] = "subscribes"
        answers, said = self.profiled("start", "run 50", "kineto_start", "run 50", "kineto_stop", "run 50")
        self.assertEqual(json.loads(answers[-1])["kineto_kernels"], 0)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'trainStep'"), 600)
        self.assertEqual(self.reasons(), "")
        self.assertNotIn("warning", said)

    def test_one_that_has_subscribed_keeps_us_out(self):
        self.env["STANDIN_KINETO"] = "subscribes"
        self.training()
        self.tell("kineto_start")
        recorder = self.attached()
        self.tell("run 30")
        said = self.detach(recorder)
        self.assertIn("another tool uses CUPTI in this process: ", said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)
        self.assertEqual(self.tell("kineto_stop")["kineto_kernels"], 120)
        self.quit()

    def test_without_another_tool_nothing_is_said(self):
        _, said = self.profiled("start", "run 50")
        self.assertEqual(self.reasons(), "")
        self.assertNotIn(PROFILER, said)


# What it inherits runs as a test of its own.
for name in [name for name in dir(Armed) if name.startswith("test_")]:
    setattr(OtherProfiler, name, None)
del Armed

if __name__ == "__main__":
    unittest.main()
