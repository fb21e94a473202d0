#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A profile and the execution trace of the same rank: every operator gets its node."""

import glob
import json
import os
import tarfile
import unittest

from harness import CommandTest

DATA = os.path.join(os.environ.get("TRACESMITH_TEST_DATA", "/nonexistent"), "traces/param/et_replay/tests/inputs")


class ExecutionTraces(CommandTest):

    def setUp(self):
        super().setUp()
        for name in ("dlrm_kineto.tar.gz", "dlrm_pytorch_et.tar.gz"):
            path = os.path.join(DATA, name)
            if not os.path.exists(path):
                self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
            with tarfile.open(path) as archive:
                for member in archive:
                    if member.isfile() and "/" in member.name and ".." not in member.name:
                        with open(self.path(os.path.basename(member.name)), "wb") as file:
                            file.write(archive.extractfile(member).read())

    def profile(self, rank):
        return glob.glob(self.path(f"worker{rank}_*.json"))[0]

    def test_operators_of_each_rank_have_their_nodes(self):
        for rank in range(8):
            with self.subTest(rank=rank):
                nodes = self.path(f"dlrm_eg_{rank}.json")
                result = self.run_command("import", self.profile(rank), nodes, "-o", "t.sbt")
                self.assertEqual(result.returncode, 0, result.stderr)
                rows = json.loads(self.run_command(
                    "query", "t.sbt", "--json",
                    "select r.name as name, a.value as node from attribute a join range r on r.rowid = a.row_number "
                    "where a.key = 'execution_trace.node'").stdout)
                with open(nodes, encoding="utf-8") as file:
                    source = {n["id"]: n for n in json.load(file)["nodes"]}
                seen = set()
                for row in rows:
                    node = json.loads(row["node"])
                    self.assertEqual(node, source[node["id"]])
                    self.assertEqual(node["name"], row["name"])
                    seen.add(node["id"])
                # All but the nodes that stand for the process and its threads.
                rest = [n["name"] for n in source.values() if n["id"] not in seen]
                self.assertEqual(len(seen), len(rows))
                self.assertTrue(all("execution_graph" in name for name in rest), rest)

    def test_another_ranks_nodes_are_refused(self):
        result = self.run_command("import", self.profile(0), self.path("dlrm_eg_3.json"), "-o", "t.sbt")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"different ranks", result.stderr)


if __name__ == "__main__":
    unittest.main()
