# SPDX-License-Identifier: Apache-2.0
"""Traces that come through standard input or a pipe, and the names that messages call files by."""

import gzip
import json
import unittest

from harness import CommandTest

EVENTS = [{"ph": "X", "name": f"n{i}", "pid": 1, "tid": 1, "ts": i * 1.5, "dur": 1} for i in range(20000)]
TEXT = json.dumps(EVENTS).encode()
COUNT = "SELECT count(*) AS n FROM range"


class ImportStream(CommandTest):

    def count(self, trace, stdin=b""):
        result = self.run_command("query", "--json", trace, COUNT, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)[0]["n"]

    def test_standard_input_is_imported(self):
        for content in (TEXT, gzip.compress(TEXT)):
            result = self.run_command("import", "-", "-o", "t.sbt", stdin=content)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"20,000 events of standard input (Chrome JSON)", result.stderr)
            self.assertEqual(self.count("t.sbt"), len(EVENTS))

    def test_standard_input_is_read_directly(self):
        self.assertEqual(self.count("-", stdin=TEXT), len(EVENTS))

    def test_pipes_and_redirected_files(self):
        with open(self.path("x.json"), "wb") as file:
            file.write(TEXT)
        for script in ("$T import <(cat x.json) -o t.sbt", "$T import - -o t.sbt < x.json",
                       "cat x.json | $T import /dev/stdin -o t.sbt"):
            result = self.shell(script)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.count("t.sbt"), len(EVENTS), script)

    def test_messages_name_what_was_given(self):
        for arguments, stdin, word in ((("import", "-"), TEXT, "-o"),
                                       (("import", "-", "-o", "t.sbt"), b"", "is empty"),
                                       (("import", "-", "-o", "t.sbt"), b"hello", "known format"),
                                       (("view", "-"), b"hello", "not a")):
            result = self.run_command(*arguments, stdin=stdin)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(b"standard input", result.stderr)
            self.assertIn(word.encode(), result.stderr)

    def test_what_memory_does_not_hold_is_called_by_its_name(self):
        with open(self.path("x.json"), "wb") as file:
            file.write(TEXT)
        result = self.shell("trap '' XFSZ; ulimit -f 4; $T view --stats x.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"x.json: cannot import it into memory", result.stderr)
        self.assertNotIn(b"/proc/", result.stderr)


if __name__ == "__main__":
    unittest.main()
