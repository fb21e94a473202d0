# SPDX-License-Identifier: Apache-2.0
"""Programs that manage device memory by CUDA's virtual memory API, as PyTorch's expandable segments do:
what the trace says of their memory is the program's own account. TRACESMITH_STANDINS is the folder of one
generation's stand-ins."""
import unittest

from cuda_harness import GENERATION, CudaTest

MIB = 1 << 20


class VirtualMemory(CudaTest):
    def totals(self, where="device_id IS NOT NULL"):
        """Peak and end of the sum of allocations less frees, over time."""
        rows = self.rows(f"SELECT kind, bytes FROM memory_event WHERE {where} ORDER BY time_ns, kind DESC")
        now = peak = 0
        for row in rows:
            now += row["bytes"] if row["kind"] == "alloc" else -row["bytes"]
            self.assertGreaterEqual(now, 0)
            peak = max(peak, now)
        return peak, now

    def assert_totals(self, did, where="device_id IS NOT NULL"):
        self.assertEqual(self.totals(where), (did["virtual_peak_bytes"], did["virtual_left_bytes"]))
        for kind, name in (("alloc", "virtual_allocations"), ("free", "virtual_frees")):
            self.assertEqual(self.one(f"SELECT count(*) FROM memory_event WHERE kind = '{kind}' AND {where}"),
                             did[name])
        # Rows of memory come before all that CUPTI delivers, and yet have the device that it describes.
        self.assertEqual({row["name"] for row in self.rows("SELECT name FROM device WHERE backend = 'CUDA'")},
                         {"Stand-in GPU"})
        self.assertEqual(self.rows("SELECT DISTINCT name FROM memory_event WHERE device_id IS NOT NULL"),
                         [{"name": "device memory, virtual"}])
        # Each event has the call that did it, of the same thread, at a time in it. The two may have been converted
        # from the agent's clock in two passes, which differ by a little.
        self.assertEqual(self.one(
            "SELECT count(*) FROM memory_event m JOIN host_call h ON h.process_id = m.process_id AND "
            "h.correlation_id = m.correlation_id AND h.thread_id = m.thread_id AND h.kind = 'memory' AND "
            "m.time_ns BETWEEN h.start_ns - 1000 AND h.start_ns + h.duration_ns + 1000 "
            "AND h.name IN ('cuMemCreate', 'cuMemRelease', 'cuMemUnmap')"),
            self.one("SELECT count(*) FROM memory_event"))
        # A reader pairs a free with the last allocation of its address.
        live = {}
        for row in self.rows("SELECT kind, address, bytes, device_id FROM memory_event ORDER BY time_ns, kind DESC"):
            if row["kind"] == "alloc":
                self.assertNotIn(row["address"], live)
                live[row["address"]] = (row["bytes"], row["device_id"])
            else:
                self.assertEqual(live.pop(row["address"], None), (row["bytes"], row["device_id"]))
        for name, count in (("memory map", "maps"), ("memory unmap", "unmaps")):
            self.assertEqual(self.one("SELECT count(*) FROM range WHERE category = 'virtual memory' AND "
                                      f"kind = 'instant' AND name = '{name}'"), did[count])
        self.assert_nothing_is_lost()

    def assert_nothing_is_lost(self):
        # What the kernel tells of processes is not ours.
        self.assertEqual(self.rows("SELECT source, dropped, reason FROM loss WHERE source <> 'process events' AND "
                                   "(dropped > 0 OR source = 'CUDA activity')"), [])

    def test_a_segment_that_grows_and_shrinks(self):
        did = self.profile("expandable", "20")
        self.assertGreater(did["virtual_peak_bytes"], 60 * MIB)
        self.assertGreater(did["virtual_left_bytes"], 0)
        self.assert_totals(did)
        # Allocations are named by the addresses that the program works with.
        self.assertEqual(self.one("SELECT count(*) FROM memory_event WHERE printf('0x%x', address) NOT IN "
                                  "(SELECT value FROM attribute WHERE key = 'address')"), 0)
        for name, count in (("cuMemMap", "maps"), ("cuMemUnmap", "unmaps"), ("cuMemSetAccess", "maps"),
                            ("cuMemAddressReserve", "reserves")):
            self.assertEqual(self.one(f"SELECT count(*) FROM host_call WHERE name = '{name}' AND kind = 'memory'"),
                             did[count])

    def test_mappings_have_their_attributes(self):
        self.profile("retained")
        maps = self.rows(
            "SELECT r.name, r.correlation_id, max(CASE key WHEN 'address' THEN value END) AS address, "
            "max(CASE key WHEN 'bytes' THEN value END) AS bytes, max(CASE key WHEN 'offset' THEN value END) AS at, "
            "max(CASE key WHEN 'handle' THEN value END) AS handle FROM range r JOIN attribute a "
            "ON a.row_number = r.rowid AND a.table_name = 'range' WHERE r.category = 'virtual memory' GROUP BY r.rowid "
            "ORDER BY r.start_ns")
        first = [row for row in maps if row["name"] == "memory map"][0]
        self.assertEqual((first["bytes"], first["at"]), (str(20 * MIB), "0"))
        self.assertTrue(first["address"].startswith("0x") and first["handle"].startswith("0x"), first)
        gone = [row for row in maps if row["name"] == "memory unmap"][0]
        self.assertEqual((gone["address"], gone["bytes"]), (first["address"], first["bytes"]))

    def test_handles_that_are_released_while_their_memory_is_mapped(self):
        did = self.profile("early_release", "30")
        self.assert_totals(did)
        # One call unmaps two chunks, and frees both.
        self.assertEqual(self.one("SELECT count(*) FROM memory_event m JOIN host_call h "
                                  "ON h.correlation_id = m.correlation_id WHERE h.name = 'cuMemUnmap' "
                                  "AND m.kind = 'free'"), 120)

    def test_retained_and_imported_handles_and_memory_of_the_host(self):
        did = self.profile("retained")
        self.assert_totals(did)
        self.assertEqual(self.one("SELECT coalesce(sum(bytes), 0) FROM memory_event WHERE kind = 'alloc' AND "
                                  "name = 'host memory, virtual' AND device_id IS NULL"), did["host_virtual_bytes"])
        self.assertEqual(did["host_virtual_bytes"], 0 if GENERATION == "11" else 20 * MIB)

    def test_threads_that_free_what_others_made(self):
        self.assert_totals(self.profile("virtual_threads", "8", "100"))

    def test_two_devices(self):
        did = self.profile("virtual_devices", STANDIN_SCRIPT="devices=2")
        self.assert_totals(did)
        self.assertEqual(self.rows("SELECT d.ordinal, sum(m.bytes) AS bytes FROM memory_event m "
                                   "JOIN device d ON d.id = m.device_id GROUP BY d.ordinal ORDER BY d.ordinal"),
                         [{"ordinal": 0, "bytes": 20 * MIB},
                          {"ordinal": 1, "bytes": did["second_device_bytes"]}])

    def test_memory_of_which_cupti_tells_as_well_is_counted_once(self):
        self.assert_totals(self.profile("expandable", "20", STANDIN_SCRIPT="virtual_records=1"))
        self.assert_totals(self.profile("virtual_threads", "4", "50", STANDIN_SCRIPT="virtual_records=1"))

    def test_each_event_has_its_stack(self):
        did = self.profile("expandable", "3", options=("--stacks=native",))
        self.assert_totals(did)
        self.assertEqual(self.one("SELECT count(*) FROM memory_event WHERE call_path_id IS NULL"), 0)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE category = 'virtual memory' AND "
                                  "call_path_id IS NULL"), 0)

    def test_recover_knows_what_is_alive(self):
        """The collector is killed while chunks are mapped, and the program goes on."""
        self.assert_totals(self.recovered_from_a_killed_collector(
            "SELECT count(*) > 0 FROM memory_event WHERE kind = 'alloc'", 1, "expandable", "4", "1500"))

    def test_streams_that_write_and_wait_for_values(self):
        did = self.profile("values")
        version = "" if GENERATION == "11" else "_v2"
        self.assertEqual([row["name"] for row in self.rows(
            "SELECT name FROM host_call WHERE kind = 'sync' AND name LIKE 'cuStream%Value%' "
            "OR name LIKE 'cuStreamBatch%' ORDER BY start_ns")],
            [name + version for name in ("cuStreamWriteValue32", "cuStreamWaitValue32", "cuStreamWriteValue64",
                                         "cuStreamWaitValue64", "cuStreamBatchMemOp")])
        self.assertEqual(did["value_operations"], 5)
        self.assertEqual(self.one("SELECT count(*) FROM sync"), 0)
        self.assert_nothing_is_lost()


if __name__ == "__main__":
    unittest.main()
