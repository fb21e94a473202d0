# SPDX-License-Identifier: Apache-2.0
"""Traces for the tests: of a program that really ran, made once."""
import os
import subprocess
from pathlib import Path

import pytest

import tracesmith

SHARED = Path(os.environ.get("TRACESMITH_TEST_DATA", Path(__file__).parents[3] / "shared"))


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """A trace of ours: the simulation's, which needs no device."""
    path = tmp_path_factory.mktemp("trace") / "simulated.sbt"
    command = [tracesmith.command_path(), "record", "-q", "-p", "simulation", "-d", "1", "-o", path]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def kineto():
    """A trace of PyTorch's profiler."""
    found = sorted((SHARED / "traces" / "kineto").rglob("*.json.gz"))
    if not found:
        pytest.skip("shared/traces/kineto is not here")
    return found[0]
