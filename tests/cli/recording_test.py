# SPDX-License-Identifier: Apache-2.0
"""profile, record and recover as a user meets them: exit codes, streams, names of the files."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from harness import DEMO, PROGRAM, CommandTest, environment


class Profile(CommandTest):
    def test_exit_codes_are_the_programs_own(self):
        for code in (0, 1, 2, 7, 124, 125, 126, 127, 128, 255):
            result = self.run_command("profile", "-q", "--", "sh", "-c", f"exit {code}")
            self.assertEqual(result.returncode, code)
            self.assertEqual(result.stderr, b"")

    def test_a_program_that_can_not_be_started_is_told_from_one_that_failed(self):
        self.assert_fails(self.run_command("profile", "--", "no-such-program-here"), 127,
                          "no-such-program-here")
        with open(self.path("data.txt"), "w", encoding="utf-8") as file:
            file.write("not a program")
        self.assert_fails(self.run_command("profile", "--", "./data.txt"), 126, "./data.txt")
        self.assert_fails(self.run_command("profile", "--", self.dir), 126)
        self.assert_fails(self.run_command("profile"), 125, "tracesmith profile -- ")
        self.assert_fails(self.run_command("profile", "--"), 125)
        self.assert_fails(self.run_command("profile", "--bogus", "--", "true"), 125, "--bogus")
        self.assertEqual(self.files(), ["data.txt"])

    def test_an_output_that_can_not_be_written_keeps_the_program_from_starting(self):
        result = self.run_command("profile", "-o", "no/such/dir/x.sbt", "--", "touch", "ran")
        self.assert_fails(result, 125, "no/such/dir")
        self.assertEqual(self.files(), [])

    def test_a_signal_that_ends_the_program_ends_us_too_without_a_core_file(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM,
                       signal.SIGUSR1):
            result = self.shell(f'ulimit -c unlimited; exec "$T" profile -q -- sh -c '
                                f"'ulimit -c 0; kill -{int(number)} $$'")
            self.assertEqual(result.returncode, -number)
            self.assertEqual(result.stderr, b"")
        self.assertEqual(self.files(), ["trace.sbt"])

    def test_standard_streams_are_the_programs(self):
        data = bytes(range(256)) * 300
        result = self.run_command("profile", "-q", "--", "sh", "-c", "cat; echo problem >&2",
                                  stdin=data)
        self.assertEqual(result.stdout, data)
        self.assertEqual(result.stderr, b"problem\n")

    def test_the_summary_goes_to_standard_error_and_names_the_file_and_what_to_do_next(self):
        result = self.run_command("profile", "-o", "a.sbt", "--", "echo", "hello")
        self.assertEqual(result.stdout, b"hello\n")
        self.assertIn(b"a.sbt", result.stderr)
        self.assertIn(b"tracesmith view a.sbt", result.stderr)

    def test_words_behind_the_programs_name_are_the_programs(self):
        words = ["-h", "--version", "", "a b", "--", "-o", "x", "*", "$HOME"]
        expected = "".join(f"<{word}>" for word in words).encode()
        for begin in (["profile", "-q", "--"], ["profile", "-q"], ["profile", "-qo", "y.sbt"],
                      ["profile", "-q", "--output=y.sbt", "--"]):
            result = self.run_command(*begin, "printf", "<%s>", *words)
            self.assertEqual(result.stdout, expected, begin)
        self.assertEqual(self.files(), ["trace.sbt", "y.sbt"])

    def test_directory_and_environment_are_the_callers(self):
        result = self.run_command("profile", "-q", "--", "sh", "-c", 'pwd; echo "$MARK"',
                                  env=environment(MARK="here"))
        self.assertEqual(result.stdout.decode().split(), [os.path.realpath(self.dir), "here"])

    def injected(self, *command, **changes):
        """What a profiled program is told to have the CUDA driver load, and what we said of it."""
        result = self.run_command("profile", *command, "printenv", "CUDA_INJECTION64_PATH",
                                  env=environment(**changes))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().strip(), result.stderr.decode()

    def assert_no_warning(self, said):
        for word in ("warning", "CUDA_INJECTION64_PATH", "libtracesmith-cuda"):
            self.assertNotIn(word, said)

    def test_another_tools_library_for_cuda_stays_and_is_named(self):
        library, said = self.injected("--", CUDA_INJECTION64_PATH="/other/libtool.so")
        self.assertEqual(library, "/other/libtool.so")
        self.assertIn("CUDA_INJECTION64_PATH names /other/libtool.so", said)

    def test_our_own_library_for_cuda_is_not_taken_for_another_tools(self):
        ours, said = self.injected("--", CUDA_INJECTION64_PATH=None)
        self.assertTrue(os.path.isfile(ours), ours)
        self.assert_no_warning(said)
        for there in (ours, "/older/lib/tracesmith/libtracesmith-cuda.so", ""):
            library, said = self.injected("--", CUDA_INJECTION64_PATH=there)
            self.assertEqual(library, ours)
            self.assert_no_warning(said)
        library, said = self.injected("-o", "outer.sbt", "--", PROGRAM, "profile", "--",
                                      CUDA_INJECTION64_PATH=None)
        self.assertEqual(library, ours)
        self.assert_no_warning(said)

    def test_a_closed_standard_error_does_not_change_the_exit_code(self):
        result = self.shell('"$T" profile -- sh -c "exit 9" 2>&-; echo $?')
        self.assertEqual(result.stdout.strip(), b"9")
        result = self.shell('{ "$T" profile -- sh -c "sleep 0.2; exit 9"; echo $? > code; } 2>&1 |'
                            " true; cat code")
        self.assertEqual(result.stdout.strip(), b"9")

    def test_the_outputs_name_decides_what_is_exported(self):
        for name in ("a.json", "b.perfetto", "c.perfetto-trace", "d.pftrace"):
            result = self.run_command("profile", "-o", name, "--", "true")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.run_command("profile", "-o", "e.sbt", "--perfetto", "--", "true")
        self.run_command("profile", "-o", "f", "--", "true")
        self.run_command("profile", "--perfetto", "-o", "g.pftrace", "--", "true")
        self.assertEqual(self.files(), ["a.json", "a.sbt", "b.perfetto", "b.sbt",
                                        "c.perfetto-trace", "c.sbt", "d.pftrace", "d.sbt",
                                        "e.pftrace", "e.sbt", "f", "g.pftrace", "g.sbt"])
        with open(self.path("a.json"), encoding="utf-8") as file:
            json.load(file)
        for name in self.files():
            if name.endswith(".sbt") or name == "f":
                self.assertEqual(self.run_command("export", name, "-o", "-").returncode, 0)

    def test_ctrl_c_stops_both_and_leaves_a_complete_trace(self):
        process = subprocess.Popen(
            [PROGRAM, "profile", "-q", "--", "sh", "-c", "echo ready; exec sleep 60"], cwd=self.dir,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
            start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.5)  # let the recording settle
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(err, b"")
        exported = self.run_command("export", "trace.sbt")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertEqual(self.files(), ["trace.pftrace", "trace.sbt"])


class ProfileOpenCl(CommandTest):
    def setUp(self):
        super().setUp()
        if not os.access(DEMO, os.X_OK):
            self.skipTest("the OpenCL example is not built")
        probe = subprocess.run([DEMO], cwd=self.dir, stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.PIPE, timeout=120)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())

    def test_kernels_of_a_real_program_are_in_the_trace_and_its_export(self):
        result = self.run_command("profile", "-o", "demo.json", "--", DEMO)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"PASS", result.stdout)
        self.assertIn(b"3 kernels", result.stderr)
        with open(self.path("demo.json"), encoding="utf-8") as file:
            text = json.dumps(json.load(file))
        for kernel in ("vectorAdd", "matrixMul", "relu"):
            self.assertIn(kernel, text)


class Recover(CommandTest):
    def test_what_is_no_session_is_refused(self):
        self.assert_fails(self.run_command("recover"), 2, "DIR is missing")
        self.assert_fails(self.run_command("recover", "nowhere.sbt.session"), 1,
                          "nowhere.sbt.session")
        os.mkdir(self.path("other"))
        with open(self.path("other/file"), "w", encoding="utf-8") as file:
            file.write("mine")
        self.assert_fails(self.run_command("recover", "other"), 1, "other")
        self.assertEqual(os.listdir(self.path("other")), ["file"])

    def test_a_killed_recording_is_finished(self):
        process = subprocess.Popen(
            [PROGRAM, "profile", "-q", "--", "sh", "-c", "echo ready; sleep 1"], cwd=self.dir,
            stdout=subprocess.PIPE, env=environment())
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        process.stdout.read()  # until the program has ended as well
        process.wait(timeout=30)
        process.stdout.close()
        self.assertIn("trace.sbt.session", self.files())
        cut = self.run_command("export", "trace.sbt")
        self.assertEqual(cut.returncode, 3)
        self.assertIn(b"trace.sbt", cut.stderr)
        os.unlink(self.path("trace.pftrace"))
        result = self.run_command("recover", "trace.sbt.session/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["trace.sbt"])
        self.assertEqual(self.run_command("export", "trace.sbt").returncode, 0)


class ExecutedPrograms(CommandTest):
    def test_a_program_that_used_opencl_executes_another(self):
        """The ICD loader cuts OPENCL_LAYERS at the colon when it reads it: the second program must have both layers."""
        first = ("import ctypes, os, sys\n"
                 "cl = ctypes.CDLL('libOpenCL.so.1')\n"
                 "platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()\n"
                 "cl.clCreateContext.restype = ctypes.c_void_p\n"
                 "if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) or cl.clGetDeviceIDs(platform, "
                 "ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), None): sys.exit(77)\n"
                 "assert cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error))\n"
                 "os.execv(sys.argv[1], sys.argv[1:])\n")
        result = self.run_command("profile", "--record", "--inject", "layer", "-o", "x.sbt", "--", sys.executable, "-c",
                                  first, DEMO)
        if result.returncode == 77:
            self.skipTest("no OpenCL driver is installed")
        self.assertEqual(result.returncode, 0, result.stderr)
        counted = self.run_command("query", "x.sbt", "SELECT count(*) FROM kernel", "--csv")
        self.assertEqual(counted.stdout.split()[-1], b"3")
        replayed = self.run_command("replay", "x.sbt", "--json")
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertEqual(json.loads(replayed.stdout)["replay"][0]["launches"], 3)

    def test_a_session_within_that_of_another_installation_records_each_call_once(self):
        agents = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "lib", "tracesmith")
        shutil.copytree(agents, self.path("other"), symlinks=True)
        for injection in ("layer", "preload"):
            for name, outer in (("alone", ()), ("inside", ("--inject", injection))):
                inner = (PROGRAM, "profile", "-q", "--inject", injection, "-o", self.path(name + ".sbt"), "--", DEMO)
                command = inner if not outer else (
                    PROGRAM, "profile", "-q", *outer, "-o", self.path("outer.sbt"), "--", "env",
                    "TRACESMITH_AGENT_DIR=" + agents, *inner)
                env = environment(TRACESMITH_AGENT_DIR=self.path("other")) if outer else environment()
                result = subprocess.run(command, check=False, capture_output=True, env=env)
                if b"CL_PLATFORM_NOT_FOUND" in result.stderr:
                    self.skipTest("no OpenCL driver is installed")
                self.assertEqual(result.returncode, 0, result.stderr)
            counts = [self.run_command("query", "--csv", name + ".sbt", "SELECT (SELECT count(*) FROM kernel), "
                                       "(SELECT count(*) FROM copy), (SELECT count(*) FROM host_call)").stdout
                      for name in ("alone", "inside")]
            self.assertEqual(counts[0], counts[1], injection)

    def test_the_summary_says_how_many_launches_a_range_has(self):
        for options, launches in (((), "15 launches"), (("--range", "launch:4-6"), "3 of 15 launches")):
            result = self.run_command("profile", "--record", *options, "-o", "x.sbt", "--", DEMO, "--repeat", "5")
            if b"CL_PLATFORM_NOT_FOUND" in result.stderr:
                self.skipTest("no OpenCL driver is installed")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f": {launches},", result.stderr.decode())


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
