# SPDX-License-Identifier: Apache-2.0
"""`python -m tracesmith` is the command."""
import subprocess
import sys

import tracesmith


def test_python_m_is_the_command(simulated):
    for arguments in (["info", str(simulated)], ["--version"], ["query", str(simulated), "SELECT nope"]):
        command = subprocess.run([tracesmith.command_path(), *arguments], capture_output=True, check=False)
        module = subprocess.run([sys.executable, "-m", "tracesmith", *arguments], capture_output=True, check=False)
        assert (module.returncode, module.stdout, module.stderr) == (command.returncode, command.stdout, command.stderr)


def test_the_package_has_what_the_benchmark_measures():
    run = subprocess.run([tracesmith.command_path(), "benchmark", "--no-stacks", "-n", "50", "--rounds", "1"],
                         capture_output=True, text=True, check=False)
    assert "is missing" not in run.stderr
    # Where there is no OpenCL device it says so.
    assert run.returncode == 0 or "no device to measure on" in run.stderr, run.stderr


def test_version():
    said = subprocess.run([tracesmith.command_path(), "--version"], capture_output=True, text=True, check=True).stdout
    assert tracesmith.__version__ in said
    assert tracesmith.__version__ == f"{tracesmith.VERSION_MAJOR}.{tracesmith.VERSION_MINOR}.{tracesmith.VERSION_PATCH}"
