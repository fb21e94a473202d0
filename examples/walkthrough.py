# SPDX-License-Identifier: Apache-2.0
"""Shared by the walk-throughs."""
import subprocess
import sys
from pathlib import Path

import tracesmith as ts

HERE = Path(__file__).parent


def tracesmith(*arguments):
    """Runs the command as a shell would, and prints it. If the recorded program exits with 77 (no OpenCL), so
    does this one."""
    print("$ tracesmith", *arguments)
    done = subprocess.run([ts.command_path(), *map(str, arguments)], check=False, text=True, stdout=subprocess.PIPE)
    if done.returncode == 77:
        print("there is no OpenCL device here", file=sys.stderr)
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"ended with {done.returncode}")
    return done.stdout


def profile(output, *options):
    """Records workload.py into a trace."""
    print(tracesmith("profile", "-q", *options, "-o", output, "--", sys.executable, HERE / "workload.py"), end="")
    return ts.open(output)


def expect(condition, what):
    """Exits with 1 if something is not as the walk-through says."""
    if not condition:
        sys.exit(f"not as it should be: {what}")
