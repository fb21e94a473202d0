# SPDX-License-Identifier: Apache-2.0
"""The steps of script/gpu-check, one after the other, each with a limit of time. What is found is in
the JSON file at once, so that the check may be stopped at any moment; the page is made from it."""
import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
import cupti
import machine
import page
import steps_attach
import steps_clock
import steps_cost
import steps_memory
import steps_nccl
import steps_pytorch
import steps_sanitizer
import steps_stacks
import steps_topology
import steps_truth
import steps_use
import steps_work
from result import Absent, Result
from tools import Failed, Tools, Trace, say

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(SOURCE, "bench", "results")
STAND_IN_LABEL = "stand-in (not a GPU): nothing here says anything about one"
# The most valuable questions first, for when the time is over early.
STEPS = (*steps_truth.STEPS, *steps_memory.STEPS, *steps_work.STEPS, *steps_clock.STEPS, *steps_attach.STEPS,
         *steps_stacks.STEPS, *steps_topology.STEPS, *steps_cost.STEPS, *steps_use.STEPS, *steps_use.PYTHON_STEPS,
         *steps_pytorch.STEPS, *steps_nccl.STEPS, *steps_cost.LATER_STEPS, *steps_use.LATER_PYTHON_STEPS,
         *steps_sanitizer.STEPS, *steps_clock.LATER_STEPS, *steps_cost.PYTHON_STEPS, *steps_use.LAST_STEPS)
NO_TIME = "the time of the whole check was over"
PATIENCE = 6  # with stand-ins: times of the limits, since such a machine may be busy with other tests
LEAST_SHARE = 1 / 3  # of its limit: with less time left a step does not start
PASSED, FAILED, USAGE, NO_DEVICE, NO_CUPTI = 0, 1, 2, 3, 4


