#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives in real profiles of PyTorch, compared with what the documents say."""

import decimal
import gzip
import json
import os
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


if __name__ == "__main__":
    unittest.main()
