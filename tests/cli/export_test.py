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
                       "distributedInfo": {"pg_config": [{"rank": 4}, "\"rank\": 5"],
                                           "rank": 3, "world_size": 8}}, file)
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
        self.assertEqual(names(self.events("--name", "_b$")), ["gemm_b"])
        self.assertEqual(names(self.events("--name", "gemm", "--rebuild")),
                         ["gemm_a", "gemm_a", "gemm_b"])
        self.assertEqual(len(self.export("k.csv", "--name", "relu").splitlines()), 2)

    def test_devices_are_those_of_the_streams(self):
        devices = json.loads(self.run_command(
            "query", "--json", self.trace,
            "SELECT DISTINCT d.ordinal FROM kernel k JOIN device d ON d.id = k.device_id ORDER BY 1"
        ).stdout)
        self.assertEqual(len(devices), 2)
        found = [names(self.events("--device", str(d["ordinal"]))) for d in devices]
        self.assertIn(["cudaLaunchKernel", "gemm_a", "gemm_b", "relu"], found)
        self.assertIn(["cudaLaunchKernel", "gemm_a"], found)
        result = self.run_command("export", self.trace, "--device", "99", "-o", self.path("x.json"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no device 99", result.stderr.decode())

    def test_a_pattern_that_is_none_is_wrong_usage_as_in_view(self):
        for command in (("export", "-o", self.path("x.json")), ("view",)):
            result = self.run_command(*command, self.trace, "--name", "(")
            self.assertEqual(result.returncode, 2, command)
            self.assertIn("--name: '(' is not a POSIX extended regular expression", result.stderr.decode())
        self.assertFalse(os.path.exists(self.path("x.json")))

    def test_the_rank_must_be_the_traces(self):
        self.assertEqual(len(self.events("--rank", "3")), len(EVENTS))
        result = self.run_command("export", self.trace, "--rank", "4", "-o", self.path("x.json"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("the trace is of rank 3", result.stderr.decode())


class PartOfATrace(ExportTest):
    def test_holds_the_selected_events_with_their_sources(self):
        self.export("part.sbt", "--from", "3us", "--to", "30us", "--name", "[^u]$")
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


def counter(name, ts, **values):
    return {"ph": "C", "name": name, "pid": 9, "ts": ts, "args": values}


def half(phase, ts, name="request"):
    return {"ph": phase, "cat": "async", "name": name, "id": 4, "pid": 9, "tid": 9, "ts": ts}


class EventsThatAreNoRows(ExportTest):
    """Counters and async events take part in every selection, in the document as in the trace."""

    DOCUMENT = [
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}},
        half("b", 1), half("e", 45.5), half("n", 20, "step"),
        counter("memory", 5, used=1), counter("memory", 30, used=2),
        counter("load", 31.25, cpu=1, gpu=2),
        kernel("gemm", 10, 7), kernel("relu", 40, 8),
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0,
         "tid": 7, "ts": 25, "dur": 2, "args": {"stream": 7, "device": 0, "bytes": 64}},
        {"ph": "s", "id": 1, "name": "ac2g", "cat": "ac2g", "pid": 9, "tid": 9, "ts": 4},
        {"ph": "f", "id": 1, "name": "ac2g", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 10, "bp": "e"},
        {"name": "no time", "ph": "?"},
    ]

    def setUp(self):
        super().setUp()
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.DOCUMENT}, file)
        self.assertEqual(self.run_command("import", "-q", "in.json").returncode, 0)

    def check(self, options, wanted):
        """What is taken, of the document and of a part of the trace."""
        key = lambda e: json.dumps(e, sort_keys=True)
        expected = sorted(key(e) for e in self.DOCUMENT if wanted(e))
        self.assertEqual(sorted(map(key, self.events(*options, trace="in.sbt"))), expected)
        self.export("part.sbt", *options, trace="in.sbt")
        self.assertEqual(sorted(map(key, self.events(trace="part.sbt"))), expected)

    def test_times(self):
        # They count from the first row that is no arrow, at 5 us.
        self.check(["--from", "15us"], lambda e: e.get("ts", 99) >= 20)
        self.check(["--from", "15us", "--to", "26us"],
                   lambda e: "ts" not in e or 20 <= e["ts"] < 31)
        self.check(["--to", "10ns"], lambda e: e.get("ts", 0) <= 5)

    def test_streams_and_devices(self):
        streams = json.loads(self.run_command(
            "query", "--json", "in.sbt",
            "SELECT DISTINCT s.ordinal FROM kernel k JOIN stream s ON s.id = k.stream_id "
            "WHERE k.name = 'gemm'").stdout)
        self.check(["--stream", str(streams[0]["ordinal"])], lambda e: e["name"] != "relu")
        self.check(["--device", "0"], lambda e: True)

    def test_names(self):
        always = ("process_name", )
        for pattern, names in {"emor": ["memory"], "request": ["request"], "load": ["load"],
                               "load cpu": ["load"], "^oad": [], "gemm": ["gemm"],
                               "ac2g": ["ac2g"]}.items():
            self.check(["--name", pattern], lambda e: e["name"] in (*always, *names))
        # A copy is called by its kind, and by its name.
        for pattern in ("host_to_device", "^Memcpy"):
            self.check(["--name", pattern],
                       lambda e: e["name"] in always or e.get("cat") == "gpu_memcpy")

    def test_counters_and_arrows_can_be_left_out(self):
        self.check(["--no-counters"], lambda e: e["ph"] != "C")
        self.check(["--no-flows"], lambda e: e["ph"] not in "sf")
        self.check(["--full"], lambda e: True)

    def test_a_document_without_events_comes_back(self):
        document = {"schemaVersion": 1, "traceEvents": []}
        with open(self.path("empty.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
        self.assertEqual(self.run_command("import", "-q", "empty.json").returncode, 0)
        self.assertEqual(json.loads(self.export("back.json", trace="empty.sbt")), document)

    def test_events_of_no_known_shape(self):
        """So many shapes that the last events are kept as text."""
        self.DOCUMENT = [{"ph": "C", "name": f"c{i}", "ts": i, "pid": 1, "args": {f"a{i}": 1}}
                         for i in range(20_000)]
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.DOCUMENT}, file)
        self.assertEqual(self.run_command("import", "-q", "in.json").returncode, 0)
        self.check(["--from", "5ms", "--to", "19999us"], lambda e: 5000 <= e["ts"] < 19999)
        self.check(["--name", "^c1999. "], lambda e: e["ts"] >= 19990)


