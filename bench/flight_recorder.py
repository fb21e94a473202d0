# SPDX-License-Identifier: Apache-2.0
"""The time of a program that launches without pause: alone, recorded, and with a flight recorder of 30 s, taken in
turns; and the processor time of the recorders. Then the disk that a flight recorder takes while it runs on.
Usage: flight_recorder.py LAUNCHES"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
MOST_RATIO = 1.03  # of the program's time, flight recorder to plain recording


def run(command, cwd):
    """Wall time, and processor time of the command and what it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bytes_of(folder):
    total = 0
    for name in os.listdir(folder):
        if not name.endswith(".arena"):
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                pass
    return total


def cost(launches, folder):
    program = ["launch_heavy", str(launches)]
    ways = {"alone": program,
            "profile": ["tracesmith", "profile", "-q", "--force", "-o", "plain.sbt", "--", *program],
            "profile --flight-recorder 30s": ["tracesmith", "profile", "-q", "--force", "--flight-recorder", "30s",
                                              "-o", "flight.sbt", "--", *program]}
    times = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, command in ways.items():
            times[way].append(run(command, folder))
    for way, results in times.items():
        walls, processors = zip(*results)
        print(f"{way:30} {statistics.median(walls):7.2f} s, processors {statistics.median(processors):7.2f} s"
              f"   (median of {ROUNDS}; {launches} launches)")
    ratios = [flight[0] / plain[0] for flight, plain in zip(times["profile --flight-recorder 30s"], times["profile"])]
    print(f"flight recorder / recording: {statistics.median(ratios):.3f} (bar: {MOST_RATIO})")
    return statistics.median(ratios) <= MOST_RATIO


def disk(folder, seconds, window):
    """The files of the session while many windows go by."""
    session = os.path.join(folder, "disk.sbt.session")
    recorder = subprocess.Popen(["tracesmith", "profile", "-q", "--force", "--flight-recorder", f"{window}s", "-o",
                                 "disk.sbt", "--", "launch_heavy", "100000000"], cwd=folder,
                                stdout=subprocess.DEVNULL)
    sizes, memory = [], []
    end = time.monotonic() + seconds
    time.sleep(4 * window)
    while time.monotonic() < end:
        time.sleep(0.05)
        sizes.append(bytes_of(session))
        with open(f"/proc/{recorder.pid}/statm", encoding="ascii") as file:
            memory.append(int(file.read().split()[1]) * 4096)
    recorder.terminate()
    recorder.wait()
    tenth = len(sizes) // 10
    print(f"{seconds / window:.0f} windows of {window} s: disk at most {max(sizes[:tenth]) / 1024:.0f} KiB in the "
          f"first tenth of the time, {max(sizes[-tenth:]) / 1024:.0f} KiB in the last; memory of the recorder "
          f"{max(memory[:tenth]) / 2**20:.1f} and {max(memory[-tenth:]) / 2**20:.1f} MiB")
    return max(sizes[-tenth:]) <= 1.25 * max(sizes[:tenth])


def main():
    with tempfile.TemporaryDirectory() as folder:
        good = cost(int(sys.argv[1]), folder)
        return 0 if disk(folder, 120, 0.2) and good else 1


sys.exit(main())
