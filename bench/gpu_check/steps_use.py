# SPDX-License-Identifier: Apache-2.0
"""Whole uses: Python programs, several processes, programs and recorders that are killed, and what
is done with a trace afterwards."""
import json
import os
import signal
import time

from result import Absent
from tools import Failed, Trace, try_python

FIRST_WITH_FRAMES = [3, 11]


def training(tools, step):
    alone = try_python(tools, "train_step.py", "--steps", 10)
    step.value("alone", alone)
    command = tools.script("train_step.py", "--steps", 10)
    counted, _ = tools.count(command)
    if counted["refused"]:
        raise Absent(counted["refused"])
    trace, ran = tools.profile("train.sbt", command, ["--stacks"])
    did = ran.json()
    step.value("warnings", trace.warnings)
    kernels = trace.one("SELECT count(*) FROM kernel")
    step.equal("kernels, beside the counter's", kernels, counted["kernels"])
    step.equal("the loss is the same as alone", did["loss"], alone["loss"])
    row = trace.row("SELECT count(*) AS n, count(call_path_id) AS stacks FROM kernel")
    step.equal("kernels with stacks", row["stacks"], row["n"])
    what = "frames of the Python program"
    if did["python"] < FIRST_WITH_FRAMES:
        step.absent(what, f"this is Python {'.'.join(map(str, did['python']))}; the agent reads frames from 3.11 on")
    else:
        frames = trace.one("SELECT count(*) FROM frame WHERE file LIKE '%train_step.py'")
        step.check(what, frames, "> 0", frames > 0)
    step.equal("records lost", trace.lost(), 0)
    step.equal("the trace is sound", trace.whole(), True)


def triton(tools, step):
    did = try_python(tools, "triton_kernel.py")
    trace, ran = tools.profile("triton.sbt", tools.script("triton_kernel.py"), ["--stacks"])
    did = ran.json()
    step.value("warnings", trace.warnings)
    step.equal("launches of the Triton kernel", trace.one(
        f"SELECT count(*) FROM kernel WHERE name LIKE '%{did['kernel']}%'"), did["launches"])
    row = trace.row(f"""SELECT count(*) AS n, count(call_path_id) AS stacks FROM kernel
        WHERE name LIKE '%{did['kernel']}%'""")
    step.equal("of them, with stacks", row["stacks"], did["launches"])


def two_processes(tools, step):
    sample = " ".join(tools.sample("vector_add"))
    trace, ran = tools.profile("two.sbt", ["sh", "-c", f"{sample} & {sample} & wait"])
    said = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
    if len(said) != 2:
        raise Failed(f"of two programs {len(said)} said what they did")
    for did in said:
        step.equal(f"kernels of process {said.index(did) + 1}", trace.one(
            f"SELECT count(*) FROM kernel WHERE pid = {did['pid']}"), did["kernels"])
    step.equal("processes with kernels", trace.one("SELECT count(DISTINCT pid) FROM kernel"), 2)


def program_killed(tools, step):
    """All that was done a second before it was killed must be there."""
    trace, ran = tools.profile("killed.sbt", tools.sample("many_small_kernels", "-n", 5000, "--die"),
                               codes=None)
    step.check("the exit code is the program's", ran.code, "of signal 9", ran.code in (-9, 137))
    did = ran.json()
    kernels = trace.one("SELECT count(*) FROM kernel")
    step.check("kernels of before it was killed", kernels, f">= {did['kernels']}", kernels >= did["kernels"])
    step.value("kernels launched while it was killed, in the trace", kernels - did["kernels"])
    step.equal("the trace is sound", trace.whole(), True)


