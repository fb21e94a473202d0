#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an OpenCL program calls is in its trace once, or the trace says why it is not."""
import json
import os
import sys
import textwrap
import unittest

from harness import PROGRAM, CommandTest, environment

START = """
    import ctypes
    BEFORE
    loaded = ctypes.CDLL("libOpenCL.so.1", ctypes.RTLD_GLOBAL)
    cl = ctypes.CDLL(None)  # preloaded functions come first there
    p, long = ctypes.c_void_p, ctypes.c_ulong
    for name in ("clCreateContext", "clCreateBuffer", "clCreateImage"):
        getattr(cl, name).restype = p
    platform, device, error = p(), p(), ctypes.c_int()
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) != 0: raise SystemExit(77)
    cl.clGetDeviceIDs(platform, long(0xFFFFFFFF), 1, ctypes.byref(device), None)
    context = p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
"""

# Flags that exclude each other, which no driver takes; then calls as they should be.
MEMORY = START + """
    def buffer(flags):
        return cl.clCreateBuffer(context, long(flags), long(4096), None, ctypes.byref(error))
    def image(flags):
        form = (ctypes.c_uint * 2)(0x10B5, 0x10DA)     # CL_RGBA, CL_UNSIGNED_INT8
        about = (ctypes.c_size_t * 9)(0x10F1, 16, 16)  # CL_MEM_OBJECT_IMAGE2D
        return cl.clCreateImage(context, long(flags), form, about, None, ctypes.byref(error))
    for make in (buffer, image):
        assert make(5) is None
        print(error.value)
        assert make(1) and error.value == 0
"""

# A command buffer of one kernel, enqueued three times.
COMMAND_BUFFER = START + """
    for name in ("clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel"):
        getattr(cl, name).restype = p
    cl.clGetExtensionFunctionAddressForPlatform.restype = p
    def extension(name, result, *arguments):
        address = cl.clGetExtensionFunctionAddressForPlatform(platform, name)
        if not address: raise SystemExit(77)
        return ctypes.CFUNCTYPE(result, *arguments)(address)
    number, integer = ctypes.c_uint, ctypes.c_int
    create = extension(b"clCreateCommandBufferKHR", p, number, p, p, p)
    launch = extension(b"clCommandNDRangeKernelKHR", integer, p, p, p, p, number, p, p, p, number, p, p, p)
    finalize = extension(b"clFinalizeCommandBufferKHR", integer, p)
    enqueue = extension(b"clEnqueueCommandBufferKHR", integer, number, p, p, number, p, p)
    queue = p(cl.clCreateCommandQueue(context, device, long(0), None))
    text = ctypes.c_char_p(b"__kernel void one(void) {}")
    program = p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, None))
    assert cl.clBuildProgram(program, 0, None, b"", None, None) == 0
    kernel = p(cl.clCreateKernel(program, b"one", None))
    items = ctypes.c_size_t(4)
    buffer = create(1, ctypes.byref(queue), None, ctypes.byref(error))
    assert error.value == 0, error.value
    assert launch(buffer, None, None, kernel, 1, None, ctypes.byref(items), None, 0, None, None, None) == 0
    assert finalize(buffer) == 0
    for i in range(3):
        assert enqueue(0, None, buffer, 0, None, None) == 0
        assert cl.clFinish(queue) == 0
    assert enqueue(0, None, None, 0, None, None) != 0
"""

# Not what the kernel of a busy machine did not deliver.
LOST = "dropped > 0 AND source <> 'process events'"


