# SPDX-License-Identifier: Apache-2.0
"""record -p cuda and devices, with stand-ins for the driver and CUPTI. TRACESMITH_STANDINS is the
folder of one generation's stand-ins."""
import ctypes.util
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
PROGRAM = os.path.join(STANDINS, "standin_program")
GENERATION = int(os.path.basename(STANDINS.rstrip("/")) or 0)
CUDA = {11: "11.8", 12: "12.4", 13: "13.5"}[GENERATION]


class CudaRecord(CommandTest):
    def record(self, *arguments, program=(PROGRAM, "launches", "50"), code=0, **variables):
        result = self.run_command("record", "-o", "t.sbt", *arguments, *(("--", *program) if program else ()),
                                  env=environment(LD_LIBRARY_PATH=STANDINS, **variables))
        self.said = result.stderr.decode()
        self.assertEqual(result.returncode, code, self.said)
        return json.loads(result.stdout) if result.stdout.startswith(b"{") else {}

    def one(self, sql):
        result = self.run_command("query", "t.sbt", sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return list(json.loads(result.stdout)[0].values())[0]

    def rows(self, table):
        return self.one(f"SELECT count(*) FROM {table}")

    def test_everything_is_kept_unless_something_is_asked_for(self):
        did = self.record("-p", "cuda")
        copies = did["htod"] + did["dtoh"] + did["dtod"]
        self.assertEqual((self.rows("kernel"), self.rows("copy"), self.rows("fill")),
                         (did["kernels"], copies, did["fills"]))
        self.assertEqual(self.one("SELECT count(call_path_id) FROM kernel"), 0)
        self.record("-p", "cuda", "-k", "-m")
        self.assertEqual((self.rows("kernel"), self.rows("copy")), (did["kernels"], copies))
        self.assertEqual(self.run_command("verify", "t.sbt").returncode, 0)

    def test_kernels_or_memory_alone(self):
        did = self.record("-p", "cuda", "-k")
        self.assertEqual((self.rows("kernel"), self.rows("copy"), self.rows("fill")), (did["kernels"], 0, 0))
        did = self.record("-p", "cuda", "-m")
        copies = did["htod"] + did["dtoh"] + did["dtod"]
        self.assertEqual((self.rows("kernel"), self.rows("copy"), self.rows("fill")),
                         (0, copies, did["fills"]))

    def test_stacks(self):
        did = self.record("-p", "cuda", "-k", "-s")
        self.assertEqual(self.one("SELECT count(call_path_id) FROM kernel"), did["kernels"])
        shown = self.run_command("view", "t.sbt", "--stacks", "-t", "kernel", "-n", "1").stdout
        self.assertIn(b"main", shown)

    def test_the_time_ends_the_program_and_the_exit_code_is_0(self):
        begin = time.monotonic()
        self.record("-p", "cuda", "-d", "0.5", program=("sh", "-c", f"{PROGRAM} launches 50; exec sleep 30"))
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(self.rows("kernel"), 50)
        self.record("-p", "cuda", "-d", "30", program=("sh", "-c", "exit 5"), code=5)

    def test_the_platform_decides_which_agents_enter(self):
        script = ('case "$CUDA_INJECTION64_PATH" in *tracesmith-cuda*) echo cuda;; esac;'
                  'case "$OPENCL_LAYERS:$LD_PRELOAD" in *tracesmith-opencl*) echo opencl;; esac')
        for platform, agents in (("cuda", b"cuda\n"), ("opencl", b"opencl\n"), ("auto", b"cuda\nopencl\n")):
            result = self.run_command("record", "-q", "-o", "t.sbt", "-p", platform, "--", "sh", "-c", script,
                                      env=environment(LD_LIBRARY_PATH=STANDINS))
            self.assertEqual(result.stdout, agents, platform)
        self.record("-p", "opencl")
        self.assertEqual(self.rows("kernel"), 0)
        self.record("-p", "auto")
        self.assertEqual(self.rows("kernel"), 50)

    def test_without_a_program_it_asks_for_one(self):
        said = []
        for platform in ("opencl", "cuda"):
            self.record("-p", platform, "-d", "1", program=(), code=2)
            said.append(self.said)
        self.assertEqual(said[0], said[1])
        self.assertIn("nothing to record", said[0])
        self.assertEqual(self.files(), [])

    def test_a_driver_that_is_missing_or_too_old_is_said_and_nothing_starts(self):
        touch = ("touch", self.path("started"))
        if ctypes.util.find_library("cuda") is None:
            result = self.run_command("record", "-p", "cuda", "--", *touch)
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"CUDA cannot be recorded: libcuda.so.1 is not installed; looked in", result.stderr)
            self.assertIn(b"/etc/ld.so.cache", result.stderr)
        self.driver("int cuInit(unsigned f) { return 0; }"
                    "int cuDriverGetVersion(int* v) { *v = 11040; return 0; }"
                    "int cuDeviceGetCount(int* n) { *n = 0; return 0; }"
                    "int cuDeviceGet(int* d, int i) { return 101; }")
        result = self.run_command("record", "-p", "cuda", "--", *touch, env=environment(LD_LIBRARY_PATH=self.dir))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"libcuda.so.1 is too old: it knows CUDA 11.4, and 11.6 or newer is needed", result.stderr)
        self.assertNotIn("started", self.files())

    def test_a_driver_without_devices_is_warned_of(self):
        self.driver("int cuInit(unsigned f) { return 100; }"
                    "int cuDriverGetVersion(int* v) { *v = 12040; return 0; }"
                    "int cuDeviceGetCount(int* n) { return 3; }"
                    "int cuDeviceGet(int* d, int i) { return 3; }")
        result = self.run_command("record", "-p", "cuda", "--", "true", env=environment(LD_LIBRARY_PATH=self.dir))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"CUDA: cuInit failed with 100", result.stderr)

    def driver(self, source):
        with open(self.path("driver.c"), "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path("libcuda.so.1"), self.path("driver.c")],
                       check=True)

    def test_devices(self):
        env = environment(LD_LIBRARY_PATH=STANDINS)
        text = self.run_command("devices", env=env).stdout.decode()
        self.assertRegex(text, r"CUDA +1 device, .*libcuda.so.*; can be recorded\n"
                               r"  0  Stand-in GPU, GPU, 80.0 GiB, 132 compute units, compute capability 9.0\n"
                               r"     CUDA, CUDA " + CUDA)
        reports = json.loads(self.run_command("devices", "--json", env=env).stdout)
        report = [r for r in reports if r["backend"] == "CUDA"][0]
        self.assertTrue(report["can_be_recorded"])
        self.assertEqual(report["can_not_be_recorded_because"], "")
        major, minor = CUDA.split(".")
        self.assertEqual(report["driver_version"], int(major) * 1000 + int(minor) * 10)
        device = report["devices"][0]
        self.assertEqual((device["compute_major"], device["compute_minor"], device["warp_size"]), (9, 0, 32))
        self.assertEqual(device["memory_bytes"], 80 << 30)
        self.assertRegex(device["pci_address"], "0000:17:00.0")


if __name__ == "__main__":
    unittest.main()
