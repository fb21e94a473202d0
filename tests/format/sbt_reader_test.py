# SPDX-License-Identifier: Apache-2.0
"""A reader written from docs/sbt.md reads what the writer wrote, and reads the same in it as the
real reader does: whole, cut, and damaged."""

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
KEYED = {"process", "thread", "device", "context", "stream", "clock_domain", "loss", "rank"}
STRING_COLUMNS = {"name", "arguments"}  # of the kernel table


def schema():
    """{table name: (number, {column name: number})} from the schema that the document points to."""
    text = ""
    for name in ("event_columns.hpp", "tables.hpp"):
        with open(os.path.join(SOURCE, "src/tracesmith/model", name), encoding="utf-8") as file:
            text += file.read()
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

    def record(self, duration):
        subprocess.run([PROGRAM, "record", "-q", "-p", "simulation", "-d", duration, "-o",
                        self.trace], check=True)
        with open(self.trace, "rb") as file:
            return file.read()

    def write(self, data):
        with open(self.trace, "wb") as file:
            file.write(data)

    def query(self, sql, codes=(0,)):
        result = subprocess.run([PROGRAM, "query", "--json", self.trace, sql], check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(result.returncode, codes, result.stderr)
        return json.loads(result.stdout)

    def compare(self, codes=(0,), tables=("kernel", "host_call", "copy", "range", "memory_event")):
        """Every stored column that SQL has under the same name; returns our reading."""
        ours = sbt_reader.read(self.trace)
        compared = 0
        for table in tables:
            number, columns = schema()[table]
            rows = self.query(f"SELECT * FROM {table} ORDER BY rowid", codes)
            self.assertEqual(ours.rows.get(number, 0), len(rows), table)
            for name, column in columns.items():
                if not rows or name not in rows[0]:
                    continue
                values = ours.column(number, column)
                theirs = [row[name] for row in rows]
                if any(isinstance(value, str) for value in theirs):
                    if name not in STRING_COLUMNS:
                        continue  # SQL has words where the file has numbers of an enumeration
                    values = [ours.text(value) for value in values]
                # SQL has NULL where 0 means "none".
                self.assertEqual([value or None for value in values],
                                 [value or None for value in theirs], f"{table}.{name}")
                compared += len(values)
        if any(ours.rows.get(schema()[table][0], 0) for table in tables):
            self.assertGreater(compared, 0)
        return ours

    def test_reads_a_trace_of_one_block_per_table(self):
        self.record("20ms")
        ours = self.compare()
        ours.check_index()
        self.assertTrue(ours.complete)
        self.assertEqual((ours.losses, ours.cut), ([], 0))
        info = json.loads(subprocess.run([PROGRAM, "info", "--json", self.trace], check=True,
                                         stdout=subprocess.PIPE).stdout)
        names = schema()
        counts = {t["name"]: t["rows"] for t in info["tables"]
                  if t["name"] in names and t["name"] not in KEYED}
        self.assertIn("kernel", counts)
        self.assertEqual(counts, {name: ours.rows[number] for name, (number, _) in names.items()
                                  if number in ours.rows and name not in KEYED})

    def test_reads_a_trace_of_many_blocks(self):
        self.record("8s")
        ours = self.compare(tables=("kernel", "host_call"))
        ours.check_index()
        kernel_blocks = [b for b in ours.blocks if b.table == sbt_reader.KERNEL]
        self.assertGreater(len(kernel_blocks), 1)
        self.assertGreater(len(ours.kernel_names), 1)

    def test_reads_as_much_of_a_cut_file(self):
        data = self.record("20ms")
        seen = set()
        for length in range(64, len(data), max(1, len(data) // 40)):
            self.write(data[:length])
            ours = self.compare(codes=(0, 3), tables=("kernel",)) if length > len(data) // 2 \
                else sbt_reader.read(self.trace)
            self.assertEqual(ours.losses, [], "a cut is no damage")
            seen.add(ours.rows.get(sbt_reader.KERNEL, 0))
        self.assertGreater(len(seen), 1)

    def test_goes_on_behind_damage_as_the_norm_says(self):
        data = self.record("20ms")
        blocks = [b for b in sbt_reader.read(self.trace).blocks if b.kind == sbt_reader.TABLE]
        kernels = next(b for b in blocks if b.table == sbt_reader.KERNEL)
        strings = next(b for b in blocks if b.table == sbt_reader.STRING)
        for victim, place in ((kernels, 10), (kernels, 85), (strings, 1), (blocks[-1], 79)):
            broken = bytearray(data)
            broken[victim.offset + place] ^= 0x10
            self.write(bytes(broken))
            ours = self.compare(codes=(3,), tables=("kernel", "host_call"))
            self.assertEqual(len(ours.losses), 1)
            self.assertEqual(ours.rows.get(sbt_reader.KERNEL, 0) == 0, victim is kernels)

    def small_file_of_the_norm(self):
        with open(os.path.join(SOURCE, "docs/sbt.md"), encoding="utf-8") as file:
            text = file.read().split("## A small file, byte by byte")[1].split("```")[1]
        data = b""
        for offset, dump in re.findall(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)", text, re.M):
            self.assertEqual(int(offset, 16), len(data), "offsets of the document")
            data += bytes.fromhex(dump)
        return data

    def test_the_small_file_of_the_document_is_read_by_both(self):
        self.write(self.small_file_of_the_norm())
        ours = self.compare(tables=("kernel",))
        ours.check_index()
        self.assertEqual(ours.column(1, 2), ["add", "scale"])
        self.assertEqual(self.query("SELECT start_ns, duration_ns, name FROM kernel"),
                         [{"start_ns": 1000, "duration_ns": 5, "name": "add"},
                          {"start_ns": 1010, "duration_ns": 5, "name": "scale"},
                          {"start_ns": 1030, "duration_ns": 5, "name": "add"}])

    def test_the_writer_makes_the_small_file_of_the_document(self):
        def comparable(data):
            """Without the random uuid, the time, and the hashes over them."""
            masked = bytearray(data)
            for begin, end in [(24, 48), (56, 64)]:
                masked[begin:end] = bytes(end - begin)
            for block in sbt_reader.Trace(data).blocks:
                masked[block.offset + 56:block.offset + 64] = bytes(8)
                masked[block.offset + 72:block.offset + 80] = bytes(8)
            return masked.hex(" ")
        subprocess.run([os.path.join(BIN, "tracesmith_tests"), "--gtest_filter=SbtNorm*"], check=True,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, "TRACESMITH_SMALL_TRACE": self.trace})
        with open(self.trace, "rb") as file:
            written = file.read()
        self.assertEqual(comparable(written), comparable(self.small_file_of_the_norm()))

    def test_the_program_prints_counts_and_kernels(self):
        self.record("20ms")
        text = subprocess.run(["python3", "-B", sbt_reader.__file__, self.trace], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        kernels = self.query("SELECT count(*) AS n FROM kernel")[0]["n"]
        self.assertIn(f"table 33: {kernels} rows", text)
        lines = text.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("1,2,"))
        self.assertEqual(len(lines) - first - 1, kernels)


if __name__ == "__main__":
    unittest.main()
