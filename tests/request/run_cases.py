# SPDX-License-Identifier: Apache-2.0
"""Runs cases of the request's documents, each in a fresh folder. Usage: run_cases.py [--package FOLDER] NAME...
       run_cases.py --list      names of the cases that run something and need no package
`--package`: where the Python package lies; TRACESMITH_BIN: where the programs do. Ends with 1 where a
case did not do what it says of itself."""
import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from left_files import in_shell, name_of, problem_of
from request_case import HERE, Verdict, all_cases
from workplace import binaries, environment, give

LIMIT_S = 240


def judge(what, verdict, code, output, files=lambda leaves: ""):
    """What is wrong with the outcome; "". `files`: what is wrong with a file that is left."""
    code_wanted = 0 if verdict.or_well and code == 0 else verdict.code
    texts = verdict.shows if code_wanted == 0 else [verdict.says]
    if code != code_wanted:
        said = f"ended with {code}, not {code_wanted}"
    else:
        wrong = [f"did not say: {text}" for text in texts if text not in output]
        wrong += [files(leaves) for leaves in verdict.leaves if code == 0]
        said = next(filter(None, wrong), "")
        if not said:
            return ""
    return f"{what}\n  {said}; its output:\n" + "\n".join("    " + line for line in output.splitlines()[-25:])


def run_shell(case, folder, env):
    """All commands in one shell, as a reader types them: `cd` and `export` last."""
    script = []
    for number, command in enumerate(case.commands):
        if command.verdict.does:
            script.append(command.verdict.does)
        if command.verdict.runs:
            text = in_shell(command.verdict, command.text.removeprefix("$ "), folder / f".left-{number}")
            log = shlex.quote(str(folder / f".output-{number}"))
            script.append(f"{{ {text}\n}} >{log} 2>&1 </dev/null; printf '\\n%s\\n' $? >>{log}")
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder / case.inside, env=env, timeout=LIMIT_S,
                          check=False, capture_output=True, text=True)
    problems = []
    for number, command in enumerate(case.commands):
        if command.verdict.runs:
            log, left = folder / f".output-{number}", folder / f".left-{number}"
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else ["-1"]
            problems.append(judge(command.text, command.verdict, int(lines[-1]), "\n".join(lines[:-1]) + done.stderr,
                                  lambda leaves, left=left: problem_of(leaves, left, env)))
    return [problem for problem in problems if problem]


def run_program(case, folder, env, program):
    def run(*more, **changes):
        return subprocess.run([*program, *more], cwd=folder / case.inside, env={**env, **changes}, timeout=LIMIT_S,
                              check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    place = folder / case.inside
    done = run()
    problems = [judge(case.path.name, case.verdict, done.returncode, done.stdout,
                      lambda leaves: problem_of(leaves, place, env))]
    if case.platform and f"there is no {case.platform} here: OpenCL instead" in done.stdout:
        # As it is written: Python raises an error that says so; C++ asks nobody, and goes on with nothing.
        if case.kind == "py":
            verdict = Verdict(code=1, says=f"UnsupportedError: {case.platform}: ")
        else:
            verdict = Verdict(shows=["\n0 kernels captured"], leaves=case.verdict.leaves)
        for leaves in case.verdict.leaves:
            (place / name_of(leaves)).unlink(missing_ok=True)
        done = run(REQUEST_AS_WRITTEN="1")
        problems.append(judge(f"{case.path.name}, as written", verdict, done.returncode, done.stdout,
                              lambda leaves: problem_of(leaves, place, env, none_of=True)))
    return [problem for problem in problems if problem]


def run_case(case, package=None):
    """What went otherwise than the case says."""
    with tempfile.TemporaryDirectory(prefix="tracesmith-request-") as name:
        folder = Path(name)
        for what in case.given:
            give(folder, what)
        (folder / case.inside).mkdir(parents=True, exist_ok=True)
        env = environment(folder, package)
        if case.kind == "sh":
            return run_shell(case, folder, env)
        if case.kind == "cpp":
            return run_program(case, folder, env, [binaries() / "request_cases", case.name])
        return run_program(case, folder, env, [sys.executable, HERE / "python_snippet.py", case.path])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    cases = {case.name: case for case in all_cases()}
    if options.list:
        print("\n".join(name for name, case in cases.items()
                        if case.runs_here and not case.package and case.kind != "py"))
        return
    problems = []
    for name in options.names or sorted(cases):
        if cases[name].runs_here:
            problems += run_case(cases[name], options.package)
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
