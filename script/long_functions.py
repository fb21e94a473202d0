#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists functions of more than 80 lines, or with a cyclomatic complexity over 30 (lizard counts both).

One that is so long for a reason stands in script/long_functions.txt, "PATH: FUNCTION: the reason". Fails for
those that do not, and for lines of that list that are of no such function (any more).
Usage: script/long_functions.py    (with lizard: build/venv/bin/python, see script/python-env)
"""
import os
import sys

import lizard

MOST_LINES, MOST_COMPLEXITY = 80, 30
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = "script/long_functions.txt"


def is_test(path):
    return any(path.rpartition(".")[0].endswith(ending) for ending in ("_test", "_fuzz", "_bench", "_test_util"))


def long_functions():
    """(path, name) → (lines, complexity)."""
    found = {}
    files = lizard.get_all_source_files([os.path.join(ROOT, folder) for folder in ("src", "python/src")], [], ["cpp"])
    for file in lizard.analyze_files(sorted(files), exts=lizard.get_extensions([])):
        path = os.path.relpath(file.filename, ROOT)
        for function in file.function_list:
            if function.length > MOST_LINES or function.cyclomatic_complexity > MOST_COMPLEXITY:
                name = function.name.replace("tracesmith::", "", 1)
                found[path, name] = (function.length, function.cyclomatic_complexity)
    return {where: size for where, size in found.items() if not is_test(where[0])}


def reasons():
    listed = {}
    with open(os.path.join(ROOT, LIST), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                path, name, reason = line.strip().split(": ", 2)
                listed[path, name] = reason
    return listed


def main():
    found, listed = long_functions(), reasons()
    wrong = []
    for (path, name), (lines, complexity) in sorted(found.items()):
        reason = listed.get((path, name))
        text = f"{path}: {name}: {lines} lines, complexity {complexity}"
        print(f"{text}: {reason}" if reason else text)
        if not reason:
            wrong.append(f"{text}: cut it, or give the reason in {LIST}")
    wrong += [f"{LIST}: {path}: {name} is short, or not there" for path, name in listed if (path, name) not in found]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
