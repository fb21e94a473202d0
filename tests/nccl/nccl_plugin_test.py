#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records nccl_program, which calls the profiler plugin as NCCL does, and compares the rows with what really
happened."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from harness import PROGRAM, CommandTest, environment  # pylint: disable=wrong-import-position

FOLDER = os.environ["TRACESMITH_NCCL"]
NCCL_PROGRAM = os.path.join(FOLDER, "nccl_program")
RUN_LIMIT_S = 120
RANKS = 4
VERSIONS = range(1, 8)
WORLD = 0xABCDEF0123456789
FACTORS = {  # of what a rank sends and receives: element_count * 4 bytes, for each rank or once
    "AllReduce": (1, 1), "AllGather": (1, RANKS), "ReduceScatter": (RANKS, 1), "Send": (1, 0), "Recv": (0, 1)}


class Nccl(CommandTest):
    def record(self, version, scenario, *options, code=0, **changes):
        result = subprocess.run([PROGRAM, "profile", "-q", *options, "-o", "run.sbt", "--", NCCL_PROGRAM, str(version),
                                 scenario, "truth.json"], cwd=self.dir, env=environment(**changes), check=False,
                                timeout=RUN_LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stderr.decode())
        return result

    def truth(self):
        with open(self.path("truth.json"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def rows(self, sql):
        result = self.run_command("query", "--csv", "run.sbt", sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return list(csv.DictReader(io.StringIO(result.stdout.decode())))

    def value(self, sql):
        (row,) = self.rows(sql)
        (value,) = row.values()
        return int(value)

    def operations(self):
        """Rows of comm with their communicator and their work, in the order of the call within a rank."""
        return self.rows(
            "SELECT c.*, w.rank AS in_rank, w.ranks AS in_ranks, w.key AS in_key, x.start_ns AS work_start, "
            "x.duration_ns AS work_duration, x.timing_source, x.error_ns, x.channels AS ended, x.rowid AS work "
            "FROM comm c JOIN communicator w USING (communicator_id) LEFT JOIN comm_work x ON "
            "x.correlation_id = c.correlation_id AND x.process_id = c.process_id AND x.kind = 'operation' "
            "ORDER BY w.rank, c.start_ns, c.rowid")

    def assert_nothing_lost(self):
        self.assertEqual(self.rows("SELECT sum(dropped) AS dropped, sum(unresolved) AS unresolved FROM loss WHERE "
                                   "source = 'NCCL events'"), [{"dropped": "0", "unresolved": "0"}])


class EachVersion(Nccl):
    def check(self, version):
        self.record(version, "work")
        truth = self.truth()
        rows = self.operations()
        self.assertEqual(len(rows), len(truth))
        self.assertEqual(len(rows), RANKS * (40 + 20 + 3))
        by_call = {}
        for row in rows:
            key = (row["in_rank"], row["function"], row["sequence"])
            by_call.setdefault(key, []).append(row)
        messages = {}
        for each in truth:
            is_message = each["function"] in ("Send", "Recv")
            key = (str(each["rank"]), "nccl" + each["function"], "" if is_message else str(each["sequence"] + 1))
            found = by_call[key]
            number = messages.get(key, 0)
            messages[key] = number + 1
            self.check_row(version, found[number], each)
        self.assert_nothing_lost()
        self.assertEqual({row["in_key"] for row in rows}, {str(WORLD)})
        # Before version 4 nobody says how many ranks there are.
        self.assertEqual({row["in_ranks"] for row in rows}, {str(RANKS) if version >= 4 else "0"})

    def check_row(self, version, row, truth):
        function = truth["function"]
        self.assertEqual(int(row["element_count"]), truth["count"])
        self.assertEqual(row["data_type"], "float32")
        if function in FACTORS and (version >= 4 or RANKS not in FACTORS[function]):
            factors = FACTORS[function]
            for column, factor in zip(("send_bytes", "receive_bytes"), factors):
                self.assertEqual(int(row[column] or 0), 4 * truth["count"] * factor, (function, column))
        if function not in ("Send", "Recv"):
            self.assertEqual((row["algorithm"], row["protocol"]), ("RING", "LL128"))
        if function in ("Send", "Recv", "Broadcast", "Reduce"):
            self.assertEqual(int(row["peer"]), truth["peer"])
        if version >= 5:
            self.assertLessEqual(abs(int(row["start_ns"]) - truth["call_ns"]), 50_000_000)
            self.assertGreaterEqual(int(row["start_ns"]), truth["call_ns"])
        if version <= 2:
            self.assertEqual(row["work"], "")
            return
        start, duration = int(row["work_start"]), int(row["work_duration"])
        self.assertEqual(int(row["ended"]), truth["channels"])
        if version == 3:
            # When a thread noticed, which is never too early.
            self.assertEqual(row["timing_source"], "host")
            self.assertGreaterEqual(start, truth["start_ns"])
            self.assertGreaterEqual(start + duration, truth["end_ns"])
            return
        self.assertEqual(row["timing_source"], "device")
        self.assertLessEqual(abs(start - truth["start_ns"]), int(row["error_ns"]) + 2)
        # The device's timer runs 20 ppm faster.
        real = truth["end_ns"] - truth["start_ns"]
        self.assertLessEqual(abs(duration - real), 2 + real / 25_000)


for _version in VERSIONS:
    setattr(EachVersion, f"test_rows_of_version_{_version}_are_what_happened",
            lambda self, version=_version: self.check(version))


class Events(Nccl):
    def test_light_has_calls_and_nothing_of_the_device(self):
        self.record(7, "work", "--nccl", "light")
        self.assertEqual(self.value("SELECT count(*) FROM comm"), RANKS * 63)
        self.assertEqual(self.value("SELECT count(*) FROM comm_work"), 0)
        self.assert_nothing_lost()

    def test_none_loads_no_plugin(self):
        self.assertIn(b"plugin none", self.record(7, "work", "--nccl", "none").stdout)
        self.assertEqual(self.value("SELECT count(*) FROM comm"), 0)

    def test_full_has_what_the_threads_of_nccl_send_and_wait_for(self):
        for version in (2, 4, 7):
            with self.subTest(version):
                self.record(version, "proxies", "--nccl", "full")
                for kind in ("send", "receive"):
                    (row,) = self.rows(f"SELECT count(*) AS n, min(steps) AS steps, min(bytes) AS bytes, "
                                       f"min(gpu_wait_ns) AS gpu, min(peer_wait_ns) AS peer, min(network_wait_ns) AS "
                                       f"network, max(peer_wait_ns > duration_ns) AS absurd FROM comm_work WHERE kind "
                                       f"= '{kind}'")
                    self.assertEqual(int(row["n"]), RANKS * 63)
                    self.assertEqual((row["steps"], row["absurd"]), ("3", "0"))
                    self.assertGreaterEqual(int(row["gpu"]), 3 * 20_000)
                    self.assertGreaterEqual(int(row["network"]), 3 * 20_000)
                    if version >= 4:  # before, NCCL does not tell bytes, nor waiting for the peer
                        self.assertEqual(int(row["bytes"]), 3 * 4096)
                        if kind == "send":
                            self.assertGreaterEqual(int(row["peer"]), 3 * 20_000)
                self.assertEqual(self.value("SELECT count(*) FROM comm_work w WHERE NOT EXISTS (SELECT 1 FROM comm "
                                            "WHERE comm.correlation_id = w.correlation_id)"), 0)
                self.assert_nothing_lost()

    def test_steps_without_an_end_and_proxies_for_another_process_do_no_harm(self):
        self.record(7, "lost_ends", "--nccl", "full")
        self.assertEqual(self.value("SELECT count(*) FROM comm_work WHERE kind = 'send'"), RANKS * 63)
        self.record(7, "pxn", "--nccl", "full", "--force")
        self.assertEqual(self.value("SELECT count(*) FROM comm_work WHERE kind = 'send'"), 0)
        # They are counted.
        self.assertEqual(self.value("SELECT unresolved FROM loss WHERE source = 'NCCL events'"), RANKS * 63 * 2)

    def test_times_of_other_work_are_not_believed(self):
        self.record(7, "wild")
        truth = {(t["rank"], t["function"], t["sequence"]): t for t in self.truth()}
        sources = {"device": 0, "host": 0}
        for row in self.operations():
            sources[row["timing_source"]] += 1
            name = row["function"][4:]
            if name in ("Send", "Recv"):
                continue
            each = truth[(int(row["in_rank"]), name, int(row["sequence"]) - 1)]
            slack = int(row["error_ns"]) if row["timing_source"] == "device" else 2_000_000_000
            self.assertLessEqual(abs(int(row["work_start"]) - each["start_ns"]), slack + 2)
        self.assertGreater(sources["host"], 0)
        self.assertGreater(sources["device"], 0)

    def test_graphs_have_a_row_for_each_run(self):
        self.record(7, "graphs")
        rows = self.operations()
        self.assertEqual(len(rows), RANKS * 20)
        self.assertEqual({row["is_captured"] for row in rows}, {"1"})
        self.assertEqual(len({row["correlation_id"] for row in rows}), RANKS * 20)
        self.assertEqual({row["timing_source"] for row in rows}, {"device"})

    def test_collectives_by_copy_engines(self):
        for version in (6, 7):
            self.record(version, "copies", "--force")
            (row,) = self.rows("SELECT count(*) AS n, min(algorithm) AS how, min(data_type) AS type, min(send_bytes) "
                               "AS sent, min(receive_bytes) AS received, max(sequence) AS last FROM comm")
            self.assertEqual(row, {"n": str(RANKS * 10), "how": "CE", "type": "float16", "sent": "2000",
                                   "received": "8000", "last": "10"})

    def test_calls_of_which_nccl_reports_no_operation_have_no_number_and_do_not_hang(self):
        self.record(7, "symmetric")
        rows = self.rows("SELECT function, count(*) AS n, count(sequence) AS numbered, max(sequence) AS last FROM comm "
                         "GROUP BY 1 ORDER BY 1")
        self.assertEqual([tuple(row.values()) for row in rows], [
            ("ncclAllReduce", str(RANKS * 20), str(RANKS * 10), "10"), ("ncclBroadcast", str(RANKS * 10), "0", "")])
        report = json.loads(self.run_command("analyze", "--json", "--comm", "run.sbt").stdout)
        self.assertEqual((report["comm_hangs"], report["comm_mismatches"]), ([], []))

    def test_ranks_have_host_calls_with_their_correlation(self):
        self.record(7, "work", "--stacks=native")
        self.assertEqual(self.value("SELECT count(*) FROM comm JOIN host_call h USING (correlation_id) WHERE h.name = "
                                    "comm.function AND h.call_path_id IS NOT NULL"), RANKS * 63)


class BadDays(Nccl):
    def test_an_abort_leaves_what_never_ended(self):
        self.record(7, "abort")
        never = [row for row in self.operations() if row["function"] == "ncclBroadcast"]
        self.assertEqual(sorted(row["in_rank"] for row in never), ["0", "2", "3"])
        for row in never:
            self.assertIn(row["ended"], ("", "0"))
        ended = [row for row in self.operations() if row["function"] == "ncclAllReduce"]
        self.assertEqual(len(ended), RANKS * 5 + 2)
        self.assertTrue(all(row["ended"] == "4" for row in ended))
        self.assertEqual(self.value("SELECT count(DISTINCT key) FROM communicator"), 2)

    def record_until_killed(self, scenario):
        with subprocess.Popen([PROGRAM, "profile", "-q", "-o", "run.sbt", "--", NCCL_PROGRAM, "7", scenario],
                              cwd=self.dir, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            for line in run.stdout:
                if b"hangs" in line:
                    break
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
                children = [int(pid) for pid in file.read().split()]
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            run.communicate(timeout=RUN_LIMIT_S)

    def test_a_killed_program_shows_who_waited_for_whom(self):
        self.record_until_killed("hang")
        waiting = [row for row in self.operations() if row["function"] == "ncclAllGather"]
        self.assertEqual(sorted(row["in_rank"] for row in waiting), ["0", "2", "3"])
        for row in waiting:
            self.assertEqual(row["ended"], "0")  # its channels have started, and not ended
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE function = 'ncclAllReduce'"), RANKS * 5)

    def test_a_rank_that_connects_for_ever_is_in_its_collective(self):
        self.record_until_killed("blocked")
        calls = self.rows("SELECT rank AS in_rank, sequence, state FROM comm JOIN communicator USING (communicator_id) "
                          "WHERE function = 'ncclBroadcast' ORDER BY 1")
        self.assertEqual([(row["in_rank"], row["sequence"]) for row in calls], [(str(rank), "1") for rank in range(RANKS)])
        self.assertEqual(calls[1]["state"], "called")
        report = json.loads(self.run_command("analyze", "--json", "--comm", "run.sbt").stdout)
        self.assertEqual({row["rank"] for row in report["comm_hangs"] if "never" in row["state"]}, set(), report["comm_hangs"])

    def test_a_channel_that_never_ends(self):
        self.record(7, "stuck")
        short = [row for row in self.operations() if int(row["ended"] or 0) < int(row["channels"])]
        self.assertEqual(len(short), RANKS)  # the last operation of each rank

    def test_any_order_of_calls_with_any_handles(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.record(version, "random", "--nccl", "full", "--force")
                if version >= 4:  # before, the communicator's name comes with its first collective
                    self.assertEqual(self.value("SELECT count(*) FROM communicator"), 1)

    def test_more_communicators_than_there_is_room_for_at_a_time(self):
        self.record(7, "many")
        self.assertEqual(self.value("SELECT count(*) FROM communicator"), 5000)
        self.assertEqual(self.value("SELECT count(*) FROM comm"), 10)

    def test_a_forked_child_is_another_process(self):
        self.record(7, "fork")
        self.assertEqual([row["n"] for row in self.rows("SELECT count(*) AS n FROM comm GROUP BY process_id ORDER BY "
                                                        "process_id")], ["2", "2"])

    def test_small_rings_count_what_they_drop(self):
        self.record(7, "random", "--nccl", "full", "--force", "-b", "64K", "--overflow", "drop", code=None)
        (row,) = self.rows("SELECT emitted, written, dropped FROM loss WHERE source = 'NCCL events'")
        self.assertEqual(int(row["written"]) + int(row["dropped"]), int(row["emitted"]))
        self.assertGreater(int(row["dropped"]), 0)

    def test_without_a_session_the_plugin_asks_for_nothing(self):
        plugin = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "lib", "tracesmith",
                              "libtracesmith-nccl.so")
        result = subprocess.run([NCCL_PROGRAM, "7", "work"], env=environment(NCCL_PROFILER_PLUGIN=plugin),
                                check=False, timeout=RUN_LIMIT_S, stdout=subprocess.PIPE)
        self.assertEqual((result.returncode, result.stdout), (0, b"plugin tracesmith\n"))


class NextPlugin(Nccl):
    """The user's own plugin gets what NCCL would have told it."""

    def log(self, name="other.log"):
        with open(self.path(name), encoding="utf-8") as file:
            return dict(line.rstrip("\n").split(": ") for line in file)

    def chained(self, version, other, mask, scenario="proxies", **changes):
        plugin = os.path.join(FOLDER, f"libnccl-profiler-other{other}.so")
        if os.path.exists(self.path("other.log")):
            os.remove(self.path("other.log"))
        self.record(version, scenario, "--force", NCCL_PROFILER_PLUGIN=plugin, OTHER_PLUGIN_MASK=str(mask),
                    OTHER_PLUGIN_LOG=self.path("other.log"), **changes)
        self.assertEqual(self.value("SELECT count(*) FROM comm"), RANKS * 63)
        if scenario != "pxn":
            self.assert_nothing_lost()
        return self.log()

    def test_of_the_same_version(self):
        for version in (1, 4, 7):
            with self.subTest(version):
                alone = subprocess.run([NCCL_PROGRAM, str(version), "proxies"], check=False, timeout=RUN_LIMIT_S,
                                       stdout=subprocess.PIPE,
                                       env=environment(NCCL_PROFILER_PLUGIN=f"other{version}", LD_LIBRARY_PATH=FOLDER,
                                                       OTHER_PLUGIN_MASK="127",
                                                       OTHER_PLUGIN_LOG=self.path("alone.log")))
                self.assertEqual((alone.returncode, alone.stdout), (0, b"plugin other\n"))
                self.assertEqual(self.chained(version, version, 127), self.log("alone.log"))
                os.remove(self.path("alone.log"))

    def test_of_an_older_version(self):
        for version, other in ((7, 4), (7, 1), (5, 4), (4, 1), (6, 4)):
            with self.subTest(f"{version} to {other}"):
                log = self.chained(version, other, 127)
                self.assertEqual(log["start 1 AllReduce"], str(RANKS * 11))
                self.assertEqual(log["start 2"], str(RANKS * 20))
                self.assertEqual(log["stop 1"], str(RANKS * 43))
                self.assertEqual(log["start 3"], str(RANKS * 63 * 2))
                self.assertEqual(log["with parent 1"], str(RANKS * 43))  # its group
                self.assertNotIn("start 9", log)
                self.assertEqual("start 6" in log, other >= 4)
                self.assertEqual("state 22" in log, other >= 4)

    def test_gets_proxies_for_another_process_without_parent_and_context(self):
        for version in (1, 4, 7):
            with self.subTest(version):
                log = self.chained(version, version, 127, "pxn")
                self.assertEqual(log["start 3"], str(RANKS * 63 * 2))
                self.assertNotIn("with parent 3", log)
                self.assertEqual(log["with parent 4"], str(RANKS * 63 * 2 * 3))

    def test_gets_what_its_mask_has(self):
        log = self.chained(7, 7, 2)
        self.assertEqual(log["start 1 AllReduce"], str(RANKS * 11))
        self.assertNotIn("start 6", log)
        self.assertNotIn("start 2", log)

    def test_gets_what_its_mask_has_when_it_changes(self):
        log = self.chained(7, 7, 2, OTHER_PLUGIN_MASK_LATER="127")
        self.assertGreater(int(log["start 3"]), 0)  # proxies, which NCCL was not asked for before
        self.assertLess(int(log["start 3"]), RANKS * 63 * 2)
        self.assertGreater(int(log["start 2"]), 0)
        log = self.chained(7, 7, 127, OTHER_PLUGIN_MASK_LATER="0")
        self.assertLess(int(log["start 1 AllReduce"]), RANKS * 11)

    def test_by_its_short_name_and_from_the_file_of_nccl(self):
        with open(self.path("nccl.conf"), "w", encoding="utf-8") as file:
            file.write("# mine\nNCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGIN=other7\n")
        self.record(7, "work", NCCL_CONF_FILE=self.path("nccl.conf"), LD_LIBRARY_PATH=FOLDER,
                    OTHER_PLUGIN_LOG=self.path("other.log"))
        self.assertEqual(self.log()["start 1 AllReduce"], str(RANKS * 11))

    def test_one_that_is_missing_or_newer_takes_no_part(self):
        self.record(7, "work", NCCL_PROFILER_PLUGIN="nowhere")
        self.assertEqual(self.value("SELECT count(*) FROM comm"), RANKS * 63)
        plugin = os.path.join(FOLDER, "libnccl-profiler-other7.so")
        self.record(4, "work", "--force", NCCL_PROFILER_PLUGIN=plugin, OTHER_PLUGIN_LOG=self.path("other.log"))
        self.assertEqual(self.value("SELECT count(*) FROM comm"), RANKS * 63)
        self.assertFalse(os.path.exists(self.path("other.log")))


if __name__ == "__main__":
    unittest.main()
