# SPDX-License-Identifier: Apache-2.0
"""profile of programs that use CUDA, with stand-ins for the driver and CUPTI: what the program says
it did is in the trace, once. TRACESMITH_STANDINS is the folder of one generation's stand-ins."""
import json
import os
import unittest

from cuda_harness import GENERATION, SHARES, STANDINS, CudaTest

RUNTIME_PROGRAM = os.path.join(STANDINS, "standin_runtime_program")


class CudaAgent(CudaTest):
    def test_launches(self):
        did = self.profile("launches", "300", "3")
        self.assert_all_is_there(did)
        self.assertEqual({row["name"] for row in self.rows("SELECT DISTINCT name FROM kernel")},
                         {"vectorAdd"})
        self.assertEqual(self.one("SELECT count(*) FROM device WHERE backend = 'CUDA'"), 1)
        self.assertGreaterEqual(self.one("SELECT count(*) FROM stream"), did["streams"])
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE duration_ns <= 0"), 0)

    def test_threads(self):
        self.assert_all_is_there(self.profile("threads", "8", "200"))

    def test_graphs_have_many_kernels_of_one_launch(self):
        did = self.profile("graph", "50")
        self.assert_all_is_there(did)
        self.assertEqual(self.one("SELECT count(DISTINCT correlation_id) FROM kernel"), 50)

    def edges(self):
        """Of waits for events: (which recording, which wait), each by its place among its like."""
        return [(row["r"], row["w"], row["name"]) for row in self.rows(
            "WITH r AS (SELECT *, row_number() OVER (ORDER BY start_ns) AS n FROM host_call "
            "  WHERE name LIKE '%EventRecord%'), "
            "w AS (SELECT *, row_number() OVER (PARTITION BY name ORDER BY start_ns) AS n FROM host_call "
            "  WHERE name LIKE '%WaitEvent%' OR name LIKE '%EventSynchronize%') "
            "SELECT r.n AS r, w.n AS w, w.name AS name FROM flow f "
            "JOIN r ON r.process_id = f.process_id AND r.correlation_id = f.from_correlation_id "
            "JOIN w ON w.process_id = f.process_id AND w.correlation_id = f.to_correlation_id "
            "WHERE f.kind = 'wait' ORDER BY w.name, w.n")]

    def assert_waits_have_their_edges(self, did, rounds):
        self.assert_all_is_there(did)
        waits = [(i, i + 1, "cuStreamWaitEvent") for i in range(1, 2 * rounds + 1)]
        hosts = [(2 * i, i, "cuEventSynchronize") for i in range(1, rounds + 1)]
        self.assertEqual(self.edges(), hosts + waits)
        self.assertEqual(self.one("SELECT count(*) FROM object WHERE kind = 'event'"), did["event_records"])
        self.assertEqual(self.rows("SELECT reason FROM loss WHERE source = 'CUDA activity'"), [])

    def test_a_wait_for_an_event_depends_on_what_was_before_its_recording(self):
        rounds = 20
        self.assert_waits_have_their_edges(self.profile("events", str(rounds)), rounds)
        # Each wait makes the next kernel of its stream depend on the one before the recording, and that is all.
        result = self.run_command("export", "t.sbt", "-f", "dot", "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        edges = [line for line in result.stdout.decode().splitlines() if "synchronization" in line]
        self.assertEqual(len(edges), 1, edges)
        self.assertIn(f'"synchronization, {2 * rounds} x"', edges[0])

    def test_waits_of_a_killed_program_have_their_edges(self):
        # Most of what CUPTI told of them is still in its buffers.
        self.profile("events", "20", "1", code=-9)
        self.assertEqual([edge for edge in self.edges() if edge[2] == "cuStreamWaitEvent"],
                         [(i, i + 1, "cuStreamWaitEvent") for i in range(1, 41)])

    def test_waits_of_a_killed_collectors_program_have_their_edges(self):
        did = self.recovered("pause", "4000")
        self.assertEqual(self.edges(), [(1, 1, "cuEventSynchronize"), (2, 2, "cuEventSynchronize"),
                                        (1, 1, "cuStreamWaitEvent"), (2, 2, "cuStreamWaitEvent")])
        self.assertEqual(self.one("SELECT count(*) FROM object WHERE kind = 'event'"), did["event_records"])

    def test_a_forked_child_never_touches_cupti(self):
        self.assert_all_is_there(self.profile("fork"))

    def test_a_child_that_exits_does_not_wait_for_its_parents_work(self):
        did = self.profile("child_exit")
        self.assertLess(did["child_ms"], 150 * did["children"])  # less than the grace at exit
        self.assert_all_is_there(did)

    def test_a_killed_program_keeps_what_was_delivered(self):
        did = self.profile("abort", code=-9)
        # The last thousand were not waited for.
        kernels = self.assert_launches_are_accounted_for(did["kernels"])
        self.assertGreaterEqual(kernels, 1000)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'vectorAdd'"), kernels)

    def test_a_program_killed_with_a_long_queue_keeps_what_had_ended(self):
        # A kernel takes a millisecond. Buffers are delivered when all in them has ended, and one holds
        # some three hundred: the last ones are in a buffer when the program is killed.
        did = self.profile("busy", "1500", "500", code=-9, STANDIN_SCRIPT="long_kernel_ns=1000000")
        kernels = self.assert_launches_are_accounted_for(did["kernels"])
        self.assertGreaterEqual(kernels, did["synchronized_kernels"] + 450)
        # Each once.
        self.assertEqual(self.one("SELECT count(DISTINCT correlation_id) FROM kernel"), kernels)
        self.assertEqual(self.one("SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id "
                                  "AND h.correlation_id = k.correlation_id AND h.kind = 'launch'"), kernels)
        self.assertIn("not seen to end", self.loss("CUDA activity"))

    def test_a_program_that_executes_another(self):
        did = self.profile("exec", "300")
        first, second = did["before_kernels"], did["kernels"]
        names = {row["name"]: row["n"] for row in self.rows("SELECT name, count(*) AS n FROM kernel GROUP BY name")}
        self.assertEqual(names, {"vectorAdd": first, "vectorScale": second})
        self.assertEqual(self.one("SELECT count(DISTINCT correlation_id) FROM kernel"), first + second)
        self.assertEqual(self.one("SELECT count(*) FROM process WHERE id IN (SELECT process_id FROM kernel)"), 1)
        self.assert_nothing_is_lost()

    def test_a_program_that_executes_another_at_once(self):
        did = self.profile("exec")
        others = sum(did[when + what] for when in ("before_", "") for what in ("htod", "dtoh", "dtod", "fills"))
        self.assert_launches_are_accounted_for(did["before_kernels"] + did["kernels"], others)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'vectorScale'"), did["kernels"])

    def recovered(self, *arguments, kernels=100, **named):
        return self.recovered_from_a_killed_collector("SELECT count(*) FROM kernel", kernels, *arguments, **named)

    def test_recover_knows_names_streams_and_callers(self):
        did = self.recovered("pause", "4000", options=("--stacks=native",))
        self.assert_all_is_there(did)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'vectorAdd'"), did["kernels"])
        self.assertEqual(self.one("SELECT count(call_path_id) FROM kernel"), did["kernels"])
        self.assertEqual(self.one("SELECT count(*) FROM context"), 1)
        self.assertEqual(self.one("SELECT count(*) FROM device"), 1)
        self.assertEqual(self.one("SELECT count(*) - count(DISTINCT handle) FROM stream"), 0)
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE name IS NULL OR name = ''"), 0)

    def test_recover_tells_what_was_lost_once(self):
        did = self.recovered("pause", "4000", kernels=90, STANDIN_SCRIPT="zero_times=10")
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] - 20)
        rows = self.rows("SELECT dropped, reason FROM loss WHERE source = 'CUDA activity'")
        self.assertEqual(rows, [{"dropped": 20, "reason": "20 have no times: the device had no room for them"}])

    def test_recover_of_a_program_that_executed_another(self):
        did = self.recovered("exec", "4000")
        names = {row["name"]: row["n"] for row in self.rows("SELECT name, count(*) AS n FROM kernel GROUP BY name")}
        self.assertEqual(names, {"vectorAdd": did["before_kernels"], "vectorScale": did["kernels"]})
        self.assert_nothing_is_lost()

    def test_all_calls(self):
        self.profile("events", "2")
        usual = {row["name"] for row in self.rows("SELECT DISTINCT name FROM host_call")}
        others = {"cuStreamCreate", "cuEventCreate", "cuCtxSetCurrent", "cuModuleGetFunction",
                  "cuDevicePrimaryCtxRetain"}
        self.assertEqual(usual & others, set())
        did = self.profile("events", "2", options=("--cuda-calls",))
        self.assert_all_is_there(did)
        calls = {row["name"]: row for row in self.rows(
            "SELECT name, kind, count(*) AS n, min(duration_ns) AS shortest FROM host_call GROUP BY name")}
        self.assertEqual(others - set(calls), set())
        self.assertEqual(usual - set(calls), set())
        self.assertEqual(calls["cuStreamCreate"]["n"], did["streams"])
        self.assertEqual((calls["cuStreamCreate"]["kind"], calls["cuCtxSetCurrent"]["kind"]), ("setup", "other"))
        self.assertGreater(min(row["shortest"] for row in calls.values()), 0)

    def test_all_calls_of_the_runtime(self):
        did = self.runtime("launches", "100", "2", options=("--cuda-calls",))
        self.assert_runtime_calls(did)
        # Those of the driver within them are not told apart; cudaGetLastError, called once, is left out.
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE name LIKE 'cuda%'"), did["runtime_calls"] - 1)
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE name LIKE 'cudaStreamCreate%'"), did["streams"])

    def test_a_call_that_is_left_by_longjmp(self):
        did = self.profile("longjmp")
        self.assert_all_is_there(did)

    def test_two_devices(self):
        did = self.profile("two_devices", STANDIN_SCRIPT="devices=2")
        rows = self.rows("SELECT d.ordinal AS ordinal, count(*) AS n FROM kernel k JOIN stream s ON s.id = k.stream_id "
                         "JOIN device d ON d.id = s.device_id GROUP BY d.ordinal ORDER BY d.ordinal")
        second = did["second_device_kernels"]
        self.assertEqual([row["n"] for row in rows], [did["kernels"] - second, second])
        row = self.rows("SELECT count(*) AS n, sum(bytes) AS bytes FROM copy WHERE kind = 'peer_to_peer'")[0]
        self.assertEqual((row["n"], row["bytes"]), (did["peer_copies"], did["peer_copy_bytes"]))

    def test_a_context_that_is_reset(self):
        did = self.profile("reset")
        self.assert_all_is_there(did)
        self.assertEqual(self.one("SELECT count(DISTINCT context_id) FROM stream WHERE id IN "
                                  "(SELECT stream_id FROM kernel)"), did["contexts"])

    def test_a_program_that_finalizes_cupti(self):
        did = self.profile("finalize")
        # What was recorded until then is there, or counted: CUPTI writes records a while after the work.
        self.assert_launches_are_accounted_for(did["synchronized_kernels"])

    def test_many_threads(self):
        self.assert_all_is_there(self.profile("many_threads", "300", options=("-b", "64K")))

    def test_unified_memory(self):
        did = self.profile("managed", options=("--unified-memory",))
        row = self.rows("SELECT count(*) AS n, sum(bytes) AS bytes FROM copy WHERE kind = 'migrate'")[0]
        self.assertEqual((row["n"], row["bytes"]), (did["migrated_htod"] + did["migrated_dtoh"],
                                                    did["migrated_htod_bytes"] + did["migrated_dtoh_bytes"]))
        for name, count in (("GPU page faults", "gpu_faults"), ("CPU page fault", "cpu_faults")):
            self.assertEqual(self.one(f"SELECT count(*) FROM range WHERE name = '{name}'"), did[count], name)
        self.assert_nothing_is_lost()

    def test_unified_memory_that_can_not_be_watched(self):
        did = self.profile("launches", "10", options=("--unified-memory",), STANDIN_SCRIPT="no_unified_memory=1")
        self.assertIn("CUPTI does not deliver unified memory", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"])

    def test_memory(self):
        did = self.profile("memory", "20")
        for kind, count in (("alloc", "allocations"), ("free", "frees")):
            self.assertEqual(self.one(f"SELECT count(*) FROM memory_event WHERE kind = '{kind}'"), did[count], kind)
        self.assertEqual(self.one("SELECT sum(bytes) FROM memory_event WHERE kind = 'alloc'"), did["allocated_bytes"])

    def attributes(self, key, category):
        return [row["value"] for row in self.rows(
            "SELECT a.value AS value FROM attribute a JOIN range r ON r.rowid = a.row_number "
            f"WHERE a.table_name = 'range' AND a.key = '{key}' AND r.category = '{category}'")]

    def test_modules(self):
        did = self.profile("modules", "10", options=("--stacks=native",))
        events = {row["name"]: row["n"] for row in self.rows(
            "SELECT name, count(*) AS n FROM range WHERE category = 'CUDA modules' GROUP BY name")}
        self.assertEqual(events, {"module load": did["modules"], "module unload": did["module_unloads"]})
        # Each has the call that did it, within which it was, and that call's place in the program.
        self.assertEqual(self.one(
            "SELECT count(*) FROM range r JOIN host_call h ON h.process_id = r.process_id AND h.correlation_id = "
            "r.correlation_id AND h.thread_id = r.thread_id WHERE r.category = 'CUDA modules' AND h.kind = 'build' "
            "AND r.start_ns >= h.start_ns AND r.start_ns <= h.start_ns + h.duration_ns AND r.call_path_id = "
            "h.call_path_id AND (h.name LIKE '%Unload') = (r.name = 'module unload')"),
            did["modules"] + did["module_unloads"])
        bytes_of = [int(value) for value in self.attributes("bytes", "CUDA modules")]
        self.assertEqual(sum(bytes_of), did["module_bytes"] + did["module_unloads"] * len("an image"))
        self.assertEqual(len(set(self.attributes("module", "CUDA modules"))), did["modules"])
        self.assertEqual(set(self.attributes("context", "CUDA modules")), {"1"})
        self.assert_nothing_is_lost()

    def test_what_is_loaded_when_it_is_first_used(self):
        self.profile("modules", "10", STANDIN_SCRIPT="lazy_loading=1")
        row = self.rows("SELECT count(*) AS n, min(duration_ns) AS shortest FROM range WHERE category = "
                        "'CUDA driver overhead' AND name = 'lazy function loading'")[0]
        if GENERATION == "11":  # has none
            self.assertEqual(row["n"], 0)
        else:
            self.assertEqual(row["n"], 10)
            self.assertGreaterEqual(row["shortest"], 100000)
            # In the first launch of each, not in the second.
            self.assertEqual(self.one("SELECT count(DISTINCT r.correlation_id) FROM range r JOIN kernel k ON "
                                      "k.process_id = r.process_id AND k.correlation_id = r.correlation_id WHERE "
                                      "r.name = 'lazy function loading' AND k.grid_x = 1"), 10)
        self.assertGreaterEqual(self.one("SELECT count(*) FROM range WHERE category = 'CUPTI overhead' AND "
                                         "name = 'resources'"), 1)

    def test_memory_pools(self):
        did = self.profile("memory", "20")
        events = {row["name"]: row["n"] for row in self.rows(
            "SELECT name, count(*) AS n FROM range WHERE category = 'memory pools' GROUP BY name")}
        # And the default one, which the first asynchronous allocation makes.
        self.assertEqual(events, {"pool created": did["pools"] + 1, "pool trimmed": did["pool_trims"],
                                  "pool destroyed": did["pools"]})
        self.assertEqual(self.one("SELECT count(*) FROM memory_event WHERE kind = 'alloc' AND name LIKE '% of the pool %'"),
                         did["async_allocations"])
        # Each has its call, and what it held is counted: 4096 bytes more each time, freed before the next.
        self.assertEqual(self.one("SELECT count(*) FROM range r JOIN host_call h ON h.process_id = r.process_id AND "
                                  "h.correlation_id = r.correlation_id WHERE r.category = 'memory pools'"),
                         2 * did["pools"] + did["pool_trims"] + 1)
        tracks = self.rows("SELECT t.name AS name, max(c.value) AS most, min(c.value) AS least FROM counter c "
                           "JOIN counter_track t ON t.id = c.track_id WHERE t.name LIKE '%used' GROUP BY t.name")
        self.assertEqual([(row["most"], row["least"]) for row in tracks], [(4096.0 * 20, 0.0)] * 2)
        self.assertEqual(self.one("SELECT count(*) FROM counter_track WHERE name LIKE 'pool 0x% reserved' AND "
                                  "unit = 'bytes' AND device_id IS NOT NULL"), 2)

    def test_kernels_of_a_captured_graph_have_the_stack_of_their_capture(self):
        did = self.profile("capture", "20", options=("--stacks=native",))
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] + did["graph_kernels"])
        # A captured launch has no kernel record, and is not counted as lost.
        self.assert_nothing_is_lost()
        # capture() may have become a part of its caller.
        stacks = self.run_command("view", "t.sbt", "--stacks", "-t", "kernel", "-n", "2").stdout.decode()
        self.assertRegex(stacks, "capture|memoryMode")
        self.assertEqual(self.one(
            "SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND "
            "h.correlation_id = k.correlation_id AND h.call_path_id = k.call_path_id AND h.name LIKE '%GraphLaunch%'"), 0)

    def test_no_room_for_more_than_the_rings(self):
        # What a process may write to a file ends above the arena, and below CUPTI's buffers.
        did = self.profile("launches", "100", options=("-b", "64K"), limit_file_bytes=2 << 20)
        self.assert_all_is_there(did)

    def test_every_launch_has_its_stack(self):
        self.profile("launches", "100", options=("--stacks=native",))
        row = self.rows("SELECT count(*) AS n, count(call_path_id) AS known FROM kernel")[0]
        self.assertEqual((row["n"], row["known"]), (100, 100))
        shown = self.run_command("view", "t.sbt", "--stacks", "-t", "kernel", "-n", "1").stdout
        self.assertIn(b"main", shown)
        # The innermost frame is the program's, not the driver's.
        self.assertNotIn(b"libcu", shown)

    def test_what_has_no_times_is_counted(self):
        did = self.profile("launches", "100", STANDIN_SCRIPT="zero_times=10")
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] - 10)
        self.assertIn("have no times", self.loss("CUDA activity"))

    def test_what_cupti_drops_is_counted(self):
        did = self.profile("launches", "100", STANDIN_SCRIPT="drop_every=10")
        kernels = self.one("SELECT count(*) FROM kernel")
        self.assertLess(kernels, did["kernels"])
        # Kernels that were not seen to end are among what CUPTI dropped, not more than that.
        dropped, word = self.loss("CUDA activity").split()[:2]
        self.assertEqual(word, "were")
        self.assertGreaterEqual(int(dropped), did["kernels"] - kernels)
        self.assertEqual(self.one("SELECT dropped FROM loss WHERE source = 'CUDA activity'"), int(dropped))

    def test_correlation_ids_may_wrap(self):
        did = self.profile("launches", "300", "2", STANDIN_SCRIPT="correlation_start=4294967200")
        self.assert_all_is_there(did)
        self.assertEqual(self.one("SELECT count(DISTINCT correlation_id) FROM kernel"),
                         did["kernels"])

    def test_records_that_come_late(self):
        self.assert_all_is_there(self.profile("launches", "200", STANDIN_SCRIPT="late_ms=100"))
        did = self.profile("launches", "200", STANDIN_SCRIPT="late_ms=2000")
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)
        self.assertEqual(self.one("SELECT dropped FROM loss WHERE source = 'CUDA activity'"),
                         did["kernels"] + did["htod"] + did["dtoh"] + did["dtod"] + did["fills"])

    def test_times_of_queueing_are_recorded_where_they_are_wanted(self):
        self.assert_all_is_there(self.profile("launches", "100"))
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE queued_before_ns <> 0"), 0)
        self.assert_all_is_there(self.profile("launches", "100", options=("--cuda-latency",)))
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE queued_before_ns > submitted_before_ns"), 100)

    def test_graphs_as_wholes(self):
        did = self.profile("graph", "50", options=("--cuda-graphs", "graph"))
        graphs = self.rows("SELECT name, count(*) AS n, min(duration_ns) AS shortest, count(DISTINCT correlation_id) "
                           "AS launches, count(stream_id) AS streams FROM kernel WHERE name LIKE 'CUDA graph %' "
                           "GROUP BY name")
        self.assertEqual([(row["n"], row["launches"], row["streams"]) for row in graphs], [(50, 50, 50)])
        self.assertGreater(graphs[0]["shortest"], 0)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] + did["graph_launches"])
        self.assertEqual(self.one("SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND "
                                  "h.correlation_id = k.correlation_id AND h.name LIKE '%GraphLaunch%' AND "
                                  "h.thread_id = k.thread_id"), 50)
        self.assert_nothing_is_lost()

    @unittest.skipIf(GENERATION == "11", "CUDA 11 hands nothing over")
    def test_what_cupti_hands_over_is_freed(self):
        report = self.path("handed-over")
        self.profile("modules", "10", STANDIN_SCRIPT="lazy_loading=1", WATCH_REPORT=report,
                     LD_PRELOAD=os.path.join(STANDINS, "libcall-watch.so"))
        handed_over = 0
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                handed_over, freed = map(int, file.read().split())
            self.assertEqual(freed, handed_over)
        # Who selects fields is handed nothing.
        self.assertEqual(handed_over == 0, SHARES)

    def clock(self):
        info = self.run_command("info", "t.sbt", "--json")
        self.assertEqual(info.returncode, 0, info.stderr)
        return [clock for clock in json.loads(info.stdout)["clocks"] if clock["used_by_device"]]

    def test_the_clock_of_device_times(self):
        for choice in ("ns", "ticks"):
            with self.subTest(clock=choice):
                self.assert_all_is_there(self.profile("launches", "300", TRACESMITH_CUDA_CLOCK=choice))
                clock, = self.clock()
                # CUPTI's clock was compared with the host's, when it began and when it ended at least.
                self.assertEqual((clock["name"], clock["kind"], clock["error_ns"]), ("CUPTI", "converted", None))
                self.assertGreaterEqual(clock["snapshots"], 2)
                self.assertLess(clock["error_to_host_ns"], 1_000_000)
                info = self.run_command("info", "t.sbt").stdout.decode()
                self.assertRegex(info, r"CUPTI +\d+ +not known \(.+ to the host\) +device times")

    def test_a_kind_that_is_not_permitted(self):
        did = self.profile("launches", "100", STANDIN_SCRIPT="deny_kind=10")
        self.assertIn("CUPTI does not deliver kernels", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)
        self.assertEqual(self.assert_launches_are_accounted_for(did["kernels"]), 0)
        self.assertEqual(self.one("SELECT count(*) FROM copy"), did["htod"] + did["dtoh"] + did["dtod"])

    def runtime(self, *arguments, **named):
        return self.profile(*arguments, path=RUNTIME_PROGRAM, **named)

    def assert_runtime_calls(self, did):
        """The driver's calls within the runtime's are not told apart."""
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch' AND name LIKE 'cuda%'"),
                         did["kernels"] + did["graph_launches"] + did["captured_launches"] + did["failed_launches"]
                         - did["driver_launches"])
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch' AND name LIKE 'cuLaunch%'"),
                         did["driver_launches"])
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"] + did["graph_kernels"])
        self.assertEqual(self.one(
            "SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND "
            "h.correlation_id = k.correlation_id AND h.kind = 'launch' AND h.thread_id = k.thread_id"),
            did["kernels"] + did["graph_kernels"])
        self.assert_nothing_is_lost()

    def test_calls_of_the_runtime(self):
        self.assert_runtime_calls(self.runtime("launches", "200", "3"))
        self.assertEqual(self.rows("SELECT DISTINCT name FROM kernel"), [{"name": "_Z9vectorAddPKfS0_Pfi"}])

    def test_threads_of_the_runtime(self):
        self.assert_runtime_calls(self.runtime("threads", "6", "100"))

    def test_calls_of_the_runtime_and_the_driver_in_turn(self):
        self.assert_runtime_calls(self.runtime("mixed", "50"))

    def test_a_call_of_the_runtime_that_is_left_by_longjmp(self):
        self.assert_runtime_calls(self.runtime("longjmp"))

    def test_a_graph_captured_by_the_runtime(self):
        self.assert_runtime_calls(self.runtime("capture", "20"))

    def test_a_reset_by_the_runtime(self):
        self.assert_runtime_calls(self.runtime("reset"))

    def test_small_rings_make_the_program_wait(self):
        self.assert_all_is_there(self.profile("threads", "4", "2000", options=("-b", "64K")))

    @unittest.skipUnless(SHARES, "of CUDA 13.4 and later")
    def test_a_kind_that_is_denied_is_named(self):
        did = self.profile("launches", "100", STANDIN_SCRIPT="deny_kind=1")
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), did["kernels"])
        self.assertEqual(self.one("SELECT count(*) FROM copy"), 0)
        self.assertIn("CUPTI does not deliver copies", self.said)


if __name__ == "__main__":
    unittest.main()