def options():
    parser = argparse.ArgumentParser(prog="gpu-check")
    parser.add_argument("--tracesmith", required=True, help="the command")
    parser.add_argument("--samples", required=True, help="folder of the compiled samples")
    parser.add_argument("--consumer", help="the comparison consumer of CUPTI")
    parser.add_argument("--cupti", help="a libcupti that is tried first")
    parser.add_argument("--cupti-folder", help="folder with libcupti of several versions, which are tried last")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--samples-by", default="unknown", help="what compiled the samples")
    parser.add_argument("--output", help="folder for the results (default: bench/results)")
    parser.add_argument("--limit", type=float, default=540, help="seconds for all steps")
    parser.add_argument("--spent", type=float, default=0, help="seconds of them that are over")
    parser.add_argument("--only", help="names of steps, with commas between them")
    parser.add_argument("--python", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--light", action="store_true", help="a tenth of the work, fewer rounds")
    parser.add_argument("--stand-in", help="folder with stand-ins for libcuda and libcupti")
    return parser.parse_args()


# --- The run ----------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def run_step(tools, result, step, end):
    name, title, limit, do = step
    entry = result.begin(name, title)
    began = time.monotonic()
    tools.deadline = min(began + limit, end)
    status, reason = "ran", None
    if tools.left() < limit * LEAST_SHARE:
        result.end(entry, "absent", 0, NO_TIME)
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
    # The end of the whole check cut it off: that says nothing about the step.
    if status in ("failed", "out of time") and end < began + limit and tools.left() < 1:
        status, reason = "absent", f"{NO_TIME}: {reason}"
    result.end(entry, status, time.monotonic() - began, reason)
    bad = sum(check["verdict"] == "fail" for check in entry.entry["checks"])
    say(f"  {name:<28}{status:<13}{time.monotonic() - began:6.1f} s"
        + (f"  {bad} of {len(entry.entry['checks'])} checks fail" if bad else "")
        + (f"  {reason}" if reason else ""))


def result_path(given, device, stand_in):
    folder = os.path.abspath(given.output or RESULTS)
    if stand_in and os.path.realpath(folder).startswith(os.path.realpath(RESULTS)):
        say("gpu-check: results of stand-ins do not belong in bench/results: --output FOLDER")
        return None
    os.makedirs(folder, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower().replace("nvidia", "")).strip("-")
    date = time.strftime("%Y-%m-%d", time.gmtime())
    name = f"{'stand-in' if stand_in else 'gpu'}-{slug}-{date}"
    number = 1  # an earlier result of the day stays
    while os.path.exists(os.path.join(folder, name + (f"-{number}" if number > 1 else "") + ".json")):
        number += 1
    return os.path.join(folder, name + (f"-{number}" if number > 1 else "") + ".json")


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
        return check(given, tools, began + given.limit - given.spent)
    except Stopped as error:  # before there was a result
        say(f"gpu-check: STOPPED by {error}")
        return FAILED
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        tools.kill()
        # What a killed recorder leaves behind may still write.
        end = time.monotonic() + 10
        while os.path.exists(work) and time.monotonic() < end:
            shutil.rmtree(work, ignore_errors=True)
            time.sleep(0.05)


def find_device(tools):
    """What the smallest sample says of itself."""
    try:
        return tools.run(tools.sample("vector_add", 1)).json(), None
    except (Failed, Absent, TimeoutError) as error:
        return None, str(error)


def check_agent(tools, step):
    """The agent can use the libcupti that the comparison consumer could use."""
    trace = Trace(tools, tools.path("first.sbt"))
    did = tools.run([tools.tracesmith, "profile", "-q", "-o", trace.path, "--",
                     *tools.sample("vector_add", 5)]).json()
    step.value("reasons in the trace", trace.problems())
    step.equal("kernels in the agent's trace, with this libcupti", trace.one("SELECT count(*) FROM kernel"),
               did["kernels"])


def run_steps(given, tools, result, no_cupti, end):
    wanted = [name.strip() for name in given.only.split(",")] if given.only else None
    for step in (("agent", "The agent with the libcupti that was chosen", 15, check_agent), *STEPS):
        if wanted is not None and step[0] not in wanted:
            continue
        if no_cupti:
            result.end(result.begin(step[0], step[1]), "absent", 0, no_cupti)
        else:
            name, title, limit, do = step
            run_step(tools, result, (name, title, limit * (PATIENCE if tools.stand_in else 1), do), end)
        page.write(result.path)
    result.finish(complete=wanted is None)


def check(given, tools, end):
    unknown = {name.strip() for name in (given.only or "").split(",")} - {step[0] for step in STEPS} - {"", "agent"}
    if unknown:
        say(f"gpu-check: no such step: {', '.join(sorted(unknown))}")
        return USAGE
    began = time.monotonic() - given.spent
    tools.deadline = time.monotonic() + 60
    did, reason = find_device(tools)
    if did is None:
        say(f"gpu-check: {reason}\ngpu-check: NO DEVICE")
        return NO_DEVICE
    stand_in = tools.stand_in or "stand-in" in did["device"].lower()
    path = result_path(given, did["device"], stand_in)
    if path is None:
        return USAGE
    head = {"stand_in": stand_in}
    if stand_in:
        head["label"] = STAND_IN_LABEL
    head.update(commit=given.commit, machine=machine.describe(tools, did, given.samples_by))
    python = os.path.dirname(os.path.dirname(os.path.abspath(tools.python)))
    folders = (tools.work, SOURCE, *(() if python.startswith("/usr") else (python,)))  # the system's says nothing
    result = Result(path, head, folders)
    say(f"gpu-check of {did['device']}{', ' + STAND_IN_LABEL if stand_in else ''}\n  -> {path}")
    no_cupti = None
    try:
        tools.deadline = time.monotonic() + 90
        no_cupti = choose_cupti(given, tools, result)
        run_steps(given, tools, result, no_cupti, end)
    except Stopped as error:
        tools.kill()
        result.finish(complete=False, reason=str(error))
    if not tools.stand_in:
        result.data["machine"]["gpu_at_end"] = machine.gpu_state()
    code = verdict(result, no_cupti, time.monotonic() - began)
    page.write(path)
    return code


def choose_cupti(given, tools, result):
    """Why no libcupti works, or None."""
    chosen, tried = cupti.choose(tools, given.cupti, given.cupti_folder)
    result.data["machine"].update(
        cupti={key: chosen[key] for key in ("path", "from", "version")} if chosen else None, cupti_tried=tried)
    result.save()
    for entry in tried:
        say(f"  libcupti of {entry['from']}: {entry['path']}: {entry['result']}")
    if chosen:
        tools.cupti = chosen["path"]
        return None
    if not tried:
        return "no libcupti was found"
    return "no libcupti works here: " + "; ".join(f"{entry['path']}: {entry['result']}" for entry in tried)


def verdict(result, no_cupti, seconds):
    """The last line, and the exit code."""
    counts = result.verdicts()
    numbers = (f"{counts['pass']} checks pass, {counts['fail']} fail, {counts['absent']} absent, "
               f"{seconds:.0f} s")
    say(f"  {result.path}\n  {result.path[:-5]}.md")
    failing = result.failing()
    if failing:
        more = f" and {len(failing) - 3} more" if len(failing) > 3 else ""
        code, text = FAILED, f"FAIL: {'; '.join(failing[:3])}{more}; {numbers}"
    elif result.data.get("stopped"):
        code, text = FAILED, f"STOPPED by {result.data['stopped']}, {numbers}"
    elif no_cupti:
        code, text = NO_CUPTI, f"NO CUPTI: {no_cupti}; {numbers}"
    elif counts["pass"] == 0:
        code, text = FAILED, f"NOTHING CHECKED, {numbers}"
    else:
        code, text = PASSED, f"PASS, {numbers}"
        without_time = sum(step.get("reason", "").startswith(NO_TIME) for step in result.data["steps"])
        text += f"; {without_time} steps had no time" if without_time else ""
    result.data["verdict"] = text
    result.save()
    say(f"gpu-check: {text}")
    return code


if __name__ == "__main__":
    sys.exit(main())
