#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of functions and constants that nothing uses: declared, perhaps defined, and never said again.

Counts words of the C++ sources (comments left out, strings not: a name may be looked up by its text). A name that
is said once, or once in NOUN.hpp and once as its definition in NOUN.cpp, is dead. Names that several things have
hide each other, so that what is printed is dead, but not all that is dead is printed. Public headers, what other
libraries call by name, and a format's field numbers (*_numbers.hpp) are left out. With --tests also what tests alone use.
Usage: script/dead_code.py [--tests]      exit code 1: there is some
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTION = re.compile(r"(?:^|[\w>&*\]] +[&*]?)(\w+)\(", re.M)  # behind a type
CONSTANT = re.compile(r"\bconstexpr\s[^=;(]*?\b(k[A-Z]\w*)\s*(?:=|\[|\{)")
CALLED = re.compile(r"\b(return|else)\b|[=(!?]|&&|\|\|")  # before a name: a call of another library's function
BY_LOADER = re.compile(r"\[\[gnu::(constructor|destructor|used)|__attribute__")
LOOKED_UP = re.compile(r"^(cl[A-Z]|cu[A-Z]|cupti|nvtx|_|main$|LLVMFuzzer|operator|Init|dl[a-z]+$|ts_|tracesmith_|TS_)")


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.splitlines()
    for name in listed:
        if Path(name).suffix in (".cpp", ".hpp", ".h", ".c", ".inc", ".cu") and not name.startswith("tests/request/cases/"):
            yield name, COMMENT.sub(lambda found: found[1] or " ", (ROOT / name).read_text(encoding="utf-8", errors="replace"))


def is_test(name):
    return name.startswith("tests/") or re.search(r"_(test|test_util|bench|fuzz)\.[ch]pp$", name)


def public_headers():
    """What include/ forwards to is for programs that are not here."""
    named = set()
    for file in (ROOT / "include").rglob("*.h*"):
        named.update("src/" + name for name in re.findall(r'#include "(tracesmith/[^"]+)"', file.read_text(encoding="utf-8")))
    return named


def main():
    with_tests = "--tests" in sys.argv[1:]
    used = defaultdict(lambda: defaultdict(int))  # word → file → times
    declared, defined = {}, set()
    public = public_headers()
    for name, text in sources():
        for word in WORD.findall(text):
            used[word][name] += 1
        if name.startswith("src/") and not (is_test(name) or name in public or name.endswith("_numbers.hpp")):
            lines = text.splitlines()
            for pattern in (FUNCTION, CONSTANT):
                for found in pattern.finditer(text):
                    line = text.count("\n", 0, found.start(1))
                    before = text[text.rfind("\n", 0, found.start(1)) + 1:found.start(1)]
                    if not CALLED.search(before) and not BY_LOADER.search("".join(lines[max(0, line - 1):line + 1])):
                        declared.setdefault(found[1], (name, line + 1))
            for line in lines:  # a definition starts at the margin
                defined.update((word, name) for word in WORD.findall(line.split("(")[0]) if line[:1].strip())
    dead = []
    for word, (name, line) in declared.items():
        if LOOKED_UP.match(word):
            continue
        files = {file: times for file, times in used[word].items() if not (with_tests and is_test(file))}
        stem = name.rsplit(".", 1)[0]
        own = files.get(stem + ".hpp", 0), files.get(stem + ".cpp", 0)
        twice = own == (1, 1) and (word, stem + ".cpp") in defined
        if sum(files.values()) == sum(own) and (sum(own) == 1 or twice):
            dead.append(f"{name}:{line}: {word}")
    print("\n".join(sorted(dead)))
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
