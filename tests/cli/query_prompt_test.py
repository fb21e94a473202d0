# SPDX-License-Identifier: Apache-2.0
"""The prompt of query, on a real pseudo-terminal: keys go in, and the screen's text comes out."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import termios
import time
import unittest

from harness import PROGRAM, CommandTest, environment

EVENTS = [{"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 4,
           "args": {"stream": 7, "correlation": i, "device": 0}} for i in range(1, 6)]
FOREVER = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
           "SELECT count(*) FROM n;")
PROMPT = "tracesmith> "
MORE = "       ...> "
LIMIT_S = 20


class Prompt:
    """The program at its prompt. Use as a context: what is left of it is killed at the end."""

    def __init__(self, test, arguments, env, columns=100):
        try:
            self.master, slave = pty.openpty()
        except OSError as error:
            test.skipTest(f"no terminal can be opened here: {error}")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.slave = slave  # kept open: its settings are read after the program has ended
        self.before = termios.tcgetattr(slave)

        def control():  # Ctrl-C becomes a signal only for the session of the terminal
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.test = test
        self.process = subprocess.Popen([PROGRAM, *arguments], cwd=test.dir, stdin=slave, env=env,
                                        stdout=slave, stderr=slave, preexec_fn=control)
        self.shown = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def key(self, text):
        os.write(self.master, text.encode())

    def until(self, pattern):
        """Reads until `pattern` (a regular expression) was shown since the last call; returns it."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.shown).replace("\r", "")
            found = re.search(pattern, text)
            if found:
                self.shown = ""
                return text
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if ready:
                self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
            elif self.process.poll() is not None:
                break
        raise self.test.failureException(f"{pattern!r} was not shown, but {self.shown!r}")

    def answer(self, text, pattern):
        """Types a line, and returns what was shown until `pattern` and the next prompt."""
        self.key(text + "\n")
        return self.until(f"(?s){pattern}.*{PROMPT}")

    def end(self, key="\x04"):
        self.key(key)
        code = self.process.wait(timeout=LIMIT_S)
        self.test.assertEqual(termios.tcgetattr(self.slave), self.before, "the terminal's settings")
        return code


