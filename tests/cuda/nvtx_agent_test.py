# SPDX-License-Identifier: Apache-2.0
"""profile of programs with NVTX, with stand-ins for CUDA and without any CUDA: what the program says
it did is in the trace, once. TRACESMITH_STANDINS is the folder of one generation's stand-ins."""
import json
import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import PROGRAM as TRACESMITH  # pylint: disable=wrong-import-position
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
WITH_CUDA = os.path.join(STANDINS, "standin_nvtx_program")
ALONE = os.path.join(STANDINS, "nvtx_program")
# Ranges that are not what CUPTI tells of modules and of itself.
NOT_CUDAS = "category NOT IN ('CUDA modules', 'CUPTI overhead')"


class NvtxAgent(CommandTest):
    def profile(self, *program, options=(), code=0, command="profile", **variables):
        env = environment(**{"LD_LIBRARY_PATH": STANDINS, **variables})
        result = self.run_command(command, *options, "-o", "t.sbt", "--", *program, env=env)
        self.assertEqual(result.returncode, code, result.stderr)
        verified = self.run_command("verify", "t.sbt")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.said = result.stderr.decode()
        lines = [line for line in result.stdout.decode().splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def rows(self, sql):
        result = self.run_command("query", "t.sbt", sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def one(self, sql):
        return list(self.rows(sql)[0].values())[0]

    def names(self, where="1"):
        return {row["name"]: row["n"] for row in
                self.rows(f"SELECT name, count(*) AS n FROM range WHERE {where} GROUP BY name")}

    def loss(self, source="NVTX ranges"):
        return "; ".join(row["reason"] or "" for row in
                         self.rows(f"SELECT reason FROM loss WHERE source = '{source}'"))

    def assert_nothing_is_lost(self):
        self.assertEqual(self.rows("SELECT source, dropped, reason FROM loss WHERE dropped > 0 AND "
                                   "source <> 'process events'"), [])

    def attributes(self):
        """By name of the range: its attributes."""
        found = {}
        rows = self.rows("SELECT r.name AS name, a.key AS key, a.value AS value FROM "
                         "(SELECT row_number() OVER () - 1 AS n, name FROM range) r "
                         "JOIN attribute a ON a.row_number = r.n")
        for row in rows:
            found.setdefault(row["name"], {})[row["key"]] = row["value"]
        return found

    # --- With CUDA ---

    def assert_all_is_there(self, did):
        ranges = did["push_ranges"] + did["process_ranges"]
        self.assertEqual(self.one(f"SELECT count(*) FROM range WHERE kind = 'range' AND {NOT_CUDAS}"),
                         ranges - did["unended_ranges"])
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE kind = 'begin'"), did["unended_ranges"])
        self.assertEqual(self.one(f"SELECT count(*) FROM range WHERE kind = 'instant' AND {NOT_CUDAS}"), did["marks"])
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE category = 'training'"), did["domain_events"])
        self.assertEqual(self.names()["optimizer"], did["registered_events"])
        self.assertEqual(self.names()["forward"], did["wide_texts"])
        keys = {row["key"]: row["n"] for row in
                self.rows("SELECT key, count(*) AS n FROM attribute GROUP BY key")}
        self.assertEqual(keys["payload"], did["payload_events"] + did["extended_payloads"])
        self.assertEqual(keys["nvtx_category"], did["category_events"])
        self.assertEqual(keys["end_thread_id"], did["cross_thread_ranges"])
        self.assertEqual(self.one("SELECT count(*) FROM attribute WHERE value = 'compute'"), did["category_events"])
        self.assertEqual(self.one("SELECT count(*) FROM thread WHERE name IN ('main loop', 'loader')"),
                         did["named_threads"])
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] + did["unannotated_kernels"])
        # Each kernel was launched within the range that is around it in the program.
        self.assertEqual(self.one(
            "SELECT count(DISTINCT h.correlation_id) FROM host_call h JOIN range r ON r.thread_id = h.thread_id AND "
            "r.kind = 'range' AND r.start_ns <= h.start_ns AND r.start_ns + r.duration_ns >= h.start_ns + h.duration_ns "
            "AND r.name IN ('forward', 'backward', 'optimizer', 'in the loader') WHERE h.kind = 'launch'"), did["kernels"])
        self.assert_nothing_is_lost()
        self.assertIn(f"{did['unended_ranges']} had not ended", self.loss())

    def test_ranges_beside_kernels(self):
        self.assert_all_is_there(self.profile(WITH_CUDA, "20"))

    def test_nvtx_before_cuda(self):
        self.assert_all_is_there(self.profile(WITH_CUDA, "5", "nvtx_first"))

    def test_nvtx_beside_cuda(self):
        for _ in range(10):
            self.assert_all_is_there(self.profile(WITH_CUDA, "2", "both"))

    def test_cuda_in_a_child_of_a_program_that_has_nvtx_alone(self):
        did = self.profile(WITH_CUDA, "5", "child")
        self.assertEqual(self.one(f"SELECT count(*) FROM range WHERE kind = 'instant' AND {NOT_CUDAS}"), did["marks"] + 1)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] + did["unannotated_kernels"])
        self.assertEqual(self.one("SELECT count(DISTINCT process_id) FROM range"), 2)
        self.assert_nothing_is_lost()

    def test_record_of_cuda_alone(self):
        self.assert_all_is_there(self.profile(WITH_CUDA, "5", command="record", options=("-p", "cuda")))

    def test_ranges_nest_as_in_the_program(self):
        self.profile(WITH_CUDA, "10")
        self.assertEqual(self.one(
            "SELECT count(*) FROM range i JOIN range o ON o.name = 'step' AND o.thread_id = i.thread_id AND "
            "o.start_ns <= i.start_ns AND o.start_ns + o.duration_ns >= i.start_ns + i.duration_ns "
            "WHERE i.name IN ('forward', 'backward', 'halfway')"), 30)

    def test_another_platform_leaves_it(self):
        did = self.profile(WITH_CUDA, "3", command="record", options=("-p", "opencl"))
        self.assertEqual(self.one("SELECT count(*) FROM range"), 0)
        self.assertEqual(did["marks"], 6)

    def test_no_cupti(self):
        did = self.profile(WITH_CUDA, "3", TRACESMITH_CUPTI="/etc/passwd")
        self.assertIn("TRACESMITH_CUPTI names", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE kind = 'instant'"), did["marks"])

    # --- Without CUDA ---

    def alone(self, *arguments, **more):
        return self.profile(ALONE, *arguments, **{"LD_LIBRARY_PATH": "", **more})

    def assert_counts(self, did):
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE kind = 'range'"), did["ranges"])
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE kind = 'instant'"), did["marks"])
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE duration_ns < 0"), 0)

    def test_a_program_without_cuda(self):
        self.assert_counts(self.alone("some", "100"))
        self.assertEqual(self.names(), {"some": 100})
        self.assertEqual(self.one("SELECT category FROM range LIMIT 1"), "NVTX")
        self.assert_nothing_is_lost()

    def test_answers_are_what_nvtx_documents(self):
        did = self.alone("answers")
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE kind = 'range'"), did["ranges"])
        self.assertEqual(self.one("SELECT count(DISTINCT category) FROM range"), 41)
        self.assertIn("2 ends have no start", self.loss())

    def test_attributes_and_texts_of_every_type(self):
        self.assert_counts(self.alone("types"))
        found = self.attributes()
        self.assertEqual(found["uint64"], {"payload": "18446744073709551615", "color": "0x80102030",
                                           "nvtx_category": "third"})
        self.assertEqual({name: found[name]["payload"] for name in
                          ("int64", "double", "uint32", "int32", "float", "extended")},
                         {"int64": "-9223372036854775808", "double": "0.1", "uint32": "4294967295", "int32": "-5",
                          "float": "0.1", "extended": "not recorded: of an extended type"})
        self.assertEqual(found["größer € 😀"], {"nvtx_category": "fourth"})
        self.assertEqual(self.names("category = 'types' AND name LIKE 'reg%'"), {"registered €": 1})
        self.assertEqual(self.names()["wide"], 2)
        self.assert_nothing_is_lost()

    def test_a_text_that_changes_in_place(self):
        self.assert_counts(self.alone("in_place", "1000"))
        self.assertEqual(self.names(), {f"iteration {i}": 1 for i in range(1000)})
        self.assert_nothing_is_lost()

    def test_more_names_than_can_be_told_go_with_their_events(self):
        did = self.alone("in_place", "150000", options=("-b", "16M"))
        self.assert_counts(did)
        self.assertEqual(self.one("SELECT count(DISTINCT name) FROM range"), 150000)
        self.assert_nothing_is_lost()

    def test_many_threads_lose_nothing(self):
        for options in ((), ("-b", "64K")):
            did = self.alone("threads", "8", "10000", options=options)
            self.assertEqual(did["ranges"], 160000)
            self.assert_counts(did)
            self.assertEqual(self.names("name LIKE 'thread%'"), {f"thread {i}": 10000 for i in range(8)})
            # Each on the thread that is called so.
            self.assertEqual(self.one("SELECT count(*) FROM range r JOIN thread t ON t.id = r.thread_id AND "
                                      "t.name = r.name WHERE r.name LIKE 'thread%'"), 80000)
            self.assert_nothing_is_lost()

    def test_what_is_open_says_so(self):
        did = self.alone("open")
        self.assert_counts(did)
        self.assertEqual(self.names("kind = 'begin'"), {"never popped": 1, "never ended": 1, "left by its thread": 1})
        self.assertIn("3 had not ended", self.loss())
        self.assert_nothing_is_lost()

    def test_a_forked_child_is_a_process_of_its_own(self):
        self.alone("forks")
        by_process = self.rows("SELECT process_id, name, category, count(*) AS n FROM range WHERE kind = 'range' "
                               "GROUP BY process_id, name, category")
        parent = {row["process_id"] for row in by_process if row["name"] == "parent alone"}
        child = {row["process_id"] for row in by_process if row["name"] == "child alone"}
        self.assertEqual((len(parent), len(child)), (1, 1))
        rows = {True: {}, False: {}}
        for row in by_process:
            rows[row["process_id"] in parent][(row["category"], row["name"])] = row["n"]
        self.assertEqual(rows[True], {("NVTX", "parent"): 10, ("NVTX", "parent alone"): 11,
                                      ("NVTX", "around the fork"): 1})
        self.assertEqual(rows[False], {("NVTX", "parent"): 5, ("NVTX", "child alone"): 7,
                                       ("before the fork", "registered before"): 1,
                                       ("child's", "in the child's domain"): 1})
        self.assertEqual(self.loss(), "1 ends have no start")  # it was the parent's

    def test_forks_while_names_are_told(self):
        self.assert_forks_while_names_are_told(20)

    def test_forks_of_the_bare_system_call_while_names_are_told(self):
        self.assert_forks_while_names_are_told(40, "1")

    def assert_forks_while_names_are_told(self, children, *how):
        did = self.alone("forks_amid_names", str(children), *how, options=("-b", "64K"))
        names = self.names("kind = 'range'")
        self.assertEqual(names, {f"child {i}-{n}": 1 for i in range(children) for n in range(50)})
        self.assertEqual(sum(names.values()), did["ranges"])
        wrong = self.one("SELECT count(*) FROM range WHERE kind = 'instant' AND name NOT LIKE 'name %'")
        self.assertEqual(wrong, 0)
        self.assert_nothing_is_lost()

    def test_exec_begins_anew(self):
        self.alone("exec")
        self.assertEqual(self.names("kind = 'range'"), {"first program": 10, "second program": 20})
        self.assertEqual(self.names("kind = 'begin'"), {"before exec": 1})
        self.assertEqual(self.one("SELECT count(DISTINCT process_id) FROM range"), 1)

    def test_a_killed_program_keeps_what_it_said(self):
        did = self.alone("abort", "5000", code=-signal.SIGKILL)
        self.assert_counts(did)
        self.assertEqual(self.names("kind = 'begin'"), {"while it was killed": 1})

    def test_children_of_a_program(self):
        self.profile("sh", "-c", f"{ALONE} some 10 one; {ALONE} some 20 two")
        self.assertEqual(self.names(), {"one": 10, "two": 20})

    def test_another_tools_library_stays_and_is_named(self):
        self.alone("some", "10", NVTX_INJECTION64_PATH="/no/such/library.so")
        self.assertIn("NVTX's ranges were not captured: NVTX_INJECTION64_PATH names /no/such/library.so", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM range"), 0)

    def test_a_small_limit_for_files_does_no_harm(self):
        did = self.profile("prlimit", f"--fsize={400 << 10}", ALONE, "some", "10", options=("-b", "64K"))
        self.assertEqual(did["ranges"], 10)

    def test_a_recording_that_drops_counts_what_it_dropped(self):
        did = self.alone("threads", "4", "20000", options=("-b", "64K", "--overflow", "drop"))
        row = self.rows("SELECT emitted, written, dropped FROM loss WHERE source = 'CUDA records'")[0]
        self.assertEqual(row["emitted"], 2 * did["ranges"])
        self.assertEqual(row["emitted"], row["written"] + row["dropped"])
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE name NOT LIKE 'thread%' AND "
                                  "name NOT IN ('even', 'odd')"), 0)

    def test_a_killed_collector_leaves_ranges_open_for_recover(self):
        env = environment(LD_LIBRARY_PATH=STANDINS)
        with subprocess.Popen([TRACESMITH, "profile", "-o", "t.sbt", "--", ALONE, "wait"], cwd=self.dir, env=env,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            program = json.loads(process.stdout.readline())
            self.wait_until(lambda: self.has_rows("t.sbt", "SELECT 1 FROM range LIMIT 1"), "nothing is committed")
            process.kill()
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdin.close()
            self.wait_for_end(program["pid"])
        sessions = [name for name in self.files() if os.path.isdir(self.path(name))]
        self.assertEqual(len(sessions), 1, self.files())
        recovered = self.run_command("recover", sessions[0], env=env)
        self.assertEqual(recovered.returncode, 0, recovered.stderr)
        self.assertEqual(self.names("kind = 'range'"), {"before": 10, "after": 10, "around": 1, "whole": 1})
        self.assertEqual(self.names("kind <> 'range'"), {})

    # --- Cost ---

    def test_an_event_allocates_nothing_and_takes_no_lock(self):
        watch = os.path.join(STANDINS, "libcall-watch.so")
        env = environment(LD_LIBRARY_PATH=STANDINS)
        result = self.run_command("profile", "-b", "64M", "-o", "t.sbt", "--", "env", f"LD_PRELOAD={watch}",
                                  os.path.join(STANDINS, "nvtx_cost"), "5", "10000", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.one("SELECT count(*) FROM range"), 4 * 50100)
        self.assertEqual(int(re.search(r"(\d+) allocations and locks", result.stdout.decode()).group(1)), 0)


if __name__ == "__main__":
    unittest.main()
