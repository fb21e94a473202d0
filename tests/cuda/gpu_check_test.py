# SPDX-License-Identifier: Apache-2.0
"""script/gpu-check, whole, with stand-ins for libcuda, libcupti and the samples: every step runs or says
why not, what is found is whole whenever it is stopped, and no result of a stand-in passes for one of a
GPU."""
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from gpu_check_harness import PYTHON_STANDINS, RESULTS, GpuCheckTest, driver_has, main, profile_has

STATUS = {"ran", "absent", "failed", "out of time", "stopped", "running"}
# What the numbers of a stand-in say nothing about: speeds, and what depends on them.
ABOUT_SPEED = ("a second", "overhead", "time beside", "busy ratio", "percentile")


class GpuCheck(GpuCheckTest):
    def start(self, *more):
        return subprocess.Popen(self.command(*more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=dict(os.environ, TMPDIR=self.dir), start_new_session=True)

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
        self.assertGreaterEqual(len(names), 30)
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
        self.assertLessEqual({"agent", "counts and brackets", "independent counter", "saturated stream",
                              "overlap", "kernel table", "memory table", "managed memory", "memory pools",
                              "graphs", "events", "PTX", "clocks", "10k stacks", "launch rate",
                              "two processes", "program killed", "recorder killed", "afterwards",
                              "overhead of launches", "overhead of graphs", "overhead of a busy device",
                              "arm and attach", "attach, many threads", "training", "another profiler", "Triton", "overhead of training"}, ran)
        # What this tree's stand-ins, command and agent have, is used.
        for step, there in (("virtual memory", driver_has("cuMemCreate")),
                            ("expandable segments", driver_has("cuMemCreate")),
                            ("stream values", driver_has("cuStreamWriteValue32_v2")),
                            ("clocks of ticks", profile_has("--cuda-latency"))):
            self.assertEqual(step in ran, there, step)
        self.assert_alternated(data)
        self.assert_machine(data["machine"])
        self.assertEqual(self.verdict(result), "gpu-check: " + data["verdict"])
        self.assertRegex(data["verdict"], r"\d+ checks pass, \d+ fail, \d+ absent, \d+ s$")
        with open(path[:-5] + ".md", encoding="utf-8") as file:
            page = file.read()
        self.assertIn("not a GPU", page)
        for step in data["steps"]:
            self.assertIn(step["title"], page)

    def assert_alternated(self, data):
        """Each way has a number in each round."""
        steps = {step["name"]: step["values"] for step in data["steps"]}
        times = steps["overhead of launches"]["times_ns"]
        self.assertLessEqual({"nothing", "comparison consumer", "comparison consumer without callbacks",
                              "comparison consumer with latency timestamps", "TraceSmith",
                              "TraceSmith with stacks"}, set(times))
        self.assertEqual({len(t) for t in times.values()}, {3})
        self.assertIn("beside the comparison consumer",
                      steps["overhead of launches"]["ratios"]["TraceSmith with stacks"])
        self.assertIn("PyTorch profiler", steps["overhead of training"]["times_ns"])
        self.assertEqual("TraceSmith with latency timestamps" in times, profile_has("--cuda-latency"))
        self.assertEqual("TraceSmith, graphs as wholes" in steps["overhead of graphs"]["times_ns"],
                         profile_has("--cuda-graphs"))

    def assert_machine(self, machine):
        """What is needed to understand the numbers is recorded."""
        for key in ("device", "driver_cuda", "kernel", "runs_on", "clocks", "madv_wipeonfork", "libc", "python",
                    "torch", "triton", "cupy", "compute_sanitizer", "tracesmith", "cpu", "cores", "gpu_at_start"):
            self.assertTrue(machine[key], key)
        self.assertIn("constant_tsc", machine["clocks"])
        self.assertRegex(machine["madv_wipeonfork"], "works|refused|accepted")
        self.assertEqual(machine["cupti"]["version"], 130500)
        self.assertEqual(machine["cupti_tried"][0]["result"], "works")

    def test_an_earlier_result_of_the_day_stays(self):
        for files in (1, 2, 3):
            self.assertEqual(self.run_check("--only", "agent").returncode, 0)
            self.assertEqual(len(glob.glob(os.path.join(self.output, "*.json"))), files)
            self.assertEqual(len(glob.glob(os.path.join(self.output, "*.md"))), files)

    def test_without_pytorch_its_steps_are_absent(self):
        result = self.run_check("--only", "training,another profiler,expandable segments,Triton,"
                                "overhead of training", "--python", sys.executable,
                                PYTHONPATH=os.path.join(self.dir, "nothing"))
        self.assertEqual(result.returncode, 1, result.stderr.decode())
        self.assertTrue(self.verdict(result).startswith("gpu-check: NOTHING CHECKED, 0 checks pass, 0 fail, 5 absent"))
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
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"bench/results", result.stderr)
        self.assertEqual(sorted(os.listdir(RESULTS)), before)

    def test_a_step_without_time_is_absent(self):
        result = self.run_check("--limit", "0.1")
        self.assertEqual(result.returncode, 1, result.stderr.decode())
        data, _ = self.found()
        self.assertEqual({step["status"] for step in data["steps"]}, {"absent"})
        self.assertRegex(data["steps"][0]["reason"], "time of the whole check")


if __name__ == "__main__":
    main()
