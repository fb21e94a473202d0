# SPDX-License-Identifier: Apache-2.0
"""A reader written from docs/sbt.md reads what the writer wrote, and reads the same in it."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import sbt_reader

BIN = os.environ.get("TRACESMITH_BIN", "")
PROGRAM = os.path.join(BIN, "tracesmith")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def schema():
    """{table name: (number, {column name: number})} from the schema that the document points to."""
    with open(os.path.join(SOURCE, "src/tracesmith/model/tables.hpp"), encoding="utf-8") as file:
        text = file.read()
    columns = {}
    for name, body in re.findall(r"#define (TS_\w+_COLUMNS)\(X\)((?:.*\\\n)*.*)", text):
        columns[name] = {column: int(number) for number, column in
                         re.findall(r"X\((\d+), \w+, (\w+),", body)}
    return {sql: (int(number), columns[macro]) for number, sql, macro in
            re.findall(r"Y\((\d+), \w+, (\w+), (TS_\w+_COLUMNS)\)", text)}


class SbtReader(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.trace = os.path.join(self.directory.name, "t.sbt")

    def query(self, sql):
        return json.loads(subprocess.run([PROGRAM, "query", "--json", self.trace, sql], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def compare(self):
        tables = sbt_reader.read(self.trace)
        strings = tables[1]["columns"][2]
        names = schema()
        for table, values in (("kernel", ("start_ns", "duration_ns", "correlation_id", "stream_id")),
                              ("host_call", ("start_ns", "duration_ns", "result", "thread_id")),
                              ("copy", ("start_ns", "bytes", "correlation_id"))):
            number, columns = names[table]
            rows = self.query(f"SELECT rowid, * FROM {table} ORDER BY rowid")
            self.assertGreater(len(rows), 0, table)
            stored = tables[number]
            self.assertEqual(stored["rows"], len(rows), table)
            for name in values:
                absent = [0] * stored["rows"]
                self.assertEqual(stored["columns"].get(columns[name], absent),
                                 [r[name] or 0 for r in rows], f"{table}.{name}")
        number, columns = names["kernel"]
        self.assertEqual([strings[i - 1] for i in tables[number]["columns"][columns["name"]]],
                         [r["name"] for r in self.query("SELECT name FROM kernel ORDER BY rowid")])
        info = json.loads(subprocess.run([PROGRAM, "info", "--json", self.trace], check=True,
                                         stdout=subprocess.PIPE).stdout)
        self.assertEqual({t["name"]: t["rows"] for t in info["tables"] if t["name"] in names},
                         {name: tables[n]["rows"] for name, (n, _) in names.items() if n in tables})

    def test_reads_a_trace_of_one_block_per_table(self):
        subprocess.run([PROGRAM, "record", "-q", "-p", "simulation", "-d", "20ms", "-o", self.trace],
                       check=True)
        self.compare()

    def test_reads_a_trace_of_many_blocks(self):
        subprocess.run([PROGRAM, "record", "-q", "-p", "simulation", "-d", "6s", "-o", self.trace],
                       check=True)
        self.compare()
        self.assertGreater(self.query("SELECT count(*) AS n FROM kernel")[0]["n"], 65536)


if __name__ == "__main__":
    unittest.main()
