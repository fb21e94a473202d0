# SPDX-License-Identifier: Apache-2.0
"""What README and the pages of docs/ show runs, in its order, and prints what they show: all of bash, Python and SQL
that does not say why it is not run (page_blocks.py). C++ is compiled. (The tutorial: script/test docs.)"""
import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SHARED
from page_blocks import blocks, compare, run_page

import tracesmith

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests" / "request"))

from cpp_names import generated  # noqa: E402 pylint: disable=wrong-import-position
from workplace import binaries  # noqa: E402 pylint: disable=wrong-import-position


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
    """The folder with the examples that pages run, built as the tutorial builds them."""
    if not shutil.which("c++") or not Path("/usr/include/CL/cl.h").exists():
        pytest.skip("no C++ compiler, or no OpenCL headers")
    folder = tmp_path_factory.mktemp("programs")
    for name in ("opencl_demo", "race_demo"):
        sources = sorted((ROOT / "examples" / name).glob("*.cpp"))
        subprocess.run(["c++", "-O2", "-DCL_TARGET_OPENCL_VERSION=120", *sources, "-lOpenCL", "-o", folder / name],
                       check=True)
    return folder


# What pages take for granted beside those programs: files, with what they are made of.
GIVEN = {
    "amd": {"run.sbt": "908_results.json.gz"},
    "analysis": {"trace.sbt": "opencl_demo", "before.sbt": "opencl_demo", "after.sbt": "opencl_demo --repeat 2"},
    "findings": {"trace.sbt": "opencl_demo"},
    "kernel_names": {"run.sbt": "nccl_data.json.gz"},
    "query": {"run.sbt": "nccl_data.json.gz"},
    "README": {"program": "opencl_demo", "before.sbt": "opencl_demo", "after.sbt": "opencl_demo --repeat 2",
               "race.sbt": "--record race_demo"},
    "races": {"app": "race_demo"},
    "replay": {"program": "opencl_demo"},
    "stacks": {"my_program": "opencl_demo"},
    "system": {"my_program": "opencl_demo"},
    "studio": {"run.sbt": "opencl_demo"},
    "symbols": {"trace.sbt": "opencl_demo", "symbols/.build-id": ""},
    "whatif": {"run.sbt": "trace.json.gz", "report.sqlite": "h100_2gpu_1s.sqlite.gz"},
}
# Others run these.
ELSEWHERE = {"python_guide": "test_the_guide", "tutorial": "script/test docs"}
RUN = ("bash", "console", "python", "sql")
PAGES = {file.stem: file for file in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
         if any(blocks(file, RUN)) and file.stem not in ELSEWHERE}


def shared(name):
    """A trace of another tool, of those that the tests have."""
    kept = sorted((ROOT / "tests" / "data").rglob(name))
    if kept:
        return kept[0]
    if name == "trace.json.gz":
        found = sorted((SHARED / "traces" / "kineto").rglob("*.json.gz"))
    else:
        found = sorted((SHARED / "traces").rglob(name))
    if not found:
        pytest.skip(f"{name} is not in shared/traces")
    return found[0]


def give(name, source, folder):
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source:
        target.mkdir()
    elif name.endswith(".sqlite"):
        target.write_bytes(gzip.decompress(shared(source).read_bytes()))
    elif not name.endswith(".sbt"):
        shutil.copy(folder / source, target)
    else:
        program = source.removeprefix("--record ")
        options = ["--record"] if program != source else []
        how = ["import", shared(source), "-o"] if source.endswith(".gz") else \
            ["profile", "-q", "--stacks", *options, "-o"]
        program = [] if source.endswith(".gz") else ["--", *f"./{program}".split()]
        subprocess.run([tracesmith.command_path(), *how, target, *program], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("page", PAGES)
def test_a_page(page, programs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tracesmith.command_path().parent), prepend=os.pathsep)
    for program in programs.iterdir():
        shutil.copy(program, tmp_path)
    code = "".join(block for _, _, block in blocks(PAGES[page], RUN))
    if "profile --system" in code:
        devices = subprocess.run([tracesmith.command_path(), "devices"], check=True, capture_output=True, text=True)
        if "(profile --system): nothing" in devices.stdout:
            pytest.skip("this user may not look at processors")
    for name in re.findall(r"[\w.]+\.(?:json\.gz|sqlite\.gz|csv)\b", code):
        shutil.copy(shared(name), name)
    for name, source in GIVEN.get(page, {}).items():
        give(name, source, tmp_path)
    if "build/release/bin" in code:
        if not (binaries() / "session_demo").exists():
            pytest.skip(f"the example programs are not in {binaries()} (script/test unit; TRACESMITH_BIN)")
        (tmp_path / "build/release").mkdir(parents=True)
        (tmp_path / "build/release/bin").symlink_to(binaries())
    run_page(PAGES[page])


# What the fragments of C++ use of their surroundings.
AROUND = """
#include <cstdio>
#include <string>
template <class What> int fail(const What&) { return 1; }
extern const tracesmith::Trace trace;
"""


def test_cpp_compiles():
    """Each block of C++ in a function of its own, whole programs in a namespace. (getting_started.md's runs as well:
    tests/install_test.cmake.)"""
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler")
    includes, bodies = ["#include <tracesmith/tracesmith.hpp>"], []
    for page in sorted(DOCS.glob("*.md")):
        for number, (where, _, block) in enumerate(blocks(page, ["cpp"])):
            lines = block.splitlines()
            includes += [line for line in lines if line.startswith("#include")]
            name, rest = f"{page.stem}_{number}", "\n".join("" if line.startswith("#") else line for line in lines)
            place, fence = where.rsplit(":", 1)
            shown = f'#line {int(fence) + 1} "{place}"\n{rest}'
            bodies.append(f"namespace {name} {{\n{shown}\n}}" if "int main(" in block else
                          f"int {name}() {{\n{shown}\nreturn 0;\n}}")
    assert len(bodies) >= 5
    places = [ROOT / "include", ROOT / "src", *filter(None, [generated()])]
    done = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", "-w", *(f"-I{place}" for place in places), "-x", "c++", "-"],
        input="\n".join([*includes, AROUND, *bodies]), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def test_what_says_that_it_is_not_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: no device -->\n```bash\nfalse\n```\n\n```bash\necho yes\n```\n```text\nyes\n```\n",
                    encoding="utf-8")
    assert [code for _, _, code in blocks(page, ["bash"])] == ["echo yes\n"]
    run_page(page)


def test_what_is_shown_is_compared():
    printed = "kernel  count    total\nmul         5  1.68 s\nadd         2   3.2 µs\n"
    compare("kernel count total\n…\nadd 2 815 ns\n", printed, "here")
    for wrong in ("mul 4 1.68 s", "add 2 3.2 µs\nmul 5 1.68 s", "mul 5 1.68 KiB", "mul 5 …\nadd 2 3.2 µs\nsub …"):
        with pytest.raises(AssertionError):
            compare(wrong, printed, "here")
