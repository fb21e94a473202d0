# SPDX-License-Identifier: Apache-2.0
"""Runs script/gpu-check with stand-ins for libcuda, libcupti and the samples, for the tests of it.
TRACESMITH_STANDINS is the folder of the stand-ins, TRACESMITH_CONSUMER the comparison consumer."""
import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(SOURCE, "bench", "results")
SCRIPT = os.path.join(SOURCE, "script", "gpu-check")
STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
TRACESMITH = os.path.join(os.environ.get("TRACESMITH_BIN", ""), "tracesmith")
CONSUMER = os.environ.get("TRACESMITH_CONSUMER", "")
WRAPPED = os.path.join(STANDINS, "libwrapped-cupti.so")
SAMPLES = sorted(name[:-3] for name in os.listdir(os.path.join(SOURCE, "examples", "cuda"))
                 if name.endswith(".cu"))
PYTHON_STANDINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin", "python")


def driver_has(function):
    """Whether the stand-in for libcuda has a function."""
    path = os.path.join(STANDINS, "libcuda.so.1")
    return os.path.exists(path) and hasattr(ctypes.CDLL(path), function)


def profile_has(option):
    said = subprocess.run([TRACESMITH, "profile", "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return option in said


class GpuCheckTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tracesmith-gpu-check-test-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.samples = os.path.join(self.dir, "samples")
        os.mkdir(self.samples)
        for name in SAMPLES:
            os.symlink(os.path.join(STANDINS, "standin_samples"), os.path.join(self.samples, name))
        self.output = os.path.join(self.dir, "results")

    def path(self, name):
        return os.path.join(self.dir, name)

    def standins(self, *names):
        """A folder with some of the stand-ins alone."""
        folder = tempfile.mkdtemp(dir=self.dir)
        for name in names:
            shutil.copy(os.path.join(STANDINS, name), folder)
        return folder

    def command(self, *more, output=None, standins=STANDINS):
        return [SCRIPT, "--tracesmith", TRACESMITH, "--samples", self.samples, "--consumer", CONSUMER,
                "--stand-in", standins, "--output", output or self.output, "--light", *more]

    def run_check(self, *more, output=None, standins=STANDINS, **variables):
        return subprocess.run(self.command(*more, output=output, standins=standins), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, timeout=500,
                              env=dict(os.environ, TMPDIR=self.dir, **variables))

    def found(self):
        files = glob.glob(os.path.join(self.output, "*.json"))
        self.assertEqual(len(files), 1, files)
        with open(files[0], encoding="utf-8") as file:
            return json.load(file), files[0]

    @staticmethod
    def verdict(result):
        """The last line."""
        return result.stderr.decode().strip().splitlines()[-1]

    @staticmethod
    def failing(data):
        return [f"{step['name']}: {check['what']}" for step in data["steps"] for check in step["checks"]
                if check["verdict"] == "fail"]


def main():
    if not STANDINS or not os.path.exists(os.path.join(STANDINS, "standin_samples")):
        print("skipped: there are no stand-ins (script/cuda-headers)")
        sys.exit(77)
    unittest.main()
