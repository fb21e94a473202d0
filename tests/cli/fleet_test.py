#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Summaries of traces and their sum: the numbers of `analyze`, files that are broken among files that are not, and
runs that meet each other."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import PROGRAM, CommandTest, environment, real_traces
from outputs_test import with_newer_major


class FleetTest(CommandTest):
    def make_traces(self, count=3):
        names = []
        for i in range(count):
            names.append(f"run-{i}.sbt")
            result = self.run_command("record", "-q", "-p", "simulation", "-d", "0.01", "-o", names[-1])
            self.assertEqual(result.returncode, 0, result.stderr)
        return names

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def fleet(self, *arguments, code=0):
        result = self.run_command("fleet", "--json", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        report = json.loads(result.stdout)
        report["facts"] = {row["what"]: row["value"] for row in report["fleet"]}
        report["errors"] = result.stderr.decode()
        return report

    def analyze(self, name):
        result = self.run_command("analyze", "--json", "--limit", "0", name)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class Sums(FleetTest):
    def assert_sums_of(self, names, report):
        """The sums are those of `analyze` of each trace."""
        kernels, idle, busy = {}, {}, 0
        for name in names:
            analysis = self.analyze(name)
            for row in analysis["kernels"]:
                count, total, least, most = kernels.get(row["name"], (0, 0, 1 << 62, 0))
                kernels[row["name"]] = (count + row["count"], total + row["total_ns"], min(least, row["min_ns"]),
                                          max(most, row["max_ns"]))
            for row in analysis["idle"]:
                for reason in ("host_wait", "kernel_wait", "other"):
                    idle[reason.replace("_", " ")] = idle.get(reason.replace("_", " "), 0) + row[f"{reason}_ns"]
            busy += sum(row["span_ns"] for row in analysis["gpu_util"] if row["device"] != "all devices")
        self.assertEqual({row["name"]: (row["count"], row["total_ns"], row["min_ns"], row["max_ns"])
                          for row in report["kernels"]}, kernels)
        self.assertEqual({row["reason"]: row["total_ns"] for row in report["idle"]},
                         {reason: total for reason, total in idle.items() if total})
        self.assertEqual(sum(row["span_ns"] for row in report["devices"]), busy)

    def test_are_those_of_analyze(self):
        names = self.make_traces()
        report = self.fleet(".")
        self.assertEqual(report["facts"]["traces"], 3)
        self.assert_sums_of(names, report)
        # From the summaries that were stored, also without their traces, and in another order.
        again = self.fleet(*reversed([name + ".summary" for name in names]))
        os.mkdir(self.path("kept"))
        for name in names:
            os.rename(self.path(name + ".summary"), self.path("kept/" + name + ".summary"))
        moved = self.fleet("kept")
        for other in (again, moved):
            self.assertEqual({k: v for k, v in other.items() if k != "errors"},
                             {k: v for k, v in report.items() if k != "errors"})

    def test_are_those_of_analyze_for_traces_of_other_tools(self):
        folder = real_traces()
        if folder is None:
            self.skipTest("TRACESMITH_TEST_DATA is not set")
        names = [os.path.join(folder, "traces", name) for name in (
            "kineto/tb_plugin/samples/resnet50_autograd_api_num_workers_0/worker0.pt.trace.json.gz",
            "hta/tests/data/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
            "hta/tests/data/nccl_parser_config/nccl_data.json.gz")]
        report = self.fleet(*names)
        self.assertEqual(report["facts"]["traces"], 3)
        self.assertIn("was not stored", report["errors"])
        self.assert_sums_of(names, report)

    def test_show_people_short_names(self):
        self.make_traces(1)
        result = self.run_command("fleet", ".")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"Kernels by family", result.stdout)


