# SPDX-License-Identifier: Apache-2.0
"""createProfiler(PlatformType::CUDA) in a program of its own, with stand-ins for the driver and CUPTI.
TRACESMITH_STANDINS is the folder of one generation's stand-ins."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import BIN, CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
PROGRAM = os.path.join(STANDINS, "cuda_in_process")
AGENTS = os.path.join(os.path.dirname(BIN.rstrip("/")), "lib", "tracesmith")
GENERATION = int(os.path.basename(STANDINS.rstrip("/")) or 0)

# What the program does while it is captured.
WINDOW = {"KernelLaunch": 7, "KernelComplete": 7, "MemcpyH2D": 2, "MemcpyD2H": 2, "MemcpyD2D": 2,
          "MemsetDevice": 1, "StreamSync": 1, "DeviceSync": 1, "MemAlloc": 2, "MemFree": 2}


class CudaProfiler(CommandTest):
    def run_program(self, *arguments, code=0, folder=STANDINS, **variables):
        variables = {"LD_LIBRARY_PATH": folder, "TRACESMITH_AGENT_DIR": AGENTS, "TMPDIR": self.dir, **variables}
        result = subprocess.run([PROGRAM, *arguments], cwd=self.dir, env=environment(**variables), timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.said = result.stderr.decode()
        self.assertEqual(result.returncode, code, self.said)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def assert_counts(self, capture, **counts):
        about = ("what", "paired", "bad", "with_shape", "with_bytes", "dropped")
        self.assertEqual({k: v for k, v in capture.items() if k not in about}, counts)
        self.assertEqual((capture["bad"], capture["dropped"]), (0, 0))

    def test_gives_what_happened_between_start_and_stop_and_nothing_else(self):
        window, again, second = self.run_program("window")
        self.assert_counts(window, **WINDOW)
        self.assertTrue(window["paired"])
        self.assertEqual((window["with_shape"], window["with_bytes"]), (7, 11))
        self.assert_counts(again, KernelLaunch=5000, KernelComplete=5000, StreamSync=1)
        self.assertTrue(again["paired"])
        self.assert_counts(second, KernelLaunch=4, KernelComplete=4, StreamSync=1)
        self.assertIn("has been captured by a profiler of CUDA", self.said)
        self.assertEqual(self.files(), [])

    def test_a_capture_that_begins_before_cuda_misses_nothing(self):
        # The module was compiled and loaded within it, and CUPTI set itself up for the context.
        self.assert_counts(self.run_program("first")[0], KernelLaunch=20, KernelComplete=20, StreamSync=1, Custom=1,
                           Marker=1, RangeStart=1)

    def test_a_profiler_that_comes_when_cuda_is_in_use(self):
        window = self.run_program("late")[0]
        self.assert_counts(window, **WINDOW)
        self.assertTrue(window["paired"])

    def test_work_while_nothing_is_captured_stays_away_however_much_it_is(self):
        # More than the collector lets wait for its calls.
        idle, cupti = self.run_program("idle", "80000")
        self.assert_counts(idle, KernelLaunch=10, KernelComplete=10, StreamSync=1)
        # CUPTI is given back meanwhile, and costs nothing.
        self.assertEqual(cupti, {"free_before": 1, "free_after": 1})

    def test_records_that_come_late_belong_to_their_capture(self):
        window, again, second = self.run_program("window", STANDIN_SCRIPT="late_ms=100")
        self.assert_counts(window, **WINDOW)
        self.assert_counts(again, KernelLaunch=5000, KernelComplete=5000, StreamSync=1)
        self.assertTrue(window["paired"] and again["paired"] and second["paired"])

    def test_each_filter_leaves_its_kind_out(self):
        for without, gone in (("kernels", ("KernelLaunch", "KernelComplete")),
                              ("memcpy", ("MemcpyH2D", "MemcpyD2H", "MemcpyD2D")),
                              ("memset", ("MemsetDevice",)), ("sync", ("StreamSync", "DeviceSync"))):
            with self.subTest(without=without):
                window = self.run_program("window", without)[0]
                self.assert_counts(window, **{k: v for k, v in WINDOW.items() if k not in gone})
        window = self.run_program("window", "kernel_params", "memory_params")[0]
        self.assert_counts(window, **WINDOW)
        self.assertEqual((window["with_shape"], window["with_bytes"]), (0, 0))

    def test_what_a_buffer_can_not_hold_is_counted(self):
        small = self.run_program("small")[0]
        self.assertEqual(small["captured"], 10)
        self.assertEqual(small["captured"] + small["dropped"], small["seen"])
        self.assertEqual(small["seen"], sum(WINDOW.values()))

    def test_launches_have_the_programs_stack_without_the_vendors_frames(self):
        stack = self.run_program("stacks")[0]
        self.assertEqual(stack, {"depth": 2, "functions": ["launch", "main"]})

    def test_forked_children(self):
        child, window = self.run_program("fork")
        self.assertEqual(child, {"child": 7})
        self.assert_counts(window, **WINDOW)
        self.assertEqual(self.run_program("child"), [{"child": 7}])
        self.assertIn("belongs to process", self.said)
        self.assertIn("is being captured by a profiler, and this one with it", self.said)

    def test_devices_and_driver_before_and_after_cuinit(self):
        before, after = self.run_program("devices")
        driver = {11: 11080, 12: 12040, 13: 13050}[GENERATION]
        for seen in (before, after):
            self.assertEqual((seen["available"], seen["count"], seen["driver"], seen["profiler"]),
                             (True, 1, driver, True))
            self.assertEqual((seen["name"], seen["vendor"], seen["memory"], seen["compute"]),
                             ("Stand-in GPU", "NVIDIA Corporation", 80 << 30, "9.0"))
            self.assertEqual((seen["multiprocessors"], seen["warp"]), (132, 32))

    def test_another_tool_in_the_way(self):
        tool = {"STANDIN_SCRIPT": "second_subscriber=1"}
        for mode, call in (("late", "initialize"), ("window", "startCapture"), ("first", "stopCapture")):
            self.run_program(mode, code=3, **tool)
            self.assertTrue(self.said.startswith(f"{call}: CUDA: another tool uses CUPTI"), self.said)
        if GENERATION == 13:  # the first that says who
            self.assertIn("CUPTI for another tool", self.said)

    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "cupti_example")), "the examples were not built")
    def test_the_example(self):
        # Stand-ins do not compute; all else is as on a device.
        result = subprocess.run([os.path.join(BIN, "cupti_example")], cwd=self.dir, check=False, timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment(LD_LIBRARY_PATH=STANDINS, TMPDIR=self.dir))
        self.assertEqual(result.stderr, b"cupti_example: the device computed something else\n")
        self.assertEqual(result.stdout.count(b"kernel   twice, stream 0, "), 3)
        self.assertEqual((result.returncode, self.files()), (1, ["cupti_example.sbt"]))

    def test_no_cupti(self):
        for name in ("libcuda.so.1", "libcuda.so"):
            shutil.copy(os.path.join(STANDINS, name), self.path(name))
        for mode, call in (("late", "initialize"), ("window", "startCapture"), ("first", "stopCapture")):
            self.run_program(mode, code=3, folder=self.dir)
            self.assertTrue(self.said.startswith(f"{call}: CUDA: libcupti was not found"), self.said)

    def test_another_library_that_is_injected(self):
        self.run_program("first", code=3, CUDA_INJECTION64_PATH="/no/such/library.so")
        self.assertIn("CUDA_INJECTION64_PATH names another tool's library already", self.said)
        # One that has had its chance is known to CUPTI if it is a tool.
        self.assert_counts(self.run_program("late", CUDA_INJECTION64_PATH="/no/such/library.so")[0], **WINDOW)

    def test_no_agent(self):
        self.run_program("first", code=3, TRACESMITH_AGENT_DIR=self.path("nowhere"))
        self.assertIn("libtracesmith-cuda.so: the agent's library is missing; looked in", self.said)

    def test_a_program_that_is_recorded_from_outside_is_told_so(self):
        tool = os.path.join(BIN, "tracesmith")
        if not os.path.exists(tool):
            self.skipTest("no tracesmith here")
        result = self.run_command("profile", "-q", "-o", "t.sbt", "--", PROGRAM, "window",
                                  env=environment(LD_LIBRARY_PATH=STANDINS, TRACESMITH_AGENT_DIR=AGENTS))
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(b"this process is being recorded already", result.stderr)


if __name__ == "__main__":
    unittest.main()
