#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives in real profiles of PyTorch, compared with what the documents say."""

import decimal
import glob
import gzip
import json
import os
import shutil
import sqlite3
import unittest

from harness import CommandTest, real_traces

FILES = ("hta/tests/data/nccl_parser_config/nccl_data.json.gz",
         "tracelens/tests/traces/mi300/resnet_act_checkpoint.json.gz")
BYTES = {"Float": 4, "Half": 2, "BFloat16": 2, "Long": 8, "Int": 4, "Byte": 1}
FUNCTIONS = {"allreduce": "ncclAllReduce", "broadcast": "ncclBroadcast", "_allgather_base": "ncclAllGather",
             "_reduce_scatter_base": "ncclReduceScatter"}


def nanoseconds(microseconds):
    return int((microseconds * 1000).to_integral_value(decimal.ROUND_HALF_UP))


class Collectives(CommandTest):

    def rows(self, file, sql):
        result = self.run_command("query", file, "--json", sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_each_operator_is_a_call_with_its_kernel(self):
        data = real_traces()
        if data is None:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        for name in FILES:
            path = os.path.join(data, "traces", name)
            with self.subTest(name=name):
                with gzip.open(path, "rt", encoding="utf-8") as file:
                    document = json.load(file, parse_float=decimal.Decimal, parse_int=decimal.Decimal)
                about = [e for e in document["traceEvents"]
                         if e.get("ph") == "X" and "Collective name" in e.get("args", {})]
                kernels = {e["args"]["External id"]: e for e in about if e["cat"] == "kernel"}
                expected = []
                for op in sorted((e for e in about if e["cat"] == "cpu_op"), key=lambda e: e["ts"]):
                    args = op["args"]
                    if args["Collective name"] == "wait":
                        continue
                    kernel = kernels.pop(args["External id"])
                    received = int(args["Out msg nelems"]) * BYTES[args["dtype"]]
                    expected.append((nanoseconds(op["ts"]), nanoseconds(op["dur"]),
                                     FUNCTIONS[args["Collective name"]], received,
                                     int(kernel["args"]["correlation"]), nanoseconds(kernel["ts"]),
                                     nanoseconds(kernel["dur"])))
                self.assertEqual(kernels, {})
                self.assertGreater(len(expected), 10)
                rows = self.rows(path, """
                    SELECT c.start_ns, c.duration_ns, c.function, c.receive_bytes, c.correlation_id,
                    w.start_ns AS work_start_ns, w.duration_ns AS work_ns
                    FROM comm c JOIN comm_work w USING (process_id, correlation_id) ORDER BY c.start_ns""")
                self.assertEqual([tuple(row.values()) for row in rows], expected)
                info = document["distributedInfo"]
                groups = self.rows(path, "SELECT name, ranks, rank, members, library FROM communicator")
                self.assertEqual(groups, [{"name": "default_pg", "ranks": int(info["world_size"]),
                                           "rank": int(info["rank"]), "members": f"0-{info['world_size'] - 1}",
                                           "library": "NCCL"}])

    def test_the_work_of_a_call_is_its_kernel(self):
        data = real_traces()
        if data is None:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        for name in FILES:
            with self.subTest(name=name):
                path = os.path.join(data, "traces", name)
                rows = self.rows(path, """
                    SELECT (SELECT count(*) FROM comm) AS calls, count(*) AS same FROM comm c
                    JOIN comm_work w USING (process_id, correlation_id)
                    JOIN kernel k USING (process_id, correlation_id)
                    WHERE k.start_ns = w.start_ns AND k.duration_ns = w.duration_ns AND k.name LIKE 'nccl%'""")
                self.assertEqual(rows[0]["calls"], rows[0]["same"])

    def test_kernels_alone_tell_which_gpu_others_waited_for(self):
        """Nsight Systems' traces of two GPUs that exchange data: the same from its tables."""
        data = real_traces()
        if data is None:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        found = 0
        for path in sorted(glob.glob(os.path.join(data, "traces/nsys_ai/tests/fixtures/mfu_2gpu_*.sqlite.gz"))):
            with self.subTest(path=path):
                with gzip.open(path) as packed, open(self.path("source.sqlite"), "wb") as file:
                    shutil.copyfileobj(packed, file)
                database = sqlite3.connect(self.path("source.sqlite"))
                kernels = [database.execute(
                    "SELECT k.start, k.end FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName "
                    "WHERE s.value LIKE 'ncclDevKernel_SendRecv%' AND k.deviceId = ? ORDER BY k.start", (gpu,)).fetchall()
                    for gpu in (0, 1)]
                self.assertEqual(len(kernels[0]), len(kernels[1]))
                pairs = list(zip(*kernels))
                self.assertGreater(len(pairs), 20)
                late = [second[0] - first[0] for first, second in pairs]
                waited = (sum(ns for ns in late if ns > 0), sum(-ns for ns in late if ns < 0))
                result = self.run_command("analyze", "--comm", "--json", path)
                self.assertEqual(result.returncode, 0, result.stderr)
                rows = json.loads(result.stdout)["comm_kernel_arrivals"]
                got = sorted((row["collectives"], row["times_last"], row["caused_ns"], row["waited_ns"]) for row in rows)
                self.assertEqual(got, sorted([
                    (len(pairs), sum(ns < 0 for ns in late), waited[1], waited[0]),
                    (len(pairs), sum(ns > 0 for ns in late), waited[0], waited[1])]))
                found += 1
        self.assertGreater(found, 0)


if __name__ == "__main__":
    unittest.main()