class QueryPrompt(CommandTest):
    def setUp(self):
        super().setUp()
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": EVENTS}, file)
        self.state = self.path("state")
        self.env = environment(XDG_STATE_HOME=self.state, HOME=self.dir)
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            if "without libedit" in prompt.answer(".help", r"\.quit"):
                self.skipTest("this build has no libedit")
            prompt.end()
        self.history = os.path.join(self.state, "tracesmith", "query_history")
        os.remove(self.history)

    def prompt(self, *arguments, **changes):
        return Prompt(self, arguments or ("query", "t.json"), dict(self.env, **changes))

    def kept(self):
        with open(self.history, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_statement_of_several_lines_is_answered_and_kept_as_one_entry(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key("SELECT count(*) AS kernels\n")
            prompt.until(MORE)
            prompt.answer("FROM kernel;", r"kernels\n +5\n")
            prompt.key("\x1b[A")  # up: the whole statement
            prompt.until(r"SELECT count\(\*\) AS kernels FROM kernel;")
            prompt.answer("", r"kernels\n +5\n")
            self.assertEqual(prompt.end(), 0)
        self.assertEqual(self.kept()[0], "SELECT count(*) AS kernels FROM kernel;")

    def test_the_line_can_be_edited(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.answer("ELECT 7 AS wrung;\x01S\x05\x1b[D\x1b[D\x1b[D\x7fo", r"wrong\n +7\n")
            prompt.end()

    def test_completes_commands_tables_columns_and_functions(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key(".ta\t")
            prompt.until(r"\.tables ")
            prompt.key("\x15SELECT k.dura\x01\x0b")  # what was typed goes away again
            prompt.key("SELECT * FROM kernel_s\t")
            prompt.until("kernel_summary ")
            prompt.key("\x15SELECT k.dur FROM kernel k" + "\x1b[D" * len(" FROM kernel k") + "\t")
            prompt.until("ation_ns")
            prompt.key("\x15\x0bselect perce\t")
            prompt.until(r"percent")
            prompt.key("i\t")
            prompt.until(r"le\(")
            prompt.key("\x15SELECT name FROM kernel wher\t")
            prompt.until("kernel where")
            prompt.key("\x15.mode \t\t")
            self.assertIn("markdown", prompt.until(r"(?s)csv.*table"))
            prompt.key("\x15SELECT 'FROM kern\t")  # within a text: nothing
            prompt.key("x';\n")
            prompt.until(r"(?s)FROM kernx\n.*" + PROMPT)
            prompt.end()

    def test_ctrl_c_clears_the_line_and_the_lines_before_it(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key("SELECT nowhere,\n")
            prompt.until(MORE)
            prompt.key("nothing\x03")
            prompt.until(r"\^C\n" + PROMPT)
            prompt.answer("SELECT 8 AS eight;", r"eight\n +8\n")
            prompt.end()

    def test_ctrl_c_ends_a_running_statement_and_the_next_one_runs(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key(FOREVER + "\n")
            time.sleep(0.5)
            self.assertIsNone(prompt.process.poll())
            prompt.key("\x03")
            prompt.until("(?s)interrupted.*" + PROMPT)
            prompt.answer("SELECT 9 AS nine;", r"nine\n +9\n")
            prompt.end()

    def test_leaves_from_anywhere(self):
        for before in ("", "SELECT 1,\n"):
            for typed in (".quit\n", ".exit\n", "\x04"):
                with self.prompt() as prompt:
                    prompt.until(PROMPT)
                    prompt.key(before)
                    if before:
                        prompt.until(MORE)
                    self.assertEqual(prompt.end(typed), 0, (before, typed))
        for typed in ("SELECT 1; .quit\n", "exit\n", "quit\n"):
            with self.prompt() as prompt:
                prompt.until(PROMPT)
                self.assertEqual(prompt.end(typed), 0, typed)

    def test_commands_answer_in_the_middle_of_a_statement(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key("SELECT count(*) AS n\n")
            prompt.until(MORE)
            prompt.key(".schema kernel\n")
            prompt.until("(?s)duration_ns.*" + MORE)
            prompt.answer("FROM kernel;", r"n\n5\n")
            prompt.answer(".mode line", "")
            prompt.answer("SELECT 1 AS a, NULL AS bcd;", r"  a = 1\nbcd = NULL\n")
            prompt.answer(".mode markdown", "")
            prompt.answer("SELECT 'x|y' AS a;", r"\| a \|\n\|---\|\n\| x\\\|y \|\n")
            prompt.end()

    def test_history_is_private_and_comes_back_in_the_next_session(self):
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.answer("SELECT 5 AS five;", "five")
            prompt.end()
        self.assertEqual(stat.S_IMODE(os.stat(self.history).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.history)).st_mode), 0o700)
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key("\x1b[A")
            prompt.until("SELECT 5 AS five;")
            prompt.end("\x15\x04")

    def test_a_damaged_history_gives_what_is_whole_in_it(self):
        with open(self.history, "wb") as file:
            file.write(b"SELECT 1 AS kept;\n\xff\xfe\x00\x1b[31mSELECT 2;\n" + b"x" * 200000 + b"\n\n")
        with self.prompt() as prompt:
            prompt.until(PROMPT)
            prompt.key("\x1b[A")
            prompt.until("SELECT 1 AS kept;")
            prompt.end("\x15\x04")

    def test_a_history_that_cannot_be_used_costs_nothing(self):
        def folder():
            os.mkdir(self.history)

        def pipe():
            os.mkfifo(self.history)

        for make, remove in ((folder, os.rmdir), (pipe, os.remove)):
            make()
            with self.prompt() as prompt:
                prompt.until(PROMPT)
                shown = prompt.answer("SELECT 3 AS three;", r"three\n +3\n")
                self.assertNotIn("history", shown)
                self.assertEqual(prompt.end(), 0)
            remove(self.history)
        with self.prompt(XDG_STATE_HOME="/proc/none") as prompt:
            prompt.until(PROMPT)
            prompt.answer("SELECT 3 AS three;", r"three\n +3\n")
            self.assertEqual(prompt.end(), 0)

    def test_a_signal_restores_the_terminal(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.prompt() as prompt:
                prompt.until(PROMPT)
                prompt.key("SELECT")
                prompt.until("SELECT")
                prompt.process.send_signal(number)
                self.assertEqual(prompt.end(""), -number)

    def test_without_a_terminal_that_can_be_driven_lines_are_read_as_they_are(self):
        with self.prompt(TERM="dumb") as prompt:
            prompt.until(PROMPT)
            prompt.answer("SELECT 4 AS four;", r"four\n +4\n")
            self.assertEqual(prompt.end(), 0)

    def test_pipes_list_the_tables_and_show_no_prompt(self):
        listed = self.run_command("query", "t.json").stdout.decode()
        self.assertIn("kernel  5 rows", listed)
        self.assertNotIn(PROMPT, listed)
        self.assertFalse(os.path.exists(self.history))


if __name__ == "__main__":
    unittest.main()
