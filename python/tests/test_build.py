# SPDX-License-Identifier: Apache-2.0
"""The source distribution is whole, and pip builds from it with what it fetches itself; what `TRACESMITH_…=1 pip install .`
asks for is built, or the build says why not; the extras are those that the request names, and what they bring is
found. (A whole wheel, of what is built already: script/test docs.)"""
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("variable", "value", "built"),
    [("CUDA", "1", True), ("ROCM", "1", False), ("METAL", "ON", False), ("ROCM", "0", True), ("METAL", "off", True)])
def test_what_the_build_is_asked_for(variable, value, built):
    result = subprocess.run(
        ["cmake", "-P", ROOT / "cmake" / "TraceSmithRequested.cmake"], capture_output=True, text=True, check=False,
        env={**os.environ, f"TRACESMITH_{variable}": value})
    assert (result.returncode == 0) == built
    said = re.sub(r"\s+", " ", result.stdout + result.stderr)
    if value == "1" or not built:
        assert f"TRACESMITH_{variable}={value}:" in said
    if not built:
        assert "docs/status.md" in said


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-c", "import sys; from scikit_build_core.build import build_sdist;"
                    "build_sdist(sys.argv[1])", folder], cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.iterdir()
    return file


def test_the_source_distribution_is_whole(source_distribution):
    with tarfile.open(source_distribution) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml"}
    for folder in ("cmake", "include", "python", "src"):
        needed |= {str(file.relative_to(ROOT)) for file in (ROOT / folder).rglob("*")
                   if file.is_file() and "__pycache__" not in file.parts}
    assert len(needed) > 1000
    assert needed - there == set()


def pip(folder, source, *words, **variables):
    """A build by pip in an environment of its own, without what is installed here."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-v", "--disable-pip-version-check", "--no-deps", "-w", folder, source, *words],
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
    if "No matching distribution found for" in done.stdout:
        pytest.skip("there is no package index that has what the package is built with")
    return done


def test_pip_builds_from_the_source_distribution(source_distribution, tmp_path):
    """All is configured and a room compiled; of the rest see script/test docs."""
    some = ["-C", "build.targets=tracesmith-base", "-C", "install.components=none"]
    done = pip(tmp_path, source_distribution, *some, TRACESMITH_CUDA="1")
    assert done.returncode == 0, done.stdout[-3000:]
    said = re.sub(r"\s+", " ", done.stdout)
    assert "TRACESMITH_CUDA=1: the CUDA agent is built always" in said
    assert "Python module on Python" in said
    (wheel,) = tmp_path.glob("tracesmith-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {"tracesmith/__init__.py", "tracesmith/torch.py", "tracesmith/py.typed"} <= set(archive.namelist())


def test_pip_ends_where_something_can_not_be_had(source_distribution, tmp_path):
    done = pip(tmp_path, source_distribution, TRACESMITH_ROCM="1")
    assert done.returncode != 0
    assert "TRACESMITH_ROCM=1: this version has no ROCm agent" in re.sub(r"\s+", " ", done.stdout)
    assert not list(tmp_path.iterdir())


def test_what_the_package_imports_is_there_when_its_stubs_are_made():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required, dependencies = (set(re.findall(r'"([\w-]+)', re.search(rf"^{name} = \[(.*)\]$", text, re.M)[1]))
                              for name in ("requires", "dependencies"))
    assert dependencies and dependencies <= required


def test_the_extras():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\n", text, re.S).group(1)
    assert set(re.findall(r"^(\w+) =", extras, re.M)) == {
        "torch", "visualization", "cuda11", "cuda118", "cuda12", "cuda120", "cuda13", "dask", "fleet", "frames", "all"}


SAID = ("import os, tracesmith as ts; ts.create_profiler(ts.PlatformType.CUDA);"
        "print(os.environ.get('TRACESMITH_CUPTI_FALLBACK'))")


def test_cupti_of_packages(tmp_path):
    """Laid out as NVIDIA's packages are (11.8.87, 12.9.79, 13.5.25)."""
    for name in ("cuda_cupti/lib/libcupti.so.11.8", "cuda_cupti/lib/libcupti.so.12", "cu13/lib/libcupti.so.13"):
        path = tmp_path / "nvidia" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "nvidia/cuda_cupti/lib/libnvperf_host.so").touch()

    def said(**variables):
        places = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        return subprocess.run(
            [sys.executable, "-c", SAID], env={**os.environ, "PYTHONPATH": places, **variables},
            capture_output=True, text=True, check=True).stdout.strip().split(":")

    assert [path for path in said() if str(tmp_path) in path] == [
        f"{tmp_path}/nvidia/{name}" for name in
        ("cu13/lib/libcupti.so.13", "cuda_cupti/lib/libcupti.so.12", "cuda_cupti/lib/libcupti.so.11.8")]
    assert said(TRACESMITH_CUPTI_FALLBACK="/mine.so") == ["/mine.so"]