class Storing(FleetTest):
    def test_only_new_and_changed_traces_are_read(self):
        names = self.make_traces()
        self.assertIn(b"3 traces summarized, 0 had summaries", self.run_command("summarize", ".").stderr)
        self.assertEqual(self.files(), sorted(names + [name + ".summary" for name in names]))
        before = self.read("run-0.sbt.summary")
        self.assertIn(b"0 traces summarized, 3 had summaries", self.run_command("summarize", ".").stderr)
        self.run_command("record", "-q", "-p", "simulation", "-d", "0.02", "-o", "run-0.sbt")
        self.assertIn(b"1 traces summarized, 2 had summaries", self.run_command("summarize", ".").stderr)
        self.assertNotEqual(self.read("run-0.sbt.summary"), before)
        self.assertIn(b"3 traces summarized", self.run_command("summarize", "--again", ".").stderr)

    def test_in_a_folder_of_their_own(self):
        os.mkdir(self.path("other"))
        self.make_traces(2)
        os.rename(self.path("run-1.sbt"), self.path("other/run-0.sbt"))  # the same name twice
        report = self.fleet(".", "--summaries", "summaries")
        self.assertEqual(report["facts"]["traces"], 2)
        self.assertEqual(len(os.listdir(self.path("summaries"))), 2)
        self.assertEqual(self.fleet("summaries")["kernels"], report["kernels"])
        self.assertEqual(self.fleet(".", "--summaries", "summaries")["facts"]["traces"], 2)

    def test_nothing_is_stored_if_not_wanted(self):
        names = self.make_traces(2)
        self.assertEqual(self.fleet(".", "--no-store")["errors"], "")
        self.assertEqual(self.files(), names)

    def test_copies_of_a_trace_count_once(self):
        self.make_traces(2)
        shutil.copyfile(self.path("run-0.sbt"), self.path("copy.sbt"))
        report = self.fleet(".")
        self.assertEqual(report["facts"]["traces"], 2)
        self.assertIn("is the same trace as", report["errors"])

    def test_two_runs_at_once(self):
        self.make_traces(6)
        runs = [subprocess.Popen([PROGRAM, "fleet", "--json", "."], cwd=self.dir, env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
        outputs = [run.communicate(timeout=60) for run in runs]
        self.assertEqual([run.returncode for run in runs], [0] * 4, outputs)
        self.assertEqual(len({output for output, _ in outputs}), 1)
        self.assertEqual(len(self.files()), 12, "no unfinished file is left")

    def test_a_full_disk(self):
        probe = self.run_command("-m", "true", program="unshare")
        if probe.returncode != 0:
            self.skipTest("no mount namespace: " + probe.stderr.decode().strip())
        self.make_traces(4)
        script = ('mkdir small && mount -t tmpfs -o size=4k,nr_inodes=10 none small && head -c 4096 /dev/zero > small/used; '
                  '"$0" fleet --json . --summaries small')
        result = self.run_command("-m", "bash", "-c", script, PROGRAM, program="unshare")
        if b"mount:" in result.stderr:
            self.skipTest(result.stderr.decode().strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"was not stored", result.stderr)
        self.assertIn(b"3 more", result.stderr)
        self.assertEqual(json.loads(result.stdout)["fleet"][0]["value"], 4)


class BadFiles(FleetTest):
    def test_are_named_and_do_not_stop_the_others(self):
        good = self.make_traces(4)
        trace = self.read(good[0])
        self.write("empty.sbt", b"")
        self.write("foreign.sbt", b"{\"hello\": 1}\n" * 50)
        self.write("newer.sbt", with_newer_major(trace))
        self.write("damaged-header.sbt", b"\0" * 64 + trace[64:])
        os.mkdir(self.path("folder.sbt"))
        os.symlink("missing", self.path("dangling.sbt"))
        os.mkfifo(self.path("pipe.summary"))
        report = self.fleet(".", code=3)
        self.assertEqual(report["facts"]["traces"] - report["facts"].get("traces that are damaged", 0), 4)
        for name in ("empty.sbt", "foreign.sbt", "newer.sbt", "dangling.sbt", "pipe.summary"):
            self.assertIn(name, report["errors"])
        self.assertNotIn("run-", report["errors"])

    def test_cut_and_damaged_traces_count_as_far_as_they_can_be_read(self):
        good = self.make_traces(4)
        trace = self.read(good[0])
        self.write("run-0.sbt", trace[:len(trace) * 2 // 3])
        trace = self.read(good[1])
        middle = len(trace) // 2
        self.write("run-1.sbt", trace[:middle] + b"\xa5" * 64 + trace[middle + 64:])
        facts = self.fleet(".", "--no-store")["facts"]
        self.assertEqual(facts["traces"], 4)
        self.assertEqual(facts["traces that are cut off or still recorded"], 1)
        self.assertEqual(facts["traces that are damaged"], 1)

    def test_summaries(self):
        self.make_traces(4)
        self.assertEqual(self.run_command("summarize", ".").returncode, 0)
        os.mkdir(self.path("all"))
        for i in range(4):
            os.rename(self.path(f"run-{i}.sbt.summary"), self.path(f"all/{i}.summary"))
        summary = self.read("all/0.summary")
        self.write("all/cut.summary", summary[:len(summary) - 9])
        self.write("all/damaged.summary", summary[:-20] + b"\0" * 20)
        self.write("all/newer.summary", summary[:8] + struct.pack("<I", 2) + summary[12:])
        self.write("all/empty.summary", b"")
        report = self.fleet("all", code=3)
        self.assertEqual(report["facts"]["traces"], 4)
        self.assertIn("newer TraceSmith", report["errors"])
        for name in ("cut", "damaged", "newer", "empty"):
            self.assertIn(f"all/{name}.summary", report["errors"])

    def test_a_broken_stored_summary_is_made_again(self):
        self.make_traces(1)
        self.fleet(".")
        whole = self.read("run-0.sbt.summary")
        for broken in (b"", whole[:50], whole[:-3] + b"abc", os.urandom(500)):
            self.write("run-0.sbt.summary", broken)
            self.assertEqual(self.fleet(".")["facts"]["traces"], 1)
            self.assertEqual(self.read("run-0.sbt.summary"), whole)

    def test_what_does_not_exist(self):
        self.make_traces(2)
        report = self.fleet("missing.sbt", ".", "nowhere/at/all", code=3)
        self.assertEqual(report["facts"]["traces"], 2)
        for name in ("missing.sbt", "nowhere/at/all"):
            self.assertRegex(report["errors"], f"{name}.*No such file")

    def test_nothing_to_read(self):
        self.assert_fails(self.run_command("fleet", "missing"), 1, "missing", "No such file")
        self.assert_fails(self.run_command("fleet", "."), 1, "no traces")
        self.write("a.sbt", b"")
        result = self.run_command("fleet", ".")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout, b"")


if __name__ == "__main__":
    unittest.main()
