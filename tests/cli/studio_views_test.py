# SPDX-License-Identifier: Apache-2.0
"""What Studio's views are told equals what the commands say."""

import json
import unittest
from urllib.parse import quote

from harness import DEMO, CommandTest
from studio_test import Server


class StudioViewsTest(CommandTest):
    def write(self, name, factor):
        """Steps of three kernels, the gemm `factor` as long; blocks of memory that grow and shrink."""
        events = []
        for i in range(300):
            start = i * 100
            duration = [40 * factor, 12, 8][i % 3] + i % 7 / 10
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                 "ts": start, "dur": 5, "args": {"correlation": i + 1}},
                {"ph": "X", "cat": "kernel", "name": ["void gemm<float>(int)", "softmax", "norm"][i % 3], "pid": 0,
                 "tid": 7, "ts": start + 6, "dur": duration, "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)

    def serve(self, *files):
        server = Server(self, *files, cwd=self.dir)
        self.assertTrue(server.url)
        return server

    def said(self, *arguments):
        done = self.run_command(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def rows(answer, key):
        table = next(table for table in answer["tables"] if table["key"] == key)
        keys = [column["key"] for column in table["columns"]]
        return [dict(zip(keys, row)) for row in table["rows"]]

    def test_predictions_are_those_of_whatif(self):
        self.write("t.json", 1)
        server = self.serve("t.json")
        answer = server.json("/api/whatif", {"scale": ["kernel=gemm:0.5"], "remove": ["norm"]})
        said = self.said("whatif", "t.json", "--scale", "kernel=gemm:0.5", "--remove", "norm")
        self.assertEqual(self.rows(answer, "prediction"), said["prediction"])
        self.assertEqual(answer["predicted_ns"], said["prediction"][2]["makespan_ns"])
        stream = answer["streams"][0]
        self.assertEqual(stream["label"], "stream 7")
        recorded, predicted = (sum(stream[key]["busy"]) for key in ("recorded", "predicted"))
        self.assertLess(predicted, 0.8 * recorded)
        for body, words in (({"scale": ["gemm"]}, "--scale"), ({"remove": ["nowhere"]}, "nowhere"),
                            ({"streams": 0}, "--streams"), ({"scale": "x" * 10}, "")):
            status, _, content = server.ask("/api/whatif", body)
            if status == 200:  # a value of the wrong type is no change
                self.assertEqual(json.loads(content)["tables"][0]["key"], "critical_path")
            else:
                self.assertEqual(status, 400)
                self.assertIn(words, json.loads(content)["error"])

    def test_two_traces_are_compared_as_by_diff(self):
        self.write("a.json", 1)
        self.write("b.json", 0.5)
        server = self.serve("a.json", "b.json")
        trace = server.json("/api/trace")
        self.assertEqual((trace["before"], trace["name"]), ("a.json", "b.json"))
        said = self.said("diff", "a.json", "b.json")
        answer = server.json("/api/compare")
        for key, rows in said.items():
            if isinstance(rows, list):
                self.assertEqual(self.rows(answer, key), rows)
        name = quote("gemm<f32>")
        after, before = (server.json(f"/api/kernel?name={name}{of}") for of in ("", "&of=before"))
        self.assertEqual(sum(bin[2] for bin in after["histogram"]), 100)
        self.assertGreater(before["histogram"][0][0], 1.5 * after["histogram"][0][0])
        self.assertEqual(len(after["points"]), 100)
        self.assertEqual(server.ask("/api/kernel?name=nothing")[0], 404)
        one = self.serve("a.json")
        self.assertEqual(one.ask("/api/compare")[0], 404)
        self.assertEqual(one.json("/api/trace")["before"], "")

    def test_stacks_have_the_weights_of_flame_graphs(self):
        profile = self.run_command("profile", "-q", "--stacks", "-o", "run.sbt", "--", DEMO)
        self.assertEqual(profile.returncode, 0, profile.stderr)
        server = self.serve("run.sbt")
        for by in ("device", "host"):
            folded = self.run_command("export", "-f", "folded", "--by", f"{by}-time", "-o", "-", "run.sbt").stdout.decode()
            total = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
            frames = server.json(f"/api/stacks?by={by}")["frames"]
            self.assertEqual(frames[0], [-1, total, "all"])
            reversed_frames = server.json(f"/api/stacks?by={by}&reversed=1")["frames"]
            self.assertEqual(reversed_frames[0][1], total)
        kernels = self.said("query", "run.sbt", "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM copy) "
                                                "+ (SELECT count(*) FROM fill) AS n")[0]["n"]
        self.assertEqual(server.json("/api/stacks?by=launches")["frames"][0][1], kernels)
        time = self.said("query", "run.sbt", "SELECT sum(duration_ns) AS ns FROM kernel WHERE name = 'matrixMul'")[0]["ns"]
        callers = server.json("/api/stacks?by=device&callers_of=matrixMul")["frames"]
        self.assertEqual(callers[0][1], time)
        self.assertEqual(callers[1], [0, time, "matrixMul"])
        self.assertIn("main", [name for _, _, name in callers])
        self.assertEqual(server.ask("/api/stacks?by=nothing")[0], 400)

    def test_memory_is_that_of_analyze(self):
        self.assertEqual(self.run_command("profile", "-q", "-o", "run.sbt", "--", DEMO).returncode, 0)
        server = self.serve("run.sbt")
        answer = server.json("/api/memory")
        said = self.said("analyze", "run.sbt", "--memory")["memory"]
        self.assertEqual(self.rows(answer, "memory"), said)
        curve = answer["places"][0]["curve"]
        self.assertEqual(max(size for _, size in curve), max(row["peak_bytes"] for row in said))
        blocks = self.rows(answer, "peak_blocks")
        self.assertEqual(sum(block["bytes"] for block in blocks), max(size for _, size in curve))
        self.assertTrue(all(block["time_ns"] <= answer["peak_ns"] for block in blocks))

    def test_overlays_are_the_idle_times_and_the_path_of_analyze(self):
        self.write("t.json", 1)
        server = self.serve("t.json")
        answer = server.json("/api/overlay?kind=idle")
        sums = [0, 0, 0]
        for _, begin, end, cause in answer["marks"]:
            sums[cause] += end - begin
        said = self.said("analyze", "t.json", "--idle")["idle"][0]
        self.assertEqual(sums, [said["host_wait_ns"], said["kernel_wait_ns"], said["other_ns"]])
        self.assertEqual((answer["all"], len(answer["marks"])), (said["gaps"], said["gaps"]))
        path = server.json("/api/overlay?kind=path")
        said = self.said("analyze", "t.json", "--critical-path")["critical_path"]
        self.assertEqual(sum(end - begin for _, begin, end, _ in path["marks"]), sum(row["time_ns"] for row in said))
        for _, begin, end, _ in server.json("/api/overlay?kind=idle&from_ns=1000000&to_ns=1100000")["marks"]:
            self.assertLess(begin, 1100000)
            self.assertGreater(end, 1000000)
        self.assertEqual(server.ask("/api/overlay?kind=other")[0], 400)

    def test_counters_have_the_values_of_the_trace(self):
        self.assertEqual(self.run_command("profile", "-q", "-o", "run.sbt", "--", DEMO).returncode, 0)
        server = self.serve("run.sbt")
        lanes = [lane for lane in server.json("/api/trace")["lanes"] if lane.get("type") == "counter"]
        self.assertEqual([lane["counter"] for lane in lanes], list(range(len(lanes))))
        counters = server.json("/api/counters")["counters"]
        self.assertEqual(len(counters), len(lanes))
        peak = self.said("analyze", "run.sbt", "--memory")["memory"][0]
        memory = next(c for c, lane in zip(counters, lanes) if lane["unit"] == "bytes")
        self.assertEqual(memory["greatest"], peak["peak_bytes"])
        self.assertEqual(max(most for _, _, most in memory["points"]), peak["peak_bytes"])
        last = memory["points"][-1]
        after = server.json(f"/api/counters?from_ns={last[0] + 1}&to_ns={last[0] + 100}")["counters"]
        self.assertEqual(after[lanes[0]["counter"]]["points"][0][1:], last[1:])

    def test_notes_are_kept_beside_the_trace(self):
        self.write("t.json", 1)
        server = self.serve("t.json")
        self.assertEqual(server.json("/api/notes"), {"notes": []})
        notes = {"notes": [{"begin_ns": 5, "end_ns": 5, "text": "<b>\n\u202e"}, {"begin_ns": 9, "end_ns": 20, "text": ""}]}
        self.assertEqual(server.json("/api/notes", notes), {})
        with open(self.path("t.json.notes.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), notes)
        server.end()
        again = self.serve("t.json")
        self.assertEqual(again.json("/api/notes"), notes)
        for wrong in ({}, {"notes": [{"begin_ns": 5, "end_ns": 4, "text": ""}]}, {"notes": [{"begin_ns": "5"}]},
                      {"notes": [{"begin_ns": 1, "end_ns": 1, "text": "x" * 10_001}]}):
            self.assertEqual(again.ask("/api/notes", wrong)[0], 400)
        self.assertEqual(again.json("/api/notes"), notes)
        self.assertEqual(again.json("/api/notes", {"notes": []}), {})
        self.assertEqual(self.files(), ["t.json"])
        with open(self.path("t.json.notes.json"), "w", encoding="utf-8") as file:
            file.write("no notes")
        status, _, content = again.ask("/api/notes")
        self.assertEqual(status, 400)
        self.assertIn("t.json.notes.json", json.loads(content)["error"])

    def test_files_are_described_as_by_info(self):
        self.write("t.json", 1)
        self.assertEqual(self.serve("t.json").json("/api/info"), self.said("info", "t.json"))


if __name__ == "__main__":
    unittest.main()
