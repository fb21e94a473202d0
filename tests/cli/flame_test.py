#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of device time by host ranges: sums, escaping, and a file that loads nothing."""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ET

from harness import CommandTest, real_traces
from operators_test import DEVICE_SUM, launched, span

SVG = "{http://www.w3.org/2000/svg}"
ODD = "f<T>(a && \"b\"); 'c' ]]> é"


class Flame(CommandTest):
    def trace(self):
        events = [span("outer", 0, 100), span(ODD, 10, 60), span("f at 0x7ce2d4", 80, 10),
                  *launched(25, 200, 70, 1), *launched(85, 300, 20, 2), *launched(150, 400, 10, 3)]
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return "t.json"

    def export(self, trace, *options):
        run = self.run_command("export", trace, "-q", "-o", "-", *options)
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        return run.stdout.decode()

    def folded(self, trace, *options):
        lines = self.export(trace, "-f", "folded", "--by", "device-time", *options).splitlines()
        return {stack: int(weight) for stack, weight in (line.rsplit(" ", 1) for line in lines)}

    def boxes(self, text):
        return [(box.get("data-name"), float(box.get("data-w"))) for box in ET.fromstring(text).iter(SVG + "g")]

    def test_stacks_are_the_ranges_around_the_launch(self):
        self.assertEqual(self.folded(self.trace()),
                         {f"outer;{ODD.replace(';', ',')};k": 70000, "outer;f at 0x*;k": 20000,
                          "[outside of ranges];k": 10000})

    def test_a_part_of_the_trace(self):
        self.assertEqual(self.folded(self.trace(), "--from", "350us"), {"[outside of ranges];k": 10000})

    def test_svg_has_the_same_times_and_any_name(self):
        boxes = self.boxes(self.export(self.trace(), "-f", "svg"))
        self.assertEqual([name for name, _ in boxes],
                         ["all", "[outside of ranges]", "k", "outer", "f at 0x*", "k", ODD, "k"])
        for (_, width), expected in zip(boxes, [1, 0.1, 0.1, 0.9, 0.2, 0.2, 0.7, 0.7]):
            self.assertAlmostEqual(width, expected)

    def test_svg_loads_nothing(self):
        text = self.export(self.trace(), "-f", "svg")
        self.assertEqual(re.findall(r"https?://[^\"']*", text), ["http://www.w3.org/2000/svg"])
        self.assertNotRegex(text, r"href|src=|import|fetch\(")

    def test_the_script_is_valid(self):
        node = shutil.which("node")
        if not node:
            self.skipTest("node is not installed")
        root = ET.fromstring(self.export(self.trace(), "-f", "svg"))
        with open(self.path("script.js"), "w", encoding="utf-8") as file:
            file.write(root.find(SVG + "script").text)
        run = subprocess.run([node, "--check", self.path("script.js")], capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr.decode())

    def test_a_trace_without_device_work(self):
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": [span("f", 0, 10)]}, file)
        self.assertEqual(self.boxes(self.export("t.json", "-f", "svg")), [])

    def test_sums_of_real_traces_equal_sql(self):
        data = real_traces()
        if not data:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        compared = 0
        for path in sorted(glob.glob(os.path.join(data, "traces", "**", "*.json.gz"), recursive=True)):
            if self.run_command("import", path, "-o", "r.sbt").returncode != 0:
                continue
            rows = json.loads(self.run_command("query", "r.sbt", DEVICE_SUM, "--json").stdout)
            self.assertEqual(sum(self.folded("r.sbt").values()), rows[0]["device_ns"], path)
            self.boxes(self.export("r.sbt", "-f", "svg"))  # is XML
            compared += rows[0]["device_ns"] > 0
        self.assertGreater(compared, 0)


if __name__ == "__main__":
    unittest.main()
