# SPDX-License-Identifier: Apache-2.0
"""view --timeline --interactive on a real pseudo-terminal, whose screen pyte emulates."""

import fcntl
import glob
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from harness import PROGRAM, CommandTest, environment

# The environment that script/python-env makes; pyte is plain Python, so any interpreter can use it.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += glob.glob(os.path.join(ROOT, "build", "venv", "lib", "python3*", "site-packages"))
try:
    import pyte
except ImportError:
    pyte = None

LIMIT_S = 20
KERNELS = [{"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 100 * i, "dur": 40 + i,
            "args": {"stream": 7, "correlation": i, "device": 0}} for i in range(1, 6)]
CALLS = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
          "ts": 100 * i - 20, "dur": 5, "args": {"correlation": i}} for i in range(1, 6)]


class ScreenOf:
    """The program on a terminal of the given size. Use as a context."""

    def __init__(self, test, arguments, env, lines, columns):
        self.test = test
        try:
            self.master, self.slave = pty.openpty()
        except OSError as error:
            test.skipTest(f"no terminal can be opened here: {error}")
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.set_size(lines, columns)
        self.before = termios.tcgetattr(self.slave)

        def control():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([PROGRAM, *arguments], cwd=test.dir, env=env, stdin=self.slave,
                                        stdout=self.slave, stderr=self.slave, preexec_fn=control)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def set_size(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.stream.feed(os.read(self.master, 65536))

    def press(self, keys, *wanted):
        """Presses keys, and returns the screen once it shows one of `wanted`."""
        os.write(self.master, keys.encode())
        end = time.monotonic() + LIMIT_S
        ended = False
        while time.monotonic() < end:
            if any(text in self.text() for text in wanted):
                return self.text()
            if ended:
                break
            ended = self.process.poll() is not None  # what it wrote before is still to be read
            self.read(0.1)
        raise self.test.failureException(f"{wanted!r} was not shown, but:\n{self.text()}")

    def ends(self, code, keys=""):
        if keys:
            os.write(self.master, keys.encode())
        end = time.monotonic() + LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        self.test.assertEqual(self.process.poll(), code)
        self.test.assertEqual(termios.tcgetattr(self.slave), self.before, "the terminal's settings")


@unittest.skipIf(pyte is None, "pyte is not installed (packaging/python-packages.txt)")
class TimelineScreen(CommandTest):
    def setUp(self):
        super().setUp()
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": KERNELS + CALLS}, file)
        self.env = environment(TERM="xterm-256color", LC_ALL="C.UTF-8")
        with self.open(columns=200) as screen:
            if "no ncurses" in screen.press("", "ncurses", "stream 7"):
                self.skipTest("this build has no ncurses")
            screen.ends(0, "q")

    def open(self, lines=24, columns=80, **changes):
        return ScreenOf(self, ("view", "--timeline", "--interactive", "t.json"),
                        dict(self.env, **changes), lines, columns)

    def test_a_searched_kernel_has_the_values_of_its_row_in_sql(self):
        answer = self.run_command("query", "--json", "t.json",
                                  "SELECT start_ns, duration_ns, correlation_id FROM kernel "
                                  "WHERE name = 'k3'").stdout
        row = json.loads(answer)[0]
        with self.open() as screen:
            screen.press("", "stream 7")
            screen.press("/", "/_")
            shown = screen.press("k3\r", "match 1 of 1")
            self.assertRegex(shown, r"kernel +k3\n")
            self.assertIn(f"start_ns {row['start_ns']})", shown)
            self.assertIn(f"({row['duration_ns']} ns)", shown)
            self.assertRegex(shown, rf"correlation_id +{row['correlation_id']}\n")
            self.assertIn("launched by  cudaLaunchKernel, 20.0 µs before", shown)
            screen.ends(0, "q")

    def test_keys_go_to_the_longest_operation_and_the_largest_gap_with_its_reason(self):
        with self.open() as screen:
            screen.press("", "stream 7")
            self.assertRegex(screen.press("l", "the longest operation"), r"kernel +k5\n")
            shown = screen.press("g", "the largest gap")
            self.assertIn("(59000 ns)", shown)
            self.assertIn("host wait", shown)
            self.assertRegex(screen.press(".", "kernel  k2"), r"kernel +k2\n")
            screen.press("?", "any key: back")
            screen.ends(0, " q")

    def test_small_terminals_and_a_resize_show_rows(self):
        with self.open(lines=5, columns=20) as screen:
            screen.press("", ">  7")
            screen.set_size(24, 80)
            screen.process.send_signal(signal.SIGWINCH)
            screen.press("", "Nothing is selected")
            screen.ends(0, "q")

    def test_without_utf8_only_ascii_is_shown(self):
        with self.open(LC_ALL="C", NO_COLOR="1") as screen:
            self.assertTrue(screen.press("", "Nothing is selected").isascii())
            screen.ends(0, "q")

    def test_signals_restore_the_terminal_and_end_the_program(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.open() as screen:
                screen.press("", "stream 7")
                screen.process.send_signal(number)
                screen.ends(-number)

    def test_the_signal_of_ctrl_z_leaves_a_working_screen(self):
        # Nobody could continue a stopped program here, so the system only interrupts it.
        with self.open() as screen:
            screen.press("", "stream 7")
            screen.process.send_signal(signal.SIGTSTP)
            time.sleep(0.3)
            screen.process.send_signal(signal.SIGCONT)
            screen.press("l", "the longest operation")
            screen.ends(0, "q")

    def test_terminals_that_cannot_be_driven_get_a_sentence(self):
        for kind, sentence in (("dumb", "cannot move its cursor"), ("nothing-known", "terminfo")):
            with self.open(columns=200, TERM=kind) as screen:
                screen.press("", sentence)
                screen.ends(1)


class WithoutTerminal(CommandTest):
    def test_pipes_and_other_formats_are_refused(self):
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": KERNELS}, file)
        for options, sentence in ((["--timeline"], "needs a terminal"), ([], "add --timeline")):
            done = subprocess.run([PROGRAM, "view", "t.json", "--interactive", *options], cwd=self.dir,
                                  env=environment(), capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(sentence, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
