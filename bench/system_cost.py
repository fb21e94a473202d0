# SPDX-License-Identifier: Apache-2.0
"""What profile --system costs the recorded program, as medians of pairs of runs without and with it: two busy threads
at 1000 samples a second, of C and of Python; short system calls; threads that wake each other. And what it takes in
the trace. perf and strace, if installed, do the same beside it. Usage: system_cost.py TRACESMITH PROGRAM"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

TRACESMITH, PROGRAM = sys.argv[1:3]
PAIRS = 9
BUSY, CALLS, SWITCHES = "1000000", "1000000", "50000"
# Two processes that compute, since threads of Python do so one at a time. Time in ms.
PYTHON = """
import os, sys, time
def inner(n):
    return sum(i * i for i in range(n))
def outer(depth):
    return outer(depth - 1) if depth else inner(1000)
begin = time.monotonic()
child = os.fork()
for _ in range(4000): outer(20)
if child:
    os.waitpid(child, 0)
    print((time.monotonic() - begin) * 1e3)
"""


def run(command):
    """The number that the program printed."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr.decode()}")
    return float(result.stdout.split()[0])


def query(trace, sql):
    out = subprocess.run([TRACESMITH, "query", trace, sql, "--json"], stdout=subprocess.PIPE, check=True).stdout
    return list(json.loads(out)[0].values())[0]


def tools(folder):
    """How each tool starts a program; the first one starts it alone."""
    trace = os.path.join(folder, "t.sbt")
    out = {"alone": [], "profile --system": [TRACESMITH, "profile", "-q", "--system", "-o", trace, "--"]}
    if shutil.which("perf"):
        out["perf record -F 1000 --call-graph dwarf"] = ["perf", "record", "-q", "-F", "1000", "-e", "cpu-clock",
                                                         "--call-graph", "dwarf", "-o", os.path.join(folder, "perf.data"), "--"]
    if shutil.which("strace"):
        out["strace -c"] = ["strace", "-f", "-c", "-o", os.path.join(folder, "counts")]
    return out


def measure(folder, what, command, wanted, unit):
    """Runs of all wanted tools in turn; what each costs more than the program alone, median and range."""
    chosen = {name: start for name, start in tools(folder).items() if name == "alone" or name.startswith(wanted)}
    times = {name: [] for name in chosen}
    for _ in range(PAIRS):
        for name, start in chosen.items():
            times[name].append(run([*start, *command]))
    alone = times.pop("alone")
    print(f"{what}: {statistics.median(alone):.0f} {unit} alone")
    for name, those in times.items():
        if unit == "ms":
            more = sorted(a / b - 1 for a, b in zip(those, alone))
            print(f"  {name:42} {statistics.median(more):+7.1%}   ({more[1]:+.1%} to {more[-2]:+.1%})")
        else:
            more = sorted(a - b for a, b in zip(those, alone))
            print(f"  {name:42} {statistics.median(more):+7.0f} {unit}   ({more[1]:+.0f} to {more[-2]:+.0f})")


def size(folder):
    """Bytes of the trace for each row: a program that only switches threads, and one that only computes."""
    trace = os.path.join(folder, "size.sbt")
    for what, arguments, options in (("states, wakeups and system calls", ("switches", "200000"), ["--sample-rate", "0"]),
                                     ("samples", ("busy", "2000000"), [])):
        run([TRACESMITH, "profile", "-q", "--system", *options, "-o", trace, "--", PROGRAM, *arguments])
        rows = {table: query(trace, f"SELECT count(*) FROM {table}")
                for table in ("cpu_sample", "thread_state", "wakeup", "system_call")}
        everything = sum(rows.values())
        print(f"{os.path.getsize(trace) / everything:.1f} bytes for each of {everything} {what}"
              f" ({', '.join(f'{table} {count}' for table, count in rows.items())})")


def main():
    with tempfile.TemporaryDirectory() as folder:
        measure(folder, "two busy threads", [PROGRAM, "busy", BUSY], ("profile", "perf"), "ms")
        measure(folder, "two busy processes of Python", [sys.executable, "-c", PYTHON], ("profile", "perf"), "ms")
        measure(folder, "a short system call", [PROGRAM, "calls", CALLS], ("profile", "strace"), "ns")
        measure(folder, "a wakeup of a thread", [PROGRAM, "switches", SWITCHES], ("profile",), "ns")
        size(folder)


if __name__ == "__main__":
    main()
