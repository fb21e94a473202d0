# SPDX-License-Identifier: Apache-2.0
"""replay and determinism as a user meets them: real programs are recorded, and executed again."""

import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from harness import BIN, DEMO, LIMIT_S, PROGRAM, CommandTest, environment

CHECKED = os.path.join(BIN, "cl_checked")
CASES = os.path.join(BIN, "cl_cases")
HEAVY = os.path.join(BIN, "launch_heavy")
OCLGRIND = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"


class Replay(CommandTest):
    def record(self, program, *arguments, name="x", env=None):
        if not os.path.exists(program):
            self.skipTest(f"{program} is not built (no OpenCL here)")
        result = self.run_command("profile", "-q", "--record", "-o", name + ".sbt", "--", program,
                                  *arguments, env=env)
        if b"CL_PLATFORM_NOT_FOUND" in result.stderr or b"clGetPlatformIDs failed" in result.stderr:
            self.skipTest("no OpenCL driver is installed")
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(name + ".sbr")

    def replay(self, *arguments, code=0, file="x.sbt"):
        result = self.run_command("replay", file, *arguments)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result.stdout

    def report(self, *arguments, **more):
        return json.loads(self.replay("--json", *arguments, **more))

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def assert_said(self, result, code, *words):
        """Like assert_fails, but warnings may have come before."""
        err = result.stderr.decode()
        self.assertEqual(result.returncode, code, err)
        for word in words:
            self.assertIn(word, err)


class Belongs(Replay):
    def test_a_recording_of_another_session_is_not_replayed_for_a_trace(self):
        self.record(DEMO)
        self.record(DEMO, name="y")
        ids = [self.run_command("query", "--csv", name, "SELECT value FROM metadata WHERE key = "
                                "'session_id'").stdout.decode().split()[-1]
               for name in ("x.sbt", "y.sbt")]
        self.assertNotEqual(*ids)
        self.replay()
        os.replace(self.path("y.sbr"), self.path("x.sbr"))
        for words in (("replay", "x.sbt"), ("replay", "--mode", "dry-run", "x.sbt"),
                      ("races", "x.sbt"), ("export", "x.sbt", "--with-recording", "-o", "z.sbt")):
            result = self.run_command(*words)
            self.assertIn(result.returncode, (1, 2), words)
            self.assert_said(result, result.returncode, "x.sbr", "is the recording of session", *ids)
        self.assertNotIn("z.sbt", self.files())
        self.replay(file="x.sbr")  # that is meant
        # Nor are the times of a trace taken for those of another session's recording.
        result = self.run_command("replay", "--json", "--device", "simulated", "x.sbr")
        self.assertIn(ids[0], (result.stdout + result.stderr).decode())

    def test_a_recording_of_an_earlier_version_is_replayed_with_a_note(self):
        made = os.path.join(BIN, "race_recording")
        if not os.path.exists(made):
            self.skipTest("race_recording is not built")
        self.record(DEMO)
        subprocess.run([made, self.path("x.sbr"), "waits"], check=True)
        result = self.run_command("replay", "--mode", "dry-run", "x.sbt")
        self.assert_said(result, 0, "x.sbr", "has no session id")


