#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`analyze --as-hta` says what Holistic Trace Analysis says of the same traces.

Of its main branch (--as-hta=0.6): its own output (pandas tables as text) in
$TRACESMITH_TEST_DATA/traces/_hta_golden. Of its release, 0.5.0: hta_0_5_0.json, which hta_golden.py writes.
"""

import json
import os
import re
import unittest

from harness import CommandTest

DATA = os.environ.get("TRACESMITH_TEST_DATA")
GOLDEN = os.path.join(DATA or "/nonexistent", "traces", "_hta_golden")

# Each golden is of the files whose path ends so, one for each rank, in this order.
SOURCES = {
    "a100_16": ["critical_path/cuda_event_sync_multi_stream/rank0.json.gz", "rank0.json.gz"],
    "b200": ["eager_trace.json.gz"],
    "control": ["trace_diff/control/control.json.gz"],
    "dfir": ["df_index_resolver.json.gz"],
    "mi300r": ["mi300/resnet_act_checkpoint.json.gz"],
    "nccl": ["nccl_data.json.gz"],
    "s128": ["trace_filter/sampled_rank-0.json.gz", "trace_filter/sampled_rank-1.json.gz"],
    "sd35": ["profile_trace_rank_0.json.gz"],
}
ALTERNATIVES = {"a100_16", "sd35"}  # several names for one file: the first that is there


def find(suffix):
    for folder, _, names in os.walk(os.path.join(DATA, "traces")):
        for name in names:
            path = os.path.join(folder, name)
            if path.endswith("/" + suffix):
                return path
    return None


def find_in(folder_suffix):
    """A trace in a folder whose path ends so."""
    for folder, _, names in os.walk(os.path.join(DATA, "traces")):
        for name in names:
            if folder.endswith("/" + folder_suffix) and name.endswith(".json.gz"):
                return os.path.join(folder, name)
    return None


def sections(text):
    """{"temporal": [line, …], …} of a golden."""
    out, current = {}, None
    for line in text.splitlines():
        if line.startswith("-- "):
            current = out.setdefault(line.split()[2], [])
        elif current is not None and not line.startswith("{\"tag\""):
            current.append(line)
    return out


CLASSES = {"COMPUTATION": "compute", "COMMUNICATION": "communication", "MEMORY": "memory"}


class AnalyzeGolden(CommandTest):
    """µs of the goldens against ns of ours, both whole µs; shares to their last printed digit."""

    version = "0.6"

    def analysis(self, path):
        run = self.run_command("analyze", path, f"--as-hta={self.version}", "--json", "--limit", "0")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def check_temporal(self, lines, reports):
        for line, report in zip(lines[1:], reports):
            _, _, idle, compute, non_compute, kernel = line.split()[:6]
            ours = report["gpu_util"][-1]
            self.assertEqual([ours[k] / 1000 for k in ("idle_ns", "compute_ns", "non_compute_ns",
                                                       "span_ns")],
                             [float(idle), float(compute), float(non_compute), float(kernel)])
        return 4 * (len(lines) - 1)

    def check_overlap(self, lines, reports):
        for line, report in zip(lines[1:], reports):
            share = report["comm_comp_overlap"][-1]["overlap"]
            theirs = line.split()[2]
            if theirs == "NaN":
                self.assertIsNone(share)
            else:
                self.assertAlmostEqual(100 * share, float(theirs), delta=0.00501)
        return len(lines) - 1

    def check_idle(self, lines, reports):
        keys = {"host_wait": "host_wait_ns", "kernel_wait": "kernel_wait_ns", "other": "other_ns"}
        ours = {row["stream"]: row for row in reports[0]["idle"]}
        seen = {}
        for line in lines[1:]:
            _, _, stream, category, idle, _ = line.split()
            seen.setdefault(stream, {})[category] = float(idle)
        for stream, theirs in seen.items():
            for category, key in keys.items():
                self.assertEqual(ours[stream][key] / 1000, theirs.get(category, 0.0),
                                 f"stream {stream}, {category}")
        return sum(len(v) for v in seen.values())

    def check_kern(self, lines, reports):
        ours = {}
        for report in reports:
            for row in report["overlap"]:
                key = frozenset(row["running"].split("+"))
                ours[key] = ours.get(key, 0) + row["time_ns"] / 1000
        count = 0
        for line in lines[1:]:
            found = re.match(r"\d+\s+(\S.*\S)\s+(\d+)\s+[\d.]+$", line)
            key = frozenset(CLASSES[part] for part in found.group(1).split(" overlapping "))
            self.assertEqual(ours.get(key, 0), float(found.group(2)), found.group(1))
            count += 1
        return count

    def check_launch(self, lines, reports):
        rows = {row["what"]: row for row in reports[0]["launch"]}
        names = {"mean": "mean_ns", "std": "std_ns", "min": "min_ns", "25%": "p25_ns",
                 "50%": "p50_ns", "75%": "p75_ns", "max": "max_ns"}
        count = 0
        for line in lines[1:]:
            fields = line.replace("}", "").split()
            if len(fields) != 5:
                continue
            values = [float(v) for v in fields[2:]]
            for what, theirs in zip(("call", "work", "delay"), values):
                if fields[0] == "count":
                    self.assertEqual(rows[what]["count"], theirs)
                elif theirs == theirs:  # NaN of no launches
                    self.assertAlmostEqual(rows[what][names[fields[0]]] / 1000, theirs, delta=6e-7
                                           * max(1, theirs), msg=f"{what} {fields[0]}")
                count += 1
        return count

    def check_queue(self, lines, reports):
        ours = {row["stream"]: row for row in reports[0]["queue"]}
        count = 0
        for line in lines[3:]:
            fields = line.split()
            if len(fields) < 9:
                continue
            fields = fields[-9:]
            row = ours[fields[0]]
            self.assertEqual(row["changes"], float(fields[1]))
            # What happens within one µs has no order in HTA (its sort is not stable).
            for key, theirs in zip(("mean", "std", "min", "p25", "p50", "p75", "max"), fields[2:]):
                self.assertAlmostEqual(row[key], float(theirs), delta=1.0,
                                       msg=f"stream {fields[0]} {key}")
                count += 1
        return count

    def test_critical_paths(self):
        golden = os.path.join(GOLDEN, "critical_path.txt")
        if not os.path.exists(golden):
            self.skipTest("no goldens (TRACESMITH_TEST_DATA)")
        with open(golden, encoding="utf-8") as file:
            text = file.read()
        keys = {"cpu_bound": ["host"], "gpu_compute_bound": ["compute", "copies"],
                "gpu_kernel_kernel_overhead": ["device overhead"],
                "gpu_kernel_launch_overhead": ["launch overhead"]}
        compared = 0
        for tag in ("simple_add", "alexnet"):
            path = find_in(f"critical_path/{tag}")
            if not path:
                print(f"{tag}: its trace is not here")
                continue
            block = text[text.index(tag + " True"):]
            us = dict(re.findall(r"^(\w+) +([\d.]+)$", block.split("Name: duration")[1 - 1].split(
                "bound_by")[2], re.M))
            run = self.run_command("analyze", path, "--as-hta=0.6", "--json", "--critical-path",
                                   "--range", "[param|pytorch.model.alex_net|0|0|0|measure|forward]",
                                   "--instance", "1")
            self.assertEqual(run.returncode, 0, run.stderr)
            ours = {row["bound_by"]: row["time_ns"] / 1000
                    for row in json.loads(run.stdout)["critical_path"]}
            for key, names in keys.items():
                self.assertEqual(sum(ours.get(n, 0) for n in names), float(us[key]), key)
                compared += 1
        print(f"{compared} golden values of critical paths compared")

    def test_every_golden(self):
        if not os.path.isdir(GOLDEN):
            self.skipTest("no goldens (TRACESMITH_TEST_DATA)")
        compared = 0
        for name in sorted(os.listdir(GOLDEN)):
            tag = name.removesuffix(".txt")
            if tag not in SOURCES:
                continue
            paths = [p for p in map(find, SOURCES[tag]) if p]
            if tag in ALTERNATIVES:
                paths = paths[:1]
            if not paths or (tag not in ALTERNATIVES and len(paths) < len(SOURCES[tag])):
                print(f"{tag}: its traces are not here")
                continue
            with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
                golden = sections(file.read())
            reports = [self.analysis(path) for path in paths]
            for part, lines in golden.items():
                with self.subTest(f"{tag} {part}"):
                    compared += getattr(self, "check_" + part)(lines, reports)
        self.assertGreater(compared, 0)
        print(f"{compared} golden values compared")


# Where the release is wrong, by trace and table, and why (docs/analysis.md): it differs there.
WRONG = {
    ("triton_example", "temporal"): "a host operator with an argument `stream` is device work",
    ("triton_example", "classes"): "the same",
    ("triton_example", "kernels"): "the same",
    ("inference_rank_1", "queue"): "the launch that is the file's first event counts as none",
    ("Qwen_Qwen1.5-0.5B-Chat__1016005", "idle"): "work without a launch is compared with the first event of the file",
}


class AnalyzeRelease(CommandTest):
    """All tables of HTA 0.5.0, of some thirty traces."""

    def ours(self, report):
        streams = lambda key: {row["stream"]: row for row in report[key]}
        idle, queue = streams("idle"), streams("queue")
        launch = {row["what"]: row for row in report["launch"]}
        classes = {frozenset(row["running"].split("+")): row["time_ns"] for row in report["overlap"]}
        kernels = {row["name"]: row for row in report["kernels"]}
        return idle, queue, launch, classes, kernels

    def differences(self, report, golden):
        """Pairs of a table's name and what differs there."""
        idle, queue, launch, classes, kernels = self.ours(report)

        def close(table, what, ours, theirs, delta=0.0):
            if (ours is None) != (theirs is None) or (ours is not None and abs(ours - theirs) > delta):
                yield table, f"{what}: {ours}, HTA {theirs}"

        if golden["temporal"]:
            row = report["gpu_util"][-1]
            for key, theirs in zip(("idle_ns", "compute_ns", "non_compute_ns", "span_ns"), golden["temporal"]):
                yield from close("temporal", key, row[key] / 1000, theirs)
        share = report["comm_comp_overlap"][-1]["overlap"] if report["comm_comp_overlap"] else None
        yield from close("overlap", "share", None if share is None else 100 * share, golden["overlap"], 0.00501)
        for stream, category, theirs in golden["idle"] or []:
            yield from close("idle", f"{stream} {category}", idle[str(stream)][f"{category}_ns"] / 1000, theirs)
        for name, theirs in golden["classes"] or []:
            key = frozenset(CLASSES[part] for part in name.split(" overlapping "))
            yield from close("classes", name, classes.get(key, 0) / 1000, theirs)
        if golden["kernels"]:
            count, longest = golden["kernels"]
            yield from close("kernels", "names", len(kernels), count)
            for name, *times in longest:
                row = kernels.get(name, dict.fromkeys(("total_ns", "mean_ns", "min_ns", "max_ns"), 0))
                for key, theirs in zip(("total_ns", "mean_ns", "min_ns", "max_ns"), times):
                    yield from close("kernels", f"{name} {key}", row[key] / 1000, theirs, 1e-6 * max(1, abs(theirs)))
        for what, column in (("call", "cpu_duration"), ("work", "gpu_duration"), ("delay", "launch_delay")):
            count, *times = golden["launch"][column] if golden["launch"] else [0]
            yield from close("launch", f"{what} count", launch[what]["count"] if what in launch else 0, count)
            for key, theirs in zip(("mean", "std", "min", "p25", "p50", "p75", "max"), times):
                if theirs is not None:  # of no launches, or one
                    yield from close("launch", f"{what} {key}", launch[what][key + "_ns"] / 1000, theirs,
                                     1e-6 * max(1, abs(theirs)))
        for stream, count, *lengths in golden["queue"] or []:
            row = queue[str(stream)]
            yield from close("queue", f"{stream} changes", row["changes"], count)
            # What happens within one µs has no order in HTA (its sort is not stable).
            for key, theirs in zip(("mean", "std", "min", "p25", "p50", "p75", "max"), lengths):
                yield from close("queue", f"{stream} {key}", row[key], theirs, 1.0)

    def test_every_table(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hta_0_5_0.json"), encoding="utf-8") as file:
            goldens = json.load(file)
        paths = {name: os.path.join(DATA or "/nonexistent", "traces", name) for name in goldens}
        if not any(map(os.path.exists, paths.values())):
            self.skipTest("no traces (TRACESMITH_TEST_DATA)")
        for name, golden in goldens.items():
            if not os.path.exists(paths[name]):
                continue
            run = self.run_command("analyze", paths[name], "--as-hta", "--json", "--limit", "0")
            self.assertEqual(run.returncode, 0, run.stderr)
            found = {}
            for table, what in self.differences(json.loads(run.stdout), golden):
                found.setdefault(table, []).append(what)
            tag = os.path.basename(name).removesuffix(".json.gz")
            with self.subTest(name):
                wrong = {table for trace, table in WRONG if trace == tag}
                self.assertEqual({table: what[:5] for table, what in found.items() if table not in wrong}, {})
                self.assertEqual(wrong - set(found), set(), "HTA is right by now")


if __name__ == "__main__":
    unittest.main()