class OpenClCalls(CommandTest):
    def profile(self, source, *options, before="", env=None):
        """Runs it under profile, `before` ahead of its first call."""
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(source).replace("BEFORE", before))
        if os.path.exists(self.path("t.sbt")):
            os.remove(self.path("t.sbt"))  # one without events does not replace it
        result = self.run_command("profile", *options, "-o", "t.sbt", "--", sys.executable,
                                  "program.py", env=env)
        if result.returncode == 77:
            self.skipTest("no OpenCL driver")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def rows(self, sql):
        result = self.run_command("query", "t.sbt", sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_a_call_that_fails_is_there_once(self):
        for options in ((), ("--record",), ("--record", "--inject", "preload")):
            codes = [int(code) for code in self.profile(MEMORY, *options).stdout.split()]
            self.assertEqual(len(codes), 2)
            self.assertNotIn(0, codes)
            calls = self.rows("SELECT name, result FROM host_call WHERE name LIKE 'clCreate%' AND "
                              "name <> 'clCreateContext' ORDER BY start_ns")
            expected = [("clCreateBuffer", codes[0]), ("clCreateBuffer", 0),
                        ("clCreateImage", codes[1]), ("clCreateImage", 0)]
            self.assertEqual([(c["name"], c["result"]) for c in calls], expected, options)

    def test_objects_of_before_main_are_in_the_recording(self):
        early = os.path.join(os.path.dirname(PROGRAM), "cl_early")
        for inject in ("auto", "preload"):
            result = self.run_command("profile", "-q", "--force", "--record", "--inject", inject,
                                      "-o", "t.sbt", "--", early)
            if result.returncode == 77:
                self.skipTest("no OpenCL driver")
            self.assertEqual((result.returncode, result.stdout), (0, b"7\n"), result.stderr)
            replay = self.run_command("replay", "--verify", "t.sbr")
            self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)

    def test_calls_that_fail_are_there_after_a_handler_has_left_others_by_a_jump(self):
        handlers = os.path.join(os.path.dirname(PROGRAM), "cl_handlers")
        result = self.run_command("profile", "-q", "--record", "-o", "t.sbt", "--", handlers,
                                  "creations", "20")
        if b"clGetPlatformIDs" in result.stderr:
            self.skipTest("no OpenCL driver")
        self.assertEqual((result.returncode, result.stdout), (0, b"launches 50\n"), result.stderr)
        failed = self.rows("SELECT count(*) AS n FROM host_call "
                           "WHERE name = 'clCreateBuffer' AND result <> 0")
        self.assertEqual(failed[0]["n"], 50)

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_a_program_that_drops_its_rights_before_its_first_call_is_named(self):
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("cache"))
        os.chmod(self.path("cache"), 0o777)
        env = environment(POCL_CACHE_DIR=self.path("cache"))
        for options in ((), ("--record",), ("--inject", "preload")):
            result = self.profile(MEMORY, *options, env=env,
                                  before="import os; os.setgid(65534); os.setuid(65534)")
            place = self.path("t.sbt.session").encode()
            self.assertIn(b"could not make a file in the session directory " + place +
                          b" (Permission denied), so nothing of it was recorded", result.stderr)
            self.assertNotIn(b"no process called OpenCL", result.stderr)
            if "--record" in options:
                self.assertIn(b"the recording ended early: process ", result.stderr)
            losses = self.rows("SELECT source, dropped, reason FROM loss WHERE " + LOST)
            self.assertEqual(len(losses), 1, losses)
            self.assertRegex(losses[0]["source"], "^process [0-9]+$")
            self.assertIn("Permission denied", losses[0]["reason"])

    def test_enqueued_command_buffers_are_counted(self):
        for options in ((), ("--inject", "preload")):
            result = self.profile(COMMAND_BUFFER, *options)
            self.assertIn(b"3 command buffers were enqueued (cl_khr_command_buffer)", result.stderr)
            losses = self.rows("SELECT source, dropped, reason FROM loss WHERE " + LOST)
            self.assertEqual([(row["source"], row["dropped"]) for row in losses],
                             [("OpenCL command buffers", 3)], options)
            self.assertIn("clEnqueueCommandBufferKHR", losses[0]["reason"])


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        sys.exit("set TRACESMITH_BIN to the directory of the tracesmith executable")
    unittest.main(verbosity=2)
