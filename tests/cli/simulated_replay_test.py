# SPDX-License-Identifier: Apache-2.0
"""replay --device simulated: virtual times of recordings and of traces, and what is refused."""

import glob
import json
import os
import unittest

from harness import BIN, DEMO, CommandTest, environment

CHECKED = os.path.join(BIN, "cl_checked")
HEAVY = os.path.join(BIN, "launch_heavy")
DATA = os.environ.get("TRACESMITH_TEST_DATA", "")
WITHOUT_DRIVER = environment(OCL_ICD_VENDORS="/nowhere")


class SimulatedTest(CommandTest):
    def record(self, program, *arguments, options=()):
        if not os.path.exists(program):
            self.skipTest(f"{program} is not built (no OpenCL here)")
        result = self.run_command("profile", "-q", "--record", "-o", "x.sbt", *options, "--",
                                  program, *arguments)
        if b"CL_PLATFORM_NOT_FOUND" in result.stderr or b"clGetPlatformIDs failed" in result.stderr:
            self.skipTest("no OpenCL driver is installed")
        self.assertEqual(result.returncode, 0, result.stderr)

    def simulated(self, file, *arguments, code=0):
        # No driver: nothing can have been executed.
        result = self.run_command("replay", file, "--device", "simulated", "--json", *arguments,
                                  env=WITHOUT_DRIVER)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        report = json.loads(result.stdout)
        (totals,) = report["replay"]
        self.assertEqual(totals["executed"], 0)
        self.assertEqual(report["read_backs"][0]["compared"], 0)
        return report, totals

    def query(self, sql, file="x.sbt"):
        result = self.run_command("query", file, sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def trace(self):
        """Two kernels behind one call each, of another tool."""
        events = []
        for i, duration in enumerate((90, 30)):
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                           "tid": 1, "ts": 20 * i, "dur": 5, "args": {"correlation": i + 1}})
            events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
                           "ts": 10 + 90 * i, "dur": duration,
                           "args": {"device": 0, "stream": 7, "correlation": i + 1}})
        with open(self.path("run.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return "run.json"


class Recordings(SimulatedTest):
    def test_each_operation_is_simulated_once_and_takes_what_the_trace_says(self):
        self.record(HEAVY, "300")
        report, totals = self.simulated("x.sbt")
        executed = self.run_command("replay", "x.sbt", "--json")
        self.assertEqual(executed.returncode, 0, executed.stderr)
        executed = json.loads(executed.stdout)["replay"][0]
        self.assertEqual(executed["simulated"], 0)
        self.assertEqual(totals["simulated"], executed["executed"])
        self.assertEqual(totals["launches"], 300)
        self.assertEqual(totals["skipped"], 0)
        work = {row["what"]: row for row in report["device_work"]}
        self.assertEqual((work["launch"]["simulated"], work["launch"]["unknown"]), (300, 0))
        (kernels,) = self.query("SELECT sum(duration_ns) AS total, count(*) AS n FROM kernel")
        self.assertEqual((work["launch"]["total_ns"], kernels["n"]), (kernels["total"], 300))
        for row in report["device_work"]:
            self.assertEqual(row["unknown"], 0, row)
        # One in-order queue: all that the device did, one after the other.
        total = sum(row["total_ns"] for row in report["device_work"])
        self.assertEqual(totals["virtual_ns"], total)
        _, serial = self.simulated("x.sbr", "--order", "serial")
        self.assertEqual(serial["virtual_ns"], total)

    def test_parts_orders_and_times(self):
        self.record(CHECKED)
        for arguments, launches in ((("--range", "kernel:^add$"), 2), (("--stream", "1"), 1),
                                    (("--until", "1"), 1), (("--order", "random"), 3)):
            _, totals = self.simulated("x.sbt", *arguments)
            self.assertEqual(totals["launches"], launches, arguments)
        _, fast = self.simulated("x.sbt", "--order", "timing", "--speed", "2")
        _, timed = self.simulated("x.sbt", "--order", "timing")
        _, packed = self.simulated("x.sbt")
        self.assertLess(packed["virtual_ns"], fast["virtual_ns"])
        self.assertLess(fast["virtual_ns"], timed["virtual_ns"])
        text = self.run_command("replay", "x.sbt", "--device", "simulated").stdout
        self.assertIn(b"Simulated: nothing was executed or compared", text)
        self.assertIn(b"virtual time", text)

    def test_a_recorded_range_has_its_own_durations(self):
        self.record(HEAVY, "300", options=("--range", "launch:100-120"))
        report, totals = self.simulated("x.sbt")
        self.assertEqual(totals["launches"], 21)
        work = {row["what"]: row for row in report["device_work"]}
        (kernels,) = self.query("SELECT sum(duration_ns) AS total FROM (SELECT duration_ns FROM "
                                "kernel ORDER BY start_ns LIMIT 21 OFFSET 99)")
        self.assertEqual(work["launch"]["total_ns"], kernels["total"])

    def test_without_the_trace_no_duration_is_known_and_that_is_said(self):
        self.record(DEMO)
        os.remove(self.path("x.sbt"))
        report, totals = self.simulated("x.sbr")
        self.assertEqual(totals["virtual_ns"], 0)
        self.assertIn("x.sbt, which would have them, is missing", report["remarks"][0]["what"])

    def test_the_trace_of_another_run_is_not_believed(self):
        self.record(DEMO)
        os.rename(self.path("x.sbr"), self.path("kept"))
        other = self.run_command("profile", "-q", "-o", "x.sbt", "--", DEMO)
        self.assertEqual(other.returncode, 0, other.stderr)
        os.rename(self.path("kept"), self.path("x.sbr"))
        report, totals = self.simulated("x.sbr")
        self.assertEqual(totals["virtual_ns"], 0)
        self.assertIn("is the recording of session", report["remarks"][0]["what"])

    def test_a_damaged_trace_gives_what_it_still_has(self):
        self.record(HEAVY, "300")
        with open(self.path("x.sbt"), "r+b") as file:
            file.truncate(os.path.getsize(self.path("x.sbt")) // 2)
        report, totals = self.simulated("x.sbr", code=3)
        self.assertEqual(totals["launches"], 300)
        self.assertGreater(sum(row["unknown"] for row in report["device_work"]), 0)
        self.assertIn("took no time", report["remarks"][0]["what"])

    def test_what_only_execution_gives_is_refused(self):
        self.record(CHECKED)
        for arguments in (("--verify",), ("--validate",), ("--dump", "1@1"), ("--runs", "3"),
                          ("--until", "1", "--dump", "1@1"), ("--build-options", "-w")):
            result = self.run_command("replay", "x.sbt", "--device", "simulated", *arguments)
            self.assert_fails(result, 2, "which executes nothing")
            self.assertEqual(result.stdout, b"")


class Traces(SimulatedTest):
    def test_another_tools_trace_is_timed_by_the_emulator(self):
        report, totals = self.simulated(self.trace())
        self.assertEqual((totals["simulated"], totals["launches"]), (2, 2))
        whatif = self.run_command("whatif", "run.json", "--json", "--scale", "kernel=gemm:1")
        self.assertEqual(whatif.returncode, 0, whatif.stderr)
        rows = {row["what"]: row for row in json.loads(whatif.stdout)["prediction"]}
        self.assertEqual(totals["virtual_ns"], rows["unchanged, by the model"]["makespan_ns"])
        _, serial = self.simulated("run.json", "--order", "serial")
        self.assertEqual(serial["virtual_ns"], 120_000)

    def test_our_own_without_a_recording_too(self):
        self.assertEqual(self.run_command("import", self.trace(), "-o", "y.sbt").returncode, 0)
        _, from_json = self.simulated("run.json")
        _, ours = self.simulated("y.sbt")
        self.assertEqual(ours, from_json)

    def test_without_the_word_both_ways_are_named(self):
        self.run_command("import", self.trace(), "-o", "y.sbt")
        for file in ("run.json", "y.sbt"):
            result = self.run_command("replay", file)
            self.assert_fails(result, 1, "profile --record")
            self.assertIn(b"--device simulated", result.stderr)
            self.assertEqual(result.stdout, b"")

    def test_a_dry_run_without_a_recording_is_the_simulation(self):
        self.run_command("import", self.trace(), "-o", "y.sbt")
        for file in ("run.json", "y.sbt"):
            dry = self.run_command("replay", file, "--mode", "dry-run")
            self.assertEqual(dry.returncode, 0, dry.stderr)
            self.assertIn(b"nothing was executed or compared", dry.stdout)
            self.assertEqual(dry.stdout, self.run_command("replay", file, "--device", "simulated").stdout)

    def test_what_needs_a_recording_is_refused(self):
        self.trace()
        for arguments in (("--range", "launch:1-1"), ("--stream", "1"), ("--until", "1"),
                          ("--process", "1"), ("--order", "random"), ("--order", "timing"),
                          ("--mode", "partial")):
            result = self.run_command("replay", "run.json", "--device", "simulated", *arguments)
            self.assert_fails(result, 2, "recording")
            self.assertEqual(result.stdout, b"")

    def test_what_is_no_trace_or_has_no_work_is_named(self):
        with open(self.path("text.txt"), "w", encoding="utf-8") as file:
            file.write("not a trace\n" * 100)
        for file in ("none.sbt", "none.sbr", "text.txt"):
            result = self.run_command("replay", file, "--device", "simulated")
            self.assert_fails(result, 1, file)
            self.assertNotIn(b"profile --record", self.run_command("replay", file).stderr)
        self.run_command("profile", "-q", "-o", "bare.sbt", "--", "true")
        result = self.run_command("replay", "bare.sbt", "--device", "simulated")
        self.assert_fails(result, 1, "no device work")

    def test_real_traces_of_gpus(self):
        files = sorted(glob.glob(os.path.join(DATA, "traces/tracelens/tests/traces/mi300/*.gz")))
        if not DATA or not files:
            self.skipTest("TRACESMITH_TEST_DATA has no traces")
        for file in files[:2] + [f for f in files if "resnet_act_checkpoint" in f]:
            _, totals = self.simulated(file)
            self.assertGreater(totals["simulated"], 0)
            self.assertGreater(totals["virtual_ns"], 0)


if __name__ == "__main__":
    unittest.main()
