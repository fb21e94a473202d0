# SPDX-License-Identifier: Apache-2.0
"""`info` and `import` of another tool's file: each number says what it counts, and they agree."""
import gzip
import json
import os
import unittest

from harness import CommandTest

# As PyTorch's profiler writes it: one process, and what it draws as processes beside it.
BASE_US = 1_700_000_000_000_000


def document():
    def named(pid, name, labels):
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": labels}}

    events = [*named(4711, "python", "CPU")]
    for gpu in range(8):
        events += named(gpu, "python", f"GPU {gpu}")
    events.append({"ph": "X", "name": "PyTorch Profiler (0)", "cat": "Trace", "pid": "Spans", "tid": "PyTorch Profiler",
                   "ts": BASE_US, "dur": 5000})
    events.append({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": BASE_US + 5000})
    for i in range(500):
        at = BASE_US + 10 * i
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 4711, "tid": 1, "ts": at, "dur": 5})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 1, "ts": at + 1,
                       "dur": 2, "args": {"correlation": i + 1}})
        events.append({"ph": "s", "cat": "ac2g", "name": "ac2g", "id": i + 1, "pid": 4711, "tid": 1, "ts": at + 1})
        events.append({"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": at + 4, "dur": 3,
                       "args": {"correlation": i + 1, "device": 0, "stream": 7}})
    return {"schemaVersion": 1, "traceEvents": events}


class Info(CommandTest):
    def setUp(self):
        super().setUp()
        self.document = document()
        with gzip.open(self.path("trace.json.gz"), "wt", encoding="utf-8") as file:
            json.dump(self.document, file)
        self.size = os.path.getsize(self.path("trace.json.gz"))

    def info(self, file, *options):
        result = self.run_command("info", file, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_the_size_is_the_files(self):
        info = json.loads(self.info("trace.json.gz", "--json"))
        self.assertEqual(info["bytes"], self.size)
        self.assertNotEqual(info["sbt_bytes"], self.size)
        line = self.info("trace.json.gz").splitlines()[0]
        self.assertRegex(line, r"^file +trace\.json\.gz, [\d.]+ KiB, Chrome JSON; read into SBT \d+\.\d+ of [\d.]+ KiB$")
        self.assertIn(f"{self.size / 1024:.3g} KiB", line)
        self.run_command("import", "trace.json.gz", "-o", "i.sbt")
        imported = json.loads(self.info("i.sbt", "--json"))
        self.assertEqual((imported["bytes"], imported["sbt_bytes"]), (os.path.getsize(self.path("i.sbt")),) * 2)
        self.assertRegex(self.info("i.sbt"), r"(?m)^source +trace\.json\.gz \(Chrome JSON\)$")

    def test_the_error_of_a_foreign_clock_is_not_known(self):
        (clock,) = json.loads(self.info("trace.json.gz", "--json"))["clocks"]
        self.assertEqual((clock["name"], clock["error_ns"]), ("Unix time", None))
        text = self.info("trace.json.gz")
        self.assertRegex(text, r"(?m)^ +Unix time +1 +not known")
        self.assertIn("clocks (against the times of the source)", text)

    def test_groups_of_tracks_are_no_processes(self):
        info = json.loads(self.info("trace.json.gz", "--json"))
        self.assertEqual([(p["pid"], p["command_line"]) for p in info["processes"]], [(4711, "python")])
        self.assertEqual(sorted(group["name"] for group in info["track_groups"]), ["", "Spans"] + 8 * ["python"])
        text = self.info("trace.json.gz")
        self.assertIn("processes (1)\n", text)
        self.assertIn("and 10 groups of tracks that the source draws as processes: (no name), Spans, python (8)\n", text)
        rows = self.run_command("query", "--json", "trace.json.gz", "SELECT count(*) AS n FROM process WHERE track_group")
        self.assertEqual(json.loads(rows.stdout), [{"n": 10}])

    def test_rows_losses_and_the_import_agree(self):
        said = self.run_command("import", "trace.json.gz", "-o", "i.sbt").stderr.decode()
        events = len(self.document["traceEvents"])
        names = sum(event["ph"] == "M" for event in self.document["traceEvents"])
        self.assertIn(f"tracesmith: {events:,} events of trace.json.gz", said)
        self.assertIn(f"{events - names:,} as table rows and {names} as names or unchanged", said)
        info = json.loads(self.info("trace.json.gz", "--json"))
        self.assertEqual(sum(info["counts"].values()), events - names)
        (loss,) = info["losses"]
        self.assertEqual((loss["emitted"], loss["written"], loss["dropped"]), (events, events, 0))
        self.assertIn("losses (events of the source; names of processes and threads count)", self.info("trace.json.gz"))


if __name__ == "__main__":
    unittest.main()
