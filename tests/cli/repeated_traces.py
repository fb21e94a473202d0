#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`whatif` of every real Chrome trace, repeated 2 to 20 times in time, and of ranks of one job merged.

Run by `script/acceptance repetitions`. A trace that `whatif` models once must be modelled however often
it is repeated, with correlation ids of each repetition's own and with the same ids again, and as long.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

from harness import PROGRAM, environment
from whatif_test import repeated

DATA = os.path.join(os.environ.get("TRACESMITH_TEST_DATA", ""), "traces")
TIMES = (2, 3, 5, 10, 20)
MOST_EVENTS = 4_000_000  # of a repeated trace: longer ones are left out, and counted
MOST_ERROR = 0.05  # of the makespan


def read(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        try:
            document = json.load(file)
        except (ValueError, OSError):
            return None
    return document if isinstance(document, dict) and isinstance(document.get("traceEvents"), list) else None


def chrome_traces():
    """Paths below DATA, in order."""
    for folder, _, names in sorted(os.walk(DATA)):
        for name in sorted(names):
            if name.endswith((".json", ".json.gz")):
                yield os.path.join(folder, name)


def period_ns(document):
    """How far apart repeated() puts the repetitions."""
    events = [e for e in document["traceEvents"] if e.get("ph") != "M"]
    return 1000 * (max(e["ts"] + e.get("dur", 0) for e in events) - min(e["ts"] for e in events) + 100)


def what_if(path):
    """The emulator's error of the unchanged makespan (of 1) and that makespan in ns, or why there is none.

    Work that a trace had launched before it started has no launch in any repetition: it may be unmatched."""
    run = subprocess.run([PROGRAM, "whatif", path, "--json", "--allow-unmatched", "--scale", "kernel=.:1"],
                         check=False, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    if run.returncode != 0:
        return None, None, run.stderr.decode().strip().splitlines()[-1]
    report = json.loads(run.stdout)
    recorded = report["model_errors"][0]
    return recorded["error"], recorded["recorded_ns"], ""


def merged(documents):
    """Ranks of one job in one document, with processes and ids of their own."""
    out = dict(documents[0], traceEvents=[])
    for rank, document in enumerate(documents):
        for event in document["traceEvents"]:
            event = dict(event, pid=f"rank {rank}: {event.get('pid')}")
            arguments = event.get("args", {})
            if isinstance(arguments, dict) and isinstance(arguments.get("correlation"), int):
                event["args"] = dict(arguments, correlation=arguments["correlation"] + rank * 10**8)
            if event.get("ph") in ("s", "t", "f") and isinstance(event.get("id"), int):
                event["id"] += rank * 10**8
            out["traceEvents"].append(event)
    return out


class Check:
    def __init__(self):
        self.wrong = self.done = self.left_out = 0
        self.path = os.path.join(tempfile.mkdtemp(prefix="tracesmith-"), "repeated.json")

    def document(self, name, document, least_ns, most_ns):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        error, length, why = what_if(self.path)
        self.done += 1
        good = error is not None and abs(error) <= MOST_ERROR and least_ns <= length <= most_ns
        self.wrong += not good
        said = f"makespan {100 * error:+.2f} %" if error is not None else why
        print(f"{'ok   ' if good else 'WRONG'} {name}: {said}", flush=True)

    def trace(self, path):
        document = read(path)
        if document is None:
            return
        error, once, why = what_if(path)
        name = os.path.relpath(path, DATA)
        if error is None:
            print(f"      {name}: {why}", flush=True)
            return
        for times in TIMES:
            if times * len(document["traceEvents"]) > MOST_EVENTS:
                self.left_out += 1
                continue
            for renumbered in (True, False):
                ids = "ids of their own" if renumbered else "the same ids"
                longest = (times - 1) * period_ns(document) + once
                self.document(f"{name}, {times} times, {ids}", repeated(document, times, renumbered),
                              0.95 * longest, 1.05 * longest + 1_000_000)

    def ranks(self, folder, names):
        documents = [read(os.path.join(DATA, folder, name)) for name in names]
        if None in documents:
            print(f"      {folder} is not here")
            return
        once = max(what_if(os.path.join(DATA, folder, name))[1] or 0 for name in names)
        both = merged(documents)
        self.document(f"{folder}, {len(names)} ranks merged", both, once, 100 * once)
        self.document(f"{folder}, {len(names)} ranks merged, 3 times", repeated(both, 3, True),
                      2 * period_ns(both), 100 * once + 3 * period_ns(both))


def main():
    check = Check()
    for path in chrome_traces():
        if len(sys.argv) < 2 or sys.argv[1] in path:  # a part of the path chooses traces
            check.trace(path)
    check.ranks("hta/tests/data/trace_filter", ["sampled_rank-0.json.gz", "sampled_rank-1.json.gz"])
    print(f"{check.done} repetitions, {check.wrong} wrong, {check.left_out} left out (more than "
          f"{MOST_EVENTS:,} events)")
    return 1 if check.wrong or check.done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
