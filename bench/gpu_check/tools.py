# SPDX-License-Identifier: Apache-2.0
"""Runs programs with a limit of time, records and counts them, and asks traces."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from result import Absent

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1
CONSUMER_SAYS = "comparison consumer: "
LIBC = ctypes.CDLL(None)


class Failed(Exception):
    """A program did not end as it should."""


def consumer_refused(err):
    """Why the comparison consumer could not use CUPTI, or gets no kernels; None: it could."""
    said = [line for line in err.splitlines() if line.startswith(CONSUMER_SAYS)]
    said = [line for line in said if "does not deliver" not in line or "deliver kernels" in line]
    return said[0] if said else None


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
        self.python = options.python  # the one that may have PyTorch
        self.own_python = sys.executable
        self.work = work
        self.stand_in = bool(options.stand_in)
        self.cupti = None  # its path
        self.profile_help = None
        self.deadline = 0.0  # of the step
        self.children = []
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
        # A program of Python keeps the libcupti that it brings along and has loaded.
        if self.cupti:
            of_python = self.python in command
            env["TRACESMITH_CUPTI_FALLBACK" if of_python else "TRACESMITH_CUPTI"] = self.cupti
        env.update(changes)
        return env

    def start(self, command, **changes):
        child = subprocess.Popen(  # pylint: disable=consider-using-with
            command, cwd=self.work, env=self.environment(command, changes), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=ended_with_us)
        self.children.append(child)
        return child

    def forget(self, child):
        """It has ended, or is not ours to end any more."""
        if child in self.children:
            self.children.remove(child)

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
            self.forget(child)
        return Ran(child.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"),
                   time.monotonic() - began)

    def kill(self):
        """What runs, and what it started."""
        for child in self.children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        self.children.clear()

    def run(self, command, limit=None, codes=(0,), **changes):
        ran = self.wait(self.start(command, **changes), limit)
        if codes is not None and ran.code not in codes:
            raise Failed(f"{os.path.basename(command[0])} ended with {ran.code}: {ran.last_line()}")
        return ran

    # --- Traces and counts --------------------------------------------------------------------

    def has_option(self, option):
        """Whether `tracesmith profile` knows an option."""
        if self.profile_help is None:
            self.profile_help = self.run([self.tracesmith, "profile", "--help"]).out
        return option in self.profile_help

    def need_option(self, option):
        if not self.has_option(option):
            raise Absent(f"this tracesmith has no {option}")

    def profile(self, name, command, options=(), codes=(0,), **changes):
        """The trace of a program, and what the program said. Absent, with the trace's own reason,
        where CUPTI could not be used: then its counts mean nothing."""
        trace = Trace(self, self.path(name))
        ran = self.run([self.tracesmith, "profile", *options, "-o", trace.path, "--", *command],
                       codes=codes, **changes)
        trace.warnings = [line for line in ran.err.splitlines() if "warning" in line.lower()]
        trace.need_cuda()
        return trace, ran

    def profile_sample(self, step, name, *arguments, options=(), **changes):
        """The trace of a sample, and its own account. Absent where the sample says that it is."""
        trace, ran = self.profile(name + ".sbt", self.sample(name, *arguments), options, **changes)
        did = ran.json()
        if "absent" in did:
            raise Absent(did["absent"])
        if trace.warnings:
            step.value(f"{name}: warnings", trace.warnings)
        return trace, did

    def count(self, command, **changes):
        """What the comparison consumer, which is none of our agents, has counted of a program: sums,
        and what the program said."""
        if not self.consumer:
            raise Absent("the comparison consumer was not built")
        file = self.path("count.jsonl")
        if os.path.exists(file):
            os.unlink(file)
        ran = self.run(command, CUDA_INJECTION64_PATH=self.consumer, EMPTY_CONSUMER_COUNT=file,
                       **changes)
        refused = consumer_refused(ran.err)
        if not os.path.exists(file):
            raise Absent(refused or "the comparison consumer saw no process: " + ran.last_line())
        sums = {"refused": refused}
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                for key, value in json.loads(line).items():
                    if key in ("cupti", "cupti_version"):
                        sums[key] = value
                    elif key != "pid":
                        sums[key] = sums.get(key, 0) + value
        return sums, ran


class Trace:
    def __init__(self, tools, path):
        self.tools, self.path, self.warnings = tools, path, []

    def problems(self):
        """Why less, or nothing, of CUDA is in the trace, as its own table says; counts of what was
        dropped, which begin with a number, are no such reasons."""
        reasons = self.rows("SELECT DISTINCT reason FROM loss WHERE source = 'CUDA activity' "
                            "AND reason IS NOT NULL")
        return [part for row in reasons for part in row["reason"].split("; ") if not part[:1].isdigit()]

    def need_cuda(self):
        """Absent, with the reason, where CUPTI could not be used at all, or delivers no kernels."""
        problems = self.problems()
        if not problems:
            return
        row = self.row("SELECT (SELECT count(*) FROM kernel) AS kernels, (SELECT count(*) FROM host_call) AS calls")
        if row["kernels"] == 0 and self.lacks("kernels"):
            raise Absent(self.lacks("kernels"))
        if row["kernels"] == 0 and row["calls"] == 0:
            raise Absent(problems[0])

    def lacks(self, kind):
        """Why CUPTI does not deliver records of a kind ("allocations"), or None."""
        return next((p for p in self.problems() if f"does not deliver {kind}" in p), None)

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


def try_python(tools, name, *arguments):
    """Runs a program alone: where that cannot be done, nothing about it can be said."""
    ran = tools.run(tools.script(name, *arguments), codes=None)
    if ran.code != 0:
        raise Absent(ran.last_line())
    return ran.json()


def say(text):
    print(text, file=sys.stderr, flush=True)
