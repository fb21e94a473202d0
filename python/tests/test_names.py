# SPDX-License-Identifier: Apache-2.0
"""Names that users know are there, or tests/request/STATUS.md says why not."""
import inspect
import subprocess
import sys
from pathlib import Path

import tracesmith


def test_names_of_the_earlier_tool():
    script = Path(__file__).parents[2] / "tests" / "request" / "python_names.py"
    result = subprocess.run([sys.executable, "-B", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_all_is_all():
    assert sorted(tracesmith.__all__) == tracesmith.__all__
    public = {name for name, thing in vars(tracesmith).items() if name[0] != "_" and not inspect.ismodule(thing)}
    assert set(tracesmith.__all__) - {"__version__"} == public


def test_each_name_says_what_it_is():
    for name in tracesmith.__all__:
        thing = getattr(tracesmith, name)
        assert isinstance(thing, (int, str)) or thing.__doc__, name
