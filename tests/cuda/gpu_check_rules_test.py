# SPDX-License-Identifier: Apache-2.0
"""How script/gpu-check judges: what is a failure, what is absent, and what runs while there is time. Without
programs: the modules of bench/gpu_check get numbers of the test's own."""
import json
import os
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "bench", "gpu_check"))
# pylint: disable=wrong-import-position
import main as gpu_check
import steps_memory
import steps_topology
import steps_truth
import steps_work
import ways
from result import Absent, Result
from tools import Failed, Tools

LIMIT = 540


class FakeTools:
    """The time alone."""
    deadline = 0.0
    left = Tools.left


class Rules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.result = Result(os.path.join(folder.name, "result.json"), {})
        self.step = self.result.begin("step", "Step")

    def verdicts(self):
        return [check["verdict"] for check in self.step.entry["checks"]]

    # --- Time ---------------------------------------------------------------------------------

    def run_step(self, limit, left, error):
        """The entry of a step that fails with an error when the time that it has is over."""
        def do(tools, _):
            time.sleep(max(0, tools.left()))
            raise error

        tools = FakeTools()
        with mock.patch.object(gpu_check, "say"):
            gpu_check.run_step(tools, self.result, ("name", "title", limit, do), time.monotonic() + left)
        return self.result.data["steps"][-1]

    def test_a_step_that_the_end_of_the_check_cuts_off_is_absent(self):
        for error in (TimeoutError("ran longer than 1 s"), Failed("it ended with -9")):
            with self.subTest(type(error).__name__):
                entry = self.run_step(0.5, 0.3, error)
                self.assertEqual(entry["status"], "absent")
                self.assertTrue(entry["reason"].startswith(gpu_check.NO_TIME + ": "), entry["reason"])
        self.assertEqual(self.result.failing(), [])

    def test_a_step_that_uses_up_its_own_time_fails(self):
        self.assertEqual(self.run_step(0.3, 10, TimeoutError("ran longer than 0 s"))["status"], "out of time")
        self.assertEqual(len(self.result.failing()), 1)

    def test_an_error_long_before_the_end_is_a_failure(self):
        def do(*_):
            raise Failed("it ended with 1")

        with mock.patch.object(gpu_check, "say"):
            gpu_check.run_step(FakeTools(), self.result, ("name", "title", 30, do), time.monotonic() + 20)
        self.assertEqual(self.result.data["steps"][-1]["status"], "failed")

    def test_a_step_does_not_start_with_too_little_time(self):
        entry = self.run_step(30, 9, AssertionError("it started"))
        self.assertEqual((entry["status"], entry["reason"], entry["seconds"]), ("absent", gpu_check.NO_TIME, 0))

    def test_the_limits_of_all_steps_are_near_the_limit_of_the_check(self):
        # Most steps need a third of their limit, which is for machines where programs start slowly.
        self.assertLess(sum(step[2] for step in gpu_check.STEPS), 1.8 * LIMIT)
        # Those that a GPU alone can answer come within the first half.
        names = [step[0] for step in gpu_check.STEPS]
        self.assertEqual(len(names), len(set(names)))
        first = sum(step[2] for step in gpu_check.STEPS[:names.index("overhead of launches")])
        self.assertLess(first, LIMIT / 1.5)

    def topology(self, links, count, numbers=(0, 1)):
        """The step on two GPUs that nvidia-smi gives `links` each, and the command `count`."""
        gpus = [{"id": i + 5, "kind": "gpu", "number": n, "name": "H200", "pci": f"0000:0{i + 1}:00.0"}
                for i, n in enumerate(numbers)]
        paths = [{"from": a, "to": b, "class": "direct", "links": count} for a, b in ((5, 6), (6, 5))]
        said = {"--query-gpu=index,pci.bus_id,name": "0, 00000000:01:00.0, H200\n1, 00000000:02:00.0, H200\n",
                "nvlink": "".join(f"GPU {gpu}: H200 (UUID)\n" + links * "\t Link 0: 26.562 GB/s\n" for gpu in (0, 1)),
                "topo": "\tGPU0\tGPU1\n"}
        told = {"nodes": gpus, "paths": paths, "problems": [],
                "links": [{"a": 5, "b": 6, "count": count, "gbytes_per_s_ab": 25 * count}]}

        def run(command, **_):
            if command[0] == "nvidia-smi":
                return types.SimpleNamespace(code=0, out=said[command[1]])
            of_table = dict(told, paths=[dict(path, links=links) for path in paths])
            return types.SimpleNamespace(out=json.dumps(of_table if "--from" in command else told))

        tools = types.SimpleNamespace(run=run, tracesmith="tracesmith",
                                      path=lambda name: os.path.join(os.path.dirname(self.result.path), name))
        with mock.patch.object(steps_topology.shutil, "which", return_value="nvidia-smi"):
            steps_topology.topology(tools, self.step)
        return self.verdicts()

    def test_connections_are_those_that_nvidia_smi_has(self):
        self.assertEqual(set(self.topology(18, 18)), {"pass"})

    def test_a_link_too_few_is_a_failure(self):
        self.assertEqual(self.topology(18, 17).count("fail"), 2)  # the links, and the routes

    def test_other_numbers_are_a_failure(self):
        self.assertEqual(self.topology(18, 18, (1, 0)).count("fail"), 1)

    def alternate(self, seconds, rounds, reserve):
        tools = FakeTools()
        tools.deadline = time.monotonic() + 1.0

        def measure(_):
            time.sleep(seconds)
            return 1

        times = ways.alternate(tools, self.step, ("a", "b"), rounds, measure, reserve=reserve)
        return times, tools.left()

    def test_rounds_leave_the_reserve(self):
        times, left = self.alternate(0.05, 20, 0.5)
        self.assertGreater(left, 0.4)
        self.assertEqual(len(times["a"]), len(times["b"]))
        self.assertGreaterEqual(len(times["a"]), 1)
        self.assertIn("of 20", self.step.entry["values"]["rounds cut"])

    def test_a_way_that_has_no_time_in_the_first_round_is_absent(self):
        times, _ = self.alternate(0.5, 3, 0.1)
        self.assertEqual(times, {"a": [1]})
        self.assertEqual(self.verdicts(), ["absent"])

    # --- Ratios -------------------------------------------------------------------------------

    def judge(self, ratios, of_step=(ways.OURS, ways.LEAST)):
        self.step.value("ways", list(of_step))
        times = {ways.OURS: [round(1000 * ratio) for ratio in ratios], ways.LEAST: [1000] * len(ratios)}
        ways.judge(self.step, {way: times[way] for way in of_step})
        return self.step.entry["checks"][-1]

    def test_a_median_above_the_goal_fails_whatever_the_spread(self):
        self.assertEqual(self.judge([1.02, 1.03, 1.02, 1.04, 1.02])["verdict"], "fail")
        self.assertEqual(self.judge([0.98, 1.00, 1.02, 1.10, 1.20])["verdict"], "fail")
        self.assertEqual(self.judge([0.98, 1.00, 1.01, 1.10, 1.20])["verdict"], "pass")

    def test_fewer_than_three_rounds_can_fail_but_not_pass(self):
        self.assertEqual(self.judge([1.5])["verdict"], "fail")
        found = self.judge([0.9, 0.9])
        self.assertEqual(found["verdict"], "absent")
        self.assertIn("2 rounds ran", found["reason"])

    def test_the_pytorch_profiler_is_judged_in_the_same_way(self):
        def verdict(ours, rounds):
            self.step.entry["checks"].clear()
            ways.judge_beside_torch(self.step, {ways.NOTHING: [1000] * rounds, ways.TORCH: [1500] * rounds,
                                                ways.OURS: [ours] * rounds})
            return self.verdicts()

        self.assertEqual(verdict(1900, 1), ["fail"])
        self.assertEqual(verdict(1100, 1), ["absent"])
        self.assertEqual(verdict(1100, 3), ["pass"])

    def test_a_way_without_its_peer_is_absent(self):
        found = self.judge([1.5, 1.5, 1.5], of_step=(ways.OURS,))
        self.assertEqual(found["verdict"], "absent")
        self.assertIn("this step has no comparison consumer", found["reason"])

    # --- Order and brackets -------------------------------------------------------------------

    def order(self, gap):
        """Two kernels that wait for each other by turns, the later one `gap` after the earlier one's end."""
        rows = {"'a'": [{"start_ns": 0, "end_ns": 10_000}, {"start_ns": 40_000, "end_ns": 50_000}],
                "'b'": [{"start_ns": 10_000 + gap, "end_ns": 20_000}, {"start_ns": 50_000, "end_ns": 60_000}]}
        trace = types.SimpleNamespace(rows=lambda sql: next(found for name, found in rows.items() if name in sql))
        steps_work.check_order(self.step, trace, "a", "b", 2, "who")
        self.assertIn(-min(gap, 0), [value for name, value in self.step.entry["values"].items() if "overlap" in name])
        return self.verdicts()[-1]

    def test_kernels_of_two_streams_may_overlap_by_what_a_clock_cannot_tell(self):
        self.assertEqual(self.order(300), "pass")
        self.assertEqual(self.order(-2_000), "pass")
        self.assertEqual(self.order(-2_001), "fail")

    def test_a_kernel_goes_to_the_nearest_bracket_and_is_counted_only_inside_it(self):
        brackets = [{"begin_ns": 100_000, "end_ns": 120_000}, {"begin_ns": 121_000, "end_ns": 140_000}]

        def put(*kernels):
            return steps_truth.put_into_brackets(
                [{"start_ns": start, "end_ns": end} for start, end in kernels], brackets)

        self.assertEqual(put((105_000, 110_000), (123_000, 130_000)), ([1, 1], [0, 0]))
        self.assertEqual(put((96_000, 99_000), (135_000, 144_000)), ([0, 0], [4_000, 4_000]))
        self.assertEqual(put((90_000, 99_000), (135_000, 146_000)), ([0, 0], [10_000, 6_000]))
        self.assertEqual(put((116_000, 121_000)), ([0, 0], [1_000]))

    # --- Memory -------------------------------------------------------------------------------

    def virtual_memory(self, calls):
        """A trace with these calls, and without a memory event."""
        trace = types.SimpleNamespace(rows=lambda sql: [] if "memory_event" in sql else calls)
        tools = types.SimpleNamespace(profile_sample=lambda *_: (trace, {"physical_created": 2}))
        with mock.patch.multiple(steps_memory, check_counts=mock.DEFAULT, check_brackets=mock.DEFAULT,
                                 check_launches=mock.DEFAULT):
            steps_memory.virtual_memory(tools, self.step)
        return self.step.entry["checks"][-1]

    def test_virtual_memory_without_memory_events_fails(self):
        names = ("cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease")
        found = self.virtual_memory([{"name": name, "n": 2} for name in names])
        self.assertEqual((found["what"], found["verdict"]), ("physical memory: memory events", "fail"))

    def test_without_its_calls_as_well_the_calls_fail_alone(self):
        self.assertEqual(self.virtual_memory([])["verdict"], "absent")
        self.assertEqual(self.verdicts(), ["fail"] * 4 + ["absent"])

    def test_what_is_absent_is_no_failure(self):
        def do(*_):
            raise Absent("not here")

        with mock.patch.object(gpu_check, "say"):
            gpu_check.run_step(FakeTools(), self.result, ("name", "title", 30, do), time.monotonic() + 20)
        self.assertEqual((self.result.data["steps"][-1]["status"], self.result.failing()), ("absent", []))


if __name__ == "__main__":
    unittest.main()
