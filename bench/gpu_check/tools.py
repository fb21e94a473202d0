# SPDX-License-Identifier: Apache-2.0
"""Runs programs with a limit of time, alone and in the ways that are compared, and asks traces."""
import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import time

from result import Absent

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Failed(Exception):
    """A program ended as it should not have."""


class Ran:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def last_line(self):
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1][:300] if lines else f"it ended with {self.code}"

    def json(self):
        """The line of JSON that the program said last."""
        for line in reversed(self.out.splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        raise Failed(f"it said no JSON: {self.last_line()}")


def ended_with_us():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Tools:
    """Where everything lies, and how long it may still take."""

    def __init__(self, options, work):
        self.tracesmith = os.path.abspath(options.tracesmith)
        self.samples = os.path.abspath(options.samples)
        self.consumer = os.path.abspath(options.consumer) if options.consumer else None
        self.python = options.python
        self.work = work
        self.stand_in = bool(options.stand_in)
        self.cupti = None
        self.deadline = 0.0  # of the step
        self.child = None
        self.light = options.light
        self.base = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
        if options.stand_in:
            self.base["LD_LIBRARY_PATH"] = os.path.abspath(options.stand_in)

    def left(self):
        return self.deadline - time.monotonic()

    def path(self, name):
        return os.path.join(self.work, name)

    def sample(self, name, *arguments):
        path = os.path.join(self.samples, name)
        if not os.access(path, os.X_OK):
            raise Absent(f"the sample {name} is not there")
        return [path, *map(str, arguments)]

    def script(self, name, *arguments):
        return [self.python, os.path.join(HERE, "programs", name), *map(str, arguments)]

    def environment(self, command, changes):
        env = dict(self.base)
        # A program of Python brings its own libcupti along, and has loaded it.
        if self.cupti and self.python not in command:
            env["TRACESMITH_CUPTI"] = self.cupti
        env.update(changes)
        return env

    def start(self, command, **changes):
        self.child = subprocess.Popen(  # pylint: disable=consider-using-with
            command, cwd=self.work, env=self.environment(command, changes), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=ended_with_us)
        return self.child

    def wait(self, child, limit=None):
        began = time.monotonic()
        allowed = self.left() if limit is None else min(limit, self.left())
        try:
            out, err = child.communicate(timeout=max(allowed, 0.1))
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimeoutError(f"ran longer than {allowed:.0f} s: "
                               f"{os.path.basename(child.args[0])} {' '.join(child.args[1:])[:200]}"
                               ) from None
        finally:
            self.child = None
        return Ran(child.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"),
                   time.monotonic() - began)

    def kill(self):
        """The running program, and what it started."""
        child = self.child
        if child is None:
            return
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def run(self, command, limit=None, codes=(0,), **changes):
        ran = self.wait(self.start(command, **changes), limit)
        if codes is not None and ran.code not in codes:
            raise Failed(f"{os.path.basename(command[0])} ended with {ran.code}: {ran.last_line()}")
        return ran

    # --- The ways in which a program is run ---------------------------------------------------

    def command_of(self, way, command, trace="way.sbt"):
        """The command line of a way, and its environment."""
        if way == "nothing":
            return command, {}
        if way.startswith("empty consumer"):
            if not self.consumer:
                raise Absent("the empty consumer was not built")
            env = {"CUDA_INJECTION64_PATH": self.consumer}
            if way.endswith("with callbacks"):
                env["EMPTY_CONSUMER_CALLBACKS"] = "1"
            return command, env
        stacks = ["--stacks"] if way == "TraceSmith with stacks" else []
        return [self.tracesmith, "profile", "-q", *stacks, "-o", self.path(trace), "--", *command], {}

    def profile(self, name, command, options=(), codes=(0,), **changes):
        """The trace of a program, and what the program said."""
        trace = Trace(self, self.path(name))
        ran = self.run([self.tracesmith, "profile", *options, "-o", trace.path, "--", *command],
                       codes=codes, **changes)
        trace.warnings = [line for line in ran.err.splitlines() if "warning" in line.lower()]
        return trace, ran

    def count(self, command, **changes):
        """What the counter, which is none of our agents, has seen of a program: sums, and what the
        program said."""
        if not self.consumer:
            raise Absent("the counter was not built")
        file = self.path("count.jsonl")
        if os.path.exists(file):
            os.unlink(file)
        ran = self.run(command, CUDA_INJECTION64_PATH=self.consumer, EMPTY_CONSUMER_COUNT=file,
                       **changes)
        if not os.path.exists(file):
            raise Absent("the counter saw no process: " + ran.last_line())
        sums = {}
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                for key, value in json.loads(line).items():
                    sums[key] = sums.get(key, 0) + value
        return sums, ran


class Trace:
    def __init__(self, tools, path):
        self.tools, self.path, self.warnings = tools, path, []

    def rows(self, sql):
        return json.loads(self.tools.run([self.tools.tracesmith, "query", self.path, sql, "--json"]).out)

    def row(self, sql):
        return self.rows(sql)[0]

    def one(self, sql):
        return next(iter(self.row(sql).values()))

    def lost(self):
        """Records that were dropped. Events of processes of the whole machine, which the kernel drops
        while others start many, are none."""
        return self.one("SELECT coalesce(sum(dropped), 0) FROM loss WHERE source <> 'process events'")

    def whole(self):
        """Whether the file is sound."""
        return self.tools.run([self.tools.tracesmith, "verify", self.path], codes=None).code == 0


def alternate(tools, step, ways, rounds, measure):
    """`measure(way)` in turns: A, B, C, A, B, C. Saves each number; a way that can not be had is left
    out, and says so. Ends early, after whole rounds, when the step's time does not reach."""
    times = {way: [] for way in ways}
    longest = 0.0
    for done in range(rounds):
        if done > 0 and tools.left() < longest * 1.3:
            step.value("rounds cut", f"{done} of {rounds}: the step's time is over")
            break
        began = time.monotonic()
        for way in list(times):
            try:
                times[way].append(measure(way))
            except Absent as reason:
                if done > 0:
                    raise
                del times[way]
                step.absent(way, reason)
        longest = max(longest, time.monotonic() - began)
        step.value("times_ns", times)
    return times


def ratios(times, way, beside):
    """Of each round, whose runs lie side by side."""
    return [a / b for a, b in zip(times[way], times[beside]) if b]


def middle(values):
    return statistics.median(values) if values else None


def spread(values):
    return {"median": round(middle(values), 4), "least": round(min(values), 4),
            "most": round(max(values), 4), "rounds": len(values)}


def say(text):
    print(text, file=sys.stderr, flush=True)
