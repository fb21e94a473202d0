# SPDX-License-Identifier: Apache-2.0
"""analyze with several traces: the ranks of a job side by side."""

import glob
import json
import os
import unittest

from harness import CommandTest

DATA = os.environ.get("TRACESMITH_TEST_DATA", "")


def trace_of(rank, kernel_us, start_us):
    """Two kernels of `kernel_us` each, 10 us apart, and a collective, in a clock of the rank's own."""
    events = [("gemm", start_us, kernel_us), ("gemm", start_us + kernel_us + 10, kernel_us),
              ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start_us + 2 * kernel_us + 10, 100 - 2 * kernel_us)]
    document = {"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": duration,
         "args": {"stream": 7, "correlation": i + 1, "device": 0}}
        for i, (name, ts, duration) in enumerate(events)]}
    if rank is not None:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return document


class Ranks(CommandTest):
    def write(self, name, document):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)
        return name

    def job(self):
        return (self.write("b.json", trace_of(1, 20, 5_000_000)), self.write("a.json", trace_of(0, 30, 1000)))

    def report(self, *arguments):
        result = self.run_command("analyze", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_ranks_are_rows_with_sum_and_spread(self):
        report = self.report(*self.job())
        rows = report["ranks"]
        self.assertEqual([row["rank"] for row in rows], ["0", "1"])  # not the order of the files
        self.assertEqual([row["file"] for row in rows], ["a.json", "b.json"])
        self.assertEqual([row["device_busy_ns"] for row in rows], [100_000, 100_000])
        self.assertEqual([row["device_idle_ns"] for row in rows], [10_000, 10_000])
        self.assertEqual([row["compute_ns"] for row in rows], [60_000, 40_000])
        self.assertEqual([row["communication_ns"] for row in rows], [40_000, 60_000])
        compute = next(row for row in report["rank_spread"] if row["what"] == "compute")
        self.assertEqual((compute["sum_ns"], compute["mean_ns"]), (100_000, 50_000))
        self.assertEqual((compute["min_ns"], compute["min_rank"]), (40_000, "1"))
        self.assertEqual((compute["max_ns"], compute["max_rank"]), (60_000, "0"))
        self.assertAlmostEqual(compute["spread"], 0.4)
        trace = next(row for row in report["rank_spread"] if row["what"] == "trace")
        self.assertEqual(trace["max_ns"], 110_000)  # seconds lie between the clocks
        gemm = next(row for row in report["rank_kernels"] if row["name"] == "gemm")
        self.assertEqual((gemm["ranks"], gemm["launches"], gemm["total_ns"]), (2, 4, 100_000))
        self.assertEqual((gemm["max_rank"], gemm["max_ns"]), ("0", 60_000))

    def test_the_text_says_that_each_rank_has_its_own_clock(self):
        result = self.run_command("analyze", *self.job())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("each rank has its own clock", result.stdout.decode())

    def test_traces_that_do_not_say_their_rank_go_by_name_and_position(self):
        a, b = self.job()
        report = self.run_command("analyze", a, b, self.write("c.json", trace_of(None, 10, 5)),
                                  self.write("rank-5.json", trace_of(None, 20, 5))).stdout.decode()
        self.assertIn("as c.json is rank 2", report)
        self.assertIn("1 of 4 files do not say their rank: the file's name does", report)

    def test_a_rank_that_occurs_twice_is_named_with_its_file(self):
        a, b = self.job()
        report = self.report(a, b, self.write("d.json", trace_of(1, 40, 5)))
        compute = next(row for row in report["rank_spread"] if row["what"] == "compute")
        self.assertEqual((compute["min_rank"], compute["max_rank"]), ("1 (b.json)", "1 (d.json)"))
        text = self.run_command("analyze", a, b, "d.json").stdout.decode()
        self.assertIn("several files say that they are rank 1", text)

    def test_missing_ranks_are_said(self):
        report = self.run_command("analyze", self.write("a.json", trace_of(0, 30, 5)),
                                  self.write("b.json", dict(trace_of(3, 30, 5), distributedInfo={
                                      "rank": 3, "world_size": 4}))).stdout.decode()
        self.assertIn("the job has 4 ranks; missing: 1 and 2", report)

    def test_kernels_have_short_names_unless_full_ones_are_wanted(self):
        name = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")
        files = []
        for rank in (0, 1):
            document = trace_of(rank, 30, 5)
            document["traceEvents"][0]["name"] = name
            files.append(self.write(f"{rank}.json", document))
        self.assertNotIn("void at::native", self.run_command("analyze", *files).stdout.decode())
        self.assertIn("void at::native", self.run_command("analyze", "--full-names", *files).stdout.decode())
        self.assertIn(name, [row["name"] for row in self.report(*files)["rank_kernels"]])

    def test_refuses_what_needs_one_trace_and_a_file_given_twice(self):
        a, b = self.job()
        self.assert_fails(self.run_command("analyze", "--idle", a, b), 2, "single trace")
        self.assert_fails(self.run_command("analyze", a, "./" + a), 2, a)
        self.assert_fails(self.run_command("analyze", a, "none.json"), 1, "none.json")

    def test_real_ranks_sum_to_what_each_trace_alone_has(self):
        files = sorted(glob.glob(os.path.join(DATA, "traces/hta/tests/data/trace_filter/sampled_rank-*.gz")))
        if len(files) < 2:
            self.skipTest("no traces of several ranks: set TRACESMITH_TEST_DATA")
        report = self.report(*files)
        alone = [self.report("--gpu-util", file)["gpu_util"] for file in files]
        self.assertEqual([row["rank"] for row in report["ranks"]], ["0", "1"])
        self.assertEqual([row["device_busy_ns"] for row in report["ranks"]],
                         [sum(device["busy_ns"] for device in devices) for devices in alone])

    def test_two_real_gpus_leave_their_collectives_as_far_apart_as_was_published(self):
        """33 pairs of ncclDevKernel_SendRecv on two H100, each with a process of its own."""
        file = os.path.join(DATA, "traces/nsys_ai/tests/fixtures/mfu_2gpu_before.sqlite.gz")
        if not os.path.exists(file):
            self.skipTest("no trace of two GPUs: set TRACESMITH_TEST_DATA")
        self.assertEqual(self.run_command("import", "-q", file, "-o", "two.sbt").returncode, 0)
        apart = self.run_command("query", "--csv", "two.sbt", """
            WITH ends AS (SELECT s.device_id AS gpu, k.start_ns + k.duration_ns AS at,
                                 row_number() OVER (PARTITION BY s.device_id ORDER BY k.start_ns) AS number
                          FROM kernel k JOIN stream s ON s.id = k.stream_id
                          WHERE k.name LIKE 'ncclDevKernel_SendRecv%')
            SELECT b.at - a.at AS apart FROM ends a JOIN ends b USING (number) WHERE a.gpu < b.gpu ORDER BY 1""")
        self.assertEqual(apart.returncode, 0, apart.stderr)
        ns = [int(line) for line in apart.stdout.split()[1:]]
        self.assertEqual(len(ns), 33)
        self.assertEqual(round(ns[16] / 1000, 1), -22.2, "us, the median")
        self.assertEqual((round(ns[0] / 1000, 1), round(ns[-1] / 1000, 1)), (-26.6, 8.8))
        rows = json.loads(self.run_command("analyze", "--gpu-util", "--json", "two.sbt").stdout)["gpu_util"]
        self.assertEqual(len(rows), 2)
        # What went over NVLink by NCCL's kernels is no copy; copies are between a GPU and its host.
        self.assertEqual(self.run_command("query", "--csv", "two.sbt", "SELECT count(*) FROM copy WHERE "
                                          "source_device_id IS NOT NULL").stdout.split()[-1], b"0")


if __name__ == "__main__":
    unittest.main()
