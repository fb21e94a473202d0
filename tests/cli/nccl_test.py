#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What NCCL writes itself: files of its Inspector, and the status of a job by its RAS."""

import json
import unittest

from harness import CommandTest

# NCCL's tests define both: S / t, and the share of S that crosses each link.
BANDWIDTH = """
    SELECT c.function, max(c.send_bytes, c.receive_bytes) / 1.0 / w.duration_ns AS algbw,
    max(ifnull(c.send_bytes, 0), ifnull(c.receive_bytes, 0)) / 1.0 / w.duration_ns *
        CASE c.function WHEN 'ncclAllReduce' THEN 2.0 * (m.ranks - 1) / m.ranks
                        ELSE 1.0 * (m.ranks - 1) / m.ranks END AS busbw
    FROM comm c JOIN comm_work w USING (process_id, correlation_id) JOIN communicator m ON m.id = c.communicator_id
    WHERE w.kind = 'operation' ORDER BY c.start_ns"""


def line(rank, sequence, at_us, coll="AllReduce", size=17179869184, took_us=61974, ranks=2, communicator="0xab"):
    factor = {"AllReduce": 2 * (ranks - 1) / ranks}.get(coll, (ranks - 1) / ranks)
    traffic = size if coll == "AllReduce" else size * ranks
    algbw = traffic / 1e9 / (took_us / 1e6)
    return {
        "header": {"id": communicator, "rank": rank, "n_ranks": ranks, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "dump_timestamp_us": at_us + 90000,
                     "rec_mechanism": "nccl_profiler_interface", "hostname": "host", "pid": 100 + rank},
        "coll_perf": {
            "coll": coll, "coll_sn": sequence, "coll_msg_size_bytes": size, "coll_exec_time_us": took_us,
            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": round(algbw, 6),
            "coll_busbw_gbs": round(algbw * factor, 6),
            "event_trace_ts": {"coll_start_ts": at_us, "coll_stop_ts": at_us + 5, "kernel_events": [
                {"channel_id": 0, "kernel_start_ts": at_us + 9, "kernel_stop_ts": at_us + took_us,
                 "kernel_record_ts": at_us + took_us}]}}}


class Nccl(CommandTest):

    def rows(self, file, sql):
        result = self.run_command("query", file, "--json", sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            for each in lines:
                file.write(json.dumps(each, separators=(",", ":")) + "\n")
        return name

    def test_bandwidths_are_those_of_the_file(self):
        lines = [line(2, 1407, 1000, ranks=8), line(4, 1231, 200000, "ReduceScatter", 2147483648, 41057, 8),
                 line(4, 3, 400000, "AllGather", 1 << 20, 77, 8)]
        name = self.write("host-pid100.log", lines)
        rows = self.rows(name, BANDWIDTH)
        self.assertEqual([row["function"] for row in rows], ["ncclAllReduce", "ncclReduceScatter", "ncclAllGather"])
        for row, source in zip(rows, lines):
            self.assertAlmostEqual(row["algbw"], source["coll_perf"]["coll_algobw_gbs"], 5)
            self.assertAlmostEqual(row["busbw"], source["coll_perf"]["coll_busbw_gbs"], 5)
        self.assertAlmostEqual(rows[0]["algbw"], 277.210914, 5)
        self.assertAlmostEqual(rows[0]["busbw"], 485.119099, 5)

    def test_the_files_of_a_job_are_its_ranks(self):
        # The names do not say which rank they are of: the communicator does.
        for rank, name in ((0, "host-pid9.log"), (1, "host-pid8.log")):
            self.write(name, [line(rank, n, 1000000 * (n + 1) + 30 * rank) for n in range(5)])
        result = self.run_command("merge", "host-pid8.log", "host-pid9.log", "-o", "job.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.rows("job.sbt", """
            SELECT c.sequence, count(*) AS ranks, max(c.start_ns) - min(c.start_ns) AS spread_ns,
            max(r.number * c.start_ns) = max(c.start_ns) AS last_is_1
            FROM comm c JOIN communicator m ON m.id = c.communicator_id
            JOIN process p ON p.id = c.process_id JOIN rank r ON r.id = p.rank_id
            WHERE c.kind = 'collective' GROUP BY m.key, c.function, c.sequence ORDER BY 1""")
        self.assertEqual(rows, [{"sequence": n, "ranks": 2, "spread_ns": 30000, "last_is_1": 1} for n in range(1, 6)])
        self.assertEqual([row["pid"] for row in self.rows("job.sbt", "SELECT pid FROM process ORDER BY rank_id")],
                         [101, 100])

    def test_what_no_column_holds_is_kept(self):
        source = line(0, 1, 1000)
        name = self.write("host-pid1.log", [source])
        kept = self.rows(name, "SELECT source_json('comm', rowid) AS kept FROM comm")[0]["kept"]
        self.assertEqual(json.loads(kept), {"nccl_inspector": source})

    def test_a_line_that_two_processes_wrote_is_lost_alone(self):
        name = self.write("host-pid1.log", [line(0, n, 1000 * n + 1) for n in range(3)])
        with open(self.path(name), encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("\n".join([lines[0], lines[1][:200] + lines[2][:50], lines[2]]))
        result = self.run_command("import", name, "-o", "t.sbt")
        self.assertEqual(result.returncode, 3)
        self.assertEqual([row["sequence"] for row in self.rows("t.sbt", "SELECT sequence FROM comm")], [1, 3])

    def test_ras_says_who_is_behind(self):
        def rank(number, count):
            return {"rank": number, "host": f"10.0.0.{number}", "pid": 1, "cuda_dev": 0, "nvml_dev": 0,
                    "status": {"init_state": 0, "async_error": 0, "abort_flag": False},
                    "collective_counts": {"AllReduce": count, "Reduce": 0}}
        with open(self.path("ras.json"), "w", encoding="utf-8") as file:
            json.dump({"nccl_version": "2.29.2", "communicators_count": 1, "communicators": [
                {"hash": "0x7d92eee2cc5ff5f5", "size": 4, "ranks": [rank(0, 10), rank(1, 9), rank(2, 10)],
                 "missing_ranks": [{"rank": 3, "host": "10.0.0.3", "pid": 1, "status": {"considered_dead": True}}]}]},
                      file, indent=2)
        result = self.run_command("import", "ras.json", "-o", "t.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"rank 1 launched 9 calls of ncclAllReduce, others up to 10", result.stderr)
        self.assertIn(b"rank 3 gave no data", result.stderr)
        behind = self.rows("t.sbt", """
            SELECT m.rank, c.sequence, c.state FROM comm c JOIN communicator m ON m.id = c.communicator_id
            WHERE c.function = 'ncclAllReduce' ORDER BY c.sequence, 1""")
        self.assertEqual([tuple(row.values()) for row in behind],
                         [(1, 9, "unknown"), (0, 10, "scheduled"), (2, 10, "scheduled")])
        dead = self.rows("t.sbt", """
            SELECT m.rank FROM attribute a JOIN communicator m ON m.rowid = a.row_number
            WHERE a.table_name = 'communicator' AND a.key = 'status.considered_dead' AND a.value = 'true'""")
        self.assertEqual(dead, [{"rank": 3}])


if __name__ == "__main__":
    unittest.main()
