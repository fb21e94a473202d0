# SPDX-License-Identifier: Apache-2.0
"""query: the prompt, views, the sources of imported events, and the page that lists the columns."""

import json
import os
import re
import shutil
import struct
import tempfile
import unittest

from harness import PROGRAM, SOURCE, CommandTest

EVENTS = [
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0,
     "tid": 7, "ts": 10.5, "dur": 4, "args": {"stream": 7, "correlation": 3, "device": 0}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 2,
     "args": {"stream": 7, "correlation": 4, "device": 0, "odd": [1, {"two": None}]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 12,
     "dur": 1, "args": {"correlation": 4}},
]


class QueryTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="tracesmith-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        source = os.path.join(cls.shared, "t.json")
        with open(source, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": EVENTS}, file)
        cls.trace = os.path.join(cls.shared, "t.sbt")
        assert os.spawnl(os.P_WAIT, PROGRAM, "tracesmith", "import", "-q", source, "-o",
                         cls.trace) == 0

    def ask(self, text, *options):
        return self.run_command("query", "--shell", *options, self.trace, stdin=text.encode())


class Shell(QueryTest):
    def test_answers_several_statements_and_goes_on_after_an_error(self):
        result = self.ask("SELECT 1 AS a; SELECT 2 AS b;\nSELECT nowhere;\n.bogus\n"
                            "SELECT name\n  FROM kernel -- ; no end\n  WHERE start_ns > 0;\n"
                            "SELECT ';' AS c", "--csv")
        self.assertEqual(result.stdout.decode(),
                         "a\n1\nb\n2\nname\nncclDevKernel_AllReduce_Sum_f32_RING_LL\ngemm\nc\n;\n")
        errors = result.stderr.decode().splitlines()
        self.assertEqual(len(errors), 2)
        self.assertIn("no such column: nowhere", errors[0])
        self.assertIn(".bogus: there is no such command", errors[1])
        self.assertEqual(result.returncode, 1)

    def test_dot_commands(self):
        result = self.ask(".tables\n.schema launch\n.mode json\nSELECT 1 AS a;\n.help\n.quit\n"
                            "SELECT 2;\n")
        text = result.stdout.decode()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("\nspan  3 rows\n", text)
        self.assertIn("kernel_summary  view: ", text)
        self.assertIn("kernel_start_ns - call_start_ns", text)
        self.assertIn('"a":1', text.replace(" ", ""))
        self.assertIn(".mode FORMAT", text)
        self.assertNotIn("2\n", text.split(".help")[-1])

    def test_sql_and_shell_exclude_each_other(self):
        result = self.run_command("query", "--shell", self.trace, "SELECT 1")
        self.assertEqual(result.returncode, 2)


class Sources(QueryTest):
    def test_source_json_is_the_event_as_it_stood_there(self):
        result = self.run_command("query", "--json", self.trace,
                                  "SELECT kind, source_json(kind, row_number) AS source FROM span")
        rows = json.loads(result.stdout)
        self.assertEqual(sorted(json.dumps(json.loads(r["source"]), sort_keys=True) for r in rows),
                         sorted(json.dumps(e, sort_keys=True) for e in EVENTS))

    def test_rows_without_a_source_give_null_and_other_names_an_error(self):
        result = self.run_command("query", "--csv", self.trace,
                                  "SELECT source_json('kernel', 99), source_json('kernel', NULL)")
        self.assertEqual(result.stdout.decode().splitlines()[1], ",")
        result = self.run_command("query", self.trace, "SELECT source_json('bogus', 1)")
        self.assertEqual(result.returncode, 2)
        self.assertIn("must name a table", result.stderr.decode())

    def test_collectives_are_kernels_too(self):
        result = self.run_command("query", "--csv", self.trace,
                                  "SELECT operation, (SELECT count(*) FROM kernel) FROM collective")
        self.assertEqual(result.stdout.decode().splitlines()[1], "all_reduce,2")


# Values of columns that the page names.
VALUES = {"instant", "scheduled", "started", "completed", "called", "trace", "file_name", "position", "machine",
          "numa", "host_bridge", "pci_switch", "gpu", "nic", "nvswitch", "pci_device", "clock_id", "send", "receive",
          "exchange", "completion", "probe", "setup", "other", "operation", "host", "device_events", "MPI_Wait",
          "MPI_COMM_WORLD", "user", "running", "runnable", "sleeping", "disk_wait", "stopped", "waiting"}


class Page(QueryTest):
    """docs/query.md has the tables and columns that the command has."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCE, "docs", "query.md"), encoding="utf-8") as file:
            self.section = file.read().split("\n## Tables\n")[1].split("\n## Functions\n")[0]
        rows = json.loads(self.ask("SELECT table_name, column_name FROM schema;", "--json").stdout)
        self.columns = {}
        for row in rows:
            self.columns.setdefault(row["table_name"], set()).add(row["column_name"])

    def test_has_the_columns_of_its_tables(self):
        seen = 0
        for name, text in re.findall(r"^\*\*(\w+)\*\*(.*?)(?=\n\n)", self.section, re.M | re.S):
            told = set(re.findall(r"`(\w+)`", text))
            columns = self.columns[name]
            if name == "collective":  # those of span, and one more
                self.assertEqual(columns, self.columns["span"] | {"operation"})
                continue
            self.assertEqual(columns - told, set(), name)
            # Names of other tables, and words that a column holds.
            self.assertEqual(told - columns - set(self.columns) - VALUES, set(), name)
            seen += 1
        self.assertGreater(seen, 20)

    def test_has_the_columns_of_its_views(self):
        rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", self.section, re.M)
        self.assertGreater(len(rows), 5)
        for name, text in rows:
            self.assertEqual(set(re.findall(r"`(\w+)`", text)), self.columns[name], name)

    def test_names_every_table(self):
        told = set(re.findall(r"^(?:\*\*|\| `)(\w+)", self.section, re.M))
        others = re.search(r"^Other tables: (.*?)\.", self.section, re.M | re.S)[1]
        told |= set(re.findall(r"`(\w+)`", others))
        self.assertEqual(set(self.columns) - told, set())


class Windows(CommandTest):
    """--from and --to: what SQL says of the whole trace, from the blocks of that time alone."""

    ROWS = "SELECT start_ns, name, stream_id, correlation_id FROM kernel"

    def rows(self, trace, sql, *options, code=0):
        result = self.run_command("query", "--json", *options, trace, sql)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def test_a_window_has_the_rows_that_overlap_it(self):
        self.assertEqual(self.run_command("record", "-q", "-p", "simulation", "-d", "1.5", "-o",
                                          "t.sbt").returncode, 0)
        begin = self.rows("t.sbt", "SELECT min(start_ns) AS t FROM host_call")[0]["t"]
        first, last = begin + 700_000_000, begin + 720_000_000
        for table in "kernel", "host_call", "copy", "range":
            overlap = (f"SELECT count(*) AS n, sum(start_ns) AS s FROM {table} "
                       f"WHERE start_ns < {last} AND end_ns > {first}")
            whole = self.rows("t.sbt", overlap)
            self.assertGreater(whole[0]["n"], 0)
            self.assertEqual(self.rows("t.sbt", f"SELECT count(*) AS n, sum(start_ns) AS s FROM {table}",
                                       "--from", "0.7", "--to", "0.72"), whole)
        self.assert_fails(self.run_command("query", "--from", "2", "--to", "1", "t.sbt", "SELECT 1"), 2, "--from")

    def test_only_its_blocks_are_read(self):
        self.assertEqual(self.run_command("record", "-q", "-p", "simulation", "-d", "20", "-o",
                                          "t.sbt").returncode, 0)
        window = ("--from", "18", "--to", "18.02")
        expected = self.rows("t.sbt", self.ROWS, *window)
        self.assertGreater(len(expected), 10)
        exported = self.run_command("export", "-q", *window, "-f", "csv", "-o", "intact.csv", "t.sbt")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        # Damage in the last byte of the first block of kernels: its time is another.
        with open(self.path("t.sbt"), "r+b") as file:
            at = self.end_of_first_block(file, 33) - 1
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 255]))
        self.rows("t.sbt", "SELECT count(*) FROM kernel", code=3)
        self.assertEqual(self.rows("t.sbt", self.ROWS, *window), expected)
        exported = self.run_command("export", "-q", *window, "-f", "csv", "-o", "damaged.csv", "t.sbt")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        with open(self.path("intact.csv"), "rb") as one, open(self.path("damaged.csv"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    @staticmethod
    def end_of_first_block(file, table):
        """Of the first block of this table (docs/sbt.md)."""
        at = 64
        while True:
            file.seek(at)
            header = file.read(80)
            its_table, data, directory = struct.unpack_from("<6xH32xQI", header)
            at += 80 + directory + data
            if its_table == table:
                return at

    def test_sources_of_imported_events_stay_with_their_rows(self):
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": EVENTS}, file)
        self.assertEqual(self.run_command("import", "-q", "t.json", "-o", "t.sbt").returncode, 0)
        sql = ("SELECT name, source_json(kind, row_number) ->> '$.args.odd' AS odd FROM span "
               "WHERE kind = 'kernel'")
        of_all = self.rows("t.sbt", sql)
        self.assertEqual([row["odd"] is None for row in of_all], [True, False])
        self.assertEqual(self.rows("t.sbt", sql, "--from", "6us"), of_all[1:])


if __name__ == "__main__":
    unittest.main()
