#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dumps of PyTorch's Flight Recorder: real ones of two ranks, and pickles of every protocol as Python writes them."""

import json
import os
import pickle
import re
import unittest

from harness import CommandTest, SOURCE

DATA = os.path.join(SOURCE, "tests", "data", "pytorch", "flight_recorder")
CREATED = 1795952382679313515


def entry(number, **changes):
    return {"frames": [{"name": "all_reduce", "filename": "distributed_c10d.py", "line": 4174},
                       {"name": "<module>", "filename": "träin.py", "line": 9}],
            "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": number + 1,
            "p2p_seq_id": 0, "op_id": number + 1, "profiling_name": "nccl:all_reduce",
            "time_created_ns": CREATED + number * 1000, "duration_ms": 0.25,
            "input_sizes": [[10, 100]], "input_dtypes": ["Float"], "output_sizes": [[10, 100]],
            "output_dtypes": ["Float"], "state": "completed", "time_discovered_started_ns": CREATED + 500,
            "time_discovered_completed_ns": CREATED + 900, "retired": True, "timeout_ms": 600000, "is_p2p": False,
            **changes}


def dump(entries, **more):
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
            "pg_status": {"0": {"last_enqueued_collective": 3}}, "entries": entries, **more}


class RunsAway:
    """What a pickle can do to the program that loads it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (self.path,))


class FlightRecorder(CommandTest):

    def rows(self, file, sql):
        result = self.run_command("query", file, "--json", sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return name

    def test_real_dumps_have_the_calls_of_the_program(self):
        # make_flight_recorder.py: what each rank calls, in order, with the bytes of its tensors.
        calls = [("all_reduce", 4000, 4000, "float32")] * 3 + [
            ("all_gather", 128, 256, "int64"), ("all_gather", 128, 256, "float32"),
            ("broadcast", None, 128, "bfloat16"), ("reduce", 4000, None, "float32"), ("barrier", None, None, None),
            ("all_reduce", 12, 12, "float16")]
        for rank in (0, 1):
            for name in (f"gloo_trace_rank_{rank}", f"gloo_trace_rank_{rank}.json"):
                with self.subTest(name=name):
                    rows = self.rows(os.path.join(DATA, name),
                                     "SELECT function, send_bytes, receive_bytes, data_type FROM comm ORDER BY start_ns")
                    expected = calls + ([("all_reduce", 4000, 4000, "float32")] if rank == 0 else [])
                    self.assertEqual([tuple(row.values()) for row in rows], expected)

    def test_the_pickle_and_the_json_of_a_rank_give_the_same_rows(self):
        sql = ("SELECT c.start_ns, c.function, c.kind, c.sequence, c.element_count, c.data_type, c.state, m.key, "
               "m.name, m.rank FROM comm c JOIN communicator m ON m.id = c.communicator_id")
        of_pickle = self.rows(os.path.join(DATA, "gloo_trace_rank_0"), sql)
        self.assertEqual(len(of_pickle), 10)
        self.assertEqual(of_pickle, self.rows(os.path.join(DATA, "gloo_trace_rank_0.json"), sql))

    def test_the_ranks_of_a_job_show_who_did_not_come(self):
        result = self.run_command("merge", os.path.join(DATA, "gloo_trace_rank_0"),
                                  os.path.join(DATA, "gloo_trace_rank_1"), "-o", "job.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.rows("job.sbt", """
            SELECT m.key, c.function, c.sequence, count(*) AS ranks, min(r.number) AS first
            FROM comm c JOIN communicator m ON m.id = c.communicator_id
            JOIN process p ON p.id = c.process_id JOIN rank r ON r.id = p.rank_id
            WHERE c.kind = 'collective' GROUP BY 1, 2, 3 HAVING count(*) < 2""")
        self.assertEqual([(row["function"], row["sequence"], row["first"]) for row in rows], [("all_reduce", 9, 0)])

    def test_of_gloo_only_the_call_that_a_rank_lacks_is_shown(self):
        # It leaves all of its calls in the state "scheduled".
        result = self.run_command("merge", os.path.join(DATA, "gloo_trace_rank_0"),
                                  os.path.join(DATA, "gloo_trace_rank_1"), "-o", "job.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(self.run_command("analyze", "--json", "--comm", "job.sbt").stdout)
        self.assertEqual([(row["collective"], row["rank"], row["state"], row["certain"])
                          for row in report["comm_hangs"]], [("all_reduce #9", "1", "never came", "no")])
        findings = json.loads(self.run_command("analyze", "--json", "--findings", "job.sbt").stdout)
        self.assertNotIn("hang", [row["rule"] for row in findings["findings"]])

    def test_who_did_not_come_to_a_collective(self):
        # The query of docs/importing.md.
        with open(os.path.join(SOURCE, "docs", "importing.md"), encoding="utf-8") as file:
            sql = re.search(r"```sql\n(SELECT m.name, c.function, c.sequence, m.ranks.*?)```", file.read(), re.S)[1]
        for rank in (0, 1):
            self.write(f"fr_rank_{rank}", pickle.dumps(dump([entry(n) for n in range(3 - rank)]), 2))
        result = self.run_command("merge", "fr_rank_0", "fr_rank_1", "-o", "job.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.rows("job.sbt", sql), [{"name": "default_pg", "function": "ncclAllReduce", "sequence": 3,
                                                      "ranks": 2, "came": 1, "who": "0"}])

    def test_call_paths_are_the_programs(self):
        rows = self.rows(os.path.join(DATA, "gloo_trace_rank_0"), """
            SELECT f.function, f.file FROM host_call h JOIN call_path p ON p.id = h.call_path_id
            JOIN call_path q ON q.id = p.parent JOIN call_path s ON s.id = q.parent
            JOIN frame f ON f.id = s.frame ORDER BY h.start_ns LIMIT 1""")
        self.assertEqual(rows, [{"function": "reduce_gradients", "file": "/srv/job/train.py"}])

    def test_every_protocol_of_pickle_gives_the_same(self):
        first = None
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol=protocol):
                name = self.write(f"nccl_trace_rank_1.{protocol}",
                                  pickle.dumps(dump([entry(n) for n in range(3)], nccl_version="2.27.5"), protocol))
                rows = self.rows(name, """
                    SELECT c.*, w.start_ns AS work_start_ns, w.duration_ns AS work_ns, w.timing_source, m.members,
                    m.rank FROM comm c JOIN comm_work w USING (correlation_id) JOIN communicator m
                    ON m.id = c.communicator_id""")
                first = first or rows
                self.assertEqual(rows, first)
                self.assertEqual(rows[1]["start_ns"], CREATED + 1000)
                self.assertEqual(rows[1]["function"], "ncclAllReduce")
                self.assertEqual((rows[1]["work_ns"], rows[1]["timing_source"]), (250000, "device_events"))
                self.assertEqual((rows[1]["members"], rows[1]["rank"]), ("0-1", 1))
                names = self.rows(name, "SELECT DISTINCT file FROM frame ORDER BY 1")
                self.assertEqual([row["file"] for row in names], ["distributed_c10d.py", "träin.py"])

    def test_nothing_in_a_pickle_is_executed(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol=protocol):
                made = self.path("made")
                name = self.write("nccl_trace_rank_0", pickle.dumps(dump([entry(0), RunsAway(made)]), protocol))
                result = self.run_command("import", name, "-o", "t.sbt")
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr.decode(),
                                 r"nccl_trace_rank_0: holds an object other than plain data "
                                 r"\(opcode (GLOBAL|STACK_GLOBAL) at byte \d+\)")
                self.assertFalse(os.path.exists(made))
                self.assertFalse(os.path.exists(self.path("t.sbt")))

    def test_what_no_column_holds_is_kept(self):
        name = self.write("nccl_trace_rank_0", pickle.dumps(dump([entry(0, new_member=[1, {"a": None}])]), 2))
        kept = json.loads(self.rows(name, "SELECT source_json('comm', rowid) AS kept FROM comm")[0]["kept"])
        expected = entry(0, new_member=[1, {"a": None}])
        expected["process_group"] = list(expected["process_group"])
        self.assertEqual(kept, {"flight_recorder": expected})

    def test_a_cut_dump_says_so(self):
        whole = pickle.dumps(dump([entry(n, op_id=n) for n in range(20)]), 2)
        name = self.write("nccl_trace_rank_0", whole[:len(whole) // 2])
        result = self.run_command("import", name, "-o", "t.sbt")
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"the pickle ends", result.stderr)
        self.assertGreater(self.rows("t.sbt", "SELECT count(*) AS n FROM comm")[0]["n"], 5)


if __name__ == "__main__":
    unittest.main()
