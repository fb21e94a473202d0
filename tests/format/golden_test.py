# SPDX-License-Identifier: Apache-2.0
"""Files of every version of the format are read for ever: golden/VERSION.sbt was written by that
version, and golden/VERSION.json.gz holds what it has to give.

golden_test.py --write VERSION makes the second from the first; it is committed once."""

import gzip
import json
import os
import subprocess
import sys
import unittest

import sbt_reader

PROGRAM = os.path.join(os.environ.get("TRACESMITH_BIN", ""), "tracesmith")
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
QUERIES = [
    "SELECT * FROM kernel ORDER BY correlation_id",
    "SELECT * FROM copy ORDER BY correlation_id",
    "SELECT * FROM fill ORDER BY correlation_id",
    "SELECT * FROM sync ORDER BY start_ns",
    "SELECT * FROM host_call ORDER BY start_ns, correlation_id",
    "SELECT * FROM memory_event ORDER BY time_ns, address",
    "SELECT * FROM flow ORDER BY 1, 2, 3, 4, 5",
    "SELECT * FROM range ORDER BY start_ns, duration_ns, name",
    "SELECT * FROM device",
    "SELECT * FROM stream",
    "SELECT * FROM process",
    "SELECT * FROM loss",
]


def versions():
    return sorted(name[:-4] for name in os.listdir(GOLDEN) if name.endswith(".sbt"))


def answers(version):
    trace = os.path.join(GOLDEN, version + ".sbt")
    return {sql: json.loads(subprocess.run([PROGRAM, "query", "--json", trace, sql], check=True,
                                           stdout=subprocess.PIPE).stdout) for sql in QUERIES}


class Golden(unittest.TestCase):
    def test_every_version_gives_what_it_gave(self):
        self.assertIn("1.0", versions())
        for version in versions():
            with gzip.open(os.path.join(GOLDEN, version + ".json.gz"), "rt") as file:
                expected = json.load(file)
            for sql, rows in answers(version).items():
                # A later version may know more columns; it may not know fewer.
                seen = [{key: row.get(key) for key in known} for row, known in
                        zip(rows, expected[sql])]
                self.assertEqual(len(rows), len(expected[sql]), sql)
                self.assertEqual(seen, expected[sql], sql)

    def test_the_second_reader_reads_them_too(self):
        for version in versions():
            trace = sbt_reader.read(os.path.join(GOLDEN, version + ".sbt"))
            self.assertTrue(trace.complete)
            self.assertEqual(trace.losses, [])
            self.assertGreater(trace.rows[sbt_reader.KERNEL], 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        with gzip.open(os.path.join(GOLDEN, sys.argv[2] + ".json.gz"), "wt") as out:
            json.dump(answers(sys.argv[2]), out, separators=(",", ":"))
            out.write("\n")
    else:
        unittest.main(verbosity=2)