def span(name, cat, pid, tid, ts, dur=5, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


class Rebuilt(ExportTest):
    """What TraceSmith made of a document, as a document."""

    def rebuild(self, events):
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)
        self.assertEqual(self.run_command("import", "-q", "in.json").returncode, 0)
        return json.loads(self.export("re.json", "--rebuild", trace="in.sbt"))["traceEvents"]

    def rows(self, trace, query):
        result = self.run_command("query", "--csv", trace, query)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().splitlines()[1:]

    def test_is_read_again_as_what_it_is(self):
        on = {"stream": 7, "device": 0}
        self.rebuild([
            span("gemm", "kernel", 0, 7, 50, correlation=1, **on),
            span("Memcpy HtoD", "gpu_memcpy", 0, 7, 60, correlation=2, bytes=64, **on),
            span("Memset", "gpu_memset", 0, 7, 70, correlation=3, bytes=8, **on),
            span("Stream Wait Event", "cuda_sync", 0, 7, 80, **on),
            span("cudaLaunchKernel", "cuda_runtime", 9, 9, 10, correlation=1),
            span("cudaMemcpyAsync", "cuda_runtime", 9, 9, 20, correlation=2),
            span("cudaMemsetAsync", "cuda_runtime", 9, 9, 30, correlation=3),
            span("cudaMalloc", "cuda_runtime", 9, 9, 40),
            span("aten::mm", "cpu_op", 9, 9, 9, 7), span("copy", "copy", 9, 9, 90),
            {"ph": "s", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 9, "tid": 9, "ts": 9},
            {"ph": "f", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 9, "tid": 9, "ts": 90,
             "bp": "e"},
        ])
        self.assertEqual(self.run_command("import", "-q", "re.json").returncode, 0)
        for query in (
                "SELECT name, start_ns, duration_ns, correlation_id FROM kernel",
                "SELECT name, kind, bytes, start_ns, duration_ns, correlation_id FROM copy",
                "SELECT name, bytes, start_ns, duration_ns, correlation_id FROM fill",
                "SELECT name, kind, start_ns, duration_ns FROM sync",
                "SELECT name, kind, start_ns, duration_ns, correlation_id FROM host_call ORDER BY 3",
                "SELECT name, category, start_ns, duration_ns FROM range ORDER BY 3",
                'SELECT "end", time_ns FROM flow_event WHERE name = \'fwdbwd\''):
            wanted = self.rows("in.sbt", query)
            self.assertNotEqual(wanted, [], query)
            self.assertEqual(self.rows("re.sbt", query), wanted, query)

    def test_what_has_no_number_of_its_own_gets_one(self):
        places = [(pid, tid) for pid in ("P", "Q", 0, -3, 4294967297) for tid in ("a", "b", 0, 9)]
        events = self.rebuild([span(f"{pid} {tid}", "cpu_op", pid, tid, 10 + i)
                               for i, (pid, tid) in enumerate(places)])
        spans = [e for e in events if e["ph"] == "X"]
        self.assertEqual(len({(e["pid"], e["tid"]) for e in spans}), len(places))
        self.assertEqual(len({e["pid"] for e in spans}), 5)
        info = self.run_command("info", "in.sbt").stdout.decode()
        self.assertIn("(the source does not name it)", info)
        self.assertNotIn("ended before", info)
        named = [e["pid"] for e in events if e["name"] == "process_name"]
        self.assertEqual(len(named), len(set(named)))


class OfADamagedTrace(ExportTest):
    def test_no_event_is_missing_without_a_word(self):
        with open(self.trace, "rb") as file:
            whole = file.read()
        missing = 0
        for at in range(64, len(whole), 31):
            with open(self.path("broken.sbt"), "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            result = self.run_command("export", "broken.sbt", "-f", "json", "-o", "-", "-q")
            if result.returncode == 0:
                self.assertEqual(len(json.loads(result.stdout)["traceEvents"]), len(EVENTS))
            else:
                self.assertEqual(result.returncode, 3, result.stderr)
                missing += b"events are not in the document" in result.stderr
        self.assertGreater(missing, 0)


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

    def test_what_a_graph_of_waits_can_not_leave_out_is_said(self):
        self.assertIn("gemm_a", self.export("t.dot").decode())
        for option in (["--name", "gemm"], ["--stream", "1"], ["--device", "1"]):
            result = self.run_command("export", self.trace, "-o", self.path("x.dot"), *option)
            self.assert_fails(result, 2, option[0], "dot")

    def test_parquet_says_how_to_come_by_it(self):
        for how in (["-o", self.path("t.parquet")], ["-f", "parquet"]):
            result = self.run_command("export", self.trace, *how)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("pyarrow", result.stderr.decode())
        self.assertNotIn("parquet", self.run_command("export", "--help").stdout.decode())
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
