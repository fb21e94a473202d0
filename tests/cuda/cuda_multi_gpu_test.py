# SPDX-License-Identifier: Apache-2.0
"""Copies between two devices: in MultiGPUProfiler, in traces and in `analyze`. With stand-ins for the driver, CUPTI
and the management library. TRACESMITH_STANDINS is the folder of one generation's stand-ins."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import BIN, PROGRAM as TRACESMITH  # pylint: disable=wrong-import-position
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
WITH_NVML = os.pathsep.join([STANDINS, os.path.join(STANDINS, "nvml")])
AGENTS = os.path.join(os.path.dirname(BIN.rstrip("/")), "lib", "tracesmith")
MIB = 1 << 20


class MultiGpu(CommandTest):
    def capture(self, libraries):
        env = environment(LD_LIBRARY_PATH=libraries, TRACESMITH_AGENT_DIR=AGENTS, TMPDIR=self.dir,
                          STANDIN_SCRIPT="devices=2")
        result = subprocess.run([os.path.join(STANDINS, "cuda_multi_gpu")], cwd=self.dir, env=env, timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_each_gpu_has_its_events_and_copies_are_by_their_link(self):
        did = self.capture(WITH_NVML)
        self.assertEqual(did["kernels"], [3, 5])
        self.assertEqual(sum(did["per_gpu"]), did["taken"])
        self.assertEqual((did["captured"], did["dropped"]), (did["taken"], 0))
        self.assertEqual(did["topology"], [1, 0])  # the management library has another order
        self.assertEqual(did["listed"], [[0, 1, MIB, 0]] * 3 + [[1, 0, MIB // 2, 0]])
        self.assertEqual((did["transfers"], did["transfer_bytes"], did["transfers_called"]), (4, MIB * 7 // 2, 4))
        self.assertEqual(did["accesses"], [[0, 1, MIB, True]] * 3 + [[0, 1, MIB // 2, False]])

    def test_without_the_management_library_no_copy_is_said_to_go_over_links(self):
        did = self.capture(STANDINS)
        self.assertEqual((did["transfers"], did["listed"], did["topology"]), (0, [], [-1, -1]))
        self.assertEqual(len(did["accesses"]), 4)

    def profile(self, libraries):
        env = environment(LD_LIBRARY_PATH=libraries, STANDIN_SCRIPT="devices=2")
        result = self.run_command("profile", "-q", "--force", "-o", "t.sbt", "--",
                                  os.path.join(STANDINS, "standin_program"), "two_devices", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        did = json.loads(result.stdout)
        result = self.run_command("analyze", "t.sbt", "--memcpy", "--json", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        (row,) = json.loads(result.stdout)["peer-copies"]
        self.assertEqual((row["count"], row["bytes"]), (did["peer_copies"], did["peer_copy_bytes"]))
        self.assertAlmostEqual(row["bytes_per_s"], row["bytes"] * 1e9 / row["total_ns"])
        return row

    def test_analyze_has_copies_by_their_devices_and_their_connection(self):
        row = self.profile(WITH_NVML)
        self.assertEqual(row["connection"], "NV4")
        self.assertAlmostEqual(row["of_nominal"], row["bytes_per_s"] / 100e9)  # 4 links of 25 GB/s
        row = self.profile(STANDINS)
        self.assertEqual((row["connection"], row["of_nominal"]), ("?", None))
        self.assertTrue(row["source"].startswith("device 0"), row)
        self.assertTrue(row["destination"].startswith("device 1"), row)


if __name__ == "__main__":
    if not os.access(TRACESMITH, os.X_OK) or not os.path.isdir(STANDINS):
        raise SystemExit("set TRACESMITH_BIN and TRACESMITH_STANDINS to folders of built programs")
    unittest.main(verbosity=2)
