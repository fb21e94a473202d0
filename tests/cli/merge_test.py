# SPDX-License-Identifier: Apache-2.0
"""merge: the ranks of a job in one trace."""

import csv
import glob
import io
import json
import os
import shutil
import subprocess
import unittest

from harness import PROGRAM, CommandTest, environment
from ranks_test import trace_of

DATA = os.environ.get("TRACESMITH_TEST_DATA", "")

# Rows of one rank, told by process or, without one, by stream; in an order that ids do not decide.
OF_RANK = """SELECT {columns} FROM {table} t LEFT JOIN process p ON p.id = t.process_id
             LEFT JOIN stream s ON s.id = t.stream_id LEFT JOIN process q ON q.id = s.process_id
             LEFT JOIN device d ON d.id = s.device_id
             {where} ORDER BY {columns}"""
RANK = "coalesce(p.rank_id, q.rank_id, d.rank_id)"
COLUMNS = {
    "kernel": "t.start_ns, t.duration_ns, t.name, t.global_x, s.ordinal, d.name, p.pid",
    "copy": "t.start_ns, t.duration_ns, t.kind, t.bytes, s.ordinal, d.name, p.pid",
    "host_call": "t.start_ns, t.duration_ns, t.name, t.kind, p.pid",
    "range": "t.start_ns, t.duration_ns, t.name, t.category, p.pid",
}