class RealPrograms(Replay):
    def test_the_demo_does_the_same_again(self):
        self.record(DEMO)
        for order in ("recorded", "serial", "concurrent", "random", "timing"):
            report = self.report("--order", order)
            (read,) = report["read_backs"]
            self.assertEqual((read["compared"], read["equal"]), (3, 3), order)
            self.assertEqual(report["replay"][0]["launches"], 3, order)
            self.assertEqual(report["replay"][0]["skipped"], 0, order)
            self.assertNotIn("remarks", report)
        self.assertIn(b"compared", self.replay())
        self.replay(file="x.sbr")

    def test_many_launches_do_the_same_again_and_a_part_of_them(self):
        self.record(HEAVY, "600")
        report = self.report("--verify")
        self.assertEqual(report["replay"][0]["launches"], 600)
        self.assertEqual(report["read_backs"][0]["equal"], 6)
        report = self.report("--verify", "--order", "concurrent")
        self.assertEqual(report["replay"][0]["launches"], 600)
        self.assertEqual(report["read_backs"][0]["equal"], 6)
        report = self.report("--until", "250")
        self.assertEqual(report["replay"][0]["launches"], 250)
        self.assertEqual(report["read_backs"][0]["equal"], 2)
        report = self.report("--mode", "partial", "--range", "launch:100-200")
        self.assertEqual(report["replay"][0]["launches"], 200)  # each needs the sum before it
        self.assertGreater(report["replay"][0]["skipped"], 0)

    def test_programs_that_use_everything_do_the_same_again(self):
        # cl_objects waits for an event that another thread sets; cl_mix makes calls that fail.
        for program, arguments in (("cl_objects", ()), ("cl_mix", ("counts", "2", "5"))):
            self.record(os.path.join(BIN, program), *arguments, name=program)
            for order in ("recorded", "serial", "random"):
                report = self.report("--order", order, "--verify", file=program + ".sbt")
                (read,) = report["read_backs"]
                self.assertGreater(read["compared"], 0, (program, order))
                self.assertEqual(read["equal"], read["compared"], (program, order))
                self.assertEqual(read["not_comparable"], 0, (program, order))
                self.assertEqual(report["replay"][0]["skipped"], 0, (program, order))

    def test_a_dry_run_executes_nothing(self):
        self.record(DEMO)
        env = environment(OCL_ICD_VENDORS="/nowhere")
        result = self.run_command("replay", "x.sbt", "--mode", "dry-run", "--json", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["plan"][0]["launches"], 3)
        counts = {row["command"]: row["count"] for row in report["commands"]}
        self.assertEqual(counts["launch"], 3)
        self.assertEqual(counts["read"], 3)
        self.assertIn(b"Nothing was executed", self.replay("--mode", "dry-run"))
        for part, launches in ((("--range", "launch:1-1"), 1), (("--until", "2"), 2)):
            report = self.report("--mode", "dry-run", *part)
            self.assertEqual(report["plan"][0]["launches"], launches)
        self.assertEqual(self.run_command("replay", "x.sbt", "--mode", "dry-run", "--range",
                                          "launch:9-9").returncode, 1)

    def test_without_a_driver_it_says_so(self):
        self.record(DEMO)
        env = environment(OCL_ICD_VENDORS="/nowhere")
        self.assert_fails(self.run_command("replay", "x.sbt", env=env), 1, "OpenCL")
        self.assert_fails(self.run_command("determinism", "x.sbt", env=env), 1, "OpenCL")

    def test_a_trace_with_its_recording_is_all_that_a_replay_needs(self):
        self.record(DEMO)
        before = {name: self.read(name) for name in self.files()}
        os.mkdir(self.path("there"))
        made = self.run_command("export", "x.sbt", "--with-recording")
        self.assertEqual(made.returncode, 0, made.stderr)
        os.rename(self.path("x.whole.sbt"), self.path("there/both.sbt"))
        self.assertEqual({name: self.read(name) for name in before}, before)
        both = os.path.getsize(self.path("there/both.sbt"))
        parts = sum(len(content) for content in before.values())
        self.assertLess(abs(both - parts), parts // 10 + 4096)
        for name in before:
            os.remove(self.path(name))
        file = "there/both.sbt"
        self.assertIn(b": intact;", self.run_command("verify", file).stdout)
        shown = self.run_command("info", file).stdout
        self.assertIn(b"recording  in this file: ", shown)
        self.assertRegex(shown, rb"\n +3  Launch\n")
        report = self.report("--verify", file=file)
        self.assertEqual(report["replay"][0]["launches"], 3)
        self.assertEqual(report["read_backs"][0]["equal"], 3)
        races = self.run_command("races", file)
        self.assertEqual((races.returncode, races.stderr), (0, b""), races.stdout)
        result = self.run_command("determinism", file, "--runs", "10", "--json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        report = json.loads(result.stdout)["determinism"][0]
        self.assertEqual((report["launches"], report["divergent"]), (3, 0))
        # A part of a trace has no recording, and is not said to have one.
        for more, word in ((("--from", "0s"), "omit --from"), (("-f", "json"), "-f sbt")):
            refused = self.run_command("export", file, "--with-recording", "-o", "part.sbt", *more)
            self.assert_fails(refused, 2, "--with-recording", word)
        part = self.run_command("export", file, "-q", "-o", "part.sbt")
        self.assert_said(part, 0, "is omitted (export --with-recording")
        self.assert_said(self.run_command("export", "part.sbt", "--with-recording", "-o", "x.sbt"),
                         1, "profile --record")


class Cases(Replay):
    """cl_cases: programs of a few calls."""

    def record_case(self, *case, options=(), name="x"):
        if not os.path.exists(CASES):
            self.skipTest(f"{CASES} is not built (no OpenCL here)")
        result = self.run_command("profile", "-q", "--record", *options, "-o", name + ".sbt", "--",
                                  CASES, *case)
        if result.returncode == 77 or b"clGetPlatformIDs failed" in result.stderr:
            self.skipTest("the OpenCL driver here cannot do that")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_large_payloads_are_what_the_program_gave_and_got(self):
        self.record_case("large")
        process = subprocess.Popen([PROGRAM, "replay", "--json", self.path("x.sbt")], stdout=subprocess.PIPE)
        (read,) = json.loads(process.stdout.read())["read_backs"]
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        # The last of twenty reads to one place, the map, and the read behind it.
        self.assertEqual((read["equal"], read["different"], read["not_comparable"]), (3, 0, 19))
        # Twenty buffers of 70 MiB would be there at once.
        self.assertLess(usage.ru_maxrss, 900 << 10)

    def test_a_buffer_made_of_shared_memory_is_that_memory(self):
        self.record_case("shared")
        for order in ("recorded", "serial"):
            (read,) = self.report("--verify", "--order", order)["read_backs"]
            self.assertGreaterEqual(read["compared"], 2, order)
            self.assertEqual(read["equal"], read["compared"], order)
        shown = self.replay("--mode", "dry-run")
        self.assertNotIn(b"remarks", shown)

    def test_what_cannot_be_made_cannot_be_made_again(self):
        self.record_case("failures")
        report = self.report("--verify")
        (run,) = report["replay"]
        self.assertNotIn("remarks", report)
        self.assertGreaterEqual(run["failed_alike"], 19)
        self.assertEqual(run["skipped"], 0)

    def test_asking_for_a_function_is_no_loss_but_calling_it_is(self):
        self.record_case("asks")
        report = self.report("--verify")
        self.assertNotIn("remarks", report)
        self.record_case("calls", name="y")
        report = self.report("--verify", file="y.sbt", code=4)
        self.assertIn("clCreateCommandBufferKHR cannot be replayed",
                      [note["what"] for note in report["remarks"]])

    def test_a_program_that_reads_nothing_back_is_verified_by_what_launches_leave(self):
        self.record_case("silent")
        result = self.run_command("replay", "x.sbt", "--verify")
        self.assert_said(result, 4, "nothing was compared", "--launch-hashes")
        self.record_case("silent", options=("--launch-hashes",), name="y")
        for order in ("recorded", "serial", "concurrent"):
            report = self.report("--verify", "--order", order, file="y.sbt")
            self.assertEqual(report["launches"], [{"compared": 3, "equal": 3, "different": 0}])
        # Different code produces different output.
        report = self.report("--verify", "--build-options", "-DMORE=1", file="y.sbt", code=4)
        self.assertEqual(report["launches"][0]["different"], 3)
        self.assertEqual(report["launch_differences"][0]["launch"], "launch 1 (add)")

    def test_work_groups_take_turns_in_any_order_though_they_know_their_numbers(self):
        self.record_case("ticket")
        result = self.run_command("determinism", "x.sbt", "--runs", "10", "--json")
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        rows = json.loads(result.stdout)["divergences"]
        self.assertEqual({row["memory"] for row in rows}, {"buffer 2"})
        times, runs = re.search(r"different output in (\d+) of (\d+) runs", rows[0]["evidence"]).groups()
        self.assertGreater(int(times), int(runs) / 2, rows)
        self.assertIn("other orders of its work-groups", rows[0]["evidence"])

    def test_included_files_are_in_the_recording(self):
        os.makedirs(self.path("inc/deep"))
        with open(self.path("inc/first.h"), "w", encoding="utf-8") as file:
            file.write("#include \"deep/../deep/second.h\"\n#define PUT(a, i) a[i] = TIMES(i)\n")
        with open(self.path("inc/deep/second.h"), "w", encoding="utf-8") as file:
            file.write("#define TIMES(x) (x) * BY\n")
        for folder, name in ((self.dir, "x"), (".", "y")):
            self.record_case("includes", folder, name=name)
        with open(self.path("inc/deep/second.h"), "w", encoding="utf-8") as file:
            file.write("#define TIMES(x) (x) * BY + 1\n")  # what it is now is not what it was
        left = set(os.listdir(tempfile.gettempdir()))
        for name in ("x.sbt", "y.sbt"):
            self.report("--verify", file=name)
        shutil.rmtree(self.path("inc"))
        for name in ("x.sbt", "y.sbt"):
            (read,) = self.report("--verify", file=name)["read_backs"]
            self.assertEqual((read["compared"], read["equal"]), (1, 1))
            races = self.run_command("races", name, "--json")
            self.assertEqual(json.loads(races.stdout)["processes"][0]["guessed_kernels"], [])
        stays = {entry for entry in set(os.listdir(tempfile.gettempdir())) - left
                 if os.path.exists(os.path.join(tempfile.gettempdir(), entry, self.dir[1:], "inc"))}
        self.assertEqual(stays, set())

    def test_included_files_that_include_each_other_end(self):
        """The spellings of a path have no end; and a macro gives the name of one."""
        os.makedirs(self.path("inc/deep"))
        for name, text in (
                ("first.h", '#ifndef FIRST\n#define FIRST\n#define NEXT "deep/second.h"\n'
                            '#include NEXT\n#define PUT(a, i) a[i] = TIMES(i)\n#endif\n'),
                ("deep/second.h", '#ifndef SECOND\n#define SECOND\n#include "../first.h"\n'
                                  '#include "../deep/third.h"\n#define TIMES(x) (x) * BY\n#endif\n'),
                ("deep/third.h", '#include "../deep/second.h"\n#include "../../inc/first.h"\n'
                                 '#include "../deep/../deep/second.h"\n')):
            with open(self.path("inc/" + name), "w", encoding="utf-8") as file:
                file.write(text)
        self.record_case("includes", self.dir)
        shutil.rmtree(self.path("inc"))
        (read,) = self.report("--verify")["read_backs"]
        self.assertEqual((read["compared"], read["equal"]), (1, 1))
        self.assertLess(self.recorded_files(), 10)

    def recorded_files(self):
        dumped = subprocess.run([os.path.join(BIN, "record_dump"), self.path("x.sbr")], check=True,
                                stdout=subprocess.PIPE)
        return dumped.stdout.count(b" IncludedFile")


class Trigger(Replay):
    IN_RANGE = 2224  # where ChannelHeader (channel_layout.hpp) has `in_range`, in bytes

    def wait_for_range(self, inside):
        """Until the program has followed the last command: it does so at its next launch."""
        (channel,) = glob.glob(self.path("x.sbt.session/*.channel"))
        end = time.monotonic() + LIMIT_S
        with open(channel, "rb", buffering=0) as file:
            while struct.unpack("=I", os.pread(file.fileno(), 4, self.IN_RANGE))[0] != inside:
                self.assertLess(time.monotonic(), end, "the program does not follow the command")
                time.sleep(0.01)

    def wait_for_kernels(self, more):
        """Until the growing trace has that many kernels more than now."""
        def count():
            result = self.run_command("query", "x.sbt", "--csv", "select count(*) n from kernel")
            return int(result.stdout.split()[-1])
        end, wanted = time.monotonic() + LIMIT_S, count() + more
        while count() < wanted:
            self.assertLess(time.monotonic(), end, "the program launches nothing any more")
            time.sleep(0.05)

    def test_command_and_signal_begin_and_end_a_range(self):
        if not os.path.exists(DEMO):
            self.skipTest("the demo is not built (no OpenCL here)")
        profile = subprocess.Popen([PROGRAM, "profile", "-q", "--record", "--range", "trigger", "-o",
                                    "x.sbt", "--", DEMO, "--repeat", "1000000"], cwd=self.dir,
                                   env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        self.addCleanup(profile.kill)
        pid = str(profile.pid)
        end = time.monotonic() + 30
        while (result := self.run_command("trigger", pid)).returncode != 0:
            if profile.poll() is not None:
                self.skipTest(f"no OpenCL driver: {profile.stderr.read()}")
            self.assertLess(time.monotonic(), end, result.stderr)
            time.sleep(0.05)
        self.assertIn(b"the range begins", result.stderr)
        self.wait_for_range(1)
        profile.send_signal(signal.SIGUSR2)
        self.wait_for_range(0)
        profile.send_signal(signal.SIGUSR2)
        self.wait_for_range(1)
        result = self.run_command("trigger", pid)
        self.assertIn(b"the range ends", result.stderr)
        self.wait_for_range(0)
        # Those in the range may still run, and would be missing from the trace.
        self.wait_for_kernels(10)
        profile.send_signal(signal.SIGINT)
        profile.communicate(timeout=60)
        report = json.loads(self.replay("--mode", "dry-run", "--json"))
        counts = {row["command"]: row["count"] for row in report["commands"]}
        self.assertEqual(counts["range edge"], 4)
        kernels = self.run_command("query", "x.sbt", "--csv", "select count(*) n from kernel")
        recorded = report["plan"][0]["launches"]
        self.assertGreater(recorded, 0)
        self.assertLess(recorded, int(kernels.stdout.split()[-1]))
        self.assertEqual(self.report()["read_backs"][0]["different"], 0)


class KnownContent(Replay):
    """cl_checked: launch 1 and 2 add 5 to 0..63 in buffer 1, launch 3 halves floats in buffer 2."""

    def test_dumps_show_what_memory_held(self):
        self.record(CHECKED)
        def numbers(*arguments):
            out = self.replay(*arguments).decode()
            return [float(v) for line in re.findall(r"^ *\d+: (.*)$", out, re.M)
                    for v in line.split()]
        ints = ("--dump-as", "int")
        self.assertEqual(numbers("--dump", "1@1", *ints), [i + 5 for i in range(64)])
        self.assertEqual(numbers("--dump", "1@2", *ints), [i + 10 for i in range(64)])
        self.assertEqual(numbers("--dump", "1@before:1", *ints), list(range(64)))
        self.assertEqual(numbers("--dump", "1@before:2", "--order", "serial", *ints), [i + 5 for i in range(64)])
        self.assertEqual(numbers("--dump", "1@end", *ints), [i + 10 for i in range(64)])
        halves = [i / 2 for i in range(64)]
        self.assertEqual(numbers("--dump", "2@3", "--dump-as", "float"), halves)
        hexadecimal = self.replay("--dump", "1@1").decode()
        self.assertIn("00000000  05 00 00 00 06 00 00 00  07 00 00 00 08 00 00 00", hexadecimal)
        self.assertIn("\n00000100\n", hexadecimal)
        stats = self.replay("--dump", "2@3", "--dump-as", "stats").decode()
        self.assertIn("bytes     256", stats)
        self.assertIn("as float  0 to 31.5, mean 15.75; 0 NaN, 0 infinite", stats)
        self.replay("--dump", "2@3", "--dump-as", "raw", "-o", "raw.bin")
        with open(self.path("raw.bin"), "rb") as file:
            self.assertEqual(file.read(), struct.pack("<64f", *halves))
        rows = self.report("--dump", "1@2", "--dump", "1@before:2", "--dump", "2@end", "--dump-as", "raw",
                           "-o", "raw.bin")["dumps"]
        self.assertEqual([[row[key] for key in ("buffer", "when", "launch", "type", "offset")] for row in rows],
                         [[1, "before", 2, "int*", 0], [1, "after", 2, "int*", 256], [2, "at the end", None, "", 512]])
        with open(self.path("raw.bin"), "rb") as file:
            self.assertEqual(file.read(), struct.pack("<128i64f", *(i + 5 for i in range(64)),
                                                      *(i + 10 for i in range(64)), *halves))

    def test_a_picture_of_memory(self):
        self.record(CHECKED)
        png = ("--dump", "2@3", "--dump-as", "png", "--picture", "8:float")
        self.replay(*png, "-o", "halves.png")
        with open(self.path("halves.png"), "rb") as file:
            head = file.read(26)
        self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">IIBB", head[16:26]), (8, 8, 8, 0))
        self.assert_said(self.run_command("replay", "x.sbt", *png), 2, "-o FILE")
        self.assert_said(self.run_command("replay", "x.sbt", *png[:4], "-o", "x.png"), 1,
                         "--picture")

    def test_parts_are_what_they_say(self):
        self.record(CHECKED)
        for arguments, launches in ((("--range", "kernel:^add$"), 2), (("--range", "launch:1-1"), 1),
                                    (("--stream", "0"), 2), (("--stream", "1"), 1),
                                    (("--until", "1"), 1), (("--range", "time:0s-1h"), 3)):
            report = self.report(*arguments)
            self.assertEqual(report["replay"][0]["launches"], launches, arguments)
            self.assertEqual(report["read_backs"][0]["different"], 0, arguments)

    def test_streams_have_the_numbers_of_the_trace(self):
        self.record(CHECKED)
        streams = json.loads(self.run_command(
            "query", "x.sbt", "SELECT s.ordinal, count(*) AS launches FROM kernel k "
            "JOIN stream s ON s.id = k.stream_id GROUP BY s.ordinal", "--json").stdout)
        self.assertEqual(len(streams), 2)
        for stream in streams:
            report = self.report("--stream", str(stream["ordinal"]))
            self.assertEqual(report["replay"][0]["launches"], stream["launches"])

    def test_what_makes_no_sense_is_refused(self):
        self.record(CHECKED)
        for arguments, word in (
                (("--range", "launch:9-12"), "3 launches"),
                (("--dump", "99@1"), "no buffer"), (("--dump", "1@99"), "3 launches"),
                (("--dump", "x"), "BUFFER@LAUNCH"), (("--dump", "1@before:0"), "before:12"), (("--mode", "partial"), "--range"),
                (("--mode", "stream"), "--stream"), (("--speed", "-1"), "--speed"),
                (("--order", "random", "--until", "2"), "--until"),
                (("--order", "random", "--dump", "1@1"), "1@1"),
                (("--device", "no such"), "no such"), (("--process", "1"), "no such process")):
            result = self.run_command("replay", "x.sbt", *arguments)
            self.assertIn(result.returncode, (1, 2), arguments)
            self.assertIn(word, result.stderr.decode())
            self.assertEqual(result.stdout, b"")
        self.assertEqual(self.run_command("replay", "x.sbt", "--order", "bogus").returncode, 2)

    def test_what_is_read_otherwise_ends_with_4(self):
        self.record(CHECKED, "unseen")  # changes memory in a way that no recorder sees
        report = self.report(code=4)
        self.assertEqual(report["read_backs"][0]["different"], 1)
        result = self.run_command("determinism", "x.sbt", "--runs", "10")
        self.assertEqual(result.returncode, 4, result.stderr)

    def test_what_hangs_or_crashes_is_named(self):
        # Recorded while memory tells the kernel to end, replayed when it does not.
        for what, word in (("hang", "hung (no end within 5 s)"), ("crash", "signal 11")):
            self.record(CHECKED, what, name=what)
            for order in ("recorded", "concurrent"):
                result = self.run_command("replay", what + ".sbt", "--time-limit", "5",
                                          "--order", order)
                self.assert_said(result, 1, word, f"launch 4 ({what})")
                self.assertEqual(result.stdout, b"")

    def test_oclgrind_replays_what_pocl_executed(self):
        if not os.path.exists(OCLGRIND):
            self.skipTest(f"{OCLGRIND} is not installed")
        self.record(CHECKED)
        env = environment(OCL_ICD_VENDORS=OCLGRIND)
        result = self.run_command("replay", "x.sbt", "--device", "Oclgrind", "--json", env=env)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        report = json.loads(result.stdout)
        self.assertEqual(report["read_backs"][0]["equal"], report["read_backs"][0]["compared"])
        self.assertEqual(report["replay"][0]["launches"], 3)
        result = self.run_command("replay", "x.sbt", "--device", "Oclgrind", env=env)
        self.assertIn(b"Oclgrind", result.stdout)
        self.assertIn(b"not the recorded device", result.stdout)


class WrongInput(Replay):
    def test_what_is_no_recording_is_named(self):
        with open(self.path("text.sbr"), "w", encoding="utf-8") as file:
            file.write("not a recording\n" * 100)
        for command in ("replay", "determinism"):
            self.assert_fails(self.run_command(command, "none.sbt"), 1, "none.sb")
            self.assert_fails(self.run_command(command, "text.sbr"), 1, "text.sbr")
            self.assert_fails(self.run_command(command, self.dir), 2, "directory")
        self.run_command("profile", "-q", "-o", "bare.sbt", "--", "true")
        self.assert_fails(self.run_command("replay", "bare.sbt"), 1, "bare.sb")

    def test_a_cut_recording_is_planned_up_to_the_cut(self):
        recording = self.record(CHECKED)
        with open(recording, "rb") as file:
            whole = file.read()
        launches = set()
        for at in sorted({*range(0, len(whole), max(1, len(whole) // 60)), *range(0, 64, 7)}):
            with open(self.path("cut.sbr"), "wb") as file:
                file.write(whole[:at])
            result = self.run_command("replay", "cut.sbr", "--mode", "dry-run", "--json")
            self.assertIn(result.returncode, (1, 3), (at, result.stderr))
            self.assertNotIn(b".sbr.sbr", result.stderr)
            if result.returncode == 1:
                self.assertTrue(result.stderr.startswith(b"tracesmith: "), (at, result.stderr))
            else:
                launches.add(json.loads(result.stdout)["plan"][0]["launches"])
        for at in range(1, 8):
            with open(self.path("cut.sbr"), "wb") as file:
                file.write(whole[:len(whole) * at // 8])
            for verify in ((), ("--verify",)):
                result = self.run_command("replay", "cut.sbr", *verify)
                self.assertIn(result.returncode, (1, 3, 4), (at, result.stderr))

    def test_damage_is_named_with_what_it_keeps_from_running(self):
        recording = self.record(CHECKED)
        with open(recording, "rb") as file:
            whole = file.read()
        named = 0
        step = max(1, len(whole) // 30)
        for at in range(64, len(whole), step):
            with open(self.path("bad.sbr"), "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            result = self.run_command("replay", "bad.sbr", "--verify", "--json")
            self.assertIn(result.returncode, (0, 1, 3, 4), (at, result.stderr))
            self.assertNotIn(b"signal", result.stderr, at)
            if result.returncode == 4:
                # A launch that was not made says what it is without, and which content that is.
                notes = json.loads(result.stdout).get("remarks", [])
                named += any(note["where"].startswith("launch ") and "does not exist" in note["what"]
                             and re.search("content [0-9a-f]{32}", note["what"]) for note in notes)
            elif result.returncode == 1:
                self.assertTrue(result.stderr.startswith(b"tracesmith: "), (at, result.stderr))
        self.assertGreater(named, 0)


if __name__ == "__main__":
    unittest.main()
