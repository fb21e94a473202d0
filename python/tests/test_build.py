# SPDX-License-Identifier: Apache-2.0
"""What `TRACESMITH_…=1 pip install .` asks for is built, or the build says why not; the extras are those that
the request names, and what they bring is found."""
import os
import re
import subprocess
import sys
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


def test_the_extras():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\n", text, re.S).group(1)
    assert set(re.findall(r"^(\w+) =", extras, re.M)) == {
        "torch", "visualization", "cuda11", "cuda118", "cuda12", "cuda120", "cuda13", "dask", "all"}


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
