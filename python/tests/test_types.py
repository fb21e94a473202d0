# SPDX-License-Identifier: Apache-2.0
"""The package's types are those that a user's program needs under mypy --strict."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracesmith

PROGRAM = Path(__file__).parent / "typed_program.py"


def checked(tmp_path, path):
    where = str(Path(tracesmith.__file__).parents[1])
    installed = where in sys.path and Path(where).name == "site-packages"  # mypy finds it by itself
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent",
         f"--cache-dir={tmp_path}", path],
        env={**os.environ, **({} if installed else {"MYPYPATH": where})}, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_a_program_of_a_user(simulated, tmp_path):
    pytest.importorskip("mypy")
    result = checked(tmp_path, PROGRAM)
    assert result.returncode == 0, result.stdout + result.stderr
    subprocess.run([sys.executable, PROGRAM, simulated, tmp_path / "copy.sbt"], check=True, capture_output=True)
    for typo, says in (("duration_ns.max", '"Kernels" has no attribute "duration"'), ("row.duration_ns", 'has no attribute'),
                       ("trace.copies", '"Trace" has no attribute')):
        wrong = tmp_path / "typo.py"
        good = PROGRAM.read_text(encoding="utf-8")
        wrong.write_text(good.replace(typo, typo.replace("_ns", "").replace("copies", "coppies")), encoding="utf-8")
        result = checked(tmp_path, wrong)
        assert says in result.stdout, result.stdout + result.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text(PROGRAM.read_text(encoding="utf-8").replace("written: int", "written: str"), encoding="utf-8")
    result = checked(tmp_path, wrong)
    assert "Incompatible types in assignment" in result.stdout, result.stdout + result.stderr