class Merge(CommandTest):
    def write(self, name, document):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)
        return name

    def job(self):
        return (self.write("rank-0.json", trace_of(0, 30, 1000)), self.write("rank-1.json", trace_of(1, 20, 5_000_000)))

    def command(self, *arguments, code=0):
        result = self.run_command(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def merged(self, *files):
        return self.command("merge", *files, "-o", "job.sbt")

    def query(self, file, sql):
        return list(csv.reader(io.StringIO(self.command("query", "--csv", file, sql).stdout.decode())))[1:]

    def report(self, *arguments):
        return json.loads(self.command("analyze", "--json", *arguments).stdout)

    def test_memory_is_that_of_one_rank(self):
        self.command("record", "-q", "-p", "simulation", "-d", "6", "-o", "one.sbt")  # 300,000 events
        peaks = []
        for ranks in (2, 16):
            files = [f"rank-{rank}.sbt" for rank in range(ranks)]
            for file in files:
                shutil.copy(self.path("one.sbt"), self.path(file))
            process = subprocess.Popen([PROGRAM, "merge", "-q", *files, "-o", "job.sbt"], cwd=self.dir,
                                       env=environment(), stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            peaks.append(usage.ru_maxrss)
        self.assertLess(peaks[1], 1.25 * peaks[0], "KiB")
        self.assertEqual(self.query("job.sbt", "SELECT count(*) FROM rank"), [["16"]])

    def test_analyze_shows_what_it_shows_for_the_files(self):
        files = self.job()
        self.merged(*files)
        self.assertEqual(self.report("job.sbt"), self.report(*files))
        text = self.command("analyze", "job.sbt").stdout
        self.assertEqual(text, self.command("analyze", *files).stdout)
        self.assertIn(b"each rank has its own clock", text)

    def test_one_rank_is_analyzed_as_its_own_file(self):
        files = self.job()
        self.merged(*files)
        for rank, file in enumerate(files):
            self.assertEqual(self.report("--gpu-util", "--kernels", "--idle", "job.sbt", "--rank", str(rank)),
                             self.report("--gpu-util", "--kernels", "--idle", file))

    def test_what_compares_times_needs_a_rank(self):
        self.merged(*self.job())
        for arguments in (("analyze", "--idle"), ("analyze", "--findings", "--idle"), ("whatif",), ("diff", "job.sbt")):
            self.assert_fails(self.run_command(*arguments, "job.sbt"), 2, "choose one with --rank")
        self.assertIn(b"most rules were not checked", self.command("analyze", "--findings", "job.sbt").stdout)
        self.command("whatif", "job.sbt", "--rank", "1", "--allow-unmatched")
        self.command("diff", "job.sbt", "job.sbt", "--rank", "0")
        self.assert_fails(self.run_command("analyze", "job.sbt", "--rank", "7"), 2, "there is no rank 7; the trace has 0 and 1")

    def test_viewers_get_the_ranks_aligned_and_say_so(self):
        self.merged(*self.job())
        for arguments in (("view", "--timeline", "job.sbt"), ("export", "job.sbt", "-o", "job.json")):
            self.assertIn(b"they were not compared", self.command(*arguments).stderr)
        with open(self.path("job.json"), encoding="utf-8") as file:
            events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
        gemms = sorted(event["ts"] for event in events if event["name"] == "gemm")
        self.assertEqual(gemms[0], gemms[1])  # 5 seconds lie between the clocks
        view = self.command("view", "--timeline", "job.sbt").stdout.decode()
        self.assertIn("rank 0", view)
        self.assertIn("rank 1", view)

    def test_a_rank_exported_as_a_trace_is_a_trace_of_one_clock(self):
        self.merged(*self.job())
        self.command("export", "job.sbt", "--rank", "1", "-o", "one.sbt")
        self.assertEqual(self.report("--gpu-util", "one.sbt"), self.report("--gpu-util", "rank-1.json"))

    def test_some_ranks_are_a_job_of_these(self):
        files = [self.write(f"rank-{rank}.json", trace_of(rank, 10 + rank, 1000 * rank)) for rank in range(5)]
        self.merged(*files)
        self.merged(files[1], files[2], files[4])
        os.replace(self.path("job.sbt"), self.path("of-three.sbt"))
        self.merged(*files)
        self.command("export", "job.sbt", "--ranks", "4,1-2", "-o", "some.sbt")
        wanted = self.report("of-three.sbt")
        for arguments in (("some.sbt",), ("job.sbt", "--ranks", "1,2,4"), ("job.sbt", "--ranks", "1-2,4-9")):
            self.assertEqual(self.report(*arguments), wanted)
        self.assertEqual(self.query("some.sbt", "SELECT DISTINCT substr(key, 1, 7) FROM metadata WHERE key LIKE 'rank.%' "
                                                "ORDER BY 1"), [["rank.1."], ["rank.2."], ["rank.4."]])
        self.assertEqual(self.report("--gpu-util", "some.sbt", "--rank", "4"), self.report("--gpu-util", "rank-4.json"))
        view = self.command("view", "--timeline", "job.sbt", "--ranks", "3").stdout.decode()
        self.assertIn("rank 3", view)
        self.assertNotIn("rank 2", view)
        for ranks, words in (("5", "there is no rank 5"), ("1,1", "no rank 1 that is not named already"),
                             ("3-1", "no list of ranks"), ("1,", "no list of ranks"), ("x", "no list of ranks")):
            self.assert_fails(self.run_command("view", "job.sbt", "--ranks", ranks), 2, words)
        self.assert_fails(self.run_command("view", "rank-1.json", "--ranks", "1"), 2, "not a merged trace")

    def test_info_lists_the_ranks_and_their_clocks(self):
        self.merged(*self.job())
        text = self.command("info", "job.sbt").stdout.decode()
        self.assertIn("ranks (2)", text)
        self.assertIn("each rank has its own clock", text)
        ranks = json.loads(self.command("info", "--json", "job.sbt").stdout)["ranks"]
        self.assertEqual([(rank["rank"], rank["known_from"], rank["file"]) for rank in ranks],
                         [(0, "trace", "rank-0.json"), (1, "trace", "rank-1.json")])

    def test_sql_tells_the_rank_of_a_row(self):
        self.merged(*self.job())
        rows = self.query("job.sbt", "SELECT r.number, count(*), sum(k.duration_ns) FROM kernel k "
                                     "JOIN device d ON d.id = k.device_id JOIN rank r USING (rank_id) "
                                     "WHERE k.name = 'gemm' GROUP BY 1 ORDER BY 1")
        self.assertEqual(rows, [["0", "2", "60000"], ["1", "2", "40000"]])

    def test_mixed_formats_and_ranks_by_name_and_position(self):
        self.command("import", self.write("rank-4.json", trace_of(None, 30, 5)), "-o", "rank-4.sbt")
        said = self.merged("rank-4.sbt", self.write("x.json", trace_of(None, 20, 7))).stderr.decode()
        self.assertIn("as x.json is rank 0", said)
        self.assertEqual(self.query("job.sbt", "SELECT number, number_from, file FROM rank ORDER BY 1"),
                         [["0", "position", "x.json"], ["4", "file_name", "rank-4.sbt"]])

    def test_refusals_leave_no_file(self):
        a, b = self.job()
        with open(self.path("broken.json"), "w", encoding="utf-8") as file:
            file.write("no trace")
        for files, code, words in (((a,), 2, "one trace is given"),
                                   ((a, "./" + a), 2, a),
                                   ((a, "none.json"), 1, "none.json"),
                                   ((a, "broken.json"), 1, "broken.json"),
                                   ((a, b, self.write("again.json", trace_of(1, 3, 3))), 2, "is of rank 1")):
            self.assert_fails(self.run_command("merge", *files, "-o", "job.sbt"), code, words)
            self.assertFalse(os.path.exists(self.path("job.sbt")), files)
        self.merged(a, b)
        before = os.stat(self.path("job.sbt")).st_mtime_ns
        self.assert_fails(self.run_command("merge", a, "broken.json", "-o", "job.sbt"), 1, "broken.json")
        self.assertEqual(os.stat(self.path("job.sbt")).st_mtime_ns, before)
        self.assert_fails(self.run_command("merge", a, "job.sbt", "-o", "more.sbt"), 1, "already holds ranks")

    def test_missing_ranks_and_losses_are_said(self):
        document = dict(trace_of(3, 30, 5), distributedInfo={"rank": 3, "world_size": 4})
        with open(self.path("cut.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(document)[:-150])
        self.command("import", self.write("a.json", trace_of(0, 30, 5)))
        result = self.command("merge", "cut.json", "a.sbt", "-o", "job.sbt", code=3)
        self.assertIn("cut.json", result.stderr.decode())
        losses = self.query("job.sbt", "SELECT count(*), count(DISTINCT rank_id) FROM loss")
        self.assertEqual(losses, [["2", "2"]])

    def test_rows_of_real_ranks_are_those_of_their_imports(self):
        files = sorted(glob.glob(os.path.join(DATA, "traces/hta/tests/data/trace_filter/sampled_rank-*.gz")))
        if len(files) < 2:
            self.skipTest("no traces of several ranks: set TRACESMITH_TEST_DATA")
        self.merged(*files)
        for rank, file in enumerate(files):
            self.command("import", file, "-o", "alone.sbt")
            for table, columns in COLUMNS.items():
                alone = self.query("alone.sbt", OF_RANK.format(columns=columns, table=table, where=""))
                part = self.query("job.sbt", OF_RANK.format(columns=columns, table=table,
                                                            where=f"WHERE {RANK} = {rank + 1}"))
                self.assertEqual(part, alone, (file, table))
            self.assertEqual(self.report("--gpu-util", "--steps", "--kernels", "job.sbt", "--rank", str(rank)),
                             self.report("--gpu-util", "--steps", "--kernels", "alone.sbt"))
            os.remove(self.path("alone.sbt"))


if __name__ == "__main__":
    unittest.main()
