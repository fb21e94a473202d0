#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`analyze --operators`: nesting, recursion, folded names, and sums that equal those of SQL."""

import glob
import json
import os
import unittest

from harness import SOURCE, CommandTest, real_traces

PYTORCH = os.path.join(SOURCE, "tests", "data", "pytorch")
GROUPS = ("operator", "module", "family", "stack", "step", "stream", "device")
DEVICE_SUM = ("SELECT (SELECT coalesce(sum(max(duration_ns, 0)), 0) FROM kernel) "
              "+ (SELECT coalesce(sum(max(duration_ns, 0)), 0) FROM copy) "
              "+ (SELECT coalesce(sum(max(duration_ns, 0)), 0) FROM fill) AS device_ns")


def span(name, at, duration, category="cpu_op", thread=1):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": at,
            "dur": duration, "args": {}}


def launched(at, start, duration, correlation):
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
            "ts": at, "dur": 1, "args": {"correlation": correlation}}
    work = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": start,
            "dur": duration, "args": {"device": 0, "stream": 7, "correlation": correlation}}
    return [call, work]


class Operators(CommandTest):
    def trace(self, events):
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return "t.json"

    def rows(self, trace, by):
        run = self.run_command("analyze", trace, "--operators", "--by", by, "--json")
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        return json.loads(run.stdout)["operators_by_" + by]

    def by_name(self, trace, by):
        rows = self.rows(trace, by)
        return {row[by]: row for row in rows}

    def test_nested_and_recursive_ranges_count_once(self):
        trace = self.trace([span("outer", 0, 100), span("inner", 10, 60), span("outer", 20, 30),
                            *launched(25, 200, 7, 1), *launched(80, 300, 11, 2),
                            *launched(150, 400, 13, 3)])
        rows = self.by_name(trace, "operator")
        outer = rows["outer"]
        self.assertEqual((outer["calls"], outer["launches"]), (2, 2))
        self.assertEqual((outer["host_total_ns"], outer["host_self_ns"]), (100000, 70000))
        self.assertEqual((outer["device_total_ns"], outer["device_self_ns"]), (18000, 18000))
        inner = rows["inner"]
        self.assertEqual((inner["host_total_ns"], inner["host_self_ns"]), (60000, 30000))
        self.assertEqual((inner["device_total_ns"], inner["device_self_ns"]), (7000, 0))
        self.assertEqual(rows["(outside of ranges)"]["device_self_ns"], 13000)

    def test_a_range_of_another_thread_is_no_operator_of_the_launch(self):
        trace = self.trace([span("elsewhere", 0, 100, thread=2), *launched(25, 200, 7, 1)])
        rows = self.by_name(trace, "operator")
        self.assertEqual(rows["elsewhere"]["device_total_ns"], 0)
        self.assertEqual(rows["(outside of ranges)"]["device_self_ns"], 7000)

    def test_addresses_and_step_numbers_do_not_split_names(self):
        trace = self.trace([span("f at 0x7ce2d4", 0, 10), span("f at 0x7ce2d8", 20, 10),
                            span("ProfilerStep#1", 40, 10), span("ProfilerStep#2", 60, 10),
                            span("conv 10x0x3", 80, 5)])
        rows = self.by_name(trace, "operator")
        self.assertEqual(rows["f at 0x*"]["calls"], 2)
        self.assertEqual(rows["ProfilerStep*"]["calls"], 2)
        self.assertIn("conv 10x0x3", rows)

    def test_modules_and_python_frames_are_no_operators(self):
        trace = self.trace([span("nn.Module: Linear_0", 0, 100, "python_function"),
                            span("model.py(3): forward", 5, 90, "python_function"),
                            span("aten::mm", 10, 50), *launched(25, 200, 7, 1)])
        self.assertEqual(set(self.by_name(trace, "operator")), {"aten::mm"})
        modules = self.by_name(trace, "module")
        self.assertEqual(set(modules), {"nn.Module: Linear_0"})
        self.assertEqual(modules["nn.Module: Linear_0"]["device_self_ns"], 7000)
        stacks = self.by_name(trace, "stack")
        self.assertEqual(
            stacks["nn.Module: Linear_0 > model.py(3): forward > aten::mm"]["device_self_ns"], 7000)

    def test_times_per_step_are_those_of_work_in_steps(self):
        events = [span("warm-up", 0, 90), *launched(10, 200, 500, 1)]
        for step, duration in enumerate((10, 20, 60)):
            at = 1000 * (step + 1)
            events += [span(f"ProfilerStep#{step}", at, 500), span("aten::mm", at + 10, 50),
                       *launched(at + 20, at + 300, duration, 10 + step)]
        trace = self.trace(events)
        for by, inside, outside in (("operator", "aten::mm", "warm-up"),
                                    ("stack", "aten::mm", "warm-up")):
            rows = self.by_name(trace, by)
            self.assertEqual(rows[inside]["device_self_per_step_ns"], 30000, by)
            self.assertEqual(rows[outside]["device_self_per_step_ns"], 0, by)
        family, = self.rows(trace, "family")
        self.assertEqual(family["device_self_ns"], 590000)
        self.assertEqual(family["device_self_per_step_ns"], 30000)
        shown = self.run_command("analyze", trace, "--operators").stdout.decode()
        self.assertIn("self per step", shown)

    def test_without_steps_there_is_no_time_per_step(self):
        trace = self.trace([span("f", 0, 90), *launched(10, 200, 500, 1)])
        self.assertIsNone(self.by_name(trace, "operator")["f"]["device_self_per_step_ns"])
        self.assertNotIn("per step", self.run_command("analyze", trace, "--operators").stdout.decode())

    def test_by_needs_operators(self):
        run = self.run_command("analyze", self.trace([span("f", 0, 1)]), "--by", "operator")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--by", run.stderr.decode())
        self.assertIn("needs --operators", run.stderr.decode())

    def compare_with_pytorch(self, name, has_self):
        """`has_self`: whether PyTorch's self time of a name is without Python functions."""
        with open(os.path.join(PYTORCH, name + ".key_averages.json"), encoding="utf-8") as file:
            golden = json.load(file)["rows"]
        rows = {name: row for name, row in
                self.by_name(os.path.join(PYTORCH, name + ".json.gz"), "operator").items() if row["calls"] > 0}
        self.assertEqual(set(rows), set(golden))
        self.assertGreater(len(rows), 100)
        merged = set()
        for operator, (calls, self_ns, total_ns) in golden.items():
            row = rows[operator]
            self.assertEqual(row["host_total_ns"], total_ns, operator)
            if has_self(operator):
                self.assertEqual(row["host_self_ns"], self_ns, operator)
            if row["calls"] != calls:
                merged.add(operator)
        # PyTorch merges a call with its only nested call of the same name, and counts both as one.
        self.assertEqual(merged, {"aten::div", "aten::div_"})

    def test_host_times_equal_those_of_pytorch(self):
        self.compare_with_pytorch("training", lambda operator: True)

    def test_host_times_equal_those_of_pytorch_with_stacks(self):
        self.compare_with_pytorch("training_stack", lambda operator: operator.startswith("aten::"))

    def compare_time_per_step(self, path):
        steps = [row["device_self_ns"] for row in self.rows("r.sbt", "step")
                 if row["step"] != "(outside of steps)"]
        for by in ("operator", "family", "stream"):
            rows = self.rows("r.sbt", by)
            found = [row["device_self_per_step_ns"] for row in rows]
            if None in found or not steps:
                continue
            # Steps without device work have no row.
            count = max(len(steps), round(sum(steps) / max(sum(found), 1)))
            self.assertLessEqual(count * sum(found), sum(steps), path)
            self.assertGreater(count * (sum(found) + len(rows)), sum(steps), path)

    def test_device_sums_of_real_traces_equal_sql(self):
        data = real_traces()
        if not data:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        compared = 0
        for path in sorted(glob.glob(os.path.join(data, "traces", "**", "*.json.gz"),
                                     recursive=True)):
            if self.run_command("import", path, "-o", "r.sbt").returncode != 0:
                continue
            run = self.run_command("query", "r.sbt", DEVICE_SUM, "--json")
            self.assertEqual(run.returncode, 0, path + run.stderr.decode())
            expected = json.loads(run.stdout)[0]["device_ns"]
            for by in GROUPS:
                found = sum(row["device_self_ns"] for row in self.rows("r.sbt", by))
                self.assertEqual(found, expected, f"{path} by {by}")
            self.compare_time_per_step(path)
            compared += expected > 0
        self.assertGreater(compared, 0)


if __name__ == "__main__":
    unittest.main()
