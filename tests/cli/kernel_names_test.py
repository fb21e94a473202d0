# SPDX-License-Identifier: Apache-2.0
"""Names of kernels: families against names labelled by hand, and all kernels of the real traces.

Real traces: the folder `traces` of TRACESMITH_TEST_DATA. Without it, those tests are skipped.
"""

import csv
import glob
import io
import json
import os
import unittest

from harness import SOURCE, CommandTest

LABELLED = os.path.join(SOURCE, "tests", "data", "kernel_names", "kernel_families.csv")
TRACES = os.path.join(os.environ.get("TRACESMITH_TEST_DATA", ""), "traces")
SUFFIXES = (".json", ".json.gz", ".sqlite.gz", ".rpd.gz", ".csv")
FAMILIES = {"other", "gemm", "attention", "convolution", "normalization", "softmax", "elementwise", "reduction", "copy",
            "sort", "embedding", "random", "optimizer", "pooling", "collective", "fill"}


class Names(CommandTest):
    def trace_of(self, names):
        """A trace with one kernel per name and duration in ns."""
        events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": i * 10, "dur": duration / 1000,
                   "args": {"stream": 7, "correlation": i + 1, "device": 0}}
                  for i, (name, duration) in enumerate(names)]
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)
        self.assertEqual(self.run_command("import", "-q", "t.json", "-o", "t.sbt").returncode, 0)
        return "t.sbt"

    def rows(self, trace, sql):
        result = self.run_command("query", "--csv", trace, sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return list(csv.DictReader(io.StringIO(result.stdout.decode(), newline="")))


class Families(Names):
    def test_agree_with_labels_given_by_hand(self):
        with open(LABELLED, encoding="utf-8", newline="") as file:
            labelled = list(csv.DictReader(file))
        self.assertGreaterEqual(len(labelled), 300)
        trace = self.trace_of([(row["name"], 1) for row in labelled])
        found = {row["name"]: row["family"] for row in self.rows(trace, "SELECT DISTINCT name, family FROM kernel")}
        all_ns = sum(int(row["time_ns"]) for row in labelled)
        wrong = [row for row in labelled if found[row["name"]] != row["family"]]
        wrong_ns = sum(int(row["time_ns"]) for row in wrong)
        self.assertLessEqual(wrong_ns, 0.01 * all_ns, [(row["name"], found[row["name"]]) for row in wrong])

    def test_group_kernels_in_sql(self):
        trace = self.trace_of([("void gemm_kernel<float>(int)", 30), ("void gemm_kernel<double>(int)", 20), ("x", 5)])
        self.assertEqual(
            self.rows(trace, "SELECT family, sum(duration_ns) AS ns FROM kernel GROUP BY family ORDER BY ns DESC"),
            [{"family": "gemm", "ns": "50"}, {"family": "other", "ns": "5"}])
        self.assertEqual(self.rows(trace, "SELECT name FROM kernel WHERE short_name = 'gemm<f64>'"),
                         [{"name": "void gemm_kernel<double>(int)"}])


class Tables(Names):
    LONG = "void at::native::vectorized_elementwise_kernel<{}, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)"

    def test_show_short_names_unless_full_ones_are_wanted(self):
        trace = self.trace_of([(self.LONG.format(4), 30), (self.LONG.format(8), 20)])
        for command in (["view", "--stats"], ["analyze", "--kernels"]):
            text = self.run_command(*command, trace).stdout.decode()
            self.assertIn("vectorized_elementwise<fill, f32> [4]", text)
            self.assertIn("vectorized_elementwise<fill, f32> [8]", text)
            self.assertNotIn("at::native", text)
            full = self.run_command(*command, "--full-names", trace).stdout.decode()
            self.assertIn("void at::native::vectorized_elementwise", full)
        names = [row["name"] for row in json.loads(self.run_command("analyze", "--json", trace).stdout)["kernels"]]
        self.assertEqual(names, [self.LONG.format(4), self.LONG.format(8)])
        stats = json.loads(self.run_command("view", "--stats", "--json", trace).stdout)
        self.assertEqual([row["name"] for row in stats if row["kind"] == "kernel"], names)

    def test_fit_a_terminal_of_80_columns(self):
        trace = self.trace_of([(self.LONG.format(i), 1000 + i) for i in range(1, 9)] + [("k" * 200, 7)])
        for command in (["view", "--stats"], ["analyze"]):
            code, text = self.on_terminal(*command, trace, columns=80)
            self.assertEqual(code, 0)
            lines = self.without_colours(text).splitlines()
            self.assertEqual([line for line in lines if len(line) > 80], [])


@unittest.skipUnless(os.path.isdir(TRACES), "no real traces (TRACESMITH_TEST_DATA)")
class RealTraces(Names):
    def test_have_a_family_for_at_least_95_percent_of_kernel_time_and_distinct_short_names(self):
        by_family = {}
        read = 0
        for source in sorted(glob.glob(os.path.join(TRACES, "**", "*"), recursive=True)):
            if not source.endswith(SUFFIXES):
                continue
            if self.run_command("import", "-q", source, "-o", "t.sbt").returncode != 0:
                continue  # not a trace
            kernels = self.rows("t.sbt", "SELECT name, family, short_name, sum(duration_ns) AS ns FROM kernel "
                                         "GROUP BY name, family, short_name")
            read += 1
            names = {row["name"] for row in kernels}
            self.assertEqual(len(kernels), len(names), source)
            self.assertEqual(len({row["short_name"] for row in kernels}), len(names), source)
            for row in kernels:
                self.assertIn(row["family"], FAMILIES)
                by_family[row["family"]] = by_family.get(row["family"], 0) + int(row["ns"] or 0)
        self.assertGreater(read, 10)
        self.assertLessEqual(by_family.get("other", 0), 0.05 * sum(by_family.values()), by_family)


if __name__ == "__main__":
    unittest.main()
