# SPDX-License-Identifier: Apache-2.0
"""script/gpu-check, whole, with stand-ins for libcuda, libcupti and the samples: every step runs or says
why not, what is found is whole whenever it is stopped, and no result of a stand-in passes for one of a
GPU. TRACESMITH_STANDINS is the folder of the stand-ins, TRACESMITH_CONSUMER the empty consumer."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(SOURCE, "bench", "results")
STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
TRACESMITH = os.path.join(os.environ.get("TRACESMITH_BIN", ""), "tracesmith")
CONSUMER = os.environ.get("TRACESMITH_CONSUMER", "")
SAMPLES = sorted(name[:-3] for name in os.listdir(os.path.join(SOURCE, "examples", "cuda"))
                 if name.endswith(".cu"))
PYTHON_STANDINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin_python")
STATUS = {"ran", "absent", "failed", "out of time", "stopped", "running"}

# What the numbers of a stand-in say nothing about: speeds, and what depends on them.
ABOUT_SPEED = ("a second", "overhead", "beside the empty consumer", "busy ratio")


class GpuCheck(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tracesmith-gpu-check-test-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.samples = os.path.join(self.dir, "samples")
        os.mkdir(self.samples)
        for name in SAMPLES:
            os.symlink(os.path.join(STANDINS, "standin_samples"), os.path.join(self.samples, name))
        self.output = os.path.join(self.dir, "results")

    def command(self, *more, output=None):
        return [os.path.join(SOURCE, "script", "gpu-check"), "--tracesmith", TRACESMITH, "--samples",
                self.samples, "--consumer", CONSUMER, "--stand-in", STANDINS, "--output",
                output or self.output, "--light", *more]

    def start(self, *more):
        return subprocess.Popen(self.command(*more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=dict(os.environ, TMPDIR=self.dir), start_new_session=True)

    def run_check(self, *more, output=None, **variables):
        return subprocess.run(self.command(*more, output=output), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, timeout=500,
                              env=dict(os.environ, TMPDIR=self.dir, **variables))

    def found(self):
        files = glob.glob(os.path.join(self.output, "*.json"))
        self.assertEqual(len(files), 1, files)
        with open(files[0], encoding="utf-8") as file:
            return json.load(file), files[0]

    def test_every_step_runs_or_says_why_not(self):
        before = sorted(os.listdir(RESULTS))
        result = self.run_check(PYTHONPATH=PYTHON_STANDINS)
        self.assertIn(result.returncode, (0, 1), result.stderr.decode())
        data, path = self.found()
        self.assertTrue(data["complete"])
        self.assertTrue(data["stand_in"])
        self.assertIn("not a GPU", data["label"])
        self.assertTrue(os.path.basename(path).startswith("stand-in-"))
        self.assertEqual(sorted(os.listdir(RESULTS)), before)
        self.assertEqual(data["machine"]["device"], "Stand-in GPU")
        names = [step["name"] for step in data["steps"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 19)
        for step in data["steps"]:
            with self.subTest(step["name"]):
                self.assertIn(step["status"], ("ran", "absent"), step)
                self.assertTrue(step["status"] == "ran" or step["reason"])
                wrong = [check for check in step["checks"] if check["verdict"] == "fail" and
                         not any(word in check["what"] for word in ABOUT_SPEED)]
                self.assertEqual(wrong, [])
                for check in step["checks"]:
                    self.assertTrue("value" in check or check["reason"], check)
        ran = {step["name"] for step in data["steps"] if step["status"] == "ran"}
        self.assertLessEqual({"counts and brackets", "independent counter", "saturated stream", "overlap",
                              "kernel table", "memory table", "graphs", "10k stacks", "launch rate",
                              "two processes", "program killed", "recorder killed", "afterwards",
                              "overhead of launches", "overhead of a busy device", "training", "Triton",
                              "overhead of training"}, ran)
        self.assert_alternated(data)
        with open(path[:-5] + ".md", encoding="utf-8") as file:
            page = file.read()
        self.assertIn("not a GPU", page)
        for step in data["steps"]:
            self.assertIn(step["title"], page)

    def assert_alternated(self, data):
        """Each way has a number in each round."""
        steps = {step["name"]: step["values"] for step in data["steps"]}
        times = steps["overhead of launches"]["times_ns"]
        self.assertEqual(set(times), {"nothing", "empty consumer", "empty consumer with callbacks",
                                      "TraceSmith", "TraceSmith with stacks"})
        self.assertEqual({len(t) for t in times.values()}, {3})
        self.assertIn("beside the empty consumer",
                      steps["overhead of launches"]["ratios"]["TraceSmith with stacks"])

    def test_without_pytorch_its_steps_are_absent(self):
        result = self.run_check("--only", "training,Triton,overhead of training", "--python", sys.executable,
                                PYTHONPATH=os.path.join(self.dir, "nothing"))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        data, _ = self.found()
        for step in data["steps"]:
            self.assertEqual((step["status"], step["checks"]), ("absent", []), step)
            self.assertRegex(step["reason"], "PyTorch|Triton|CUDA")

    def test_what_was_found_is_whole_whenever_it_is_killed(self):
        chance = random.Random()
        for _ in range(4):
            shutil.rmtree(self.output, ignore_errors=True)
            process = self.start()
            end = time.monotonic() + 30
            while not glob.glob(os.path.join(self.output, "*.json")) and time.monotonic() < end:
                time.sleep(0.01)
            moment = chance.uniform(0, 6)
            time.sleep(moment)
            process.kill()
            process.wait()
            with self.subTest(seconds=moment):
                data, _ = self.found()
                self.assertFalse(data["complete"])
                self.assertIsNone(data["ended"])
                self.assertLessEqual({step["status"] for step in data["steps"]}, STATUS)
                self.assertTrue(all(step["status"] == "ran" or step is data["steps"][-1] or
                                    step["status"] == "absent" for step in data["steps"]))

    def test_one_that_is_stopped_says_so_and_leaves_a_page(self):
        process = self.start()
        end = time.monotonic() + 30
        while not glob.glob(os.path.join(self.output, "*.md")) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        self.assertNotEqual(process.wait(timeout=30), 0)
        data, path = self.found()
        self.assertFalse(data["complete"])
        self.assertEqual(data["stopped"], "SIGTERM")
        self.assertTrue(os.path.exists(path[:-5] + ".md"))
        self.assertEqual(glob.glob(os.path.join(self.dir, "tracesmith-gpu-check-*")), [])

    def test_a_stand_in_leaves_nothing_among_the_results(self):
        before = sorted(os.listdir(RESULTS))
        result = self.run_check("--only", "graphs", output=RESULTS)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"bench/results", result.stderr)
        self.assertEqual(sorted(os.listdir(RESULTS)), before)

    def test_a_step_without_time_is_absent(self):
        result = self.run_check("--limit", "1")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        data, _ = self.found()
        self.assertEqual({step["status"] for step in data["steps"]}, {"absent"})

    def test_a_pack_is_all_that_it_takes(self):
        pack = os.path.join(self.dir, "pack.tar.xz")
        packed = subprocess.run(
            [os.path.join(SOURCE, "script", "gpu-check"), "--pack", pack], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False, timeout=300,
            env=dict(os.environ, GPU_CHECK_BUILD=os.path.dirname(os.path.dirname(TRACESMITH)),
                     GPU_CHECK_SAMPLES=self.samples))
        self.assertEqual(packed.returncode, 0, packed.stderr.decode())
        self.assertLess(os.path.getsize(pack), 60e6)
        subprocess.run(["tar", "-xf", pack, "-C", self.dir], check=True)
        # Elsewhere, with nothing of this tree but what was packed.
        tree = os.path.join(self.dir, "tracesmith-gpu-check")
        result = subprocess.run(
            [os.path.join(tree, "script", "gpu-check"), "--light", "--only", "graphs,independent counter",
             "--stand-in", STANDINS, "--output", self.output], cwd="/", stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False, timeout=200,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": self.dir})
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        data, _ = self.found()
        self.assertEqual([step["status"] for step in data["steps"]], ["ran", "ran"])
        self.assertIn("carried", data["machine"]["samples_compiled_by"])
        self.assertRegex(data["commit"], "^([0-9a-f]{40}|unknown)")

        # Half of it, as after a copy that broke off.
        with open(pack, "rb") as whole, open(os.path.join(self.dir, "cut"), "wb") as cut:
            cut.write(whole.read(os.path.getsize(pack) // 2))
        self.assert_is_no_pack(cut.name)

    def assert_is_no_pack(self, path):
        result = self.run_check("--from", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{path} is no pack", result.stderr.decode())
        self.assertNotIn("Traceback", result.stderr.decode())

    def test_what_is_no_pack_is_said_to_be_none(self):
        text = os.path.join(self.dir, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("a text\n")
        other = os.path.join(self.dir, "other.tar")
        subprocess.run(["tar", "-C", self.dir, "-cf", other, "text"], check=True)
        empty = os.path.join(self.dir, "empty")
        with open(empty, "w", encoding="utf-8"):
            pass
        for path in (text, other, empty, self.dir, os.path.join(self.dir, "absent")):
            with self.subTest(path=path):
                self.assert_is_no_pack(path)

    def test_an_option_without_its_value(self):
        for option in ("--pack", "--from", "--limit"):
            result = subprocess.run([os.path.join(SOURCE, "script", "gpu-check"), option], check=False,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{option} needs a value", result.stderr.decode())

    def test_no_device(self):
        os.unlink(os.path.join(self.samples, "vector_add"))
        with open(os.path.join(self.samples, "vector_add"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'no CUDA device: none' >&2\nexit 3\n")
        os.chmod(file.name, 0o755)
        result = self.run_check()
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"no CUDA device", result.stderr)
        self.assertEqual(glob.glob(os.path.join(self.output, "*")), [])

    def test_what_the_trace_lacks_is_found(self):
        # A device that drops records: counts must not agree, and that must be said.
        result = self.run_check("--only", "counts and brackets", STANDIN_SCRIPT="drop_every=10")
        self.assertEqual(result.returncode, 1)
        data, _ = self.found()
        self.assertFalse(data["complete"])
        wrong = [check["what"] for check in data["steps"][0]["checks"] if check["verdict"] == "fail"]
        self.assertTrue(any(what.endswith(": kernels") for what in wrong), wrong)
        self.assertIn("vector_add: records lost", wrong)


if __name__ == "__main__":
    if not STANDINS or not os.path.exists(os.path.join(STANDINS, "standin_samples")):
        print("skipped: there are no stand-ins (script/cuda-headers)")
        sys.exit(77)
    unittest.main()
