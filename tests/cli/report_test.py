# SPDX-License-Identifier: Apache-2.0
"""`report`: one file with what `analyze` says, whatever the names of a trace are."""

import base64
import gzip
import json
import os
import re
import unittest

from harness import CommandTest

REAL = os.path.join(os.environ.get("TRACESMITH_TEST_DATA", "/nonexistent"), "traces", "hta")
MOST_WITHOUT_DATA = 1_500_000
MOST_OF_200_000_EVENTS = 2_000_000
NAMES = ["void gemm<float>(int)", "</script><script>alert(1)</script>", "a|b`c`*d*_e_[f](g)", "line\nbreak\u202e"]


def answers_of(page):
    """(answers, tiles) that a page has inside."""
    parts = [re.search(rf'id="report-{name}">([^<]*)</script>', page)[1] for name in ("answers", "tiles")]
    answers, tiles = (gzip.decompress(base64.b64decode(part)) for part in parts)
    return json.loads(answers), tiles


class ReportTest(CommandTest):
    def trace(self, kernels, name="t.json"):
        events = []
        for i in range(kernels):
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                 "ts": i * 10 + i % 7, "dur": 2 + i % 3 / 10, "args": {"correlation": i + 1}},
                {"ph": "X", "cat": "kernel", "name": NAMES[i % 4], "pid": 0, "tid": 7,
                 "ts": i * 10 + 3 + i % 11 / 9, "dur": 1 + i % 97 / 20,
                 "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)

    def report(self, *arguments, code=0):
        done = self.run_command("report", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_the_page_has_what_analyze_says(self):
        self.trace(40)
        self.assertIn("wrote r.html", self.report("t.json", "-o", "r.html"))
        page = self.read("r.html")
        self.assertNotIn("alert(1)", page)
        self.assertNotRegex(page.partition("<script")[0], r'(?:src|href)=|@import|url\(')
        self.assertNotIn("line\nbreak", page)
        answers, tiles = answers_of(page)
        said = json.loads(self.run_command("analyze", "t.json", "--json", "--limit", "50").stdout)
        table = answers["analysis?parts=kernels&limit=1000"]["tables"][0]
        keys = [column["key"] for column in table["columns"]]
        shown = [dict(zip(keys, row)) for row in table["rows"]]
        self.assertEqual([row["total_ns"] for row in shown], [row["total_ns"] for row in said["kernels"]])
        self.assertEqual(answers["trace"]["name"], "t.json")
        self.assertEqual(tiles[:4], b"TST1")

    def test_markdown_shows_names_as_they_are(self):
        self.trace(40)
        self.report("t.json", "-o", "r.md")
        text = self.read("r.md")
        self.assertTrue(text.startswith("# t.json\n\nGPU busy "), text[:200])
        self.assertIn("a\\|b\\`c\\`\\*d\\*\\_e\\_\\[f\\](g)", text)
        self.assertIn("\\<script\\>", text)
        self.assertNotIn("\u202e", text)
        tables = [block for block in text.split("\n\n") if block.startswith("|")]
        self.assertGreater(len(tables), 3)
        for table in tables:
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            self.assertEqual(len(cells), 1, table)

    def test_the_format_may_be_said(self):
        self.trace(4)
        self.assert_fails(self.run_command("report", "t.json", "-o", "r.txt"), 2, ".html", ".md", "-f")
        self.assertNotIn("r.txt", self.files())
        self.report("t.json", "-o", "r.txt", "-f", "md")
        self.assertTrue(self.read("r.txt").startswith("# t.json"))
        self.assert_fails(self.run_command("report", "none.sbt", "-o", "r.html"), 1, "none.sbt")
        self.assert_fails(self.run_command("report", "t.json", "-o", "none/r.html"), 1, "none/r.html")

    def test_the_trace_is_never_overwritten(self):
        self.trace(4)
        before = self.read("t.json")
        self.assert_fails(self.run_command("report", "t.json", "-o", "t.json", "-f", "md"), 2, "t.json")
        self.assertEqual(self.read("t.json"), before)

    def test_size(self):
        """Incompressible times make the worst of traces; each has a call."""
        self.trace(1, "small.json")
        self.report("small.json", "-o", "small.html")
        small = os.path.getsize(self.path("small.html"))
        self.assertLess(small, MOST_WITHOUT_DATA)
        self.trace(100_000)
        self.report("t.json", "-o", "r.html")
        self.assertLess(os.path.getsize(self.path("r.html")) - small, MOST_OF_200_000_EVENTS)

    def test_incomplete_and_empty_traces(self):
        self.trace(3000)
        self.assertEqual(self.run_command("import", "t.json", "-o", "t.sbt").returncode, 0)
        with open(self.path("t.sbt"), "rb") as file:
            whole = file.read()
        with open(self.path("cut.sbt"), "wb") as file:
            file.write(whole[:len(whole) * 2 // 3])
        for name in ("r.html", "r.md"):
            self.assertIn("cut.sbt", self.report("cut.sbt", "-o", name, code=3))
        self.assertFalse(answers_of(self.read("r.html"))[0]["trace"]["complete"])
        with open(self.path("none.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": []}, file)
        self.report("none.json", "-o", "none.html")
        self.report("none.json", "-o", "none.md")

    def test_merged_traces_are_reported_by_rank(self):
        self.trace(20, "a.json")
        self.trace(30, "b.json")
        for name in "ab":
            self.assertEqual(self.run_command("import", f"{name}.json", "-o", f"{name}.sbt").returncode, 0)
        done = self.run_command("merge", "a.sbt", "b.sbt", "-o", "m.sbt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.report("m.sbt", "-o", "r.md", "--rank", "1")
        self.assertIn("30", self.read("r.md"))

    @unittest.skipUnless(os.path.isdir(REAL), "no real traces (TRACESMITH_TEST_DATA)")
    def test_real_traces(self):
        files = [os.path.join(folder, name) for folder, _, names in sorted(os.walk(REAL)) for name in sorted(names)
                 if name.endswith("json.gz")]
        for number, file in enumerate(files[:6]):
            self.report(file, "-o", f"{number}.html")
            self.report(file, "-o", f"{number}.md")
            self.assertLess(os.path.getsize(self.path(f"{number}.html")), MOST_WITHOUT_DATA + MOST_OF_200_000_EVENTS)
            self.assertIn("## Findings", self.read(f"{number}.md"))


if __name__ == "__main__":
    unittest.main()
