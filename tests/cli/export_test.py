# SPDX-License-Identifier: Apache-2.0
"""export: what is selected, and formats that hold stacks or a part of a trace."""

import json
import os
import shutil
import tempfile
import unittest

from harness import PROGRAM, CommandTest


def kernel(name, ts, stream, device=0, **more):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": ts,
            "dur": 2.25, "args": {"stream": stream, "device": device, "correlation": 7, **more}}


EVENTS = [
    kernel("gemm_a", 10, 7, note="first"),
    kernel("gemm_b", 11, 8, deep={"list": [1, None, "x"]}),
    kernel("relu", 30, 7),
    kernel("gemm_a", 50.125, 3, device=1),
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5,
     "dur": 1, "args": {"correlation": 7}},
    {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}},
]


def names(events):
    return sorted(e["name"] for e in events if e["ph"] == "X")


class ExportTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="tracesmith-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        source = os.path.join(cls.shared, "source.json")
        with open(source, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": EVENTS,
                       "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}}, file)
        cls.trace = os.path.join(cls.shared, "t.sbt")
        assert os.spawnl(os.P_WAIT, PROGRAM, "tracesmith", "import", "-q", source, "-o",
                         cls.trace) == 0

    def export(self, output, *options, trace=None):
        result = self.run_command("export", "-q", trace or self.trace, "-o", self.path(output),
                                  *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path(output), "rb") as file:
            return file.read()

    def events(self, *options, trace=None):
        return json.loads(self.export("out.json", *options, trace=trace))["traceEvents"]


class Selectors(ExportTest):
    def test_names_are_parts_or_patterns(self):
        self.assertEqual(names(self.events("--name", "gemm")), ["gemm_a", "gemm_a", "gemm_b"])
        self.assertEqual(names(self.events("--name", "*_b")), ["gemm_b"])
        self.assertEqual(names(self.events("--name", "gemm", "--rebuild")),
                         ["gemm_a", "gemm_a", "gemm_b"])
        self.assertEqual(len(self.export("k.csv", "--name", "relu").splitlines()), 2)

    def test_devices_are_those_of_the_streams(self):
        devices = json.loads(self.run_command(
            "query", "--json", self.trace,
            "SELECT DISTINCT device_id AS id FROM kernel ORDER BY 1"
        ).stdout)
        self.assertEqual(len(devices), 2)
        found = [names(self.events("--device", str(d["id"]))) for d in devices]
        self.assertIn(["cudaLaunchKernel", "gemm_a", "gemm_b", "relu"], found)
        self.assertIn(["cudaLaunchKernel", "gemm_a"], found)
        result = self.run_command("export", self.trace, "--device", "99", "-o", self.path("x.json"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no device 99", result.stderr.decode())

    def test_the_rank_must_be_the_traces(self):
        self.assertEqual(len(self.events("--rank", "3")), len(EVENTS))
        result = self.run_command("export", self.trace, "--rank", "4", "-o", self.path("x.json"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("the trace is of rank 3", result.stderr.decode())


class PartOfATrace(ExportTest):
    def test_holds_the_selected_events_with_their_sources(self):
        self.export("part.sbt", "--from", "3us", "--to", "30us", "--name", "*[!u]")
        part = self.path("part.sbt")
        self.assertEqual(self.run_command("verify", part).returncode, 0)
        found = self.events(trace=part)
        wanted = [e for e in EVENTS if e["name"] in ("gemm_a", "gemm_b") and e["ts"] < 40
                  or e["ph"] == "M"]
        key = lambda e: json.dumps(e, sort_keys=True)
        self.assertEqual(sorted(map(key, found)), sorted(map(key, wanted)))

    def test_of_everything_is_the_same_trace(self):
        self.export("all.sbt")
        key = lambda e: json.dumps(e, sort_keys=True)
        self.assertEqual(sorted(map(key, self.events(trace=self.path("all.sbt")))),
                         sorted(map(key, EVENTS)))

    def test_does_not_write_over_its_source_or_into_a_pipe(self):
        for output in (self.trace, "-"):
            result = self.run_command("export", self.trace, "-f", "sbt", "-o", output)
            self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.run_command("verify", self.trace).returncode, 0)


class Stacks(ExportTest):
    def test_speedscope_events_nest_and_never_go_back(self):
        document = json.loads(self.export("t.speedscope.json"))
        frames = document["shared"]["frames"]
        for profile in document["profiles"]:
            open_, last = [], profile["startValue"]
            for event in profile["events"]:
                self.assertGreaterEqual(event["at"], last)
                last = event["at"]
                if event["type"] == "O":
                    open_.append(event["frame"])
                else:
                    self.assertEqual(open_.pop(), event["frame"])
            self.assertEqual(open_, [])
            self.assertEqual(last, profile["endValue"])
        self.assertEqual({f["name"] for f in frames},
                         {"gemm_a", "gemm_b", "relu", "cudaLaunchKernel"})

    def test_folded_lines_add_up(self):
        lines = self.export("t.folded", "--name", "gemm").decode().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), 3 * 2250)

    def test_parquet_says_how_to_come_by_it(self):
        result = self.run_command("export", self.trace, "-o", self.path("t.parquet"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("pyarrow", result.stderr.decode())
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
