# SPDX-License-Identifier: Apache-2.0
"""Many traces with one worker and with two: a pool of processes, and Dask. What a task costs by itself, and what
follows for 100,000 ranks. Usage: python_fleet.py FOLDER"""
import concurrent.futures
import pickle
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from dask.distributed import Client, LocalCluster

from tracesmith import fleet

RANKS = 100_000
FILES_PER_TASK = 16
NO_OPS = 2000


@contextmanager
def pool(workers):
    with concurrent.futures.ProcessPoolExecutor(workers) as executor:
        yield executor


@contextmanager
def dask(workers):
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client.get_executor()


def arithmetic(rounds):
    """Work that needs neither memory nor files."""
    value = 0
    for number in range(rounds):
        value += number * number
    return value


def efficiency_of_the_machine():
    """What two processes that share nothing get of two processors."""
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(3):
        for workers in best:
            with pool(workers) as executor:
                list(executor.map(arithmetic, [1] * 2))  # workers have started
                begin = time.perf_counter()
                list(executor.map(arithmetic, [1_000_000] * 60))
                best[workers] = min(best[workers], time.perf_counter() - begin)
    return best[1] / (2 * best[2])


def seconds(executor, files):
    begin = time.perf_counter()
    result = fleet.analyze(files, executor, store=False, files_per_task=FILES_PER_TASK)
    assert result.summary.traces == len(files)
    return time.perf_counter() - begin, result


def nothing(number):
    return number


def cost_of_a_task(executor, first):
    """Seconds of the engine for a task that does nothing. Dask takes equal tasks for one, so they have numbers."""
    begin = time.perf_counter()
    for future in [executor.submit(nothing, first + number) for number in range(NO_OPS)]:
        future.result()
    return (time.perf_counter() - begin) / NO_OPS


def measure(engine, files):
    """Seconds with one and two workers (the best of three, in turn), of a task by itself, and a result."""
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(3):
        for workers in best:
            with engine(workers) as executor:
                seconds(executor, files[:2 * FILES_PER_TASK])  # workers have started
                took, result = seconds(executor, files)
                best[workers] = min(best[workers], took)
    with engine(1) as executor:
        cost_of_a_task(executor, 0)
        task = cost_of_a_task(executor, NO_OPS)
    return best[1], best[2], task, result


def cost_of_joining(files, result):
    """Seconds that whoever asked needs for what the workers send: to receive it, and to add it up."""
    options = ("", False, False, 1)
    sent = [pickle.dumps(fleet._task([str(file) for file in files[i:i + FILES_PER_TASK]], *options))
            for i in range(0, len(files), FILES_PER_TASK)]
    begin = time.perf_counter()
    joined = fleet._joined([pickle.loads(part) for part in sent])
    took = time.perf_counter() - begin
    assert joined.summary == result.summary
    return took


def main():
    files = sorted(Path(sys.argv[1]).iterdir())
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files)} traces, {size / len(files) / 1e6:.2f} MB each, {FILES_PER_TASK} a task")
    for name, engine in (("ProcessPool", pool), ("Dask", dask)):
        one, two, task, result = measure(engine, files)
        print(f"{name:12} 1 worker {one:6.2f} s   2 workers {two:6.2f} s   efficiency {one / (2 * two):4.0%}   "
              f"{1e3 * task:.2f} ms a task that does nothing: {task / (FILES_PER_TASK * one / len(files)):.1%} of one that works")
    print(f"{'arithmetic':12} in a ProcessPool, for comparison: efficiency {efficiency_of_the_machine():4.0%}")
    add = cost_of_joining(files, result) / len(files)
    work, tasks = RANKS * one / len(files), RANKS / FILES_PER_TASK
    print(f"extrapolated to {RANKS:,} ranks: {work:.0f} s of workers' time, {tasks * task:.0f} s of Dask for {tasks:,.0f} tasks, "
          f"{RANKS * add:.0f} s to add up; with 64 workers {max(work / 64, tasks * task) + RANKS * add:.0f} s")


if __name__ == "__main__":
    main()