def recorder_killed(tools, step):
    """The recorder is killed while the program runs; what it leaves is finished afterwards."""
    output, said = tools.path("recorder.sbt"), tools.path("recorder.out")
    started = tools.run(tools.sample("vector_add", 1)).seconds  # most of it until the device is there
    before = 1.2 + 2 * started
    sample = " ".join(tools.sample("streams", "one", int((before + 1.0) / 0.02), 20_000))
    child = tools.start([tools.tracesmith, "profile", "-q", "-o", output, "--", "sh", "-c",
                         f"exec {sample} > {said}"])
    time.sleep(before)
    os.kill(child.pid, signal.SIGKILL)
    child.stdout.close()
    child.stderr.close()
    child.wait()
    tools.forget(child)
    end = time.monotonic() + min(20.0, tools.left())
    while time.monotonic() < end and not (os.path.exists(said) and os.path.getsize(said)):
        time.sleep(0.1)
    if not os.path.exists(said) or not os.path.getsize(said):
        raise Failed("the program did not go on without its recorder")
    time.sleep(0.5)  # it ends
    with open(said, encoding="utf-8") as file:
        did = json.loads(file.read().splitlines()[-1])
    session = output + ".session"
    recovered = tools.run([tools.tracesmith, "recover", session], codes=None)
    step.equal("recover ends well", recovered.code, 0)
    trace = Trace(tools, tools.path("recorder.sbt"))
    kernels = trace.one("SELECT count(*) FROM kernel")
    step.value("kernels", {"launched": did["kernels"], "in the trace": kernels})
    step.check("kernels in the trace", kernels, f"1 .. {did['kernels']}", 0 < kernels <= did["kernels"])
    step.equal("the trace is sound", trace.whole(), True)


def afterwards(tools, step):
    """The largest trace there is, opened, analysed, exported."""
    traces = [tools.path(name) for name in ("train.sbt", "stacks.sbt", "rate.sbt", "vector_add.sbt")
              if os.path.exists(tools.path(name))]
    if not traces:
        raise Absent("no step left a trace")
    names = {"train.sbt": "of the training", "stacks.sbt": "of 10,000 stacks", "rate.sbt":
             "of the launch rate", "vector_add.sbt": "of vector_add"}
    trace = traces[0]
    step.value("trace", {"which": names[os.path.basename(trace)], "bytes": os.path.getsize(trace)})
    seconds = {}
    for what, words in (("info", ["info", trace]), ("verify", ["verify", trace]),
                        ("view", ["view", trace, "-n", "20"]), ("analyze", ["analyze", trace]),
                        ("analyze as JSON", ["analyze", trace, "--json"]),
                        ("Perfetto", ["export", trace, "-q", "-o", tools.path("out.pftrace")]),
                        ("Chrome JSON", ["export", trace, "-q", "-o", tools.path("out.json")]),
                        ("CSV", ["export", trace, "-q", "-o", tools.path("out.csv")])):
        ran = tools.run([tools.tracesmith, *words], codes=None)
        seconds[what] = round(ran.seconds, 3)
        step.equal(f"{what} ends well", ran.code, 0)
        if what == "analyze as JSON" and ran.code == 0:
            step.check("its JSON is sound", is_json(ran.out), "yes", is_json(ran.out))
    step.value("seconds", seconds)
    with open(tools.path("out.json"), encoding="utf-8") as file:
        sound = is_json(file.read())
    step.check("Chrome's JSON is sound", sound, "yes", sound)
    step.value("bytes", {name: os.path.getsize(tools.path(name))
                         for name in ("out.pftrace", "out.json", "out.csv")})


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


PYTHON_STEPS = (("training", "A training step of PyTorch through profile -- python", 45, training),)
LATER_PYTHON_STEPS = (("Triton", "A Triton kernel through profile -- python", 40, triton),)
STEPS = (("two processes", "Two processes at once", 10, two_processes),
         ("program killed", "kill -9 of the program", 10, program_killed),
         ("recorder killed", "kill -9 of the recorder", 30, recorder_killed))
LAST_STEPS = (("afterwards", "The trace opened, analysed, exported", 15, afterwards),)
