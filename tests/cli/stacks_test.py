# SPDX-License-Identifier: Apache-2.0
"""Host call stacks from the program to the views: profile --stacks and what shows them."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unittest

from harness import BIN, PROGRAM, CommandTest, environment

BENCHMARK = os.path.join(BIN, "benchmark_10k_stacks")

# The library is called without giving up the interpreter's lock, and with.
PYTHON = """
    import ctypes
    cl = ctypes.{loader}("libOpenCL.so.1")
    cl.clCreateContext.restype = cl.clCreateBuffer.restype = ctypes.c_void_p
    platform, device = ctypes.c_void_p(), ctypes.c_void_p()
    cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
    cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
    context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
    class Model:
        def forward(self, size):
            return cl.clCreateBuffer(ctypes.c_void_p(context), ctypes.c_ulong(1),
                                     ctypes.c_size_t(size), None, None)
    def train():
        for step in range(3):
            list(map(Model().forward, [4096 + step]))
    train()
"""


@unittest.skipUnless(os.access(BENCHMARK, os.X_OK), "the examples are not built")
class Stacks(CommandTest):
    def profile(self, *program, options=("--stacks",), output="t.sbt"):
        result = self.run_command("profile", "-q", *options, "-o", output, "--", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def rows(self, sql, trace="t.sbt"):
        result = self.run_command("query", trace, sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_benchmark_checks_every_stack(self):
        result = self.run_command("benchmark", "-n", "3000", "--rounds", "1", "-o", "b.sbt")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        text = result.stdout.decode()
        self.assertIn("100.0 %", text)
        self.assertIn("verified: 3,000 of 3,000 launch stacks", text)
        # What the ratios are of, what they mean, and that one round says nothing about noise.
        self.assertRegex(text, r"(?m)^  alone +[\d.]+ \w+ \(.* to .*\): [\d.]+ \w+ a launch$")
        self.assertRegex(text, r"(?m)^  profiled +[\d.]+ times the time alone \(.*\): .* a launch$")
        self.assertIn("These kernels do nothing", text)
        self.assertIn("too few rounds", text)
        # A kernel and its one host call have one stack.
        pairs = self.rows("SELECT count(*) AS n FROM kernel k JOIN host_call h ON "
                          "h.process_id = k.process_id AND h.correlation_id = k.correlation_id AND "
                          "h.call_path_id = k.call_path_id", "b.sbt")
        self.assertEqual(pairs[0]["n"], 3001)
        # The place is that of the function that the frame is called after.
        places = self.rows("SELECT DISTINCT f.file AS file, f.line > 0 AS line FROM frame f WHERE "
                           "f.function = 'bench_launch'", "b.sbt")
        self.assertEqual(len(places), 1, places)
        if places[0]["file"]:  # built with debug information
            self.assertEqual(places[0]["line"], 1, places)
            self.assertTrue(places[0]["file"].endswith((".c", ".cpp")), places)
        functions = self.run_command("export", "b.sbt", "-f", "folded", "--by", "device-time",
                                     "-o", "-").stdout.decode().splitlines()
        total = sum(int(line.rsplit(" ", 1)[1]) for line in functions)
        device = self.rows("SELECT sum(duration_ns) AS ns FROM (SELECT duration_ns FROM kernel "
                           "UNION ALL SELECT duration_ns FROM fill)", "b.sbt")[0]["ns"]
        self.assertEqual(total, device)
        self.assertTrue(any(";bench_run;bench_step_" in line for line in functions))
        shown = self.run_command("view", "b.sbt", "--stacks", "-t", "kernel", "-n", "2").stdout
        self.assertIn(b"\n      bench_launch", shown)
        hot = self.run_command("analyze", "b.sbt", "--hotspots", "--json").stdout
        names = [row["function"] for table in json.loads(hot)["tables"] if table["key"] == "functions"
                 for row in table["rows"]] if b'"tables"' in hot else []
        self.assertTrue(not names or "bench_launch" in names, names)

    def test_benchmark_says_what_is_missing(self):
        alone = self.path("tracesmith")
        shutil.copy(PROGRAM, alone)
        result = self.run_command("benchmark", program=alone)
        self.assert_fails(result, 1, "benchmark_10k_stacks", "missing", "install TraceSmith again")
        if not glob.glob("/dev/nvidia[0-9]*") and not glob.glob("/dev/dri/render*"):
            for api, looked_for in (((), ("OpenCL", "CUDA")), (("--api", "cuda"), ("CUDA",))):
                result = self.run_command("benchmark", "--real-gpu", *api)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn("no GPU to measure on", result.stderr.decode())
                for name in looked_for:
                    self.assertRegex(result.stderr.decode(), rf"(?m)^{name}: ")
        # A processor that OpenCL offers is no device of CUDA's.
        self.assertEqual(self.run_command("benchmark", "--api", "metal").returncode, 2)

    def test_chrome_json_has_the_stacks_and_they_come_back(self):
        self.profile(BENCHMARK, "-n", "50")
        self.assertEqual(self.run_command("export", "-q", "t.sbt", "-o", "t.json").returncode, 0)
        with open(self.path("t.json"), encoding="utf-8") as file:
            document = json.load(file)
        frames = document["stackFrames"]
        kernels = [e for e in document["traceEvents"] if e.get("cat") == "kernel"]
        self.assertEqual(len(kernels), 51)
        stacks = []
        for kernel in kernels:
            names, at = [], str(kernel["sf"])
            while at:
                names.append(frames[at]["name"].split(" ")[0])
                at = frames[at].get("parent")
            stacks.append(names)
        self.assertEqual({names[-1] for names in stacks}, {"_start"})
        # One comes before the others, from main() itself.
        self.assertEqual(sum("bench_launch" in names[:3] and "main" in names for names in stacks), 50)
        # A document that has stacks is given back as it was.
        self.assertEqual(self.run_command("import", "-q", "t.json", "-o", "i.sbt").returncode, 0)
        self.assertEqual(self.run_command("export", "-q", "i.sbt", "-o", "i.json").returncode, 0)
        with open(self.path("i.json"), encoding="utf-8") as file:
            again = json.load(file)
        self.assertEqual(again["stackFrames"], frames)
        self.assertEqual(sorted(map(repr, again["traceEvents"])),
                         sorted(map(repr, document["traceEvents"])))

    def test_perfetto_has_the_stacks_and_they_come_back(self):
        self.profile(BENCHMARK, "-n", "50")
        self.assertEqual(self.run_command("export", "-q", "t.sbt", "-o", "t.pftrace").returncode, 0)
        self.assertEqual(self.run_command("import", "-q", "t.pftrace", "-o", "p.sbt").returncode, 0)
        for by in ("device-time", "host-time"):
            mine, theirs = (self.run_command("export", trace, "-f", "folded", "--by", by, "-o", "-")
                            .stdout.decode() for trace in ("t.sbt", "p.sbt"))
            self.assertIn(";bench_launch;", mine)
            self.assertEqual(mine, theirs)

    def test_a_python_program_shows_its_own_functions(self):
        with open(self.path("app.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(PYTHON.format(loader="CDLL")))
        self.profile(sys.executable, "app.py")
        runtime = ("ffi_call", "ffi_closure", "libffi.so", "_PyEval", "_PyObject", "PyObject_", "Py_BytesMain", "_ctypes.",
                   "PyCFunc", "libpython")
        shows = (("view", "t.sbt", "--stacks", "-n", "0"), ("analyze", "t.sbt", "--hotspots"),
                 ("export", "t.sbt", "-f", "folded", "--by", "host-time", "-o", "-"),
                 ("export", "t.sbt", "-f", "speedscope", "--by", "host-time", "-o", "-"),
                 ("export", "t.sbt", "-f", "json", "-o", "-"))
        for command in shows:
            with self.subTest(command):
                said = self.run_command(*command).stdout.decode()
                self.assertIn("forward", said)
                self.assertEqual([line for line in re.split(r"[\n;,]", said) if any(name in line for name in runtime)], [])
                everything = self.run_command(*command, "--all-frames").stdout.decode()
                self.assertTrue(any(name in everything for name in runtime), everything[:2000])
        # The innermost functions of a stack are those that a person wrote.
        report = json.loads(self.run_command("analyze", "t.sbt", "--hotspots", "--json").stdout)
        paths = [row["stack"] for row in report["call_paths"] if "forward" in row["stack"]]
        self.assertTrue(paths and all(path.startswith("Model.forward:") for path in paths), paths)
        # In the trace all frames stay.
        self.assertGreater(self.rows("SELECT count(*) AS n FROM frame WHERE module LIKE '%libffi%'")[0]["n"], 0)

    def test_without_stacks_there_are_none(self):
        self.profile(BENCHMARK, "-n", "10", options=())
        self.assertEqual(self.rows("SELECT count(call_path_id) AS n FROM kernel")[0]["n"], 0)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM call_path")[0]["n"], 0)
        chrome = self.run_command("export", "t.sbt", "-f", "json", "-o", "-").stdout
        self.assertNotIn(b'"stackFrames"', chrome)
        self.assertNotIn(b'"sf":', chrome)

    def test_a_cut_stack_says_so_and_is_counted(self):
        self.profile(BENCHMARK, "-n", "10", options=("--stacks", "--max-depth", "3"))
        shown = self.run_command("view", "t.sbt", "--stacks", "-t", "kernel", "-n", "1").stdout
        self.assertIn(b"[more callers]", shown)
        loss = self.rows("SELECT reason FROM loss WHERE source = 'call stacks'")
        self.assertIn("--max-depth", loss[0]["reason"])
        self.assert_fails(self.run_command("profile", "--max-depth", "3", "--", "true"), 125,
                          "--stacks")
        self.assert_fails(self.run_command("profile", "--stacks=some", "--", "true"), 125)

    def python_stack(self, loader):
        with open(self.path("model.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(PYTHON.format(loader=loader)))
        self.profile(sys.executable, "model.py")
        self.assertEqual(self.rows("SELECT count(*) AS n FROM memory_event WHERE kind = 'alloc' AND "
                                   "call_path_id IS NULL")[0]["n"], 0)
        shown = self.run_command("view", "t.sbt", "--stacks", "--all-frames", "-t", "memory_event",
                                 "--json").stdout
        return json.loads(shown)[0]["stack"]

    def test_python_frames_stand_where_the_interpreter_ran_them(self):
        for loader in ("PyDLL", "CDLL"):
            stack = self.python_stack(loader)
            mine = [line for line in stack if "model.py" in line]
            self.assertEqual([line.split()[0] for line in mine],
                             ["Model.forward", "train", "<module>"], stack)
            self.assertRegex(mine[0], r"model\.py:1[01]\)")
            self.assertRegex(mine[1], r"model\.py:15\)")
            # Between the two is the C function that calls back.
            between = stack[stack.index(mine[0]) + 1:stack.index(mine[1])]
            self.assertTrue(between, stack)
            self.assertFalse(any(line.startswith("_PyEval_EvalFrameDefault") for line in stack), stack)

    def test_a_killed_program_has_the_stacks_of_what_it_launched(self):
        with subprocess.Popen([PROGRAM, "profile", "-q", "--stacks=native", "-o", "k.sbt", "--",
                               BENCHMARK, "-n", "4000000"], cwd=self.dir, env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as session:
            child = None
            end = time.monotonic() + 20
            while child is None and time.monotonic() < end:
                time.sleep(0.3)
                with open(f"/proc/{session.pid}/task/{session.pid}/children", encoding="ascii") as f:
                    words = f.read().split()
                child = int(words[0]) if words else None
            time.sleep(0.5)
            os.kill(child, signal.SIGKILL)
            session.wait(timeout=60)
        missing = self.rows("SELECT count(*) AS n, count(call_path_id) AS with_path FROM kernel",
                            "k.sbt")[0]
        self.assertEqual(missing["n"], missing["with_path"])


if __name__ == "__main__":
    unittest.main()
