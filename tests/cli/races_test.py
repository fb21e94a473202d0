# SPDX-License-Identifier: Apache-2.0
"""races: what is said for people and for programs, and the exit code."""

import json
import os
import unittest

from harness import BIN, CommandTest, environment


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
        self.assertIn("launch 1 of fill_in in queue 0 writes it", text)
        self.assertIn("launch 2 of add_up in queue 1 reads it", text)
        self.assertIn("Fix: Let launch 2 of add_up in queue 1 wait for the event of launch 1 of "
                      "fill_in in queue 0.", text)
        self.assertIn("bytes 1024 to 1535 of buffer 1", text)
        self.assertIn("It is not known what 1 kernel read and write (opaque)", text)
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
                         ("likely", "write-read", 10, 0, 4096, 0, 2))

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


class Cases(CommandTest):
    """cl_cases: programs of a few calls."""

    def races(self, case, *options):
        program = os.path.join(BIN, "cl_cases")
        if not os.path.exists(program):
            self.skipTest(f"{program} is not built (no OpenCL here)")
        result = self.run_command("profile", "-q", "--record", "-o", "x.sbt", "--", program, case)
        if result.returncode == 77 or b"clGetPlatformIDs failed" in result.stderr:
            self.skipTest("the OpenCL driver here cannot do that")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.run_command("races", "x.sbt", "--json", *options)
        (process,) = json.loads(result.stdout)["processes"]
        return result.returncode, process

    def test_who_asks_until_a_command_is_complete_has_waited_for_it(self):
        for case in ("poll", "callback"):
            code, process = self.races(case)
            self.assertEqual((code, process["races"]), (0, 0), case)

    def test_a_race_of_a_buffer_and_the_shared_memory_it_is_made_of(self):
        code, process = self.races("shared")
        self.assertEqual(code, 4)
        names = {(group["first"]["name"], group["second"]["name"]) for group in process["groups"]}
        self.assertIn(("fill", "add"), names)

    def test_what_a_macro_or_an_argument_leaves_out_is_not_written_and_what_lies_behind_a_struct_is(self):
        for case in ("dead", "argument"):
            code, process = self.races(case)
            self.assertEqual((code, process["guessed_kernels"]), (4, []), case)
            (group,) = process["groups"]
            memory = group["memory"]
            self.assertEqual((group["grade"], group["conflict"], memory["kind"], memory["number"]),
                             ("likely", "write-write", "buffer", 2), case)


class Confirm(CommandTest):
    """Races that are executed both ways round, of programs that really ran."""

    def record(self, program, *arguments):
        path = os.path.join(BIN, program)
        if not os.path.exists(path):
            self.skipTest(f"{path} is not built (no OpenCL here)")
        result = self.run_command("profile", "-q", "--record", "-o", "x.sbt", "--", path,
                                  *arguments)
        if result.returncode == 77 or b"clGetPlatformIDs failed" in result.stderr:
            self.skipTest("no OpenCL driver is installed")
        self.assertEqual(result.returncode, 0, result.stderr)

    def verdicts(self, code, *arguments, file="x.sbt"):
        result = self.run_command("races", file, "--confirm", "--json", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        (process,) = json.loads(result.stdout)["processes"]
        return process, [group["confirm"] for group in process["groups"]]

    def test_the_planted_race_is_confirmed(self):
        self.record("race_demo")
        for file in ("x.sbt", "x.sbr"):
            process, (confirm,) = self.verdicts(4, file=file)
            self.assertEqual((confirm["verdict"], confirm["reason"]), ("confirmed", None))
            difference = confirm["difference"]
            self.assertEqual((difference["in"], difference["launch"], difference["memory"],
                              difference["first_byte"]),
                             ("memory", 2, "buffer 2", 0))
            self.assertGreater(difference["differing_bytes"], 200_000)
            self.assertEqual(confirm["read_backs"], 1)
            self.assertEqual(process["replays"], 6)
            self.assertNotEqual(process["device"], "")
        text = self.run_command("races", "x.sbt", "--confirm").stdout.decode()
        self.assertIn("\n1 confirmed (6 replays on ", text)
        self.assertIn("   Confirmed: in the opposite order launch 2 of blur leaves different "
                      "bytes in buffer 2: ", text)

    def test_without_a_race_nothing_is_replayed(self):
        self.record("race_demo", "--fixed")
        process, verdicts = self.verdicts(0)
        self.assertEqual((process["races"], verdicts), (0, []))
        self.assertNotIn("replays", process)

    def test_writes_of_equal_bytes_show_no_difference(self):
        self.record("cl_races", "same")
        _, (confirm,) = self.verdicts(4)
        self.assertEqual((confirm["verdict"], confirm["difference"]), ("no difference seen", None))
        self.assertGreater(confirm["read_backs"], 0)
        text = self.run_command("races", "x.sbt", "--confirm").stdout.decode()
        self.assertIn("   No difference seen: both orders leave the same bytes, with "
                      "these data; 1 read-back equal.", text)

    def test_a_terminal_sees_how_far_it_is(self):
        self.record("race_demo")
        code, shown = self.on_terminal("races", "x.sbt", "--confirm")
        self.assertEqual(code, 4)
        self.assertIn("replay 1 of at most 50", shown)

    def test_without_a_driver_none_is_tried(self):
        self.record("race_demo")
        result = self.run_command("races", "x.sbt", "--confirm",
                                  env=environment(OCL_ICD_VENDORS="/nowhere"))
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("\n1 not tried (0 replays)", result.stdout.decode())
        self.assertIn("   Not tried: ", result.stdout.decode())

    def test_a_trace_without_a_recording_is_refused(self):
        self.run_command("record", "-p", "simulation", "-d", "0.1", "-o", "t.sbt")
        result = self.run_command("races", "t.sbt", "--confirm")
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"--confirm executes a recording; `tracesmith profile --record", result.stderr)

    def test_what_makes_no_sense_is_refused(self):
        self.run_command(self.path("out.sbr"), program=os.path.join(BIN, "race_recording"))
        for arguments in (("--replays", "9"), ("--confirm", "--replays", "5"),
                          ("--device", "x")):
            result = self.run_command("races", "out.sbr", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, b"")


if __name__ == "__main__":
    unittest.main()
