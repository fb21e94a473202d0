# SPDX-License-Identifier: Apache-2.0
"""view, analyze, info, query and export of a trace: filters, formats, and numbers that agree."""

import csv
import io
import json
import math
import os
import re
import shutil
import tempfile
import unittest

from harness import PROGRAM, CommandTest, environment


class ReadingTest(CommandTest):
    """Works on one synthetic trace with every kind of event; equal options give equal traces."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="tracesmith-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.trace = os.path.join(cls.shared, "t.sbt")
        made = os.spawnl(os.P_WAIT, PROGRAM, "tracesmith", "record", "-q", "-p", "simulation", "-d",
                         "0.3", "-o", cls.trace)
        assert made == 0

    def ok(self, *arguments):
        result = self.run_command(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def query(self, sql):
        return json.loads(self.ok("query", "--json", self.trace, sql))


class View(ReadingTest):
    def test_text_lists_fifty_events_and_says_how_many_more_there_are(self):
        result = self.run_command("view", self.trace)
        self.assertEqual(len(result.stdout.splitlines()), 51)
        self.assertRegex(result.stderr.decode(), r"^tracesmith: [\d,]+ more events; -n 0 shows all\n$")
        self.assertEqual(len(self.ok("view", self.trace, "-n", "3").splitlines()), 4)

    def test_json_and_csv_hold_the_same_events_in_time_order(self):
        events = json.loads(self.ok("view", "-f", "json", self.trace))
        rows = list(csv.DictReader(io.StringIO(self.ok("view", "-f", "csv", self.trace))))
        self.assertEqual(len(events), len(rows))
        for event, row in zip(events, rows):
            self.assertEqual({k: "" if v is None else str(v) for k, v in event.items()}, row)
        times = [e["start_ns"] for e in events]
        self.assertEqual(times, sorted(times))
        for table, type_ in (("kernel", "kernel"), ("copy", "copy"), ("host_call", "call")):
            there = self.query(f"SELECT count(*) AS n FROM {table}")[0]["n"]
            self.assertEqual(sum(e["type"] == type_ for e in events), there)
            self.assertGreater(there, 0)

    def test_filters_take_what_they_say(self):
        everything = json.loads(self.ok("view", "--json", self.trace))
        begin = min(e["start_ns"] for e in everything)
        kernels = json.loads(self.ok("view", "--json", "-t", "kernel", self.trace))
        self.assertEqual(kernels, [e for e in everything if e["type"] == "kernel"])
        both = json.loads(self.ok("view", "--json", "-t", "kernel,copy", self.trace))
        self.assertEqual(both, [e for e in everything if e["type"] in ("kernel", "copy")])
        stream = json.loads(self.ok("view", "--json", "--stream", "1", self.trace))
        self.assertEqual({e["stream"] for e in stream}, {1})
        self.assertEqual(stream, [e for e in everything if e["stream"] == 1])
        name = kernels[0]["name"]
        named = json.loads(self.ok("view", "--json", "--name", f"^{re.escape(name)}$", self.trace))
        self.assertEqual(named, [e for e in everything if e["name"] == name])
        window = json.loads(self.ok("view", "--json", "--from", "100ms", "--to", "0.2s", self.trace))
        low, high = begin + 100_000_000, begin + 200_000_000
        self.assertEqual(window, [e for e in everything if e["start_ns"] < high and
                                  (e["start_ns"] + e["duration_ns"] > low or e["start_ns"] >= low)])
        self.assertTrue(0 < len(window) < len(everything))

    def test_statistics_are_those_of_the_events(self):
        stats = json.loads(self.ok("view", "--stats", "--json", self.trace))
        durations = {}
        for row in self.query("SELECT name, duration_ns FROM kernel"):
            durations.setdefault(row["name"], []).append(row["duration_ns"])
        total = sum(map(sum, durations.values()))
        shown = {s["name"]: s for s in stats if s["kind"] == "kernel"}
        self.assertEqual(set(shown), set(durations))
        for name, values in durations.items():
            values.sort()
            rank = lambda p, v=values: v[math.ceil(p / 100 * len(v)) - 1]
            s = shown[name]
            self.assertEqual((s["count"], s["total_ns"], s["min_ns"], s["max_ns"]),
                             (len(values), sum(values), values[0], values[-1]))
            self.assertEqual((s["p50_ns"], s["p95_ns"], s["p99_ns"]), (rank(50), rank(95), rank(99)))
            self.assertAlmostEqual(s["mean_ns"], sum(values) / len(values))
            self.assertAlmostEqual(s["share"], sum(values) / total)
        csv_rows = list(csv.DictReader(io.StringIO(self.ok("view", "--stats", "-f", "csv",
                                                           self.trace))))
        self.assertEqual([int(r["total_ns"]) for r in csv_rows], [s["total_ns"] for s in stats])
        text = self.ok("view", "--stats", self.trace)
        for name in durations:
            self.assertIn(name, text)

    def test_what_the_timeline_calls_busy_is_that_of_the_intervals(self):
        picture = json.loads(self.ok("view", "--timeline", "--json", self.trace))
        spans = []
        for table in ("kernel", "copy", "fill"):
            spans += [(r["start_ns"], r["end_ns"]) for r in self.query(
                f"SELECT start_ns, end_ns FROM {table} WHERE device_id = 1")]
        spans.sort()
        busy, reached = 0, -1
        for begin, end in spans:
            begin = max(begin, reached)
            busy += max(0, end - begin)
            reached = max(reached, end)
        share = busy / (picture["end_ns"] - picture["begin_ns"])
        device = picture["devices"][0]
        self.assertAlmostEqual(device["busy"], share, places=6)
        self.assertAlmostEqual(sum(device["busy_by_cell"]) / picture["cells"], share, places=6)
        self.assertEqual(picture["operations"], len(spans))

    def test_a_timeline_fits_its_terminal(self):
        for columns in (20, 40, 59, 60, 80, 200):
            code, shown = self.on_terminal("view", "--timeline", self.trace, columns=columns)
            self.assertEqual(code, 0)
            lines = self.without_colours(shown).splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertTrue(any(set(line) & set("▁▂▃▄▅▆▇█") for line in lines), shown)
        plain = self.on_terminal("--no-color", "view", "--timeline", self.trace, columns=80)[1]
        self.assertNotIn("\x1b[", plain)

    def test_an_ascii_terminal_gets_ascii(self):
        for arguments in (["--timeline"], ["--stats"], []):
            _, shown = self.on_terminal("view", *arguments, self.trace, env=environment(LANG="C"))
            shown.encode("ascii")

    def test_what_makes_no_sense_is_refused(self):
        self.assert_fails(self.run_command("view", self.trace, "--name", "("), 2, "'('")
        self.assert_fails(self.run_command("view", self.trace, "--stream", "999"), 2, "999")
        self.assert_fails(self.run_command("view", self.trace, "--from", "2s", "--to", "1s"), 2)
        self.assert_fails(self.run_command("view", self.trace, "-t", "kernal"), 2, "'kernel'")
        self.assert_fails(self.run_command("view", self.trace, "--timeline", "-f", "csv"), 2)
        self.assert_fails(self.run_command("view"), 2, "FILE")

    def test_when_nothing_matches_it_says_so(self):
        self.assertEqual(self.ok("view", "--name", "zzz", self.trace), "no events\n")
        self.assertEqual(self.ok("view", "--name", "zzz", "--stats", self.trace), "no events\n")
        self.assertIn("no device work", self.ok("view", "--name", "zzz", "--timeline", self.trace))
        self.assertEqual(json.loads(self.ok("view", "--name", "zzz", "--json", self.trace)), [])

    def test_a_reader_that_leaves_early_is_no_error(self):
        result = self.shell(f'"$T" view -n 0 {self.trace} | head -n 1; echo "${{PIPESTATUS[0]}}"')
        self.assertIn(result.stdout.decode().splitlines()[-1], ("0", "141"))
        self.assertEqual(result.stderr, b"")

    def test_output_that_is_lost_is_a_failure(self):
        result = self.shell(f'"$T" view -n 0 {self.trace} > /dev/full')
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"standard output", result.stderr)


class Analyze(ReadingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = os.path.join(cls.shared, "ranges.json")
        events = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1,
                   "ts": 100 * i, "dur": 50}
                  for i, name in enumerate(["forward pass", "forward again", "backward"])]
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 120,
                       "dur": 10, "args": {"device": 0, "stream": 7}})
        with open(cls.trace, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)

    def test_a_range_is_chosen_by_name_and_number(self):
        self.ok("analyze", "--critical-path", "--range", "forward", "--instance", "1", self.trace)
        self.ok("analyze", "--range", "backward", self.trace)
        refused = lambda *arguments: self.run_command("analyze", self.trace, *arguments)
        self.assert_fails(refused("--range", "forward", "--instance", "2"), 2, "'forward'", ": 2,", "no 2")
        self.assert_fails(refused("--range", "sideward"), 2, "'sideward'")
        self.assert_fails(refused("--instance", "1"), 2, "--instance", "--range")
        self.assert_fails(refused("--idle", "--range", "forward"), 2, "--range", "--critical-path")


class Info(ReadingTest):
    def test_counts_are_those_of_the_tables(self):
        info = json.loads(self.ok("info", "--json", self.trace))
        text = self.ok("info", self.trace)
        for table in ("kernel", "copy", "host_call", "memory_event", "flow"):
            rows = self.query(f"SELECT count(*) AS n FROM {table}")[0]["n"]
            self.assertEqual(info["counts"][table], rows, table)
            self.assertRegex(text, rf"(?m)^ +{table} +{rows:,}$")

    def test_bytes_of_all_tables_are_within_the_file(self):
        info = json.loads(self.ok("info", "--json", "--columns", self.trace))
        total = sum(t["bytes"] for t in info["tables"])
        self.assertLess(total, os.path.getsize(self.trace))
        self.assertGreater(total, os.path.getsize(self.trace) / 2)
        for table in info["tables"]:
            self.assertLessEqual(sum(c["bytes"] for c in table["columns"]), table["bytes"])

    def test_a_synthetic_trace_says_so(self):
        self.assertIn("synthetic", self.ok("info", self.trace).lower())

    def test_of_the_system_it_names_clocks_agents_and_backends(self):
        text = self.ok("info")
        for word in ("CLOCK_MONOTONIC", "libtracesmith-opencl.so", "OpenCL", "CUDA"):
            self.assertIn(word, text)
        facts = json.loads(self.ok("info", "--json"))
        self.assertIn("OpenCL", [b["backend"] for b in facts["backends"]])
        self.assert_fails(self.run_command("info", "--columns"), 2, "--columns")


class Query(ReadingTest):
    def test_sql_in_table_out(self):
        self.assertEqual(self.ok("query", self.trace, "SELECT 1 AS one, 'x' AS text, NULL AS gone"),
                         "one  text  gone\n  1  x     NULL\n")
        self.assertEqual(self.ok("query", "--csv", self.trace, "SELECT 1 AS a, 'x,\"y' AS b, NULL"),
                         'a,b,NULL\n1,"x,""y",\n')
        self.assertEqual(
            json.loads(self.ok("query", "--json", self.trace, "SELECT 1 AS a, 2 AS a, 0.5, NULL AS n")),
            [{"a": 1, "a_2": 2, "0.5": 0.5, "n": None}])
        self.assertEqual(self.ok("query", "--csv", self.trace, "SELECT '' AS e"), 'e\n""\n')
        self.assertEqual(self.ok("query", "--csv", self.trace, "SELECT 1 AS a WHERE 0"), "a\n")
        self.assertEqual(json.loads(self.ok("query", "--json", self.trace, "SELECT 1 WHERE 0")), [])

    def test_every_documented_table_and_column_is_there(self):
        for table in ("kernel", "copy", "fill", "sync", "host_call", "memory_event", "flow", "device",
                      "stream", "process", "thread", "call_path", "loss"):
            self.query(f"SELECT * FROM {table} LIMIT 1")
        row = self.query("SELECT name, start_ns, duration_ns, process_id, thread_id, device_id, "
                         "context_id, stream_id, correlation_id, call_path_id FROM kernel LIMIT 1")[0]
        self.assertGreater(row["start_ns"], 0)
        listed = {r["table_name"] for r in json.loads(self.ok("query", "--json", self.trace))}
        self.assertIn("kernel", listed)
        self.assertIn("duration_ns", self.ok("query", self.trace))

    def test_a_kernel_meets_its_launch(self):
        row = self.query("SELECT count(*) AS n, sum(k.start_ns >= h.start_ns) AS after FROM kernel k "
                         "JOIN host_call h USING (correlation_id, process_id)")[0]
        kernels = self.query("SELECT count(*) AS n FROM kernel")[0]["n"]
        self.assertEqual((row["n"], row["after"]), (kernels, kernels))

    def test_sql_comes_from_standard_input_as_well(self):
        result = self.run_command("query", "--csv", self.trace, "-", stdin=b"SELECT 2 AS two")
        self.assertEqual(result.stdout, b"two\n2\n")

    def test_wrong_sql_is_told_with_its_place_and_the_nearest_name(self):
        self.assert_fails(self.run_command("query", self.trace, "SELECT nme FROM kernel"), 2, "nme",
                          "column 8", "name")
        self.assert_fails(self.run_command("query", self.trace, "SELECT 1 FROM kernels"), 2, "kernel")
        self.assert_fails(self.run_command("query", self.trace, "SELEC 1"), 2, "SELEC")
        self.assert_fails(self.run_command("query", "--csv", "--json", self.trace, "SELECT 1"), 2)

    def test_nothing_but_reading_is_possible(self):
        with open(self.trace, "rb") as file:
            before = file.read()
        for sql in ("DELETE FROM kernel", "DROP TABLE kernel", "ATTACH 'x.db' AS x",
                    "PRAGMA writable_schema=1", "CREATE TABLE t (a)", "SELECT load_extension('x')",
                    "VACUUM INTO 'copy.db'", "UPDATE kernel SET name = ''"):
            result = self.run_command("query", self.trace, sql)
            self.assertNotEqual(result.returncode, 0, sql)
            self.assertEqual(result.stdout, b"", sql)
        with open(self.trace, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
