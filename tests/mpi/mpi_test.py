#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs that use MPI, with each implementation that is installed here."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from harness import PROGRAM, CommandTest, environment  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
RUN_LIMIT_S = 120
RANKS = 4
SYSTEM_PYTHON = "/usr/bin/python3"  # the one that has the system's mpi4py
MANY = 200  # of patterns.c
OPEN_MPI = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader",
            "--mca", "btl_vader_single_copy_mechanism", "none"]


class Implementation:
    """What all implementations have; their tests are the classes below."""

    name = ""  # of the implementation, as in mpicc.NAME
    options = OPEN_MPI  # of Open MPI's mpirun

    def setUp(self):
        super().setUp()
        if shutil.which("mpicc." + self.name) is None:
            self.skipTest(f"{self.name} is not installed")

    def compile(self, source):
        program = self.path(source.split(".")[0])
        is_c = source.endswith(".c")
        compiler = ("mpicc." if is_c else "mpif90.") + self.name
        if shutil.which(compiler) is None or (not is_c and shutil.which("gfortran") is None):
            self.skipTest(f"no {compiler}")
        result = subprocess.run([compiler, "-w", "-O1", *([] if is_c else ["-fallow-argument-mismatch"]),
                                 os.path.join(HERE, source), "-o", program],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        return program

    def launcher(self, ranks=RANKS):
        options = self.options if self.name == "openmpi" else []
        return ["mpirun." + self.name, *options, "-n", str(ranks)]

    def start(self, command, **changes):
        return subprocess.run(command, cwd=self.dir, env=environment(**changes), check=False, timeout=RUN_LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def record(self, program, *arguments, ranks=RANKS, options=(), code=0):
        result = self.start([PROGRAM, "profile", *options, "-o", "run.sbt", "--", *self.launcher(ranks), *program,
                             *arguments])
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result

    def rows(self, sql):
        result = self.run_command("query", "--csv", "run.sbt", sql)
        self.assertEqual(result.returncode, 0, result.stderr)
        return list(csv.DictReader(io.StringIO(result.stdout.decode())))

    def value(self, sql):
        (row,) = self.rows(sql)
        (value,) = row.values()
        return int(value)

    def of_rank(self, rank, what, where):
        """From the rows of `comm` of one rank."""
        return self.value(f"SELECT {what} FROM comm JOIN communicator w USING (process_id) WHERE w.name = "
                          f"'MPI_COMM_WORLD' AND w.rank = {rank} AND {where}")

    def assert_whole(self):
        """Nothing was lost, and each call has its host call."""
        self.assertEqual(self.rows("SELECT sum(dropped) AS dropped, min(emitted) > 0 AS any FROM loss WHERE source = "
                                   "'MPI calls'"), [{"dropped": "0", "any": "1"}])
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE correlation_id NOT IN "
                                    "(SELECT correlation_id FROM host_call)"), 0)
        self.assertEqual(self.value("SELECT count(*) FROM comm c JOIN host_call h USING (process_id, correlation_id) "
                                    "WHERE h.name <> c.function OR h.start_ns <> c.start_ns"), 0)
        self.assertEqual(self.run_command("verify", "run.sbt").returncode, 0)

    def test_all_calls_with_their_peers_and_bytes(self):
        program = self.compile("patterns.c")
        alone = self.start([*self.launcher(), program])
        recorded = self.record([program])
        lines = lambda text: sorted(line for line in text.decode().splitlines() if line.startswith("rank "))
        self.assertEqual(lines(recorded.stdout), lines(alone.stdout))
        self.assertEqual(len(lines(alone.stdout)), RANKS)
        self.assert_whole()
        for rank in range(RANKS):
            following, previous = (rank + 1) % RANKS, (rank - 1) % RANKS
            def total(what, where, of=rank):
                return self.of_rank(of, f"coalesce(sum({what}), 0)", where)
            def count(where, of=rank):
                return self.of_rank(of, "count(*)", where)
            # Collectives.
            self.assertEqual(total("send_bytes", "function = 'MPI_Allreduce'"), 5 * 800 + 80)
            self.assertEqual(total("send_bytes", "function = 'MPI_Bcast'"), 200 if rank == 1 else 0)
            self.assertEqual(total("receive_bytes", "function = 'MPI_Bcast'"), 0 if rank == 1 else 200)
            self.assertEqual(count("function = 'MPI_Bcast' AND peer = 1 AND sequence = 1"), 1)
            self.assertEqual(total("send_bytes", "function = 'MPI_Gather'"), 12)
            self.assertEqual(total("receive_bytes", "function = 'MPI_Gather'"), 12 * RANKS if rank == 0 else 0)
            self.assertEqual(total("receive_bytes", "function = 'MPI_Allgather'"), 8 * RANKS)
            self.assertEqual(total("send_bytes", "function = 'MPI_Allgather'"), 8)
            self.assertEqual(total("send_bytes", "function = 'MPI_Alltoall'"), 8 * RANKS)
            self.assertEqual(count("function = 'MPI_Barrier' AND sequence = 1"), 2)
            # The ring in requests, whose statuses the program ignores.
            self.assertEqual(count(f"function = 'MPI_Isend' AND tag = 7 AND peer = {following} AND send_bytes = 64"), 1)
            self.assertEqual(count(f"function = 'MPI_Waitall' AND tag = 7 AND peer = {previous} AND receive_bytes = 64"), 1)
            # Messages from anywhere, and to nobody.
            if rank == 0:
                self.assertEqual(total("receive_bytes", "function = 'MPI_Recv'"), sum(4 * r for r in range(1, RANKS)))
                for source in range(1, RANKS):
                    self.assertEqual(count(f"function = 'MPI_Recv' AND peer = {source} AND tag = {20 + source} AND "
                                           f"receive_bytes = {4 * source}"), 1)
            else:
                self.assertEqual(count(f"function = 'MPI_Send' AND peer = 0 AND tag = {20 + rank} AND "
                                       f"send_bytes = {4 * rank}"), 1)
            self.assertEqual(count("function = 'MPI_Send' AND peer = -1"), 1)
            self.assertEqual(count(f"function = 'MPI_Sendrecv' AND kind = 'exchange' AND peer = {following} AND "
                                   "send_bytes = 32 AND receive_bytes = 32"), 1)
            # Persistent requests, three times.
            self.assertEqual(count("function = 'MPI_Startall'"), 6)
            self.assertEqual(total("send_bytes", "function = 'MPI_Startall'"), 3 * 16)
            self.assertEqual(total("receive_bytes", "function = 'MPI_Waitall' AND tag = 5"), 3 * 16)
            # A derived type, polled for; a collective in a request.
            self.assertEqual(count("function = 'MPI_Send' AND tag = 9 AND send_bytes = 20"), 1)
            self.assertEqual(count(f"function = 'MPI_Test' AND peer = {previous} AND receive_bytes = 20"), 1)
            self.assertEqual(count("function = 'MPI_Gatherv'"), 1)
            self.assertEqual(count("function = 'MPI_Iallreduce' AND send_bytes = 800"), 1)
            # More requests than a record holds.
            self.assertEqual(count("function = 'MPI_Isend' AND tag >= 100"), MANY)
            self.assertEqual(total("receive_bytes", "function = 'MPI_Waitall' AND tag >= 100"), 4 * MANY)
            self.assertEqual(self.of_rank(rank, "count(DISTINCT request)", "function = 'MPI_Waitall' AND tag >= 100 AND "
                                                                           "receive_bytes = 4"), MANY)
        # Every completion leads to the call that started it.
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE kind = 'completion' AND request IS NULL"), 0)
        self.assertEqual(self.value("SELECT count(*) FROM comm c JOIN host_call h ON h.process_id = c.process_id AND "
                                    "h.correlation_id = c.request WHERE c.function = 'MPI_Wait' AND h.name = "
                                    "'MPI_Iallreduce'"), RANKS)
        self.check_communicators()

    def check_communicators(self):
        named = {}
        for row in self.rows("SELECT * FROM communicator WHERE name IN ('MPI_COMM_WORLD', 'even', 'odd')"):
            named.setdefault(row["name"], []).append(row)
        self.assertEqual([len(named[name]) for name in ("MPI_COMM_WORLD", "even", "odd")], [RANKS, RANKS // 2, RANKS // 2])
        for name, members in (("MPI_COMM_WORLD", "0-3"), ("even", "0,2"), ("odd", "1,3")):
            self.assertEqual({row["members"] for row in named[name]}, {members})
            self.assertEqual(sorted(int(row["rank"]) for row in named[name]), list(range(len(named[name]))))
            self.assertEqual(len({row["key"] for row in named[name]}), 1, "one key for all members")
        # The copy of the world has the same members, and is another one.
        copies = self.rows("SELECT DISTINCT key FROM communicator WHERE members = '0-3'")
        self.assertEqual(len(copies), 2)
        # A collective is the same on all ranks by its communicator, function and sequence.
        self.assertEqual(self.rows("SELECT sequence, count(*) AS ranks FROM comm JOIN communicator m "
                                   "USING (communicator_id) WHERE function = 'MPI_Allreduce' AND m.name = "
                                   "'MPI_COMM_WORLD' GROUP BY m.key, sequence ORDER BY 1"),
                         [{"sequence": str(n), "ranks": str(RANKS)} for n in range(1, 6)])

    def test_a_job_that_fails(self):
        program = self.compile("patterns.c")
        alone = self.start([*self.launcher(), program, "fail"])
        self.record([program], "fail", code=alone.returncode)
        self.assertNotEqual(alone.returncode, 0)

    def test_a_job_that_is_aborted(self):
        program = self.compile("patterns.c")
        alone = self.start([*self.launcher(), program, "abort"])
        recorded = self.record([program], "abort", code=alone.returncode)
        self.assertEqual(alone.returncode, 9)
        # The calls that never returned are counted: MPI_Abort, and the receives of the others.
        (loss,) = self.rows("SELECT sum(emitted) AS emitted, sum(written) AS written, sum(dropped) AS dropped FROM loss "
                            "WHERE source = 'MPI calls'")
        self.assertEqual(int(loss["emitted"]), int(loss["written"]) + int(loss["dropped"]))
        self.assertGreaterEqual(int(loss["dropped"]), 1)
        self.assertLessEqual(int(loss["dropped"]), RANKS)
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE function = 'MPI_Waitall' AND tag = 7 AND "
                                    "receive_bytes = 64"), RANKS)
        self.assertIn(b"MPI calls", recorded.stderr + self.run_command("info", "run.sbt").stdout)

    def communication(self, *arguments):
        result = self.run_command("analyze", "--comm", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_waits(self, report):
        """Of late.c. Other ranks may be late as well, but by less."""
        ms = 1_000_000
        late = {(row["function"], row["rank"]): row for row in report["comm_late_ranks"]}
        barriers = late["MPI_Barrier", "2"]
        self.assertEqual(barriers["calls"], 10)
        self.assertGreaterEqual(barriers["times_last"], 6)
        self.assertGreater(barriers["caused_ns"], max(late["MPI_Barrier", rank]["caused_ns"] for rank in "013"))
        self.assertEqual(next(row for row in report["comm_collectives"] if row["function"] == "MPI_Allreduce" and
                              row["sequence"] == 1)["last_rank"], "1")
        arrivals = {row["function"]: row for row in report["comm_arrivals"]}
        self.assertEqual({row["whole"] for row in arrivals.values()}, {1, 2, 10}, "all ranks came to each")
        self.assertGreater(arrivals["MPI_Barrier"]["spread_p50_ns"], 15 * ms)
        messages = {(row["from_rank"], row["to_rank"]): row for row in report["comm_messages"]}
        self.assertEqual(set(messages), {("0", "1"), ("2", "3")})
        self.assertEqual(messages["0", "1"]["late_sends"], 1)
        self.assertGreater(messages["0", "1"]["receiver_waited_ns"], 15 * ms)
        self.assertEqual(messages["2", "3"]["late_receives"], 1)
        self.assertGreater(messages["2", "3"]["sender_waited_ns"], 15 * ms)
        exposed = {row["function"]: row for row in report["comm_exposed"]}
        self.assertEqual(exposed["MPI_Barrier"]["exposed_share"], 1)
        self.assertGreater(exposed["MPI_Iallreduce"]["hidden_ns"], RANKS * 15 * ms)
        self.assertEqual(report["comm_mismatches"], [])
        self.assertEqual(report["comm_hangs"], [])

    def test_who_waits_for_whom(self):
        self.record([self.compile("late.c")])
        report = self.communication("run.sbt")
        self.check_waits(report)
        part = 16 * 8  # of MPI_Alltoall
        pairs = {(row["from_rank"], row["to_rank"]): row for row in report["comm_pairs"]}
        self.assertEqual(len(pairs), RANKS * (RANKS - 1))
        self.assertEqual((pairs["2", "3"]["messages"], pairs["2", "3"]["bytes"]), (1, (1 << 20) * 8 + part))
        self.assertEqual((pairs["0", "1"]["message_bytes"], pairs["0", "1"]["collective_bytes"]), (800, part))
        self.assertEqual(pairs["3", "0"]["bytes"], part)
        matrix = {row["from_rank"]: row for row in report["comm_matrix"]}
        self.assertEqual(matrix["2"]["to_3"], pairs["2", "3"]["bytes"])
        self.assertIsNone(matrix["2"]["to_2"])
        all_reduces = next(row for row in report["comm_operations"]
                           if row["function"] == "MPI_Allreduce" and row["from_bytes"] == 4096)
        self.assertEqual((all_reduces["calls"], all_reduces["bytes"]), (RANKS, RANKS * 8000))
        self.assertAlmostEqual(all_reduces["busbw_bytes_per_s"] / all_reduces["algbw_bytes_per_s"], 1.5)
        self.assertAlmostEqual(all_reduces["algbw_bytes_per_s"], RANKS * 8000 / all_reduces["total_ns"] * 1e9, places=3)
        # The same in one trace of all ranks, beside what each rank did.
        self.assertEqual(self.run_command("merge", "run.sbt", "-o", "job.sbt").returncode, 0)
        self.check_waits(self.communication("job.sbt"))
        job = json.loads(self.run_command("analyze", "--json", "job.sbt").stdout)
        self.assertEqual(len(job["ranks"]), RANKS)
        self.check_waits(job)
        # Without clocks that were compared nobody is late; bytes and matches are the same.
        self.assertEqual(self.run_command("merge", "--clock", "none", "run.sbt", "-o", "own.sbt").returncode, 0)
        own = self.communication("own.sbt")
        self.assertNotIn("comm_late_ranks", own)
        self.assertIn("each rank has its own clock", own["notes"]["comm_arrivals"])
        self.assertEqual({row["not_resolved"] for row in own["comm_messages"]}, {1})
        for table in ("comm_pairs", "comm_matrix", "comm_communicators", "comm_mismatches", "comm_hangs"):
            self.assertEqual(own[table], report[table], table)
        self.assert_fails(self.run_command("analyze", "--comm", "--idle", "own.sbt"), 2, "choose one with --rank")
        one = self.communication("job.sbt", "--rank", "2")
        self.assertEqual(one["comm_arrivals"], [])
        self.assertEqual([row["to_rank"] for row in one["comm_pairs"] if row["messages"]], ["3"])

    def test_a_rank_that_never_comes(self):
        """The test kills it while the others wait for it in an all-reduce."""
        program = self.compile("late.c")
        with subprocess.Popen([PROGRAM, "profile", "-q", "--stacks", "-o", "run.sbt", "--", *self.launcher(), program,
                               "hang", self.path("pid")], cwd=self.dir, env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
            until = time.monotonic() + RUN_LIMIT_S
            while not os.path.exists(self.path("pid")) or not os.path.getsize(self.path("pid")):
                self.assertIsNone(recorder.poll())
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            time.sleep(1)  # until the others are there
            with open(self.path("pid"), encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGKILL)
            self.assertNotEqual(recorder.wait(RUN_LIMIT_S), 0)
        self.assertEqual(self.run_command("merge", "run.sbt", "-o", "job.sbt").returncode, 0)
        for trace in ("run.sbt", "job.sbt"):
            (hang,) = self.communication(trace)["comm_hangs"]
            self.assertEqual((hang["waiting"], hang["rank"], hang["state"]), ("0-2", "3", "never came"))
            self.assertEqual((hang["collective"], hang["after"], hang["communicator"]),
                             ("a call that did not return", "MPI_Iallreduce #1", "MPI_COMM_WORLD"))
            self.assertEqual(hang["last"], "MPI_Wait of MPI_Iallreduce #1")
            self.assertEqual(hang["process"], "ended by signal 9")
            self.assertIn("main", hang["stack"])
        text = self.run_command("analyze", "--comm", "job.sbt").stdout.decode()
        self.assertIn("never came", text)
        self.assertIn("tracesmith record --pid PID --stacks", " ".join(text.split()))

    def check_ring(self, source):
        program = self.compile(source)
        alone = self.start([*self.launcher(), program])
        self.assertEqual(sorted(self.record([program]).stdout.splitlines()), sorted(alone.stdout.splitlines()))
        self.assert_whole()
        for function, calls in (("MPI_Send", 1), ("MPI_Irecv", 1), ("MPI_Wait", 1), ("MPI_Allreduce", 2), ("MPI_Init", 1),
                                ("MPI_Finalize", 1)):
            self.assertEqual(self.value(f"SELECT count(*) FROM comm WHERE function = '{function}'"), calls * RANKS)
        for rank in range(RANKS):
            self.assertEqual(self.of_rank(rank, "count(*)", f"function = 'MPI_Send' AND send_bytes = 40 AND tag = 3 AND "
                                                            f"peer = {(rank + 1) % RANKS}"), 1)
            self.assertEqual(self.of_rank(rank, "count(*)", "function = 'MPI_Wait' AND receive_bytes = 40 AND "
                                                            f"peer = {(rank - 1) % RANKS}"), 1)
            self.assertEqual(self.of_rank(rank, "sum(send_bytes)", "function = 'MPI_Allreduce'"), 80)

    def check_netpipe(self, program):
        """NetPIPE: what one rank sends, the other one receives."""
        if shutil.which(program) is None:
            self.skipTest(f"no {program}")
        self.record([program], "-u", "4096", "-n", "20", "-o", "np.out", ranks=2)
        self.assert_whole()
        self.assertGreater(self.value("SELECT count(*) FROM comm WHERE kind = 'send'"), 1000)
        self.assertEqual(self.value("SELECT sum(send_bytes) - sum(receive_bytes) FROM comm WHERE kind IN "
                                    "('send', 'receive', 'completion')"), 0)

    def test_fortran(self):
        self.check_ring("ring.f90")

    def test_sixteen_ranks(self):
        program = self.compile("ring.f90")
        self.record([program], ranks=16)
        self.assert_whole()
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE function = 'MPI_Allreduce'"), 32)

    def test_one_rank_as_its_own_recording(self):
        """mpirun starts the recorder, once for each rank."""
        program = self.compile("patterns.c")
        variable = "OMPI_COMM_WORLD_RANK" if self.name == "openmpi" else "PMI_RANK"
        script = self.path("record.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{PROGRAM}" profile -q -o rank-${variable}.sbt -- "{program}"\n')
        os.chmod(script, 0o755)
        self.start([*self.launcher(), script])
        traces = [f"rank-{rank}.sbt" for rank in range(RANKS)]
        merged = self.run_command("merge", *traces, "-o", "run.sbt")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assert_whole()
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE kind = 'completion' AND request IS NULL"), 0)
        self.assertEqual(self.rows("SELECT sequence, count(*) AS ranks FROM comm JOIN communicator m "
                                   "USING (communicator_id) WHERE function = 'MPI_Allreduce' AND m.name = "
                                   "'MPI_COMM_WORLD' GROUP BY m.key, sequence ORDER BY 1"),
                         [{"sequence": str(n), "ranks": str(RANKS)} for n in range(1, 6)])

    def test_the_ranks_of_one_trace_become_ranks_of_a_job(self):
        self.record([self.compile("patterns.c")])
        merged = self.run_command("merge", "run.sbt", "-o", "job.sbt")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertIn(b"of 4 ranks", merged.stderr)
        self.assertIn(b"the ranks have one clock", merged.stderr)
        events = ("comm", "host_call", "communicator", "loss", "process")
        counted = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table}) AS {table}" for table in events[:3])
        of_ranks = ("SELECT w.rank, count(*) AS n FROM comm JOIN communicator w USING (process_id) WHERE w.name = "
                    "'MPI_COMM_WORLD' GROUP BY 1 ORDER BY 1")
        before = self.rows(counted), self.rows(of_ranks), self.rows("SELECT sum(emitted) AS n FROM loss")
        os.replace(self.path("job.sbt"), self.path("run.sbt"))
        self.assertEqual((self.rows(counted), self.rows(of_ranks), self.rows("SELECT sum(emitted) AS n FROM loss")), before)
        self.assert_whole()
        self.assertEqual(self.rows("SELECT r.number, w.rank, r.world_size FROM rank r JOIN process p USING (rank_id) JOIN "
                                   "communicator w USING (process_id) WHERE w.name = 'MPI_COMM_WORLD' ORDER BY 1"),
                         [{"number": str(n), "rank": str(n), "world_size": str(RANKS)} for n in range(RANKS)])
        for arguments in (("run.sbt",), ("run.sbt", "--rank", "2")):
            self.assertEqual(self.run_command("analyze", *arguments).returncode, 0)
        self.assert_fails(self.run_command("merge", "run.sbt", "-o", "again.sbt"), 1, "already holds ranks")
        for job in ("a.sbt", "b.sbt"):
            self.record([self.path("patterns")])
            os.replace(self.path("run.sbt"), self.path(job))
        self.assert_fails(self.run_command("merge", "a.sbt", "b.sbt", "-o", "two.sbt"), 2,
                          "another MPI job than" if self.name == "openmpi" else "is of rank 0")
        self.assertNotIn("two.sbt", self.files())

    def test_all_ranks_of_a_host_in_one_recording(self):
        """mpirun starts the recorder, once for each rank; the first of them records all."""
        program = self.compile("patterns.c")
        def recorded(output):
            return [*self.launcher(), PROGRAM, "profile", "-q", "--per-host", "-o", output, "--", program]

        alone = self.start([*self.launcher(), program])
        result = self.start(recorded("run.sbt"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(alone.stdout.splitlines()))
        self.assertEqual(self.files(), ["patterns", f"run-{os.uname().nodename}.sbt"])
        os.replace(self.path(f"run-{os.uname().nodename}.sbt"), self.path("run.sbt"))
        self.assert_whole()
        # How often it asks for completions is chance.
        calls = "SELECT function, count(*) AS n FROM comm WHERE kind <> 'completion' GROUP BY 1 ORDER BY 1"
        together = self.rows(calls)
        self.record([program])
        self.assertEqual(together, self.rows(calls), "as mpirun itself recorded")
        for end in ("fail", "abort", "first"):
            with self.subTest(end=end):
                alone = self.start([*self.launcher(), program, end])
                result = self.start([*recorded(end + ".sbt"), end])
                if end == "first":  # MPICH gives the code of any of the ranks, most of which it killed
                    self.assertNotEqual(result.returncode, 0)
                else:
                    self.assertEqual(result.returncode, alone.returncode, result.stderr)
                # mpirun gives the ranks a moment to end, and kills them then.
                trace = f"{end}-{os.uname().nodename}.sbt"
                if trace + ".session" in self.files():
                    recovered = self.run_command("recover", "--force", trace + ".session")
                    self.assertEqual(recovered.returncode, 0, recovered.stderr)
                os.replace(self.path(trace), self.path("run.sbt"))
                self.assertGreaterEqual(self.value("SELECT count(*) FROM communicator WHERE name = 'MPI_COMM_WORLD'"), 1)

    def assert_all_calls_are_written(self):
        self.assertEqual(self.rows("SELECT sum(emitted - written) AS missing, sum(dropped) AS dropped FROM loss WHERE "
                                   "source = 'MPI calls'"), [{"missing": "0", "dropped": "0"}])

    def test_processes_that_ranks_start(self):
        # Shared memory does not lead from one job to another.
        self.options = ["self,tcp" if option == "self,vader" else option for option in OPEN_MPI]
        program = self.compile("spawn.c")
        alone = self.start([*self.launcher(2), program, "merge"])
        if alone.returncode != 0:
            self.skipTest(f"MPI_Comm_spawn does not work here: {alone.stderr.decode()[-300:]}")
        recorded = self.record([program], "merge", ranks=2)
        self.assertEqual(sorted(recorded.stdout.splitlines()), sorted(alone.stdout.splitlines()))
        self.assert_all_calls_are_written()
        self.assertEqual(self.value("SELECT count(*) FROM communicator WHERE name = 'MPI_COMM_WORLD'"), 4)
        self.assertEqual(self.value("SELECT count(DISTINCT key) FROM communicator WHERE name = 'MPI_COMM_WORLD'"), 2,
                         "they are a job of their own")
        # Each exchanged 48 bytes with the one of its number in the other job.
        self.assertEqual(self.value("SELECT count(*) FROM comm WHERE function = 'MPI_Sendrecv_replace' AND "
                                    "send_bytes = 48 AND receive_bytes = 48"), 4)
        self.assertEqual(self.value("SELECT count(*) FROM comm JOIN communicator USING (communicator_id) WHERE "
                                    "function = 'MPI_Allreduce' AND ranks = 4"), 4)
        self.assert_fails(self.run_command("merge", "run.sbt", "-o", "job.sbt"), 1, "MPI_Comm_spawn", "one by one")

    def test_ranks_of_a_host_that_cannot_be_found(self):
        result = self.run_command("profile", "--per-host", "--", "true")
        self.assert_fails(result, 125, "the ranks of this host are unknown", "mpirun")


class OpenMpi(Implementation, CommandTest):
    name = "openmpi"

    def test_fortran_2008(self):
        self.check_ring("ring_2008.f90")

    def test_python(self):
        if self.start([SYSTEM_PYTHON, "-c", "import mpi4py"]).returncode != 0:
            self.skipTest("no mpi4py")
        self.record([SYSTEM_PYTHON, "-m", "mpi4py.bench", "ringtest", "-l", "10", "-n", "1000"])
        self.assert_whole()
        self.assertGreater(self.value("SELECT sum(send_bytes) FROM comm"), 10_000)

    def test_other_programs(self):
        self.check_netpipe("NPopenmpi")


class Mpich(Implementation, CommandTest):
    name = "mpich"

    def test_sessions(self):
        program = self.compile("sessions.c")
        alone = self.start([*self.launcher(), program])
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(sorted(self.record([program]).stdout.splitlines()), sorted(alone.stdout.splitlines()))
        self.assert_all_calls_are_written()
        self.assertEqual(self.rows("SELECT function, count(*) AS n FROM comm WHERE function IN ('MPI_Allreduce', "
                                   "'MPI_Sendrecv') GROUP BY 1 ORDER BY 1"),
                         [{"function": "MPI_Allreduce", "n": "12"}, {"function": "MPI_Sendrecv", "n": "4"}])
        self.assertEqual(self.value("SELECT count(*) FROM comm JOIN communicator USING (communicator_id) WHERE "
                                    "function = 'MPI_Sendrecv' AND ranks = 4 AND peer = (rank + 1) % 4"), 4)

    def test_fortran_2008(self):
        program = self.compile("ring_2008.f90")
        alone = self.start([*self.launcher(), program])
        self.assertEqual(sorted(self.record([program]).stdout.splitlines()), sorted(alone.stdout.splitlines()))
        self.assertEqual(self.value("SELECT sum(send_bytes) FROM comm WHERE function = 'MPI_Send'"), 40 * RANKS)

    def test_other_programs(self):
        self.check_netpipe("NPmpich2")


if __name__ == "__main__":
    unittest.main()
