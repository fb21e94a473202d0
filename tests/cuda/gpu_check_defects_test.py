# SPDX-License-Identifier: Apache-2.0
"""script/gpu-check notices what is wrong: a libcupti whose records are falsified (wrapped_cupti.cpp)
fails the step that is about it, and what cannot be had is absent and no failure."""
import shutil
import unittest

from gpu_check_harness import PYTHON_STANDINS, WRAPPED, GpuCheckTest, driver_has, main

# As CUPTI was before it had several subscribers: the form in which records can be falsified.
ALONE = "130001"


class GpuCheckDefects(GpuCheckTest):
    def assert_noticed(self, script, steps, *expected):
        """Each of `expected` is a part of the name of a check that fails."""
        result = self.run_check("--only", steps, "--cupti", WRAPPED, STANDIN_SCRIPT=script,
                                STANDIN_CUPTI_VERSION=ALONE)
        self.assertEqual(result.returncode, 1, result.stderr.decode())
        data, _ = self.found()
        self.assertTrue(WRAPPED.endswith(data["machine"]["cupti"]["path"]), data["machine"]["cupti"])
        failing = self.failing(data)
        for part in expected:
            self.assertTrue(any(part in what for what in failing), (part, failing))
        self.assertTrue(self.verdict(result).startswith("gpu-check: FAIL: " + failing[0]), self.verdict(result))
        self.assertFalse(data["complete"])

    def test_without_a_defect_the_same_steps_pass(self):
        result = self.run_check("--only", "counts and brackets,saturated stream,memory table,graphs,events,clocks",
                                "--cupti", WRAPPED, STANDIN_CUPTI_VERSION=ALONE)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertRegex(self.verdict(result), r"^gpu-check: PASS, \d+ checks pass, 0 fail, 0 absent, \d+ s$")

    def test_records_that_are_dropped(self):
        self.assert_noticed("drop_every=10", "counts and brackets", "matrix_mul: kernels", "vector_add: records lost")

    def test_kernels_that_are_missing_without_a_count(self):
        self.assert_noticed("wrap_lose_kernels=10", "counts and brackets", "vector_add: kernels",
                            "vector_add: brackets without just their kernels")

    def test_kernels_of_graphs_that_are_missing(self):
        self.assert_noticed("wrap_lose_graphs=1", "graphs", "graphs: kernels", "graphs of 1,000 kernels: kernels")

    def test_kernels_that_take_longer_than_they_do(self):
        self.assert_noticed("wrap_stretch=3", "saturated stream", "busy ratio of a saturated stream")

    def test_times_that_are_early(self):
        self.assert_noticed("wrap_kernel_shift_ns=-20000", "counts and brackets",
                            "vector_add: kernels outside of their launch..sync bracket")

    def test_a_clock_that_is_off_by_ten_microseconds(self):
        self.assert_noticed("wrap_kernel_shift_ns=10000", "clocks", "nanoseconds: median error in ns")

    def test_a_clock_that_drifts(self):
        self.assert_noticed("wrap_drift_ppm=20", "clocks", "nanoseconds: drift over the run in ns")

    def test_waits_that_are_for_another_recording(self):
        self.assert_noticed("wrap_waits=1", "events", "edges to a recording that the wait was not for",
                            "waits without an edge")

    def test_memory_of_another_size(self):
        self.assert_noticed("wrap_memory_bytes=512", "memory table", "memory_phases: memory events alloc, bytes")

    @unittest.skipUnless(driver_has("cuMemCreate"), "this stand-in for libcuda has no virtual memory")
    def test_virtual_memory_whose_calls_are_lost(self):
        self.assert_noticed("wrap_lose_calls=11", "virtual memory", "calls of cuMem", "physical memory: ")

    def test_stacks_that_are_lost(self):
        self.assert_noticed("wrap_lose_calls=50", "10k stacks", "launches with a stack")

    def test_calls_that_are_lost(self):
        self.assert_noticed("wrap_lose_calls=7", "counts and brackets", "kernels without a launch before them")

    def test_a_clock_of_ticks_is_for_comparison_alone(self):
        result = self.run_check("--only", "agent,clocks of ticks", "--cupti", WRAPPED,
                                STANDIN_SCRIPT="wrap_lose_kernels=10", STANDIN_CUPTI_VERSION=ALONE)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        step = self.found()[0]["steps"][1]
        self.assertEqual((step["status"], step["checks"]), ("ran", []))
        self.assertRegex(step["values"]["ticks: kernels"], r"^\d+ of \d+$")

    def profiler_step(self, **variables):
        result = self.run_check("--only", "another profiler", PYTHONPATH=PYTHON_STANDINS, **variables)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        step = self.found()[0]["steps"][0]
        return step["values"], {check["what"]: check["value"] for check in step["checks"]}

    def test_another_profiler_that_takes_cupti_over_is_named(self):
        values, checks = self.profiler_step(STANDIN_TORCH_PROFILER="kineto", STANDIN_SCRIPT="late_clock=1",
                                            STANDIN_CUPTI_VERSION=ALONE)
        found = checks["kernels in the trace"]
        self.assertLess(found["kernels"], found["launched"])
        self.assertTrue(found["the loss names it"])
        self.assertRegex(values["who gets the kernels"]["PyTorch's profiler"], r"^\d+, alone [1-9]\d*$")
        self.assertTrue(checks["armed: kernels, beside the launches in the trace"]["the loss names it"])

    def test_another_profiler_that_leaves_cupti_alone(self):
        _, checks = self.profiler_step()
        found = checks["kernels in the trace"]
        self.assertEqual(found["kernels"], found["launched"])
        self.assertFalse(found["the loss names it"])

    @unittest.skipUnless(driver_has("cuMemCreate"), "this stand-in for libcuda has no virtual memory")
    def test_memory_of_expandable_segments_that_is_missing(self):
        for more, fails in ((1 << 20, True), (-(1 << 20), True), (0, False)):
            with self.subTest(more=more):
                result = self.run_check("--only", "expandable segments", PYTHONPATH=PYTHON_STANDINS,
                                        STANDIN_TORCH_RESERVED_MORE=str(more))
                data, _ = self.found()
                self.assertEqual(self.failing(data), [
                    "expandable segments: peak of live bytes of the segments, beside what PyTorch reserved"] if fails else [])
                self.assertEqual(result.returncode, int(fails), result.stderr.decode())
                shutil.rmtree(self.output)

    def test_what_cupti_does_not_deliver_is_absent(self):
        for kind, steps, absent in ((49, "memory table", "memory_phases: memory events alloc, bytes"),
                                    (36, "events", "edges of waits")):
            with self.subTest(kind=kind):
                result = self.run_check("--only", steps, STANDIN_SCRIPT=f"deny_kind={kind}")
                self.assertEqual(result.returncode, 0, result.stderr.decode())
                data, _ = self.found()
                of_it = {check["what"]: check for check in data["steps"][0]["checks"]}
                self.assertEqual(of_it[absent]["verdict"], "absent")
                self.assertIn("INSUFFICIENT_PRIVILEGES", of_it[absent]["reason"])
                shutil.rmtree(self.output)


if __name__ == "__main__":
    main()
