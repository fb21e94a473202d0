# SPDX-License-Identifier: Apache-2.0
"""Runs the fenced blocks of a page in its order, as a reader would: `bash` and `python` share a folder. A
`text` block is what the block before it printed: line by line, in order, but for times, sizes and shares,
spaces, and what stands as …. Other blocks are not run. As a program: page_blocks.py PAGE (in this folder)."""
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)


def pattern(line):
    """What a shown line stands for."""
    escaped = re.sub(r"(?:\\ )+", " ", re.escape(line.strip()))
    escaped = re.sub(r"\d[\d.,\\]* (?:ns|µs|ms|s)(?!\w)", r"[\\d.,]+ (?:ns|µs|ms|s)", escaped)
    escaped = re.sub(r"\d[\d.,\\]* %", r"[\\d.,]+ %", escaped)
    escaped = re.sub(r"\d[\d.,\\]* (?:B|KiB|MiB|GiB)(?!\w)", r"[\\d.,]+ (?:B|KiB|MiB|GiB)", escaped)
    return re.compile(escaped.replace("…", ".*").replace(" ", r"\s+"))


def compare(shown, printed, where):
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() in ("", "…"):
            continue
        wanted = pattern(line)
        if not any(wanted.fullmatch(given.strip()) for given in rest):
            raise AssertionError(f"{where} shows\n  {line}\nwhich is not, there, in what was printed:\n{printed}")


def run_bash(code):
    terminal = {**os.environ, "COLUMNS": "150", "NO_COLOR": "1"}  # tables as wide as the pages show them
    done = subprocess.run(["bash", "-e", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, check=False, env=terminal)
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode} of\n{code}\n{done.stdout}")
    return done.stdout


def run_page(page, names=None, languages=("bash", "python")):
    """Runs them; `names` is what Python knows before. Returns the names that Python has at the end."""
    text = Path(page).read_text(encoding="utf-8")
    names, printed, ran = dict(names or {}), "", 0
    for found in BLOCK.finditer(text):
        language, code = found[1], found[2]
        where = f"{page}:{text[:found.start()].count(chr(10)) + 1}"
        if language == "text":
            compare(code, printed, where)
        elif language not in languages:
            continue
        elif language == "bash":
            printed, ran = run_bash(code), ran + 1
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, where, "exec"), names)  # pylint: disable=exec-used
            printed, ran = out.getvalue(), ran + 1
    assert ran, f"{page} has no code"
    return names


if __name__ == "__main__":
    run_page(sys.argv[1])
    print("all of it ran")
