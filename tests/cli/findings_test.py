#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`analyze --findings`: the main problems of real traces, which were written down beforehand from plain
SQL (tests/findings), are their first findings; and what the command prints."""

import json
import os
import unittest

from harness import BIN, SOURCE, CommandTest, real_traces

DATA = real_traces()
KEPT = os.path.join(SOURCE, "tests/findings")
WIDTH = 80


def kept(name):
    with open(os.path.join(KEPT, name), encoding="utf-8") as file:
        return json.load(file)


class FindingsTest(CommandTest):
    def findings(self, path):
        done = self.run_command("analyze", path, "--findings", "--json")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(done.stdout)

    def recorded(self, program):
        self.expect("profile", "--record", "-o", "run.sbt", "--", os.path.join(BIN, program))
        return self.path("run.sbt")

    def expect(self, *arguments):
        done = self.run_command(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def trace_of(self, case):
        if "record" in case:
            return self.recorded(case["record"])
        if not DATA:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        return os.path.join(DATA, "traces", case["trace"])

    def test_main_problems_written_down_beforehand_are_the_first_findings(self):
        for case in kept("expected.json"):
            with self.subTest(case.get("trace", case.get("record"))):
                first = self.findings(self.trace_of(case))["findings"][0]
                # On a busy machine a program that is recorded now and then has another main problem.
                again = 10 if "record" in case else 0
                while again > 0 and first["rule"] != case["rule"]:
                    first = self.findings(self.trace_of(case))["findings"][0]
                    again -= 1
                self.assertEqual(first["rule"], case["rule"], case["problem"])
                self.assertIn(case["title_contains"].lower(), first["title"].lower())

    def test_sql_gives_the_kept_results(self):
        queries = {name: " ".join(lines) for name, lines in kept("queries.json").items()}
        for case in kept("expected.json"):
            if "record" in case:
                continue
            with self.subTest(case["trace"]):
                path = self.trace_of(case)
                for name, sql in queries.items():
                    rows = json.loads(self.expect("query", path, sql, "--json"))
                    for row in rows:
                        row.update({k: v[:80] for k, v in row.items() if k == "name"})
                    self.assertEqual(rows, case["results"][name], name)

    def test_predicted_gains_are_those_of_whatif(self):
        path = self.trace_of({"trace": "tracelens/tests/traces/mi300/"
                              "facebook_timesformer-base-finetuned-k400__1016002.json.gz"})
        first = self.findings(path)["findings"][0]
        change = first["gain_command"].split(" --scale ")[1].strip("'")
        report = json.loads(self.expect("whatif", path, "--scale", change, "--no-check", "--json"))
        self.assertAlmostEqual(-report["prediction"][2]["change"], first["gain"], places=6)

    def test_json_has_every_field_and_no_nan(self):
        found = self.findings(self.recorded("race_demo"))
        self.assertEqual(set(found), {"verdict", "findings", "not_checked", "notes"})
        race = found["findings"][0]
        self.assertEqual((race["rule"], race["severity"], race["gain"]), ("race", "wrong", None))
        self.assertIn("wait", race["gain_unknown"])

    def test_text_starts_with_the_verdict_and_fits_80_columns(self):
        self.recorded("race_demo")
        _, text = self.on_terminal("analyze", "run.sbt", "--findings", columns=WIDTH)
        text = self.without_colours(text)
        lines = text.splitlines()
        self.assertIn("Verdict", lines[0])
        self.assertIn("race", lines[1])
        for line in lines:
            self.assertLessEqual(len(line), WIDTH, line)
        self.assertIn("tracesmith races run.sbt", text)

    def test_is_the_first_section_of_analyze_and_no_part_of_a_selection(self):
        self.recorded("opencl_demo")
        self.assertTrue(self.expect("analyze", "run.sbt").startswith("Verdict\n"))
        self.assertNotIn("Verdict", self.expect("analyze", "run.sbt", "--kernels"))
        self.assertNotIn("Kernels", self.expect("analyze", "run.sbt", "--findings"))
        both = self.expect("analyze", "run.sbt", "--findings", "--kernels")
        self.assertIn("Verdict", both)
        self.assertIn("Kernels", both)
        self.assertNotIn("Verdict", self.expect("analyze", "run.sbt", "--as-hta"))


if __name__ == "__main__":
    unittest.main()
