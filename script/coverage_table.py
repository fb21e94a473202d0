# SPDX-License-Identifier: Apache-2.0
"""Part of script/coverage: a row for each room. Usage: coverage_table.py FOLDER ROOT LEAST"""
import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

folder, root, least = Path(sys.argv[1]), os.path.realpath(sys.argv[2]), float(sys.argv[3])
LEFT_OUT = re.compile(r"_(test|bench|fuzz)\.cpp$|_test_util\.|/capture/agents/|/generated/")
reached, total = defaultdict(int), defaultdict(int)

for file in json.loads((folder / "all.json").read_text(encoding="utf-8"))["data"][0]["files"]:
    name = os.path.realpath(file["filename"])
    match = re.match(re.escape(root) + r"/(src/tracesmith/\w+|python/src)/", name)
    if not match or LEFT_OUT.search(name):
        continue
    summary = file["summary"]["lines"]
    reached[match[1]] += summary["covered"]
    total[match[1]] += summary["count"]
for name, file in json.loads((folder / "python.json").read_text(encoding="utf-8"))["files"].items():
    reached["python/tracesmith"] += file["summary"]["covered_lines"]
    total["python/tracesmith"] += file["summary"]["num_statements"]

for room in sorted(total):
    print(f"{room:<28} {reached[room]:6} of {total[room]:6} lines  {100 * reached[room] / total[room]:5.1f} %")
percent = 100 * sum(reached.values()) / sum(total.values())
print(f"{'all':<28} {sum(reached.values()):6} of {sum(total.values()):6} lines  {percent:5.1f} %")
if percent < least:
    sys.exit(f"below {least:g} % of the lines")
