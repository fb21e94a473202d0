# SPDX-License-Identifier: Apache-2.0
"""What the request's documents show of the package runs (tests/request): Python snippets, and commands
that need the package. The rest of them is run by ctest."""
import shutil
import sys
from pathlib import Path

import pytest

import tracesmith

REQUEST = Path(__file__).parents[2] / "tests" / "request"
PACKAGE = Path(tracesmith.__file__).parents[1]
sys.path.insert(0, str(REQUEST))

from left_files import problem_of  # noqa: E402 pylint: disable=wrong-import-position
from request_case import all_cases, read_case  # noqa: E402 pylint: disable=wrong-import-position
from run_cases import run_case  # noqa: E402 pylint: disable=wrong-import-position
from workplace import binaries, environment  # noqa: E402 pylint: disable=wrong-import-position

CASES = {case.name: case for case in all_cases() if (case.package or case.kind == "py") and case.runs_here}


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case = CASES[name]
    if case.given and not (binaries() / "opencl_demo").exists():
        pytest.skip(f"the example programs are not in {binaries()} (script/test unit; TRACESMITH_BIN)")
    problems = run_case(case, PACKAGE)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(("text", "found"), [
    ("#: shows: done\ntrue", "did not say: done"),
    ("#: shows: done\necho done", ""),
    ("#: leaves: out.txt\ntrue", "did not leave out.txt"),
    ("#: leaves: out.txt\n: > out.txt", "did not leave out.txt"),
    ("#: leaves: out.txt\necho > out.txt", ""),
    ("#: leaves: out.txt\necho > out.txt\n#: leaves: out.txt\ntrue", "did not leave out.txt"),
    ("#: leaves: out.txt\n#: shows: 1\necho 1 | tee out.txt; false", "ended with 1, not 0"),
    ("#: without 3: no tool\n#: shows: fine\necho nothing", "did not say: fine"),
    ("#: without 3: no tool\n#: shows: fine\necho no tool; (exit 3)", ""),
    ("#: without 3: no tool\n#: shows: fine\necho fine; (exit 3)", "did not say: no tool"),
    ("#: without 3: no tool\n#: leaves: out.txt\n(exit 4)", "ended with 4, not 3"),
    ("true", "does not say what it shows or leaves"),
    ("#: without 3: no tool\ntrue", "does not say what it shows or leaves")])
def test_what_is_not_as_a_case_says_is_found(text, found, tmp_path):
    path = tmp_path / "made.sh"
    path.write_text(f"#: from: nowhere\ncd .\n{text}\n", encoding="utf-8")
    try:
        problems = run_case(read_case(path), PACKAGE)
    except ValueError as error:
        problems = [str(error)]
    assert found in "".join(problems) if found else not problems


def test_files_of_another_kind_are_found(simulated, tmp_path):
    env = environment(tmp_path, PACKAGE)
    shutil.copy(simulated, tmp_path / "run.sbt")
    assert not problem_of("run.sbt: some kernel", tmp_path, env)
    assert not problem_of("run.sbt", tmp_path, env)
    assert "rows of kernel, not 1" in problem_of("run.sbt: 1 kernel", tmp_path, env)
    assert "rows of kernel, not 0" in problem_of("run.sbt: some kernel", tmp_path, env, none_of=True)
    assert "0 rows of counter, not some" in problem_of("run.sbt: some counter", tmp_path, env)
    shutil.copy(simulated, tmp_path / "run.pftrace")
    assert "is no .pftrace file" in problem_of("run.pftrace", tmp_path, env)
    (tmp_path / "run.json").write_text("[]", encoding="utf-8")
    assert "is no JSON of a trace" in problem_of("run.json", tmp_path, env)
    (tmp_path / "cut.sbt").write_bytes(simulated.read_bytes()[:20])
    assert "cannot be read" in problem_of("cut.sbt", tmp_path, env)
