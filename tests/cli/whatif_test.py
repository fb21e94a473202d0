#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`whatif`: what it says and refuses, and how true its model is of real traces.

Run with -v it prints the figures of docs/whatif.md for each real trace.
"""

import gzip
import json
import os
import sys
import unittest

from harness import CommandTest

DATA = os.environ.get("TRACESMITH_TEST_DATA", "")

# Real traces below traces/: the most that the makespan, and the ends of operations, may be off (of
# the trace's length). A little above what is measured, so that what makes it worse is noticed.
REAL = {
    "nsys_ai/tests/fixtures/mfu_2gpu_before.sqlite.gz": (0.002, 0.001),
    "nsys_ai/tests/fixtures/h100_2gpu_1s.sqlite.gz": (0.001, 0.001),
    "kineto/tb_plugin/samples/resnet50_autograd_api_num_workers_0/worker0.pt.trace.json.gz":
        (0.001, 0.001),
    "hta/tests/data/trace_diff/control/control.json.gz": (0.03, 0.02),
    "hta/tests/data/nccl_parser_config/nccl_data.json.gz": (0.001, 0.001),
    "param/et_replay/tests/inputs/linear_kineto.json.gz": (0.001, 0.001),
    "hta/tests/data/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz":
        (0.001, 0.001),
    "tracelens/tests/traces/h100/Falconsai_nsfw_image_detection__1016002.json.gz": (0.01, 0.01),
    "tracelens/tests/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": (0.02, 0.02),
    "tracelens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz": (0.02, 0.02),
    "tracelens/tests/traces/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz":
        (0.005, 0.005),
    "tracelens/tests/traces/mi300/Falconsai_nsfw_image_detection__1016002.json.gz": (0.01, 0.01),
    "tracelens/tests/traces/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz":
        (0.005, 0.005),
    "tracelens/tests/traces/perf_model/normalization/normalization_layer_test.json.gz":
        (0.001, 0.001),
    "tracelens/tests/traces/inference/sglang_prefilldecode/"
    "sglang_Qwen3-8B_prefilldecode.json.gz": (0.001, 0.001),
    "tracelens/tests/traces/inference/vllm_prefilldecode_piecewise/graph_execution.json.gz":
        (0.001, 0.001),
}
REFUSED = "tracelens/tests/traces/mi300/resnet_act_checkpoint.json.gz"


REPEATED = "tracelens/tests/traces/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"


def repeated(document, times, renumbered):
    """The events of a trace, one time after the other; with ids of their own each time, or not."""
    events = [e for e in document["traceEvents"] if e.get("ph") != "M"]
    once = max(e["ts"] + e.get("dur", 0) for e in events) - min(e["ts"] for e in events) + 100
    apart = 1 + max(e.get("args", {}).get("correlation", 0) for e in events)
    out = list(document["traceEvents"])
    for time in range(1, times):
        for event in events:
            event = dict(event, ts=event["ts"] + time * once)
            arguments = event.get("args", {})
            if renumbered and arguments.get("correlation", 0) > 0:
                event["args"] = dict(arguments,
                                     correlation=arguments["correlation"] + time * apart)
            if renumbered and event["ph"] in "stf" and isinstance(event.get("id"), int):
                event["id"] += time * apart
            out.append(event)
    return dict(document, traceEvents=out)


def kernel(name, at, duration, correlation, stream=7):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at,
            "dur": duration, "args": {"device": 0, "stream": stream, "correlation": correlation}}


def call(name, at, duration, correlation):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": at,
            "dur": duration, "args": {"correlation": correlation}}


class WhatIf(CommandTest):
    def program(self, count=50, unmatched=0):
        """Kernels of 90 us each behind launches every 20 us, and a wait for all of them."""
        events = []
        at = 10
        for i in range(count):
            if i >= count - unmatched:
                at += 500
            else:
                events.append(call("cudaLaunchKernel", 20 * i, 5, i + 1))
            events.append(kernel("gemm" if i % 2 else "add", at, 90, i + 1))
            at += 91
        events.append(call("cudaDeviceSynchronize", 20 * count, at + 4 - 20 * count, 1000))
        with open(self.path("run.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return "run.json"

    def report(self, *arguments):
        run = self.run_command("whatif", *arguments, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def changed(self, *arguments):
        rows = {row["what"]: row for row in self.report(*arguments)["prediction"]}
        return rows["changed"]["change"]

    def test_changes_are_predicted(self):
        trace = self.program()
        self.assertAlmostEqual(self.changed(trace, "--scale", "kernel=gemm:0.5"), -0.25, delta=0.02)
        self.assertAlmostEqual(self.changed(trace, "--scale", "gemm:0.5", "--scale", "add:2x"),
                               0.25, delta=0.02)
        self.assertAlmostEqual(self.changed(trace, "--remove", "^gemm$"), -0.5, delta=0.02)
        self.assertAlmostEqual(self.changed(trace, "--fuse", "."), -0.0, delta=0.05)
        self.assertAlmostEqual(self.changed("--streams", "2", trace), 0, delta=0.02)
        self.assertAlmostEqual(self.changed(trace, "--scale", "host:0.5"), 0, delta=0.01)

    def test_the_path_and_the_model_are_told(self):
        report = self.report(self.program())
        self.assertNotIn("prediction", report)
        parts = {row["part"]: row["share"] for row in report["critical_path"]}
        self.assertGreater(parts["compute"], 0.95)
        for row in report["model_errors"]:
            self.assertLess(abs(row["error"]), 0.001)
        edges = {row["kind"]: row["count"] for row in report["edges"]}
        self.assertEqual(edges["launch"], 50)
        self.assertEqual(edges["stream order"], 49)
        quick = self.report("run.json", "--no-check")
        self.assertNotIn("model_errors", quick)
        shown = self.run_command("whatif", "run.json", "--scale", "gemm:0.5").stdout.decode()
        for words in ("Makespan", "Critical path", "Error of the model", "Inferred dependencies"):
            self.assertIn(words, shown)

    def test_unknown_launches_are_refused_with_the_reason(self):
        trace = self.program(unmatched=10)
        run = self.run_command("whatif", trace)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"10 of 50 operations (20.0 % of the device's time) have no launch",
                      run.stderr)
        unmatched = self.report(trace, "--allow-unmatched")["unmatched"][0]
        self.assertEqual((unmatched["operations"], unmatched["unknown"]), (50, 10))
        self.assertAlmostEqual(unmatched["unknown_share"], 0.2)

    def test_what_makes_no_sense_is_said(self):
        trace = self.program()
        for arguments, words in (
                (("--scale", "gemm"), "lacks the factor"),
                (("--scale", "gemm:-1"), "not a factor"),
                (("--scale", "gemm:nan"), "not a factor"),
                (("--scale", "(:2"), "not a POSIX extended regular expression"),
                (("--scale", "nothing:2"), "nothing in the trace matches"),
                (("--bandwidth", "up=2"), "not a direction"),
                (("--bandwidth", "0"), "never ends"),
                (("--bandwidth", "2x"), "nothing in the trace matches"),
                (("--remove", ""), "expected a regular expression"),
                (("--fuse", "call=x"), "only device work"),
                (("--streams", "0"), "1 to 1024"),
                (("--streams", "1000000"), "1 to 1024")):
            run = self.run_command("whatif", trace, *arguments)
            self.assertEqual(run.returncode, 2, (arguments, run.stderr))
            self.assertIn(words, run.stderr.decode(), arguments)
            self.assertEqual(run.stdout, b"")
        with open(self.path("empty.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": []}, file)
        run = self.run_command("whatif", "empty.json")
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"no device work", run.stderr)

    def test_a_real_trace_may_be_repeated(self):
        """305 calls of each repetition give the device nothing to do: with them counted the queue
        of the third seemed so full that launches waited for work that was launched later."""
        path = os.path.join(DATA or "", "traces", REPEATED)
        if not DATA or not os.path.exists(path):
            self.skipTest("TRACESMITH_TEST_DATA has no " + REPEATED)
        with gzip.open(path, "rt") as file:
            document = json.load(file)
        once = self.report(path)["model_errors"][0]
        for renumbered in (True, False):
            with open(self.path("repeated.json"), "w", encoding="utf-8") as file:
                json.dump(repeated(document, 3, renumbered), file)
            report = self.report("repeated.json", "--no-check", "--scale", "kernel=.:1")
            rows = {row["what"]: row["makespan_ns"] for row in report["prediction"]}
            self.assertGreater(rows["changed"], 2.5 * once["recorded_ns"], renumbered)
            if renumbered:
                self.assertLess(rows["changed"], 3.5 * once["recorded_ns"])

    def test_real_traces(self):
        if not DATA:
            self.skipTest("TRACESMITH_TEST_DATA is not set")
        seen = 0
        lines = []
        errors = {"makespan": [], "re-derived": [], "iteration": [], "sum of iterations": []}
        for name, (makespan, ends) in REAL.items():
            path = os.path.join(DATA, "traces", name)
            if not os.path.exists(path):
                continue
            seen += 1
            report = self.report(path)
            recorded, typical = report["model_errors"]
            self.assertLess(abs(recorded["error"]), makespan, name)
            self.assertLess(recorded["end_p95_ns"] / recorded["recorded_ns"], ends, name)
            held = report.get("validation_errors", [])
            errors["makespan"].append(abs(recorded["error"]))
            errors["re-derived"].append(abs(typical["error"]))
            if held:
                errors["iteration"].append(held[0]["mean_error"])
                errors["sum of iterations"].append(abs(held[0]["total_error"]))
            lines.append("| {} | {:.1f} ms | {:+.2f} % | {:.1f} | {:.1f} | {:+.1f} % | {} | {} |".format(
                "/".join(part.split(".")[0] for part in name.split("/")[-2:]), recorded["recorded_ns"] / 1e6,
                100 * recorded["error"], recorded["end_p50_ns"] / 1e3, recorded["end_p95_ns"] / 1e3,
                100 * typical["error"],
                "{}: {:.1f} %, {:+.1f} %; vary by {:.1f} %".format(
                    held[0]["iterations"], 100 * held[0]["mean_error"],
                    100 * held[0]["total_error"], 100 * held[0]["spread"]) if held else "–",
                "{:.2f} %".format(100 * report["inferred_edges"][0]["share"])))
        if seen == 0:
            self.skipTest("TRACESMITH_TEST_DATA has none of the traces")
        if "-v" in sys.argv:
            print("\n" + "\n".join(lines))
            for what, values in errors.items():
                if values:
                    print(f"mean error of {len(values)}, {what}: {100 * sum(values) / len(values):.2f} %")
        path = os.path.join(DATA, "traces", REFUSED)
        if os.path.exists(path):
            run = self.run_command("whatif", path)
            self.assertEqual(run.returncode, 1)
            self.assertIn(b"have no launch in the trace", run.stderr)


if __name__ == "__main__":
    unittest.main()
