# SPDX-License-Identifier: Apache-2.0
"""The line on a terminal that says what a command is doing once it takes longer than a second."""

import json
import os
import re
import threading
import time
import unittest

from harness import CommandTest

EVENTS = [{"ph": "X", "name": "n", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(1000)]
TEXT = json.dumps(EVENTS).encode()
PAUSE_S = 1.6
BUSY = re.compile(r"\r\x1b\[K([^\r\n]*)")


def on_the_screen(shown):
    """The lines that are left when a terminal has obeyed the control characters."""
    lines = []
    for line in shown.split("\n"):
        left = line.rsplit("\x1b[K", 1)[-1]
        lines.append(re.sub(r"\x1b\[[0-9;]*m|\r", "", left))
    return lines


class ProgressLineTest(CommandTest):
    def slow_file(self, pause_s):
        """A pipe whose second half comes `pause_s` later."""
        if not os.path.exists(self.path("slow.json")):
            os.mkfifo(self.path("slow.json"))

        def write():
            with open(self.path("slow.json"), "wb", buffering=0) as pipe:
                pipe.write(TEXT[:1000])
                time.sleep(pause_s)
                pipe.write(TEXT[1000:])

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        self.addCleanup(writer.join, 10)
        return "slow.json"

    def test_it_stands_while_the_work_lasts_and_leaves_nothing(self):
        code, shown = self.on_terminal("import", self.slow_file(PAUSE_S), "-o", "t.sbt")
        self.assertEqual(code, 0, shown)
        self.assertIn("importing slow.json (1 s)", BUSY.findall(shown))
        left = "\n".join(on_the_screen(shown))
        self.assertNotIn("importing", left)
        self.assertIn("1,000 events of slow.json", left)

    def test_a_narrow_terminal_gets_what_fits(self):
        for columns in (3, 20):
            with self.subTest(columns):
                code, shown = self.on_terminal("import", self.slow_file(PAUSE_S), "-o", "t.sbt",
                                               "--force", columns=columns)
                self.assertEqual(code, 0, shown)
                *busy, _ = BUSY.findall(shown)  # the last one is the message that follows
                self.assertTrue(any(busy), shown)
                self.assertLess(max(map(len, busy)), columns)

    def test_quick_work_and_pipes_have_none(self):
        _, shown = self.on_terminal("import", self.slow_file(0), "-o", "t.sbt")
        self.assertNotIn("importing", shown)
        result = self.run_command("import", self.slow_file(PAUSE_S), "-o", "t.sbt", "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(b"importing", result.stderr)
        self.assertNotIn(b"\r", result.stderr)


if __name__ == "__main__":
    unittest.main()
