# SPDX-License-Identifier: Apache-2.0
"""tracesmith arm and record --pid: a program that runs is captured for a while, and notices nothing.
What it did while it was captured is in the trace, and nothing else."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import CommandTest, PROGRAM, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
TRAINING = os.path.join(STANDINS, "standin_training")


class Armed(CommandTest):
    def setUp(self):
        super().setUp()
        control = self.path("control")
        os.mkdir(control, 0o700)
        self.env = environment(LD_LIBRARY_PATH=STANDINS, TRACESMITH_CONTROL=control)

    def training(self, threads=1, armed=True, start=True, around=(), **variables):
        command = [*around, *([PROGRAM, "arm", "--"] if armed else []), TRAINING, str(threads)]
        env = dict(self.env, **variables)
        if not armed:
            env.pop("TRACESMITH_CONTROL")
        self.program = subprocess.Popen(command, cwd=self.dir, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, self.program)
        if start:
            self.tell("start")
        return self.program

    @staticmethod
    def stop(process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def tell(self, command, answers=True):
        self.program.stdin.write(command + "\n")
        self.program.stdin.flush()
        return json.loads(self.program.stdout.readline()) if answers else None

    def until(self, so, what, program=None):
        end = time.monotonic() + 60
        while not so():
            self.assertLess(time.monotonic(), end, what)
            if program is not None:
                self.assertIsNone(program.poll(), what)
            time.sleep(0.01)

    def state(self, pid=None):
        """waiting, recording, or None."""
        listed = self.run_command("arm", "--list", env=self.env)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        states = {int(line.split()[0]): line.split()[1] for line in listed.stdout.decode().splitlines()}
        return states.get(pid or self.program.pid)

    def attach(self, *options, output="t.sbt", pid=None):
        recorder = subprocess.Popen([PROGRAM, "record", "--pid", str(pid or self.program.pid), "-o", output,
                                     *options], cwd=self.dir, env=self.env, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, recorder)
        return recorder

    def attached(self, *options, **named):
        recorder = self.attach(*options, **named)
        self.until(lambda: self.state() == "recording", "it does not begin", recorder)
        return recorder

    def detach(self, recorder, code=0):
        recorder.send_signal(signal.SIGINT)
        return self.ended(recorder, code)

    def ended(self, recorder, code=0):
        _, said = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, code, said)
        return said

    def quit(self):
        done = self.tell("quit", answers=False)
        self.program.stdin.close()
        self.assertEqual(self.program.wait(timeout=60), 0)
        return done

    def rows(self, sql, trace="t.sbt"):
        result = self.run_command("query", trace, sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def one(self, sql, trace="t.sbt"):
        return list(self.rows(sql, trace)[0].values())[0]

    def assert_whole(self, steps, trace="t.sbt", cuda=True):
        verified = self.run_command("verify", trace)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertEqual(self.rows("SELECT source, dropped, reason FROM loss WHERE dropped > 0", trace), [])
        for name, category in (("step", "NVTX"), ("work", "training")):
            self.assertEqual(self.one(f"SELECT count(*) FROM range WHERE name = '{name}' AND "
                                      f"category = '{category}' AND duration_ns > 0", trace), steps)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'trainStep'", trace),
                         4 * steps if cuda else 0)
        self.assertEqual(self.one("SELECT count(*) FROM copy WHERE bytes = 256", trace), steps if cuda else 0)
        self.assertEqual(self.one(
            "SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND "
            "h.correlation_id = k.correlation_id AND h.kind = 'launch' AND h.thread_id = k.thread_id AND "
            "h.start_ns <= k.start_ns", trace), 4 * steps if cuda else 0)

    def assert_accounted(self, launched, copies):
        """Of what CUPTI had not yet written when it was cut short, there is a count."""
        kernels = self.one("SELECT count(DISTINCT correlation_id) FROM kernel")
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), kernels)
        missing = self.one("SELECT coalesce(sum(dropped), 0) FROM loss WHERE source = 'CUDA activity'")
        # Each launch is awaited; of copies those are counted that CUPTI had begun to write.
        self.assertGreaterEqual(kernels + missing, launched)
        self.assertLessEqual(kernels + self.one("SELECT count(*) FROM copy") + missing, launched + copies)

    def test_what_it_did_meanwhile_is_in_the_trace(self):
        self.training(threads=3)
        self.tell("run 20")
        self.assertEqual(self.state(), "waiting")
        recorder = self.attached()
        self.tell("run 50")
        said = self.detach(recorder)
        self.assertIn("600 kernels, 150 copies", said)
        self.tell("run 20")
        self.assert_whole(150)
        self.assertEqual(self.state(), "waiting")
        self.assertEqual(self.one("SELECT value FROM metadata WHERE key = 'attached_to'"), str(self.program.pid))
        self.assertIn("standin_training", self.one("SELECT value FROM metadata WHERE key = 'command_line'"))
        self.quit()
        self.assertNotIn("t.sbt.session", self.files())
        self.assertEqual(os.listdir(self.path("control")), [])

    def test_again_and_again(self):
        self.training(threads=2)
        for i in range(5):
            recorder = self.attached(output=f"{i}.sbt")
            self.tell(f"run {10 + i}")
            self.detach(recorder)
            self.assert_whole(2 * (10 + i), f"{i}.sbt")
            self.tell("run 5")
        self.quit()

    def test_amid_its_work(self):
        # Each launch that began while it was captured is there, with its kernel, or is counted.
        self.training(threads=4)
        self.tell("go")
        for i in range(6):
            self.ended(self.attach("-d", "200ms", output=f"{i}.sbt"))
            self.assertGreater(self.one("SELECT count(*) FROM kernel", f"{i}.sbt"), 0)
            without = self.one("SELECT count(*) FROM kernel k LEFT JOIN host_call h ON h.process_id = k.process_id "
                               "AND h.correlation_id = k.correlation_id WHERE h.correlation_id IS NULL", f"{i}.sbt")
            # Not even of calls that were under way when it began or ended.
            self.assertEqual(without, 0)
            self.assertEqual(self.rows("SELECT source, dropped, reason FROM loss WHERE dropped > 0 AND source "
                                       "NOT IN ('NVTX ranges', 'CUDA activity')", f"{i}.sbt"), [])
            # What has not ended a second after it was left is counted: on a busy machine that may be much.
            launches = self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'", f"{i}.sbt")
            with_call = self.one("SELECT count(*) FROM kernel", f"{i}.sbt") - without
            losses = self.rows("SELECT dropped, reason FROM loss WHERE source = 'CUDA activity'", f"{i}.sbt")
            self.assertGreaterEqual(sum(row["dropped"] for row in losses), launches - with_call, losses)
        self.tell("halt")
        self.quit()

    def test_before_it_uses_cuda(self):
        self.training(start=False)
        recorder = self.attached()
        self.tell("run 7")
        self.tell("start")
        self.tell("run 5")
        self.detach(recorder)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE name = 'work'"), 12)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'trainStep'"), 20)
        self.assertEqual(self.rows("SELECT * FROM loss WHERE dropped > 0"), [])
        self.tell("run 3")
        recorder = self.attached(output="second.sbt")
        self.tell("run 4")
        self.detach(recorder)
        self.assert_whole(4, "second.sbt")
        self.quit()

    def test_stacks_when_they_are_asked_for(self):
        self.training()
        for output, options in (("a.sbt", []), ("b.sbt", ["-s"]), ("c.sbt", []), ("d.sbt", ["-s"])):
            recorder = self.attached(*options, output=output)
            self.tell("run 5")
            self.detach(recorder)
            self.assert_whole(5, output)
            with_stack = self.one("SELECT count(*) FROM host_call WHERE kind = 'launch' AND call_path_id <> 0", output)
            self.assertEqual(with_stack, 20 if options else 0, output)
        self.assertIn("Worker::step", json.dumps(self.rows(
            "SELECT DISTINCT function FROM frame", "d.sbt")))
        self.quit()

    def test_only_kernels(self):
        self.training()
        recorder = self.attached("-k")
        self.tell("run 5")
        self.detach(recorder)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 20)
        self.assertEqual(self.one("SELECT count(*) FROM copy"), 0)
        self.quit()

    def test_the_program_ends_while_it_is_captured(self):
        self.training(threads=2)
        recorder = self.attached()
        self.tell("run 30")
        self.quit()
        self.ended(recorder)
        self.assert_whole(60)

    def test_the_program_is_killed_while_it_is_captured(self):
        self.training()
        recorder = self.attached()
        self.tell("run 30")
        self.tell("long 3")
        self.program.kill()
        self.ended(recorder)
        self.assert_accounted(123, 30)
        self.assertIsNone(self.state())
        self.assertEqual(os.listdir(self.path("control")), [])

    def test_the_recorder_is_killed(self):
        self.training()
        recorder = self.attached()
        self.tell("run 30")
        recorder.kill()
        recorder.wait()
        self.until(lambda: self.state() == "waiting", "it goes on although nobody reads")
        self.tell("run 10")
        recovered = self.run_command("recover", "t.sbt.session")
        self.assertEqual(recovered.returncode, 0, recovered.stderr)
        self.assert_whole(30)
        recorder = self.attached(output="second.sbt")
        self.tell("run 4")
        self.detach(recorder)
        self.assert_whole(4, "second.sbt")
        self.quit()

    def test_another_recorder_comes_at_once(self):
        # Before the process has seen that the first one was killed.
        self.training()
        for i in range(5):
            recorder = self.attached(output=f"{i}.sbt")
            self.tell("run 5")
            recorder.kill()
            recorder.wait()
            recorder = self.attach(output=f"{i}.again.sbt")
            self.until(lambda: os.path.exists(self.path(f"{i}.again.sbt.session")) and any(
                name.endswith(".cuda") for name in os.listdir(self.path(f"{i}.again.sbt.session"))),
                       "it does not begin", recorder)
            self.until(lambda: self.state() == "recording", "it does not begin", recorder)
            self.tell("run 6")
            self.detach(recorder)
            self.assert_whole(6, f"{i}.again.sbt")
        self.quit()

    def test_a_process_that_can_not_begin(self):
        self.training()
        # Rings would be larger than files may be.
        subprocess.run(["prlimit", f"--pid={self.program.pid}", "--fsize=1048576:"], check=True)
        recorder = self.attach("-d", "5")
        said = self.ended(recorder, code=1)
        self.assertIn("was not recorded (File too large)", said)
        self.assertIn("could not make its rings", said)
        self.assertEqual([name for name in self.files() if name.startswith("t.sbt")], [])
        subprocess.run(["prlimit", f"--pid={self.program.pid}", "--fsize=unlimited:"], check=True)
        recorder = self.attached()
        self.tell("run 5")
        self.detach(recorder)
        self.assert_whole(5)
        self.quit()

    def test_a_process_that_cannot_wait_for_a_capture(self):
        # Its page would be larger than files may be.
        self.training(around=("prlimit", "--fsize=1024:"))
        self.assertIsNone(self.state())
        said = self.ended(self.attach("-d", "5"), code=1)
        self.assertIn(f"process {self.program.pid} cannot be captured: it could not make its page in the control "
                      "directory (File too large)", said)
        self.assertEqual([name for name in self.files() if name.startswith("t.sbt")], [])
        unarmed = [name for name in os.listdir(self.path("control")) if name.endswith(".unarmed")]
        self.assertEqual(len(unarmed), 1)
        self.quit()
        # What it left goes with the next look.
        self.training()
        self.ended(self.attach("-d", "0.1"))
        self.assertNotIn(unarmed[0], os.listdir(self.path("control")))
        self.quit()

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_a_program_that_becomes_another_user_before_it_uses_cuda(self):
        os.chmod(self.dir, 0o755)
        command = [PROGRAM, "arm", "--", "setpriv", "--reuid=65534", "--clear-groups", "sleep", "60"]
        self.program = subprocess.Popen(command, cwd=self.dir, env=self.env, stdin=subprocess.PIPE)
        self.addCleanup(self.stop, self.program)
        self.until(lambda: os.stat(f"/proc/{self.program.pid}").st_uid == 65534, "it stays root")
        self.assertIn("has become another user (id 65534)", self.ended(self.attach("-d", "5"), code=1))

    def test_a_path_of_any_legal_length_is_good_for_the_output(self):
        folder = self.dir
        while len(folder) < 3700:
            folder += "/" + "long" * 50
        os.makedirs(folder)
        self.training()
        recorder = self.attached(output=folder + "/t.sbt")
        self.tell("run 5")
        self.detach(recorder)
        self.assert_whole(5, folder + "/t.sbt")
        self.quit()

    def test_its_page_is_cleaned_away(self):
        self.training()
        shutil.rmtree(self.path("control"))
        self.until(lambda: os.path.exists(self.path("control")) and self.state() == "waiting",
                   "it does not come back")
        recorder = self.attached()
        self.tell("run 5")
        self.detach(recorder)
        self.assert_whole(5)
        self.quit()

    def test_its_page_is_cut_short_while_it_is_captured(self):
        """By a clean-up job, say. It costs the capture, and nobody's life."""
        self.training()
        recorder = self.attached()
        self.tell("run 5")
        for name in os.listdir(self.env["TRACESMITH_CONTROL"]):
            os.truncate(os.path.join(self.env["TRACESMITH_CONTROL"], name), 0)
        self.tell("run 5")
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=60)
        self.assertGreaterEqual(recorder.returncode, 0, said)
        self.quit()

    def test_asked_while_it_ends(self):
        for _ in range(5):
            self.training()
            self.tell("go")
            recorder = self.attach()
            self.tell("halt")
            self.quit()
            _, said = recorder.communicate(timeout=60)
            if recorder.returncode != 0:  # it came too late
                self.assertRegex(said, "no such process|cannot be read")
            self.stop(self.program)
            for name in self.files():
                if name.startswith("t.sbt"):
                    os.remove(self.path(name))

    def test_work_that_has_not_ended(self):
        self.training(STANDIN_SCRIPT="long_kernel_ns=30000000")
        recorder = self.attached()
        self.tell("long 10")
        self.detach(recorder)
        # It has a second to end.
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'busyWait'"), 10)
        self.assertEqual(self.rows("SELECT * FROM loss WHERE dropped > 0"), [])
        self.quit()

    def test_a_call_of_the_capture_before_is_not_in_the_next(self):
        self.training(STANDIN_SCRIPT="long_kernel_ns=6000000000")
        recorder = self.attached(output="a.sbt")
        self.tell("long 1")
        self.tell("await")
        time.sleep(0.3)
        self.detach(recorder)
        recorder = self.attached(output="b.sbt")
        self.tell("halt")
        self.detach(recorder)
        # It began in the first capture and ended in the second, and is in neither.
        for trace in ("a.sbt", "b.sbt"):
            self.assertEqual(self.rows("SELECT name FROM host_call WHERE name LIKE '%Synchronize%'", trace), [])
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'", "a.sbt"), 1)
        self.quit()

    def test_children(self):
        self.training(start=False)
        recorder = self.attached()
        self.tell("fork")
        self.tell("spawn", answers=False)
        def is_captured_child():
            listed = self.run_command("arm", "--list", env=self.env).stdout.decode()
            return listed.count("recording") == 2
        self.until(is_captured_child, "the child is not captured", recorder)
        self.tell("", answers=True)
        said = self.detach(recorder)
        self.assertIn("40 kernels", said)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE name = 'of the child'"), 10)
        self.assertEqual(self.one("SELECT count(DISTINCT process_id) FROM range"), 2)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE name = 'work'"), 10)
        self.quit()

    def test_a_forked_child_that_is_the_first_to_use_cuda(self):
        self.training(start=False)
        recorder = self.attached()
        self.tell("run 3")
        self.tell("worker", answers=False)
        self.until(lambda: self.run_command("arm", "--list", env=self.env).stdout.count(b"recording") == 2,
                   "the child is not captured", recorder)
        self.tell("")
        self.detach(recorder)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'trainStep'"), 40)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE name = 'work'"), 13)
        self.assertEqual(self.one("SELECT count(*) FROM range WHERE name = 'of the worker'"), 1)
        self.assertEqual(self.one("SELECT count(DISTINCT process_id) FROM range"), 2)
        self.quit()

    def test_a_program_that_executes_another(self):
        self.training()
        recorder = self.attached()
        self.tell("run 5")
        self.tell("exec", answers=False)
        comm = Path("/proc", str(self.program.pid), "comm")
        self.until(lambda: comm.read_text() == "exe\n", "it executes nothing", recorder)
        self.tell("are you there?")  # until the new program answers, the old one's state may be seen
        self.until(lambda: self.state() == "recording", "the new program is not captured", recorder)
        self.tell("start")
        self.tell("run 6")
        self.assertNotIn("warning", self.detach(recorder))
        self.assert_accounted(44, 11)
        self.assertGreaterEqual(self.one("SELECT count(*) FROM kernel"), 24)
        self.quit()

    def test_a_program_that_is_stopped(self):
        self.training()
        self.program.send_signal(signal.SIGSTOP)
        recorder = self.attach()
        time.sleep(0.3)
        self.program.send_signal(signal.SIGCONT)
        self.until(lambda: self.state() == "recording", "it does not begin", recorder)
        self.tell("run 5")
        self.detach(recorder)
        self.assert_whole(5)
        self.quit()

    def refused(self, *arguments, code=1):
        result = self.run_command(*arguments, env=self.env)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr.decode()

    def test_what_can_not_be_captured_says_why(self):
        self.training(armed=False)
        pid = str(self.program.pid)
        self.assertIn("was not started with `tracesmith arm", self.refused("record", "--pid", pid))
        self.quit()
        self.assertIn("there is no such process", self.refused("record", "--pid", pid))
        self.assertIn("not a process id", self.refused("record", "--pid", "x1", code=2))
        self.assertIn("omit either --pid or the program", self.refused("record", "--pid", "1", "--", "true", code=2))
        self.assertIn("--pid captures CUDA and NVTX", self.refused("record", "--pid", "1", "-p", "opencl", code=2))
        self.assertIn("longer than 0", self.refused("record", "--pid", "1", "-d", "0", code=2))
        self.assertEqual(self.files(), ["control"])

    def record_without_pid(self, *options):
        recorder = subprocess.Popen([PROGRAM, "record", "-o", "t.sbt", *options], cwd=self.dir, env=self.env,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, recorder)
        self.until(lambda: self.state() == "recording", "it does not begin", recorder)
        return recorder

    def test_without_a_pid_the_only_armed_program_is_recorded(self):
        self.assertIn("nothing to record", self.refused("record", code=2))
        self.training()
        self.assertIn("nothing to record", self.refused("record", "-p", "opencl", code=2))
        recorder = self.record_without_pid()
        self.assertIn("nothing to record", self.refused("record", code=2))  # nobody else waits
        self.tell("run 5")
        self.assertIn(f"recording process {self.program.pid}: ", self.detach(recorder))
        self.assert_whole(5)
        first = self.program
        self.training()
        said = self.refused("record", "-o", "second.sbt", code=2)
        for program in (first, self.program):
            self.assertIn(f"{program.pid}  ", said)
        self.assertNotIn("second.sbt", self.files())

    def test_without_a_pid_children_belong_to_their_program(self):
        self.training(start=False)
        self.tell("fork")
        self.tell("spawn", answers=False)

        def waiting():
            return self.run_command("arm", "--list", env=self.env).stdout.decode().count("waiting")
        self.until(lambda: waiting() == 2, "the child is not armed", self.program)
        recorder = self.record_without_pid()
        self.until(lambda: waiting() == 0, "the child is not captured", recorder)
        self.tell("", answers=True)
        self.assertIn(f"recording process {self.program.pid}: ", self.detach(recorder))
        self.assertEqual(self.one("SELECT count(DISTINCT process_id) FROM range"), 1)
        self.quit()

    def test_two_at_a_time(self):
        self.training()
        recorder = self.attached()
        self.assertIn("is being captured already",
                      self.refused("record", "--pid", str(self.program.pid), "-o", "second.sbt"))
        self.tell("run 5")
        self.detach(recorder)
        self.assert_whole(5)
        self.assertNotIn("second.sbt", self.files())
        self.quit()

    def test_arm_needs_a_program_that_is_there(self):
        self.assertIn("which program?", self.refused("arm", code=125))
        self.assertIn("command not found", self.refused("arm", "--", "./nothing", code=127))
        os.chmod(self.path("control"), 0o700)
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("words")
        self.assertIn("cannot be executed", self.refused("arm", "--", "./text", code=126))

    def test_a_control_directory_that_can_not_be_used(self):
        for there, why in (("/etc/passwd", "not a directory of this user only"),
                           (self.path("a/b"), "cannot make the directory")):
            result = self.run_command("arm", "--", "true", env=dict(self.env, TRACESMITH_CONTROL=there))
            self.assertEqual(result.returncode, 125)
            self.assertIn(why, result.stderr.decode())

    def test_what_is_no_page_is_passed_over(self):
        for name, data in (("1.1.1.armed", b""), ("2.2.2.armed", b"x" * 100), ("3.3.3.armed", b"\xff" * 4096)):
            with open(os.path.join(self.path("control"), name), "wb") as file:
                file.write(data)
        os.mkdir(os.path.join(self.path("control"), "4.4.4.armed"))
        os.mkfifo(os.path.join(self.path("control"), "5.5.5.armed"))
        self.training()
        recorder = self.attached()
        self.tell("run 5")
        self.detach(recorder)
        self.assert_whole(5)
        self.quit()

    def test_arm_becomes_the_program(self):
        result = self.run_command("arm", "--", "sh", "-c", "echo $PPID $$; exit 7", env=self.env)
        self.assertEqual(result.returncode, 7)
        self.assertEqual(result.stdout.split()[0], str(os.getpid()).encode())
        self.assertEqual(result.stderr, b"")


if __name__ == "__main__":
    unittest.main()
