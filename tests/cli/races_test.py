# SPDX-License-Identifier: Apache-2.0
"""races: what is said for people and for programs, and the exit code."""

import json
import os
import unittest

from harness import BIN, CommandTest


class Races(CommandTest):
    def recording(self, *how):
        path = self.path("out.sbr")
        result = self.run_command(path, *how, program=os.path.join(BIN, "race_recording"))
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def test_both_commands_the_bytes_and_the_wait_that_is_missing(self):
        result = self.run_command("races", self.recording())
        text = result.stdout.decode()
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("likely write-read race: all bytes of buffer 1 of 4,096 bytes, 10 times; "
                      "first:", text)
        self.assertIn("launch 1 of fill_in in queue 1 writes it", text)
        self.assertIn("launch 2 of add_up in queue 2 reads it", text)
        self.assertIn("Fix: Let launch 2 of add_up in queue 2 wait for the event of launch 1 of "
                      "fill_in in queue 1.", text)
        self.assertIn("bytes 1024 to 1535 of buffer 1", text)
        self.assertIn("What 1 kernel read and write is not known (opaque)", text)
        self.assertNotIn("of opaque", text)

    def test_possible_ones_are_for_who_asks(self):
        result = self.run_command("races", self.recording(), "--all")
        self.assertIn("possible ", result.stdout.decode())
        self.assertIn("of opaque", result.stdout.decode())

    def test_none(self):
        result = self.run_command("races", self.recording("wait"), "--all")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("0 races of 30 launches", result.stdout.decode())

    def test_json_and_a_file(self):
        result = self.run_command("races", self.recording(), "--json", "-o", "out.json")
        self.assertEqual((result.returncode, result.stdout), (4, b""))
        with open(self.path("out.json"), encoding="utf-8") as file:
            process = json.load(file)["processes"][0]
        self.assertEqual((process["pid"], process["launches"]), (4711, 30))
        self.assertEqual(process["guessed_kernels"], ["opaque"])
        self.assertEqual(process["races"], sum(g["count"] for g in process["groups"]))
        group = next(g for g in process["groups"] if g["first"]["name"] == "fill_in" and
                     g["second"]["name"] == "add_up")
        self.assertEqual((group["grade"], group["conflict"], group["count"], group["begin"],
                          group["end"], group["first"]["queue"], group["second"]["launch"]),
                         ("likely", "write-read", 10, 0, 4096, 1, 2))

    def test_limit(self):
        text = self.run_command("races", self.recording(), "--limit", "1").stdout.decode()
        self.assertIn("\n1. ", text)
        self.assertNotIn("\n2. ", text)
        self.assertIn("not shown (--limit 0 shows all)", text)

    def test_a_trace_without_a_recording_says_how_to_make_one(self):
        self.assertEqual(self.run_command("record", "-p", "simulation", "-d", "0.1", "-o",
                                          "t.sbt").returncode, 0)
        result = self.run_command("races", "t.sbt")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"profile --record", result.stderr)


if __name__ == "__main__":
    unittest.main()
