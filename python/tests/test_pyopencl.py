# SPDX-License-Identifier: Apache-2.0
"""A wheel that brings its own OpenCL loader is recorded, also where the system has none."""
import os
import shutil
import subprocess
import sys

import pytest

import tracesmith

# As it was before a profiler of this process armed itself and its children.
ENVIRONMENT = dict(os.environ)
PROGRAM = """
import numpy as np
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
numbers = np.arange(1024, dtype=np.float32)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
twice = cl.Program(context, "__kernel void twice(__global float* a) { a[get_global_id(0)] *= 2; }").build().twice
for _ in range(5):
    twice(queue, numbers.shape, None, memory)
result = np.empty_like(numbers)
cl.enqueue_copy(queue, result, memory)
print("right" if (result == numbers * 32).all() else "wrong")
"""
# The folder of the loader as it is, without the loader: in a mount namespace of its own.
WITHOUT_LOADER = """
set -e
cd "$1"
mount -t tmpfs none "$2"
mkdir "$2/upper" "$2/work"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1"
rm -f "$1"/libOpenCL.so*
shift 2
exec "$@"
"""


def system_loader():
    """Where the system's loader lies; None where it has none."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        if "libOpenCL.so.1 " in line and "x86-64" in line:
            return os.path.realpath(line.split("=>")[1].strip())
    return None


def without_loader(folder, scratch):
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("hiding the system's loader needs unshare and root")
    around = ["unshare", "--mount", "bash", "-c", WITHOUT_LOADER, "bash", folder, str(scratch)]
    probe = subprocess.run([*around, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"the system's loader cannot be hidden: {probe.stderr}")
    return around


@pytest.mark.parametrize("system_has_one", [True, False])
@pytest.mark.parametrize("inject", [(), ("--inject", "preload"), ("--inject", "layer")],
                         ids=lambda words: "".join(words[1:]) or "default")
def test_pyopencl_is_recorded(tmp_path, system_has_one, inject):
    pytest.importorskip("pyopencl")
    loader = system_loader()
    around = []
    if not system_has_one:
        if loader is None:
            pytest.skip("the system has no loader to hide")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        around = without_loader(os.path.dirname(loader), scratch)
    program = [sys.executable, "-c", PROGRAM]
    alone = subprocess.run([*around, *program], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    if alone.returncode != 0 and "PLATFORM_NOT_FOUND" in alone.stderr:
        pytest.skip("no OpenCL device")
    assert alone.stdout == "right\n", alone.stderr
    trace = tmp_path / "t.sbt"
    profile = [tracesmith.command_path(), "profile", "-q", *inject, "-o", str(trace), "--"]
    recorded = subprocess.run([*around, *profile, *program], capture_output=True, text=True, check=False,
                              env=ENVIRONMENT)
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (0, alone.stdout, alone.stderr)
    data = tracesmith.open(trace)
    assert list(data.query("SELECT name, count(*) FROM kernel GROUP BY name")) == [("twice", 5)]
    calls = "SELECT count(*) FROM host_call WHERE name = 'clEnqueueNDRangeKernel'"
    assert list(data.query(calls)) == [(5,)]
    # The kernel drops its events about processes when the whole machine starts very many.
    assert list(data.query("SELECT * FROM loss WHERE dropped > 0 AND source <> 'process events'")) == []
