#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams and devices have the numbers that their program knows, wherever they are named."""

import json
import unittest

from harness import CommandTest

STREAMS = ((0, 7), (0, 20), (1, 7))  # device, stream


class StreamNumbers(CommandTest):
    def setUp(self):
        super().setUp()
        events = []
        for correlation, (device, stream) in enumerate(STREAMS, 1):
            where = {"device": device, "stream": stream, "correlation": correlation}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                           "tid": 1, "ts": 10 * correlation, "dur": 5,
                           "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": f"k{device}_{stream}", "pid": device,
                           "tid": stream, "ts": 100 * correlation, "dur": 50, "args": where})
        with open(self.path("run.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)

    def ok(self, *arguments):
        run = self.run_command(*arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.decode()

    def kernels(self, *arguments):
        found = json.loads(self.ok("view", "run.json", "--json", "-t", "kernel", *arguments))
        return sorted((e["device"], e["stream"], e["name"]) for e in found)

    def test_view_takes_the_number_that_it_shows(self):
        self.assertEqual(self.kernels(), [(0, 7, "k0_7"), (0, 20, "k0_20"), (1, 7, "k1_7")])
        self.assertEqual(self.kernels("--stream", "7"), [(0, 7, "k0_7"), (1, 7, "k1_7")])
        self.assertEqual(self.kernels("--stream", "20"), [(0, 20, "k0_20")])
        run = self.run_command("view", "run.json", "--stream", "1")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"there is no stream 1; the trace has 7 and 20", run.stderr)
        shown = self.ok("view", "run.json")
        for name in ("stream 7 (device 0)", "stream 7 (device 1)", "stream 20 "):
            self.assertIn(name, shown)
        self.assertNotIn("(id", shown)
        drawn = self.ok("view", "run.json", "--timeline")
        self.assertIn("  stream 7  ", drawn)
        self.assertIn("  stream 20 ", drawn)
        self.assertNotIn("(id", drawn)
        drawn = json.loads(self.ok("view", "run.json", "--timeline", "--json"))
        self.assertEqual([[s["stream"] for s in d["streams"]] for d in drawn["devices"]],
                         [[7, 20], [7]])

    def test_exports_and_reports_use_the_same(self):
        def exported(*arguments):
            self.ok("export", "run.json", "-o", "part.json", *arguments)
            with open(self.path("part.json"), encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            return sorted({e["name"] for e in events if e["name"].startswith("k")})

        self.assertEqual(exported("--stream", "20"), ["k0_20"])
        self.assertEqual(exported("--device", "1"), ["k1_7"])
        self.assertEqual(exported("--device", "0", "--stream", "7"), ["k0_7"])
        run = self.run_command("export", "run.json", "-o", "part.json", "--device", "2")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"there is no device 2; the trace has 0 and 1", run.stderr)
        report = json.loads(self.ok("analyze", "run.json", "--streams", "--json"))
        self.assertEqual(sorted((r["device"], r["stream"]) for r in report["streams"]),
                         [("device 0", "20"), ("device 0", "7"), ("device 1", "7")])

    def test_query_views_have_the_number_beside_the_id(self):
        rows = json.loads(self.ok("query", "--json", "run.json",
                                  "SELECT kernel, stream FROM launch ORDER BY kernel"))
        self.assertEqual([(r["kernel"], r["stream"]) for r in rows],
                         [("k0_20", 20), ("k0_7", 7), ("k1_7", 7)])
        rows = json.loads(self.ok("query", "--json", "run.json",
                                  "SELECT stream, kernels FROM stream_summary ORDER BY 1"))
        self.assertEqual([(r["stream"], r["kernels"]) for r in rows if r["kernels"]],
                         [(7, 1), (7, 1), (20, 1)])


if __name__ == "__main__":
    unittest.main()
