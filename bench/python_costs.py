# SPDX-License-Identifier: Apache-2.0
"""What Python pays: 10 M kernels from a file to a pandas group-by, their first rows, and annotate().
Usage: python_costs.py TRACE"""
import os
import subprocess
import sys
import tempfile
import time
import timeit

import pandas

import tracesmith


def group_by(path):
    """Seconds until pandas has a frame, and until it has the sums."""
    begin = time.perf_counter()
    trace = tracesmith.open(path)
    frame = trace.kernels["name", "duration_ns"].to_pandas()
    ours = time.perf_counter() - begin
    sums = frame.groupby("name", observed=True).duration_ns.sum()
    whole = time.perf_counter() - begin
    assert int(sums.sum()) == int(trace.kernels.duration_ns.sum()) and len(frame) == len(trace.kernels)
    return ours, whole, len(frame)


def first_rows(path):
    """ms of the first rows of an open trace, and of the same later: the best of 5 and of 50."""
    first, later = [], []
    for _ in range(5):
        with tracesmith.open(path) as trace:
            for times, repeat in ((first, 1), (later, 10)):
                seconds = timeit.repeat(lambda: list(trace.kernels.head()), number=1, repeat=repeat)
                times += [1e3 * s for s in seconds]
    return min(first), min(later)


def annotations(calls=200_000, repeat=7, outside=False):
    """ns of one, beside an empty context manager of Python's own."""

    class Nothing:
        """The peer."""

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    annotate = tracesmith.annotate

    def with_annotate():
        for _ in range(calls):
            with annotate("step"):
                pass

    def with_nothing():
        for _ in range(calls):
            with Nothing():
                pass

    def without():
        for _ in range(calls):
            pass

    def best(function):
        return min(timeit.repeat(function, number=1, repeat=repeat)) / calls * 1e9

    empty = best(without)
    idle = best(with_annotate) - empty
    if outside:  # each of them is recorded
        return idle, idle, 0
    with tracesmith.profile(platform=tracesmith.PlatformType.Unknown):
        active = best(with_annotate) - empty
    return active, idle, best(with_nothing) - empty


def seen_from_outside():
    """ns of one under `tracesmith profile`."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.sbt")
        run = subprocess.run(
            [tracesmith.command_path(), "profile", "-q", "-b", "64M", "-o", trace, "--", sys.executable, __file__,
             "--outside"], check=True, capture_output=True, text=True)
        with tracesmith.open(trace) as recorded:
            assert len(recorded.ranges) == OUTSIDE["calls"] * OUTSIDE["repeat"]
    return float(run.stdout)


OUTSIDE = {"calls": 5_000, "repeat": 70, "outside": True}  # who drains the rings has a share of the processor


def main():
    if sys.argv[1] == "--outside":
        print(annotations(**OUTSIDE)[0])
        return
    runs = [group_by(sys.argv[1]) for _ in range(5)]
    ours, whole, rows = min(run[0] for run in runs), min(run[1] for run in runs), runs[0][2]
    print(f"{rows} kernels: a data frame of name and duration in {ours:.3f} s (bar: 0.3), "
          f"with its group-by {whole:.3f} s (bar: 1.5); the best of 5")
    first, later = first_rows(sys.argv[1])
    print(f"list(kernels.head()): {first:.1f} ms the first time, {later:.1f} ms later (bar: 5); the best of 5 and of 50")
    active, idle, nothing = annotations()
    print(f"annotate(): {active:.0f} ns recorded (bar: 300), {idle:.0f} ns while nothing is; "
          f"an empty context manager of Python's: {nothing:.0f} ns")
    outside = seen_from_outside()
    print(f"annotate() under `tracesmith profile`: {outside:.0f} ns (bar: 300)")
    sys.exit(first > 5 or outside > 300 or ours > 0.3 * rows / 1e7 or whole > 1.5 * rows / 1e7 or active > 300)


main()
