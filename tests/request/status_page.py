# SPDX-License-Identifier: Apache-2.0
"""tests/request/STATUS.md: what of the request there is, what is not, and why.
Usage: status_page.py [--write]   with --write: makes the page anew; else: fails where it is old or untrue"""
import re
import sys

import command_names
import cpp_names
import python_names
from request_case import HERE, all_cases

ROOT = HERE.parents[1]
PAGE = HERE / "STATUS.md"
LANGUAGES = {"sh": "commands", "py": "Python", "cpp": "C++"}


def rows(name):
    text = (HERE / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and line[0] != "#"]


def code(text):
    """A command as a cell of a table."""
    first = " ".join(line.rstrip("\\").strip() for line in text.removeprefix("$ ").splitlines())
    return "`" + re.split(r"\s+#", first)[0].strip().replace("|", "\\|") + "`"


def place_of(case):
    return "; ".join(case.places)


def remarks(case):
    """Of what runs well; those of errors are in a table of their own."""
    notes = [note for part in case.parts if part.runs and not part.code for note in part.notes]
    return "; ".join(dict.fromkeys(notes + (case.verdict.notes if case.kind == "sh" else [])))


def outcome(case):
    counts = {"run": 0, "end with an error": 0, "of another test": 0, "left out": 0}
    for part in case.parts:
        fate = "end with an error" if part.code else "run"
        counts["left out" if part.left_out else "of another test" if part.elsewhere else fate] += 1
    if len(case.parts) > 1:
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    if case.platform:
        return f"runs; without {case.platform} on OpenCL, and says so"
    what = next(what for what, count in counts.items() if count)
    return {"run": "runs", "end with an error": "ends with an error"}.get(what, what)


def table(head, lines):
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head),
                      *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def grouped(pairs):
    """Things by what is said of them, in the order in which that is first said."""
    groups = {}
    for thing, said in pairs:
        groups.setdefault(said, []).append(thing)
    return [(", ".join(dict.fromkeys(things)), *said) for said, things in groups.items()]


def parts_of(cases):
    """(what, verdict) of all snippets and commands."""
    for case in cases:
        if case.kind == "sh":
            yield from ((code(command.text), command.verdict) for command in case.commands)
        else:
            yield f"the {LANGUAGES[case.kind]} of {place_of(case)}", case.verdict


def snippets():
    cases = sorted(all_cases(), key=lambda case: (case.places[0].partition(" / ")[0] != "getting started",
                                                  case.places[0].partition(" / ")[0] != "readme", place_of(case)))
    parts = list(parts_of(cases))
    run = sum(verdict.runs for _, verdict in parts)
    says = grouped((what, (f"{verdict.code}{', where it is missing' if verdict.or_well else ''}", verdict.says,
                           "; ".join(verdict.notes))) for what, verdict in parts if verdict.runs and verdict.code)
    elsewhere = grouped((what, (verdict.elsewhere,)) for what, verdict in parts if verdict.elsewhere)
    left = grouped((what, tuple(verdict.left_out.split("; instead: "))) for what, verdict in parts if verdict.left_out)
    return f"""## What the documents show

Each snippet and each command of the request's documents is a case of `tests/request/cases`, as it is written there.
Of {len(parts)} snippets and commands

- {run} are run; {sum(v.code != 0 for _, v in parts if v.runs)} of them end with an error that says why, where a device or a tool is missing,
- {sum(bool(v.elsewhere) for _, v in parts)} are what another test does,
- {sum(bool(v.left_out) for _, v in parts)} are left out.

They run in `script/test`: `request.*` of ctest, and `python/tests/test_request.py` with the Python package; another
test looks for code of the documents that is in no case. Where a snippet leaves work to its reader ("your GPU code
here", `train.py`, `my_cuda_app`) that is a program on OpenCL, and so is `captureEvents()`. A snippet that asks for a
platform that the machine does not have is run twice: as it is, and on OpenCL, which it prints. Of each, but for `cd`
and its like, the case says what it prints, or which file it leaves and what is in it, and that is looked for.

{table(("case", "where", "what", "outcome", "remark"),
       [(f"[{case.name}](cases/{case.path.name})", place_of(case), LANGUAGES[case.kind],
         outcome(case), remarks(case)) for case in cases])}
### Run, and end with an error that says why

{table(("command", "ends with", "says", "remark"), says)}
### What another test does

{table(("command", "by"), elsewhere)}
### Left out

{table(("what", "why", "what to use instead"), left)}
### Pictures

In fences, and neither code nor a command.

{table(("what", "ours"), [tuple(row[1:]) for row in rows("pictures.txt")])}"""


def goals():
    program = "".join(path.read_text(encoding="utf-8")
                      for path in sorted((ROOT / "examples" / "goal_validation_example").glob("*_goals.cpp")))
    # Texts may be broken into lines.
    program = re.sub(r'"\s*"', "", program)
    checks = set(re.findall(r'\{(?:all|one|two|three|four|five),\s*"([^"]+)"', program))
    named = [row[3] for row in rows("goals.txt")]
    problems = [f"goals.txt: no check is called: {text}" for text in named if text not in checks | {"-"}]
    problems += [f"goals.txt: lacks the check: {text}" for text in sorted(checks - set(named))]
    lines = [(phase, goal, there, "" if check == "-" else check) for phase, goal, there, check in rows("goals.txt")]
    return f"""## Goals of the plan

`goal_validation_example` checks each on the machine where it runs, and prints pass, fail, not run or absent with what
was measured.

{table(("phase", "goal", "what there is", "the check's name"), lines)}""", problems


def departures():
    problems = []
    for what, _, _, _, name, pattern in rows("departures.txt"):
        if not re.search(pattern, (ROOT / name).read_text(encoding="utf-8")):
            problems.append(f"departures.txt: {what}: '{pattern}' is not in {name}")
    return f"""## Other versions and defaults

{table(("what", "asked for", "here", "why"), [tuple(row[:4]) for row in rows("departures.txt")])}
## Of the plan, no feature

{table(("what", "what there is"), [tuple(row) for row in rows("no_features.txt")])}""", problems


def main():
    names, problems = python_names.section()
    of_cpp, wrong = cpp_names.section()
    choices, untrue = departures()
    plan, unchecked = goals()
    of_commands, absent = command_names.section()
    problems += wrong + untrue + unchecked + absent
    text = f"""# What was asked for, and what there is

Made by `tests/request/status_page.py --write` from what the tests try: no row is written by hand, and a test fails
where the page is not true. [docs/status.md](../../docs/status.md) says what works, and on what that was proven.

{snippets()}
{plan}
{choices}
{of_commands}
{names}
{of_cpp}"""
    text = re.sub(r"\]\((\w+\.md)\)", r"](../../docs/\1)", text)  # goals.txt links pages of docs
    if "--write" in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        problems.append("tests/request/STATUS.md is old: tests/request/status_page.py --write")
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
