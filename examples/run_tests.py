# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of this folder, each in an empty folder, and reports which work.
run_tests.py [--device KIND | --all-devices] [--test NAME]... [--list]
Exit codes: 0 all that ran passed; 1 one failed; 77 nothing could be run."""
import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from device_utils import DEVICES, available_devices

HERE = Path(__file__).resolve().parent
NOT_RUN = 77
# name: (what, arguments of python, whether it takes --device, a module that it needs)
TESTS = {
    "device": ("the device computes what NumPy does", ["device_check.py"], True, ""),
    "basic": ("basic_usage.py", ["basic_usage.py"], True, ""),
    "record": ("phase 1: kernels of a program", ["record_walkthrough.py"], False, ""),
    "stacks": ("phase 2: call stacks and dependencies", ["stacks_walkthrough.py"], False, ""),
    "timeline": ("phase 3: states and a timeline", ["timeline_walkthrough.py"], False, ""),
    "replay": ("phase 4: a recording runs again", ["replay_walkthrough.py"], False, ""),
    "pytorch": ("basic_usage.py by PyTorch", ["basic_usage.py"], True, "torch"),
    "package": ("the tests of the package; only when it is named", ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
                False, "pytest"),
}


def run(name, device, timeout_s=600):
    """"passed", "failed" or "not run", with why."""
    _, arguments, takes_device, module = TESTS[name]
    if module and importlib.util.find_spec(module) is None:
        return "not run", f"no module named '{module}'"
    if name == "pytorch" and device == "opencl":
        return "not run", "PyTorch does not compute on OpenCL"
    first = str(HERE / arguments[0]) if arguments[0].endswith(".py") else arguments[0]
    command = [sys.executable, "-B", first, *arguments[1:]]
    if takes_device and device:
        command += ["--device", device]
    with tempfile.TemporaryDirectory(prefix="tracesmith-examples-") as folder:
        where = HERE.parent if name == "package" else folder
        try:
            done = subprocess.run(command, cwd=where, check=False, timeout=timeout_s, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return "failed", f"took more than {timeout_s} s"
    lines = done.stdout.rstrip().splitlines() or [""]
    if done.returncode == NOT_RUN:
        return "not run", lines[-1]
    if done.returncode != 0:
        return "failed", f"ended with {done.returncode}\n" + "\n".join("    " + line for line in lines[-30:])
    return "passed", lines[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=DEVICES, help="default: the best that is there")
    parser.add_argument("--all-devices", action="store_true", help="once with each device that is there")
    parser.add_argument("--test", action="append", choices=TESTS, metavar="NAME", help="only this one")
    parser.add_argument("--list", action="store_true", help="the names")
    options = parser.parse_args()
    if options.list:
        for name, (what, *_) in TESTS.items():
            print(f"{name:10} {what}")
        return
    devices = available_devices() if options.all_devices else [options.device]
    counts = {"passed": 0, "failed": 0, "not run": 0}
    for name in options.test or [name for name in TESTS if name != "package"]:
        for device in devices if TESTS[name][2] else devices[:1]:
            begin = time.monotonic()
            outcome, why = run(name, device)
            counts[outcome] += 1
            on = f" on {device}" if device and TESTS[name][2] else ""
            print(f"{outcome:8} {name + on:18} {time.monotonic() - begin:5.1f} s  {why}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] else 0 if counts["passed"] else NOT_RUN)


if __name__ == "__main__":
    main()
