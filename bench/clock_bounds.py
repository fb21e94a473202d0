#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the bounds of `clock measure` with the truth, over a real network.

Two hosts, which are network namespaces connected by virtual adapters. The second one's clock is 5,000 s ahead, by
a time namespace. tests/clocks/clock_relay delays and loses messages, and makes the second clock drift, all by known
amounts. Needs root. Ends with 77 where there are no such namespaces, with 1 where a bar is missed.
Usage: clock_bounds.py BIN [--seconds N] [--json] [--no-peer]
"""
import argparse
import contextlib
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

AHEAD_S = 5000
FIRST, SECOND = "10.78.78.1", "10.78.78.2"
SERVE_PORT, RELAY_PORT = 9713, 9800
MICRO = 1000
NEAR = 50 * MICRO  # longer than the relay takes to wake up, as a rule: then the delay is exact

# Of each: clock, delay there, delay back, jitter (ns), share of messages that is lost each way.
SCENARIOS = {
    "plain": None,
    "delayed": ("none", 100 * MICRO, 100 * MICRO, 0, 0),
    "asymmetric 2:1": ("none", 200 * MICRO, 100 * MICRO, 0, 0),
    "jitter": ("none", NEAR, NEAR, 30 * MICRO, 0),
    "1 % lost": ("none", NEAR, NEAR, 30 * MICRO, 0.01),
    "drift": ("drift", NEAR, NEAR, 0, 0),
    "wander": ("wander", NEAR, NEAR, 0, 0),
    "slew": ("slew", NEAR, NEAR, 0, 0),
    "fast slew": ("fast_slew", NEAR, NEAR, 0, 0),
    "step": ("step", NEAR, NEAR, 0, 0),
    "step back": ("step_back", NEAR, NEAR, 0, 0),
}
STEADY = ("plain", "delayed", "asymmetric 2:1", "jitter", "1 % lost")
LOSSY = "1 % lost"  # each lost message takes its time: the others would wait for it


class CannotBeHere(Exception):
    """What this machine lacks."""


class Hosts:
    """Two hosts, as long as the context lasts. Whatever is started ends with it."""

    def __init__(self):
        self.names = [f"tracesmith-{os.getpid()}-{which}" for which in "ab"]
        self.started = []

    def __enter__(self):
        for name in self.names:
            self.ip(f"netns add {name}")
        self.ip(f"link add host netns {self.names[0]} type veth peer name host netns {self.names[1]}")
        for name, address in zip(self.names, (FIRST, SECOND)):
            for line in (f"address add {address}/24 dev host", "link set lo up", "link set host up"):
                self.ip(f"-n {name} {line}")
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def ip(self, line):
        try:
            done = subprocess.run(["ip", *line.split()], check=False, stderr=subprocess.PIPE)
        except FileNotFoundError as error:
            raise CannotBeHere("there is no command ip (iproute2)") from error
        if done.returncode != 0:
            self.__exit__()
            raise CannotBeHere("no network namespaces: " + done.stderr.decode().strip())

    def start(self, host, *command, **options):
        process = subprocess.Popen(["ip", "netns", "exec", self.names[host], *command], start_new_session=True,
                                   **options)
        self.started.append(process)
        return process


def measure(hosts, bin_dir, seconds, ports):
    """The process that measures; what it prints has an entry for each of `ports`."""
    return hosts.start(0, f"{bin_dir}/tracesmith", "clock", "measure", "--json", "-d", str(seconds),
                       *[f"{SECOND}:{port}" for port in ports], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def results_of(process, names):
    out, err = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"clock measure: {err.decode()}")
    return dict(zip(names, json.loads(out)))


def judge(bin_dir, clock, measured, start_ns, length_ns):
    lines = "".join(f"{b['at_ns']} {b['low_ns']} {b['high_ns']}\n" for b in measured["bounds"])
    done = subprocess.run([f"{bin_dir}/clock_truth", clock, str(AHEAD_S * 10**9), str(start_ns), str(length_ns)],
                          input=lines.encode(), stdout=subprocess.PIPE, check=True)
    judged = json.loads(done.stdout)
    judged.update(half_trip=measured["quickest_trip_ns"] / 2, asked=measured["asked"],
                  answered=measured["answered"], bursts=measured["bursts"])
    return judged


def run_scenarios(hosts, bin_dir, seconds, at_once):
    """Scenario → its verdict. `at_once`: the plain one beside the others, which then disturb it."""
    server = hosts.start(1, "unshare", "--time", "--monotonic", str(AHEAD_S), "--boottime", str(AHEAD_S), "--fork",
                         f"{bin_dir}/tracesmith", "clock", "serve", "--bind", SECOND, "--port", str(SERVE_PORT),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = server.stdout.readline().decode()
    if "answers at port" not in said:
        raise CannotBeHere("no host in a time namespace: " + said.strip())
    measured = {}
    plain = measure(hosts, bin_dir, seconds, [SERVE_PORT])
    if not at_once:
        measured.update(results_of(plain, ["plain"]))
    relayed = [name for name in SCENARIOS if name != "plain"]
    ports = {name: RELAY_PORT + i for i, name in enumerate(relayed)}
    start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    length_ns = int(seconds * 1e9)
    links = [",".join(map(str, (ports[name], *SCENARIOS[name]))) for name in relayed]
    relay = hosts.start(1, f"{bin_dir}/clock_relay", SECOND, str(SERVE_PORT), str(AHEAD_S * 10**9), str(start_ns),
                        str(length_ns), *links, stdout=subprocess.PIPE)
    if relay.stdout.readline() != b"ready\n":
        raise RuntimeError("the relay did not start")
    others = [name for name in relayed if name != LOSSY]
    rest = measure(hosts, bin_dir, seconds, [ports[name] for name in others])
    if not at_once:
        measured.update(results_of(rest, others))
    measured.update(results_of(measure(hosts, bin_dir, seconds, [ports[LOSSY]]), [LOSSY]))
    if at_once:
        measured.update(results_of(rest, others))
        measured.update(results_of(plain, ["plain"]))
    return {name: judge(bin_dir, (link or ("none",))[0], measured[name], start_ns, length_ns)
            for name, link in SCENARIOS.items()}


def run_ptp4l(hosts, program, seconds, folder):
    """ptp4l between the same hosts, with software time stamps: as often as `clock measure`, and it sets no
    clock. Both have the calendar clock of this machine, so the truth is 0."""
    logs = []
    for host, slave in ((0, 0), (1, 1)):
        config = os.path.join(folder, f"{host}.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"[global]\nfree_running 1\nslaveOnly {slave}\nuds_address {folder}/{host}.socket\n"
                       "logSyncInterval -1\nlogMinDelayReqInterval -1\nlogAnnounceInterval -1\n"
                       "summary_interval -1\nfreq_est_interval 0\n")
        logs.append(os.path.join(folder, f"{host}.log"))
        with open(logs[-1], "w", encoding="utf-8") as log:
            hosts.start(host, program, "-S", "-m", "-i", "host", "-f", config, stdout=log, stderr=log)
    time.sleep(seconds + 5)  # until it has found its master
    with open(logs[1], encoding="utf-8") as log:
        found = [tuple(map(int, pair))
                 for pair in re.findall(r"master offset +(-?\d+) s0 freq +\S+ path delay +(-?\d+)", log.read())]
    offsets = [offset for offset, _ in found[2:]]  # the first ones have no path delay yet
    if len(offsets) < 4:
        with open(logs[1], encoding="utf-8") as log:
            raise RuntimeError(f"ptp4l found no master:\n{log.read()}")
    errors = sorted(map(abs, offsets))
    return {"samples": len(offsets), "mean_error": round(statistics.mean(offsets)),
            "rms_error": round(math.sqrt(statistics.mean(o * o for o in offsets))),
            "median_error": errors[len(errors) // 2], "p95_error": errors[int(len(errors) * 0.95)],
            "worst_error": errors[-1], "path_delay": round(statistics.median(delay for _, delay in found[2:]))}


def bars_missed(results):
    """What is not as good as it should be, as sentences."""
    missed = []
    for name, r in results.items():
        for key, direction in (("violations", "there"), ("violations_back", "back")):
            if r[key] != 0:
                missed.append(f"{name}: {r[key]} of {r['points']} times outside the bound ({direction})")
        if name in STEADY and r["median_bound"] > 1.5 * r["half_trip"]:
            missed.append(f"{name}: the median bound is {r['median_bound'] / r['half_trip']:.2f} x half of the "
                          "quickest round trip, more than 1.5")
    plain = results["plain"]
    if plain["median_error"] > 200:
        missed.append(f"plain: the median error is {plain['median_error']} ns, more than 200")
    if plain["p95_error"] > 1000:
        missed.append(f"plain: 95 % of the errors are below {plain['p95_error']} ns, more than 1,000")
    _, forth, back, _, _ = SCENARIOS["asymmetric 2:1"]
    # The delays are those of the relay: what the same relay is off without asymmetry is on top.
    most = (forth - back) / 2 + results["delayed"]["p95_error"]
    if results["asymmetric 2:1"]["median_error"] > most:
        missed.append(f"asymmetric 2:1: the median error is {results['asymmetric 2:1']['median_error']} ns, more than "
                      f"half of the difference of the ways, {most:.0f}")
    return missed


def table(results, ptp4l):
    head = ("scenario", "½ quickest", "median", "bound /", "worst", "median", "p95", "worst", "rms", "outside",
            "answers")
    units = ("", "trip ns", "bound ns", "½ trip", "bound ns", "error ns", "error ns", "error ns", "error ns",
             "of 10,000", "")
    rows = [head, units]
    for name, r in results.items():
        rows.append((name, f"{r['half_trip']:,.0f}", f"{r['median_bound']:,}",
                     f"{r['median_bound'] / r['half_trip']:.2f}", f"{r['worst_bound']:,}", f"{r['median_error']:,}",
                     f"{r['p95_error']:,}", f"{r['worst_error']:,}", f"{r['rms_error']:,.0f}",
                     str(r["violations"] + r["violations_back"]), f"{r['answered']} of {r['asked']}"))
    if ptp4l is not None:
        rows.append(("ptp4l, plain", f"{ptp4l['path_delay']:,}", "none", "", "none", f"{ptp4l['median_error']:,}",
                     f"{ptp4l['p95_error']:,}", f"{ptp4l['worst_error']:,}", f"{ptp4l['rms_error']:,}", "",
                     str(ptp4l["samples"])))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def find_ptp4l(bin_dir):
    return shutil.which("ptp4l", path=os.pathsep.join(
        [os.path.join(bin_dir, "../../linuxptp/usr/sbin"), os.environ["PATH"], "/usr/sbin"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", help="the folder of the built programs")
    parser.add_argument("--seconds", type=float, default=30, help="how long each part takes")
    parser.add_argument("--json", action="store_true", help="print JSON, and judge nothing")
    parser.add_argument("--no-peer", action="store_true", help="leave out ptp4l, and do all at once")
    options = parser.parse_args()
    bin_dir = os.path.abspath(options.bin)
    try:
        with Hosts() as hosts, tempfile.TemporaryDirectory() as folder:
            results = run_scenarios(hosts, bin_dir, options.seconds, at_once=options.no_peer)
            program = None if options.no_peer else find_ptp4l(bin_dir)
            ptp4l = run_ptp4l(hosts, program, options.seconds, folder) if program else None
    except CannotBeHere as error:
        print(f"clock_bounds: {error}", file=sys.stderr)
        return 77
    if options.json:
        print(json.dumps({"scenarios": results, "ptp4l": ptp4l}, indent=2))
        return 0
    print(table(results, ptp4l))
    if ptp4l is None and not options.no_peer:
        print("ptp4l is not here to compare with: script/linuxptp fetches it")
    missed = bars_missed(results)
    for line in missed:
        print("missed: " + line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
