#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `analyze` and `diff` show and leave out, for people and for programs."""

import glob
import json
import os
import unittest

from harness import CommandTest, real_traces


def kernel(name, at, duration, device=0, stream=7, correlation=None):
    arguments = {"device": device, "stream": stream}
    if correlation is not None:
        arguments["correlation"] = correlation
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": at,
            "dur": duration, "args": arguments}


def launch(at, correlation, process=1):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": process,
            "tid": process, "ts": at, "dur": 1, "args": {"correlation": correlation}}


class AnalyzeReport(CommandTest):
    def trace(self, name, events):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return name

    def json_of(self, *arguments):
        run = self.run_command(*arguments, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_programs_get_all_and_people_are_told_of_the_rest(self):
        events = []
        for i in range(40):
            events += [launch(10 * i, i + 1), kernel(f"kernel {i}", 1000 + 10 * i, 5, 0, i, i + 1)]
        trace = self.trace("many.json", events)
        report = self.json_of("analyze", trace)
        for table in ("kernels", "streams", "queue"):
            self.assertEqual(len(report[table]), 40, table)
        self.assertEqual(len(report["longest_ops"]), 15)
        self.assertEqual(report["notes"]["longest_ops"], "and 25 more (--limit 0 shows all)")
        self.assertEqual(report["notes"]["memory"], "the trace has no allocations")
        self.assertEqual(len(self.json_of("analyze", trace, "--limit", "0")["longest_ops"]), 40)
        self.assertEqual(len(self.json_of("analyze", trace, "--limit", "3")["kernels"]), 3)
        self.assertEqual(len(self.json_of("diff", trace, trace)["diff_names"]), 41)
        shown = self.run_command("analyze", trace, "--streams").stdout.decode()
        self.assertIn("and 25 more (--limit 0 shows all)", shown)
        self.assertEqual(len(shown.splitlines()), 18)

    def test_parts_that_are_read_by_block_are_those_of_the_whole_trace(self):
        by_block = ["--gpu-util", "--overlap", "--idle", "--streams", "--kernels", "--memcpy"]
        events = []
        for i in range(3000):
            events += [launch(10 * i, i + 1), kernel(f"kernel {i % 7}", 1000 + 10 * i, 4 + i % 9, 0, i % 3, i + 1)]
        traces = [self.trace("many.json", events)]
        if real_traces() is not None:
            traces += sorted(glob.glob(os.path.join(real_traces(), "traces", "kineto", "**", "*.json.gz"), recursive=True))[:3]
            traces += sorted(glob.glob(os.path.join(real_traces(), "traces", "hta", "**", "*rank*.json.gz"), recursive=True))[:3]
        for trace in traces:
            with self.subTest(trace):
                self.assertEqual(self.run_command("import", "--force", trace, "-o", "t.sbt").returncode, 0)
                parts = self.json_of("analyze", "t.sbt", *by_block)
                whole = self.json_of("analyze", "t.sbt", *by_block, "--launch")  # needs all rows
                self.assertEqual(parts, {key: whole[key] for key in parts if key != "notes"} | (
                    {"notes": {key: note for key, note in whole["notes"].items() if key in parts}} if "notes" in parts else {}))
                self.assertIn("kernels", parts)

    def test_nothing_is_said_to_be_nothing(self):
        trace = self.trace("empty.json", [])
        parts = self.run_command("analyze", trace).stdout.decode().split("\n\n")
        for part in parts:
            self.assertGreater(len(part.splitlines()), 1, part)
        self.assertIsNone(self.json_of("analyze", trace)["launch"][0]["mean_ns"])


if __name__ == "__main__":
    unittest.main()
