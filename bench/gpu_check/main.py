# SPDX-License-Identifier: Apache-2.0
"""The steps of script/gpu-check, one after the other, each with a limit of time. What is found is in
the JSON file at once, so that the check may be stopped at any moment; the page is made from it."""
import argparse
import glob
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
import page
import steps_cost
import steps_truth
import steps_use
from result import Absent, Result
from tools import Failed, Tools, say

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(SOURCE, "bench", "results")
STAND_IN_LABEL = "stand-in (not a GPU): nothing here says anything about one"
# The dearest questions first, for when the time is over early.
STEPS = (*steps_truth.STEPS, *steps_cost.STEPS[:2], *steps_use.PYTHON_STEPS, *steps_use.STEPS,
         *steps_cost.STEPS[2:], *steps_cost.PYTHON_STEPS)


def options():
    parser = argparse.ArgumentParser(prog="gpu-check")
    parser.add_argument("--tracesmith", required=True, help="the command")
    parser.add_argument("--samples", required=True, help="folder of the compiled samples")
    parser.add_argument("--consumer", help="the empty consumer of CUPTI")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--samples-by", default="unknown", help="what compiled the samples")
    parser.add_argument("--output", help="folder for the results (default: bench/results)")
    parser.add_argument("--limit", type=float, default=400, help="seconds for all steps")
    parser.add_argument("--only", help="names of steps, with commas between them")
    parser.add_argument("--python", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--light", action="store_true", help="a tenth of the work, fewer rounds")
    parser.add_argument("--stand-in", help="folder with stand-ins for libcuda and libcupti")
    return parser.parse_args()


# --- The machine ------------------------------------------------------------------------------


def first_line(*command):
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20,
                             check=False).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return out.splitlines()[0].strip() if out.strip() else None


def find_cupti(tools):
    """CUPTI lies beside the loader's path in most installations."""
    if tools.stand_in:
        return None
    places = [os.path.join(home, sub) for home in (os.environ.get("CUDA_HOME") or "/usr/local/cuda",
                                                   "/usr/local/cuda")
              for sub in ("extras/CUPTI/lib64", "targets/x86_64-linux/lib", "lib64")]
    # PyTorch's own packages.
    packages = first_line(tools.python, "-c", "import nvidia; print(*nvidia.__path__, sep=':')")
    for package in (packages or "").split(":"):
        places += sorted(glob.glob(os.path.join(package, "*", "lib")), reverse=True) if package else []
    for place in places:
        found = sorted(glob.glob(os.path.join(place, "libcupti.so.*")))
        if found:
            return os.path.realpath(found[-1])
    return None


def version_of_python(tools, module):
    return first_line(tools.python, "-c",
                      f"import {module}; print({module}.__version__)") or "absent"


def cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return re.search(r"^model name\s*: (.*)$", file.read(), re.M)[1]
    except (OSError, TypeError):
        return platform.machine()


def machine(tools, did, given):
    smi = None if tools.stand_in else first_line(
        "nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,mig.mode.current",
        "--format=csv,noheader")
    return {"device": did["device"], "compute": did["compute"],
            "driver": smi.split(", ")[1] if smi and ", " in smi else None,
            "driver_cuda": cuda_version(did["driver"]), "runtime": cuda_version(did["runtime"]),
            "nvidia_smi": smi, "cupti": tools.cupti or "found by the loader",
            "cpu": cpu(), "cores": os.cpu_count(), "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()), "python": platform.python_version(),
            "torch": version_of_python(tools, "torch"), "triton": version_of_python(tools, "triton"),
            "tracesmith": first_line(tools.tracesmith, "version"), "samples_compiled_by": given.samples_by}


def cuda_version(number):
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


# --- The run ----------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def run_step(tools, result, step, end):
    name, title, limit, do = step
    entry = result.begin(name, title)
    began = time.monotonic()
    tools.deadline = min(began + limit, end)
    status, reason = "ran", None
    if tools.left() < 2:
        result.end(entry, "absent", 0, "the time of the whole check was over")
        return
    try:
        do(tools, entry)
    except Absent as error:
        status, reason = "absent", str(error)
    except TimeoutError as error:
        status, reason = "out of time", str(error)
    except Stopped:
        result.end(entry, "stopped", time.monotonic() - began)
        raise
    except (Failed, OSError, ValueError, KeyError, TypeError, IndexError, ZeroDivisionError) as error:
        status = "failed"
        reason = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    result.end(entry, status, time.monotonic() - began, reason)
    bad = sum(check["verdict"] == "fail" for check in entry.entry["checks"])
    say(f"  {name:<28}{status:<13}{time.monotonic() - began:6.1f} s"
        + (f"  {bad} of {len(entry.entry['checks'])} checks fail" if bad else "")
        + (f"  {reason}" if reason else ""))


def result_path(given, device, stand_in):
    folder = os.path.abspath(given.output or RESULTS)
    if stand_in and os.path.realpath(folder).startswith(os.path.realpath(RESULTS)):
        sys.exit("gpu-check: what stand-ins give does not belong into bench/results: --output FOLDER")
    os.makedirs(folder, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower().replace("nvidia", "")).strip("-")
    date = time.strftime("%Y-%m-%d", time.gmtime())
    return os.path.join(folder, f"{'stand-in' if stand_in else 'gpu'}-{slug}-{date}.json")


def main():
    given = options()
    began = time.monotonic()
    work = tempfile.mkdtemp(prefix="tracesmith-gpu-check-")
    tools = Tools(given, work)

    def stop(number, _):
        raise Stopped(signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        return check(given, tools, began + given.limit)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        tools.kill()
        # What a killed recorder leaves behind may still write.
        end = time.monotonic() + 10
        while os.path.exists(work) and time.monotonic() < end:
            shutil.rmtree(work, ignore_errors=True)
            time.sleep(0.05)


def check(given, tools, end):
    tools.deadline = min(time.monotonic() + 60, end)
    tools.cupti = find_cupti(tools)
    try:
        did = tools.run(tools.sample("vector_add", 1)).json()
    except (Failed, Absent, TimeoutError) as error:
        say(f"gpu-check: {error}")
        return 3
    stand_in = tools.stand_in or "stand-in" in did["device"].lower()
    path = result_path(given, did["device"], stand_in)
    head = {"stand_in": stand_in}
    if stand_in:
        head["label"] = STAND_IN_LABEL
    head.update(commit=given.commit, machine=machine(tools, did, given))
    result = Result(path, head)
    say(f"gpu-check of {did['device']}{', ' + STAND_IN_LABEL if stand_in else ''}\n  -> {path}")
    wanted = [name.strip() for name in given.only.split(",")] if given.only else None
    unknown = set(wanted or ()) - {step[0] for step in STEPS}
    if unknown:
        sys.exit(f"gpu-check: no such step: {', '.join(sorted(unknown))}")
    try:
        for step in STEPS:
            if wanted is None or step[0] in wanted:
                run_step(tools, result, step, end)
                page.write(result.data, path)
        result.finish(complete=wanted is None)
    except Stopped as error:
        tools.kill()
        result.finish(complete=False, reason=str(error))
    page.write(result.data, path)
    counts = result.verdicts()
    say(f"{counts['pass']} checks pass, {counts['fail']} fail, {counts['absent']} absent\n"
        f"  {path}\n  {path[:-5]}.md")
    return 1 if counts["fail"] or not result.data["ended"] or result.data.get("stopped") else 0


if __name__ == "__main__":
    sys.exit(main())
