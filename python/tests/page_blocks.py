# SPDX-License-Identifier: Apache-2.0
"""Runs the fenced blocks of a page in its order, as a reader would: `bash` and `python` share a folder, `sql` is
asked of the trace that the reader has (run.sbt). A `console` block has commands after `$ `, each with what it prints;
they may end with any exit code but that of wrong usage. A `text` block is what the block before it printed: line by line,
in order, but for times, sizes and shares, spaces, and what stands as …. Other blocks are not run, nor are those
below a line `<!-- not run: WHY -->`. As a program: page_blocks.py PAGE (in this folder)."""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^(<!-- not run: [^\n]+ -->\n)?```(\w+)\n(.*?)^```$", re.S | re.M)


def pattern(line):
    """What a shown line stands for."""
    escaped = re.sub(r"(?:\\ )+", " ", re.escape(line.strip()))
    escaped = re.sub(r"\d[\d.,\\]* (?:ns|µs|ms|s)(?!\w)", r"\\d[\\d.,]* (?:ns|µs|ms|s)", escaped)
    escaped = re.sub(r"\d[\d.,\\]* %", r"\\d[\\d.,]* %", escaped)
    escaped = re.sub(r"\d[\d.,\\]* (?:B|KiB|MiB|GiB)(?!\w)", r"\\d[\\d.,]* (?:B|KiB|MiB|GiB)", escaped)
    return re.compile(escaped.replace("…", ".*").replace(" ", r"\s+"))


def compare(shown, printed, where):
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() in ("", "…"):
            continue
        wanted = pattern(line)
        if not any(wanted.fullmatch(given.strip()) for given in rest):
            raise AssertionError(f"{where} shows\n  {line}\nwhich is not, there, in what was printed:\n{printed}")


def run_bash(code, words=()):
    """What it prints; PATH is what the blocks before have made of it."""
    terminal = {**os.environ, "COLUMNS": "150", "NO_COLOR": "1"}  # tables as wide as the pages show them
    with tempfile.NamedTemporaryFile("r") as path:
        done = subprocess.run(["bash", "-e", "-c", f'{code}\nprintf %s "$PATH" >{path.name}', "bash", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
                              env=terminal)
        os.environ["PATH"] = path.read() or os.environ["PATH"]
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode} of\n{code}\n{done.stdout}")
    return done.stdout


def run_console(code, where):
    """Each command, and the lines below it are compared with what it prints."""
    for command in re.split(r"^\$ ", code, flags=re.M)[1:]:
        line, _, shown = command.partition("\n")
        done = run_bash(f"status=0; {line} || status=$?; ((status != 2 && status < 126)) || exit $status")
        # Lines in order, as in compare(); but a long line may be broken in the page.
        wanted, begins = "", True
        for text in (line for line in shown.splitlines() if line.strip() not in ("", "…")):
            wanted += (r"(?:\A|.*\n)\s*" if begins else r"\s+(?:.*\s)?") + pattern(text).pattern
            begins = len(text) < 90
        if wanted and not re.match(wanted + r"[^\S\n]*(?:\n|\Z)", done, re.S):
            raise AssertionError(f"{where} shows\n{shown}\nwhich is not, in this order, in what was printed:\n{done}")


def run_python(code, where, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, where, "exec"), names)  # pylint: disable=exec-used
    return out.getvalue()


def blocks(page, languages):
    """(place, language, code) of those that are not left out."""
    text = Path(page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found[2] in languages and not found[1]:
            yield f"{page}:{text[:found.start(2)].count(chr(10)) + 1}", found[2], found[3]


def run_page(page, names=None, languages=("bash", "console", "python", "sql")):
    """Runs them; `names` is what Python knows before. Returns the names that Python has at the end."""
    names, printed, ran = dict(names or {}), "", 0
    for where, language, code in blocks(page, (*languages, "text")):
        if language == "text":
            compare(code, printed, where)
            continue
        if language == "console":
            run_console(code, where)
        elif language == "bash":
            printed = run_bash(code)
        elif language == "sql":
            printed = run_bash('tracesmith query --shell run.sbt <<<"$1"', [code])
        else:
            printed = run_python(code, where, names)
        ran += 1
    assert ran, f"{page} has no code"
    return names


if __name__ == "__main__":
    run_page(sys.argv[1])
    print("all of it ran")
