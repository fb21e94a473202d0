# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a recording: the message is clear, and the program's own run unharmed."""

import os
import struct
import subprocess
import sys
import unittest

from harness import BIN, DEMO, PROGRAM, CommandTest, environment

FLOOD = os.path.join(BIN, "cl_flood")
LAUNCHES = 200000
# Less than the trace of all launches takes (3 MiB), and more than what is written at once: the
# collector writes after 200 ms, and with a busy machine these are many launches.
SOME_OF_THE_TRACE_KIB = 1200
ENDS_WITH = 7  # what cl_flood is told to return


def arena_kib(ring_bytes):
    """What the rings of one process take, as the message about them says."""
    return int(ring_bytes) * 4 // 1024 + 8


class Trouble(CommandTest):
    def flood_command(self):
        return f'"{FLOOD}" flood 2 {LAUNCHES // 2} {ENDS_WITH}'

    def flood_words(self):
        return [FLOOD, "flood", "2", str(LAUNCHES // 2), str(ENDS_WITH)]

    def assert_flood_ran(self):
        """The program made all its launches and finished."""
        with open(self.path("flood"), "rb") as file:
            _, launched, finished = struct.unpack("<3Q", file.read(24))
        self.assertEqual((launched, finished), (LAUNCHES, 1))

    def assert_not_complete(self, result, where, why):
        """A recording whose trace could not be written to its end."""
        err = result.stderr.decode()
        self.assertEqual(result.returncode, ENDS_WITH, err)
        self.assert_flood_ran()
        lines = [line for line in err.splitlines() if "not complete" in line]
        self.assertEqual(len(lines), 1, err)
        self.assertIn(where, lines[0])
        self.assertIn(why, lines[0])
        counted = self.run_command("query", "--csv", where, "SELECT count(*) FROM kernel")
        self.assertEqual(counted.returncode, 3, counted.stderr)
        kernels = int(counted.stdout.split()[-1])
        self.assertGreater(kernels, 0)
        self.assertLess(kernels, LAUNCHES)
        self.assertIn(f"{kernels} kernels", err)  # and not what the file has no room for

    def need_opencl(self):
        probe = subprocess.run([DEMO], cwd=self.dir, stdout=subprocess.PIPE, check=False,
                               stderr=subprocess.PIPE, timeout=120)
        if probe.returncode != 0:
            self.skipTest("no OpenCL device: " + probe.stderr.decode())

    def mount(self, kib):
        """A file system of that size; needs root."""
        os.mkdir(self.path("small"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none",
                                  self.path("small")], check=False, stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest("no mount: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", self.path("small")], check=False)

    def test_a_limit_of_file_sizes_costs_the_trace_and_not_the_program(self):
        self.need_opencl()
        # The program lifts the limit again: its driver writes more than the trace has.
        result = self.shell(f'ulimit -Sf {SOME_OF_THE_TRACE_KIB}; "$T" profile -b 64K -o f.sbt -- '
                            f"bash -c 'ulimit -Sf unlimited; exec {self.flood_command()}'")
        self.assert_not_complete(result, "f.sbt", "File too large")
        self.assertEqual(self.files(), ["f.sbt", "flood"])

    def test_a_disk_that_becomes_full_costs_the_trace_and_not_the_program(self):
        self.need_opencl()
        self.mount(arena_kib(65536) + SOME_OF_THE_TRACE_KIB)
        result = self.shell(f'"$T" profile -b 64K -o small/f.sbt -- {self.flood_command()}')
        self.assert_not_complete(result, "small/f.sbt", "No space left on device")
        self.assertEqual(os.listdir(self.path("small")), ["f.sbt"])

    def test_a_trace_needs_no_more_room_than_it_has(self):
        self.need_opencl()
        self.mount(arena_kib(65536) + 4096)
        result = self.shell(f'"$T" profile -b 64K -o small/f.sbt -- {self.flood_command()}')
        self.assertEqual(result.returncode, ENDS_WITH)
        self.assert_flood_ran()
        self.assertEqual(self.run_command("info", "small/f.sbt").returncode, 0)

    def test_a_log_of_programs_that_is_cut_short_costs_no_program_its_end(self):
        # The kernel reports processes in its first network namespace alone; elsewhere each logs itself.
        if subprocess.run(["unshare", "--net", "true"], check=False,
                          stderr=subprocess.PIPE).returncode != 0:
            self.skipTest("no network namespace")
        script = ('test -s "f.sbt.session/processes.log" || exit 99; : > f.sbt.session/processes.log; '
                  'echo done; exit 3')
        result = self.shell(f"unshare --net \"$T\" profile -b 64K -o f.sbt -- bash -c '{script}'")
        self.assertEqual((result.returncode, result.stdout), (3, b"done\n"), result.stderr)
        self.assertEqual(self.run_command("verify", "f.sbt").returncode, 0)

    def test_without_room_for_the_rings_nothing_is_started(self):
        self.mount(100)
        result = self.run_command("profile", "-o", "small/f.sbt", "--", "touch", "ran")
        self.assert_fails(result, 125, "small/f.sbt.session", "-b BYTES", "No space left")
        self.assertEqual(self.files(), ["small"])
        self.assertEqual(os.listdir(self.path("small")), [])
        result = self.shell('ulimit -f 100; "$T" profile -o f.sbt -- touch ran')
        self.assert_fails(result, 125, "f.sbt.session", "-b BYTES", "File too large")
        self.assertEqual(self.files(), ["small"])

    def test_a_process_without_room_for_its_rings_is_named(self):
        self.need_opencl()
        # Its own limit, not ours, and enough for what the driver writes.
        script = f"ulimit -f 12000; exec {self.flood_command()}"
        result = self.run_command("profile", "-o", "f.sbt", "--", "bash", "-c", script)
        self.assertEqual(result.returncode, ENDS_WITH, result.stderr)
        self.assert_flood_ran()
        self.assertIn(b"could not make its rings (File too large)", result.stderr)
        losses = self.run_command("query", "--csv", "f.sbt",
                                  "SELECT reason FROM loss WHERE dropped > 0")
        self.assertIn(b"File too large", losses.stdout)

    def test_a_program_that_does_not_see_the_session_directory_is_named(self):
        self.need_opencl()
        os.mkdir(self.path("out"))
        # In a mount namespace of its own, as in a container: the agent cannot leave a file there.
        inner = f'mount -t tmpfs none "{self.path("out")}" && "$0" "$@"; sleep 1'
        probe = subprocess.run(["unshare", "-m", "true"], check=False, stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("no mount namespace: " + probe.stderr.decode().strip())
        result = self.run_command("profile", "-o", "out/f.sbt", "--", "unshare", "-m", "bash", "-c",
                                  inner, FLOOD, self.path("flood"), "2", str(LAUNCHES // 2), "0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_flood_ran()
        self.assertIn(b"out/f.sbt.session (No such file or directory), so nothing of it was "
                      b"recorded", result.stderr)
        losses = self.run_command("query", "--csv", "out/f.sbt", "SELECT reason FROM loss")
        self.assertIn(b"could not open the session directory (No such file", losses.stdout)

    def test_a_process_that_loads_a_driver_unseen_is_a_loss(self):
        with open(self.path("libcuda.so.1"), "wb") as file:
            file.write(bytes(4096))
        script = ("import mmap, time; file = open('libcuda.so.1', 'rb'); "
                  "kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); time.sleep(1)")
        result = self.run_command("profile", "-o", "f.sbt", "--", sys.executable, "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"has loaded libcuda.so.1, but nothing of it was recorded", result.stderr)
        losses = self.run_command("query", "--csv", "f.sbt",
                                  "SELECT source, dropped, reason FROM loss")
        self.assertRegex(losses.stdout.decode(), r"process \d+,1,.*had loaded libcuda\.so\.1")

    def test_a_program_that_may_not_write_the_session_directory_is_named(self):
        self.need_opencl()
        os.chmod(self.dir, 0o755)
        result = self.shell('umask 0; touch flood; mkdir cache; '
                            'export POCL_CACHE_DIR="$PWD/cache"; "$T" profile -o f.sbt -- setpriv --reuid=65534 '
                            f"--clear-groups {self.flood_command()}")
        if os.getuid() != 0:
            self.skipTest("needs another user")
        self.assertEqual(result.returncode, ENDS_WITH, result.stderr)
        self.assertIn(b"nothing of it was recorded", result.stderr)

    def test_a_path_of_any_legal_length_is_good_for_the_rings(self):
        self.need_opencl()
        folder = self.dir
        while len(folder) < 3500:
            folder += "/" + "long" * 50
        os.makedirs(folder)
        result = self.run_command("profile", "-o", folder + "/f.sbt", "--", *self.flood_words())
        self.assertEqual(result.returncode, ENDS_WITH, result.stderr)
        self.assert_flood_ran()
        counted = self.run_command("query", "--csv", folder + "/f.sbt",
                                   "SELECT count(*) FROM kernel")
        self.assertEqual(int(counted.stdout.split()[-1]), LAUNCHES, result.stderr)

    def test_a_recording_of_nothing_says_so(self):
        result = self.run_command("profile", "-o", "f.sbt", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"nothing was recorded", result.stderr)
        self.assertIn(b"tracesmith devices", result.stderr)

    def test_a_process_with_the_agent_and_without_a_call_is_told(self):
        self.need_opencl()
        program = os.path.join(os.path.dirname(PROGRAM), "cl_shapes")
        result = self.run_command("profile", "--inject", "preload", "-o", "f.sbt", "--", program)
        self.assertIn(b"the agent was in 1 process, but none made a call", result.stderr)

    def test_a_directory_that_may_not_be_written_keeps_the_program_from_starting(self):
        os.mkdir(self.path("closed"))
        os.chmod(self.path("closed"), 0o555)
        os.chmod(self.dir, 0o755)
        command = [PROGRAM, "profile", "-o", "closed/f.sbt", "--", "touch", "ran"]
        if os.getuid() == 0:  # whom no permission stops
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        result = subprocess.run(command, cwd=self.dir, stdin=subprocess.DEVNULL, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                env=environment())
        if b"setpriv" in result.stderr or b"Permission denied" not in result.stderr:
            self.skipTest("no other user: " + result.stderr.decode())
        self.assert_fails(result, 125, "closed/f.sbt.session", "Permission denied")
        self.assertEqual(self.files(), ["closed"])

    def test_what_is_no_place_for_a_file_is_said(self):
        for place, reason in (("/dev/full", "regular file"), (".", "directory")):
            self.assert_fails(self.run_command("profile", "-o", place, "--", "touch", "ran"), 125,
                              reason)
        self.assertEqual(self.files(), [])

    def test_without_a_driver_the_program_says_so_itself(self):
        env = environment(OCL_ICD_VENDORS="/nonexistent")
        alone = self.run_command(program=DEMO, env=env)
        result = self.run_command("profile", "-q", "-o", "f.sbt", "--", DEMO, env=env)
        self.assertNotEqual(alone.returncode, 0)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (alone.returncode, alone.stdout, alone.stderr))
        self.assertEqual(self.run_command("info", "f.sbt").returncode, 0)

    def test_an_agent_that_is_not_there_keeps_the_program_from_starting(self):
        env = environment(TRACESMITH_AGENT_DIR="/nonexistent")
        result = self.run_command("profile", "--", "touch", "ran", env=env)
        self.assert_fails(result, 125, "libtracesmith-", "/nonexistent", "TRACESMITH_AGENT_DIR")
        self.assertEqual(self.files(), [])

    def test_a_session_that_was_left_is_taken_over_but_no_folder_with_other_files(self):
        os.mkdir(self.path("a.sbt.session"))
        self.assertEqual(self.run_command("profile", "-o", "a.sbt", "--", "true").returncode, 0)
        self.assertEqual(self.files(), ["a.sbt"])
        os.mkdir(self.path("b.sbt.session"))
        with open(self.path("b.sbt.session/mine"), "w", encoding="utf-8") as file:
            file.write("mine")
        result = self.run_command("profile", "-o", "b.sbt", "--", "touch", "ran")
        self.assert_fails(result, 125, "b.sbt.session", "mine", "left alone")
        self.assertEqual(self.files(), ["a.sbt", "b.sbt.session"])
        self.assertEqual(os.listdir(self.path("b.sbt.session")), ["mine"])

    def test_two_recordings_do_not_write_the_same_file(self):
        first = subprocess.Popen([PROGRAM, "profile", "-q", "-o", "a.sbt", "--", "sh", "-c",
                                  "echo ready; read wait"], cwd=self.dir, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env=environment())
        self.assertEqual(first.stdout.readline(), b"ready\n")
        result = self.run_command("profile", "-o", "a.sbt", "--", "touch", "ran")
        self.assert_fails(result, 125, "a.sbt")
        first.communicate(b"\n", timeout=30)
        self.assertEqual(first.returncode, 0)
        self.assertEqual(self.files(), ["a.sbt"])
        self.assertEqual(self.run_command("info", "a.sbt").returncode, 0)


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
