# SPDX-License-Identifier: Apache-2.0
"""Nothing of the request's documents is forgotten, and no case says what is not there: each line of code
of them is in a case, each line of a case is in the document that it names. What stands in fences and is no
code is in pictures.txt. Ends with 77 where the documents are not here (TRACESMITH_TEST_DATA/spec)."""
import hashlib
import os
import re
import sys
from pathlib import Path

from request_case import HERE, all_cases, words

SPEC = Path(os.environ.get("TRACESMITH_TEST_DATA", HERE.parents[2] / "shared")) / "spec"
FENCED = {"readme": "request_readme_v0.8.0.md", "getting started": "request_getting_started.md",
          "summary": "request_summary_v0.1.md", "plan": "request_plan.zh.md"}
PAGE = "request_package_page_v0.8.3.md"  # of a web page, the fences are lost
COMMAND = re.compile(r"(\$ )?((\./|tracesmith-cli |pip |cmake |make |sudo |git |docker |python3? \S+\.py|python -c|"
                     r"ctest|nvcc -|nsys -|ls /|export \w+=|xcrun |xcode-select |brew |mkdir |cd |"
                     r"TRACESMITH_\w+=1 pip ))")
CODE = re.compile(r"#include |import \w+|from \w+\S* import|using namespace|(auto|const|std::\S+) \w+.*[;{]$|"
                  r"\w+ = ts\.|"
                  r"\w+\.\w+\(.*\)$|\w+->\w+\(.*\);|\w+\.\w+ = ")


def heading(line):
    return words(line.strip("#* ").rstrip(":*"))


def fences(text):
    """(heading, lines) of each fenced block."""
    title, block = "", None
    for line in text.splitlines():
        if line.strip().startswith("```"):
            if block is not None:
                yield title, block
            block = [] if block is None else None
        elif block is not None:
            block.append(line)
        elif re.match(r"#+ |\*\*.*:\*\*$", line.rstrip()):
            title = heading(line)


def code_lines(lines):
    """Without blank lines and lines that are a comment."""
    return [words(line) for line in lines if line.strip() and not re.match(r"\s*(#(?!include)|//)", line)]


def digest(lines):
    return hashlib.sha256("\n".join(words(line) for line in lines).encode()).hexdigest()[:12]


def pictures():
    rows = (HERE / "pictures.txt").read_text(encoding="utf-8").splitlines()
    return {row.split("\t")[0]: row.split("\t")[1:] for row in rows if row and row[0] != "#"}


def check_fences(document, text, cases, unused):
    blocks, problems = {}, []
    for title, block in fences(text):
        blocks.setdefault(title, []).append(block)
    for title, those in blocks.items():
        place = f"{document} / {title}"
        of_cases = {line for case in cases if place in case.places for line in code_lines(case.lines)}
        for block in those:
            if digest(block) in unused:
                del unused[digest(block)]
                continue
            missing = [line for line in code_lines(block) if line not in of_cases]
            if missing:
                problems.append(f"{place}: no case has: {missing[0]}   (whole block: {digest(block)})")
    for case in cases:
        for place in case.places:
            name, _, title = place.partition(" / ")
            if name != document:
                continue
            # The table of tests by platform has its commands in text.
            there = {line for block in blocks.get(title, []) for line in code_lines(block)}
            there |= {line for row in text.splitlines() if "|" in row for line in re.findall(r"`(\./bin/[^`]*)`", row)}
            problems += [f"{case.path.name}: is not in {place}: {line}"
                         for line in code_lines(case.lines) if line not in there]
    return problems


def check_page(text, cases):
    rows = [words(part.strip("- ")) for line in text.splitlines()
            for part in ([line, *line.split("|")] if "|" in line else [line])]
    known = {line for case in cases for line in code_lines(case.lines)}
    bare = {line.split(" #")[0].split(" //")[0].strip() for line in known}
    problems = [f"package page: no case has: {row}" for row in rows if (COMMAND.match(row) or CODE.match(row))
                and row not in known and row.split(" #")[0].split(" //")[0].strip() not in bare]
    for case in cases:
        if "package page" in case.places:
            problems += [f"{case.path.name}: is not in the package page: {line}"
                         for line in code_lines(case.lines) if line not in rows and line not in words(text)]
    return problems


def main():
    if not SPEC.is_dir():
        print(f"{SPEC} is not here")
        sys.exit(77)
    cases, unused = all_cases(), pictures()
    problems = []
    for document, name in FENCED.items():
        problems += check_fences(document, (SPEC / name).read_text(encoding="utf-8"), cases, unused)
    problems += check_page((SPEC / PAGE).read_text(encoding="utf-8"), cases)
    places = [place.partition(" / ")[0] for case in cases for place in case.places]
    problems += [f"there is no document '{name}'" for name in places if name not in (*FENCED, "package page")]
    problems += [f"pictures.txt: {key} is in no document" for key in unused]
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
