# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python_guide.md runs, in its order."""
import re
import shutil
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "python_guide.md"


def test_the_guide(simulated, tmp_path, monkeypatch):
    for package in ("duckdb", "matplotlib", "pandas", "polars", "pyarrow"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    shutil.copy(simulated, "run.sbt")
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 5
    names = {"work": lambda: None}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)  # pylint: disable=exec-used
    assert "imulated" in names["result"].summary()
