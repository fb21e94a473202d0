# SPDX-License-Identifier: Apache-2.0
"""What the pages of docs/ show runs, in its order, and prints what they show. (The tutorial: script/test docs.)"""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import SHARED
from page_blocks import compare, run_page

import tracesmith

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_guide(simulated, tmp_path, monkeypatch):
    for package in ("duckdb", "matplotlib", "pandas", "polars", "pyarrow"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    shutil.copy(simulated, "run.sbt")
    names = run_page(DOCS / "python_guide.md", {"work": lambda: None}, ["python"])
    assert "imulated" in names["result"].summary()


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder with the examples that how-tos run, built as the tutorial builds them."""
    if not shutil.which("c++") or not Path("/usr/include/CL/cl.h").exists():
        pytest.skip("no C++ compiler, or no OpenCL headers")
    folder = tmp_path_factory.mktemp("programs")
    for name in ("opencl_demo", "race_demo"):
        sources = sorted((ROOT / "examples" / name).glob("*.cpp"))
        subprocess.run(["c++", "-O2", "-DCL_TARGET_OPENCL_VERSION=120", *sources, "-lOpenCL", "-o", folder / name],
                       check=True)
    return folder


PAGES = ["MACA_PROFILING", "apple", "ascend", "opencl", "troubleshooting"]


@pytest.mark.parametrize("page", PAGES + sorted(file.stem for file in DOCS.glob("howto_*.md")))
def test_a_page(page, programs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tracesmith.command_path().parent), prepend=os.pathsep)
    for program in programs.iterdir():
        shutil.copy(program, tmp_path)
    if "trace.json.gz" in (DOCS / f"{page}.md").read_text(encoding="utf-8"):
        found = sorted((SHARED / "traces" / "kineto").rglob("*.json.gz"))
        if not found:
            pytest.skip("shared/traces/kineto is not here")
        shutil.copy(found[0], "trace.json.gz")
    run_page(DOCS / f"{page}.md")


def test_what_is_shown_is_compared():
    printed = "kernel  count    total\nmul         5  1.68 s\nadd         2   3.2 µs\n"
    compare("kernel count total\n…\nadd 2 815 ns\n", printed, "here")
    for wrong in ("mul 4 1.68 s", "add 2 3.2 µs\nmul 5 1.68 s", "mul 5 1.68 KiB", "mul 5 …\nadd 2 3.2 µs\nsub …"):
        with pytest.raises(AssertionError):
            compare(wrong, printed, "here")
