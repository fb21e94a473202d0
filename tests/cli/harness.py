# SPDX-License-Identifier: Apache-2.0
"""Runs the command for the tests of this folder: as a person's pipe, file or terminal would."""

import os
import pty
import re
import select
import shutil
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import fcntl

BIN = os.environ.get("TRACESMITH_BIN", "")
PROGRAM = os.path.join(BIN, "tracesmith")
DEMO = os.path.join(BIN, "opencl_demo")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT_S = 60

COMMANDS = ["profile", "record", "arm", "replay", "determinism", "view", "info", "analyze", "diff", "whatif", "races", "import", "summarize", "fleet", "export", "query", "studio", "report",
            "devices", "topology", "clock", "recover", "trigger", "symbolize", "benchmark", "verify",
            "completion", "man", "version", "help"]


def real_traces():
    """The folder with real traces of other tools, or None: tests that want them skip then."""
    folder = os.environ.get("TRACESMITH_TEST_DATA", "")
    return folder if os.path.isdir(os.path.join(folder, "traces")) else None


def environment(**changes):
    env = {k: v for k, v in os.environ.items()
           if k not in ("NO_COLOR", "COLUMNS", "TERM", "LC_ALL", "LANG", "LC_CTYPE")}
    env.update({"TERM": "xterm", "LANG": "C.UTF-8"})
    for key, value in changes.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    return env


class CommandTest(unittest.TestCase):
    """Each test works in an empty directory of its own."""

    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tracesmith-cli-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def files(self):
        return sorted(os.listdir(self.dir))

    def run_command(self, *arguments, stdin=b"", env=None, program=PROGRAM):
        return subprocess.run([program, *arguments], cwd=self.dir, input=stdin, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env=env or environment())

    def shell(self, script, env=None):
        """A bash script that may say $T for the command."""
        env = env or environment()
        env["T"] = PROGRAM
        return subprocess.run(["bash", "-c", script], cwd=self.dir, timeout=LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=env)

    def on_terminal(self, *arguments, columns=100, env=None):
        """Runs with a terminal as all three streams; returns (exit code, what it showed)."""
        try:
            master, slave = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.dir, stdin=slave, stdout=slave,
                                   stderr=slave, env=env or environment())
        os.close(slave)
        shown = b""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.1)
            if ready:
                try:
                    chunk = os.read(master, 65536)
                except OSError:
                    chunk = b""
                if not chunk:
                    break
                shown += chunk
            elif process.poll() is not None:
                break
        os.close(master)
        return process.wait(timeout=LIMIT_S), shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def wait_until(self, condition, what):
        """How long something takes is the machine's business: a test waits for it, not for a time."""
        end = time.monotonic() + LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def has_rows(self, name, sql):
        """Whether a statement finds rows in a trace, which may be unfinished or not there yet."""
        result = self.run_command("query", name, sql, "--csv")
        return result.returncode in (0, 3) and len(result.stdout.splitlines()) > 1

    def wait_for_end(self, pid):
        """Of a process that may be nobody's child here."""
        def ended():
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    return file.read().rpartition(b")")[2].split()[0] == b"Z"
            except (FileNotFoundError, ProcessLookupError):
                return True
        self.wait_until(ended, f"process {pid} does not end")

    def assert_fails(self, result, code, *words):
        """Exit code `code`, nothing on standard output, short and clear lines on standard error."""
        err = result.stderr.decode("utf-8", "replace")
        self.assertEqual(result.returncode, code, err)
        self.assertEqual(result.stdout, b"")
        for line in err.splitlines():
            self.assertTrue(line.startswith("tracesmith: "), line)
        self.assertLessEqual(len(err.splitlines()), 3, err)
        for word in words:
            self.assertIn(word, err)

    @staticmethod
    def without_colours(text):
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
