# SPDX-License-Identifier: Apache-2.0
"""What the request's documents show of the package runs (tests/request): Python snippets, and commands
that need the package. The rest of them is run by ctest."""
import sys
from pathlib import Path

import pytest

import tracesmith

REQUEST = Path(__file__).parents[2] / "tests" / "request"
PACKAGE = Path(tracesmith.__file__).parents[1]
sys.path.insert(0, str(REQUEST))

from request_case import all_cases  # noqa: E402 pylint: disable=wrong-import-position
from run_cases import run_case  # noqa: E402 pylint: disable=wrong-import-position
from workplace import binaries  # noqa: E402 pylint: disable=wrong-import-position

CASES = {case.name: case for case in all_cases() if (case.package or case.kind == "py") and case.runs_here}


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case = CASES[name]
    if case.given and not (binaries() / "opencl_demo").exists():
        pytest.skip(f"the example programs are not in {binaries()} (script/test unit; TRACESMITH_BIN)")
    problems = run_case(case, PACKAGE)
    assert not problems, "\n".join(problems)
