#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`profile --nsys` and reports of Nsight Systems, with a stand-in for the tool.

The stand-in checks its arguments, runs the program, and writes a database as the tool's export
does. Its report is a file of its own kind: what is in real ones, only the real tool knows.
"""

import json
import os
import signal
import stat
import subprocess
import unittest

from harness import PROGRAM, CommandTest, environment

STAND_IN = r'''#!/usr/bin/env python3
import json, os, signal, sqlite3, subprocess, sys

arguments = sys.argv[1:]
with open(os.environ["NSYS_LOG"], "a") as log:
    log.write(json.dumps(arguments) + "\n")

def profile(words):
    output = None
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "-o":
            output = words.pop(0)
        elif word.startswith("--trace=") or word.startswith("--env-var="):
            pass
        else:
            sys.exit("nsys: unrecognised option " + word)
    if output is None or not words:
        sys.exit("nsys: no output or no program")
    print("Collecting data...", flush=True)
    # A signal that comes before there is a program to pass it to waits for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    passed_on = lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    program = subprocess.Popen(words, preexec_fn=passed_on)
    signal.signal(signal.SIGINT, lambda *_: program.send_signal(signal.SIGINT))
    passed_on()
    code = program.wait()
    if os.environ.get("NSYS_REPORT") != "none":
        with open(output + ".nsys-rep", "w") as report:
            report.write("a report " + json.dumps(words))
    sys.exit(code if code >= 0 else 128 - code)

def export(words):
    options = dict(w[2:].split("=", 1) for w in words if w.startswith("--"))
    (report,) = [w for w in words if not w.startswith("--")]
    if "include-blobs" in options and os.environ.get("NSYS_AGE") == "old":
        sys.exit("unrecognised option '--include-blobs'")
    if options.get("type") != "sqlite" or options.get("force-overwrite") != "true":
        sys.exit("nsys: only an export that replaces an SQLite file is expected")
    if not open(report).read().startswith("a report "):
        sys.exit("Failed to load the report: it is broken")
    db = sqlite3.connect(options["output"])
    db.executescript("""
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        INSERT INTO StringIds VALUES (1, 'saxpy(float*, float)'), (2, 'cudaLaunchKernel_v7000');
        CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100');
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
            eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
            nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 0, 282578800083044, 7, 2, 0, NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
            deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
            shortName INTEGER NOT NULL, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
            gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
            blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
            (2000, 4500, 0, 1, 7, 7, 282578800082944, 1, 1, 32, 10, 1, 1, 128, 1, 1);
    """)
    if os.environ.get("NSYS_EMPTY"):
        db.executescript("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
    db.commit()

{"profile": profile, "export": export}[arguments[0]](arguments[1:])
'''


class Nsys(CommandTest):

    def setUp(self):
        super().setUp()
        self.tools = self.path("tools")
        os.mkdir(self.tools)
        tool = os.path.join(self.tools, "nsys")
        with open(tool, "w") as file:
            file.write(STAND_IN)
        os.chmod(tool, os.stat(tool).st_mode | stat.S_IXUSR)
        self.log = self.path("nsys.log")

    def with_nsys(self, **changes):
        return environment(PATH=self.tools + ":" + os.environ["PATH"], NSYS_LOG=self.log, **changes)

    def calls(self):
        with open(self.log) as log:
            return [json.loads(line) for line in log]

    def kernels(self, trace):
        answer = self.run_command("query", trace, "SELECT name FROM kernel")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer.stdout.decode()

    def test_the_program_is_recorded_and_what_nsys_wrote_is_imported(self):
        run = self.run_command("profile", "--nsys", "--nsys-args",
                               "--trace=cuda,nvtx '--env-var=A=b c'", "-o", "run.sbt", "--",
                               "sh", "-c", "echo out; exit 7", "arg with space",
                               env=self.with_nsys())
        self.assertEqual(run.returncode, 7, run.stderr)
        self.assertIn(b"out\n", run.stdout)
        profile, export = self.calls()
        self.assertEqual(profile[:2], ["profile", "-o"])
        self.assertEqual(profile[3:], ["--trace=cuda,nvtx", "--env-var=A=b c", "sh", "-c",
                                       "echo out; exit 7", "arg with space"])
        self.assertEqual(export[0], "export")
        self.assertIn("--type=sqlite", export)
        self.assertIn("--include-blobs=true", export)
        self.assertIn("saxpy(float*, float)", self.kernels("run.sbt"))
        self.assertIn(b"tracesmith view run.sbt", run.stderr)
        self.assertEqual(self.files(), ["nsys.log", "run.sbt", "tools"], "nothing is left behind")

    def test_the_report_is_kept_where_that_is_wished_and_can_be_imported_again(self):
        for wish in ("--keep-nsys", "--keep-trace"):
            run = self.run_command("profile", "--nsys", wish, "-q", "-o", "run.sbt", "--", "true",
                                   env=self.with_nsys())
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue(os.path.exists(self.path("run.nsys-rep")), wish)
            os.unlink(self.path("run.sbt"))
            again = self.run_command("import", "run.nsys-rep", env=self.with_nsys())
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn(b"Nsight Systems report", again.stderr)
            self.assertIn("saxpy(float*, float)", self.kernels("run.sbt"))
            os.unlink(self.path("run.nsys-rep"))

    def test_a_report_without_events_replaces_no_trace_with_events(self):
        def record(*options, **changes):
            result = self.run_command("profile", "--nsys", *options, "--", "true",
                                      env=self.with_nsys(**changes))
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stderr.decode()

        record()
        self.assertIn("stays as it was", record("--perfetto", NSYS_EMPTY="1"))
        self.assertIn("saxpy", self.kernels("trace.sbt"))
        self.assertNotIn("saxpy", self.kernels("trace-2.sbt"))
        self.assertIn("trace-2.pftrace", self.files())
        record("--force", NSYS_EMPTY="1")
        self.assertNotIn("saxpy", self.kernels("trace.sbt"))

    def test_an_older_report_stays(self):
        with open(self.path("trace.nsys-rep"), "w") as report:
            report.write("older")
        result = self.run_command("profile", "--nsys", "--keep-nsys", "--", "true",
                                  env=self.with_nsys())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"trace-2.nsys-rep: the report", result.stderr)
        with open(self.path("trace.nsys-rep")) as report:
            self.assertEqual(report.read(), "older")

    def test_views_take_a_report_directly(self):
        with open(self.path("odd.nsys-rep"), "w") as report:
            report.write("a report []")
        view = self.run_command("view", "--stats", "odd.nsys-rep", env=self.with_nsys())
        self.assertEqual(view.returncode, 0, view.stderr)
        self.assertIn(b"saxpy", view.stdout)

    def test_an_older_nsys_exports_without_payloads(self):
        run = self.run_command("profile", "--nsys", "-o", "run.sbt", "--", "true",
                               env=self.with_nsys(NSYS_AGE="old"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([c[0] for c in self.calls()], ["profile", "export", "export"])
        self.assertNotIn("--include-blobs=true", self.calls()[2])
        self.assertIn("saxpy", self.kernels("run.sbt"))

    def test_without_the_tool_it_is_named_and_how_to_get_it(self):
        env = environment(PATH="/nonexistent")
        run = self.run_command("profile", "--nsys", "--", "/bin/true", env=env)
        self.assertEqual(run.returncode, 125)
        self.assertIn(b"nsys: not found on PATH", run.stderr)
        self.assertIn(b"https://developer.nvidia.com/nsight-systems", run.stderr)
        with open(self.path("some.nsys-rep"), "wb") as report:
            report.write(b"\x00\x01\x02 whatever")
        imported = self.run_command("import", "some.nsys-rep", env=env)
        self.assertEqual(imported.returncode, 1)
        self.assertIn(b"some.nsys-rep", imported.stderr)
        self.assertIn(b"https://developer.nvidia.com/nsight-systems", imported.stderr)
        self.assertIn(b"nsys export --type sqlite", imported.stderr)
        self.assertEqual(self.files(), ["some.nsys-rep", "tools"])

    def test_a_tool_that_fails_is_quoted(self):
        with open(self.path("broken.nsys-rep"), "w") as report:
            report.write("no report")
        imported = self.run_command("import", "broken.nsys-rep", env=self.with_nsys())
        self.assertEqual(imported.returncode, 1)
        self.assertIn(b"Failed to load the report: it is broken", imported.stderr)
        self.assertNotIn("broken.sbt", self.files())

    def test_a_run_that_leaves_no_report_says_so(self):
        run = self.run_command("profile", "--nsys", "-o", "run.sbt", "--", "sh", "-c", "exit 3",
                               env=self.with_nsys(NSYS_REPORT="none"))
        self.assertEqual(run.returncode, 3)
        self.assertIn(b"has left no report", run.stderr)
        run = self.run_command("profile", "--nsys", "-o", "run.sbt", "--", "true",
                               env=self.with_nsys(NSYS_REPORT="none"))
        self.assertEqual(run.returncode, 125)
        self.assertEqual(self.files(), ["nsys.log", "tools"])

    def test_options_that_make_no_sense_are_refused_before_anything_runs(self):
        for words in (["--nsys", "--nsys-args", "-o elsewhere"],
                      ["--nsys", "--nsys-args", "--output=elsewhere"],
                      ["--nsys", "--nsys-args", "'open"], ["--keep-nsys"],
                      ["--nsys-args", "--trace=cuda"], ["--nsys", "--inject=layer"],
                      ["--nsys", "-b", "1M"], ["--progress", "--nsys"]):
            run = self.run_command("profile", *words, "--", "true", env=self.with_nsys())
            self.assertEqual(run.returncode, 125, words)
            self.assertNotEqual(run.stderr, b"")
        self.assertFalse(os.path.exists(self.log))

    def test_a_signal_to_stop_reaches_the_tool_and_what_it_wrote_is_imported(self):
        program = "trap 'exit 5' INT; echo ready; while :; do sleep 0.05; done"
        process = subprocess.Popen(
            [PROGRAM, "profile", "--nsys", "-o", "run.sbt", "--", "sh", "-c", program],
            cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.with_nsys())
        while process.stdout.readline() != b"ready\n":
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 5, err)
        self.assertIn("saxpy", self.kernels("run.sbt"))


if __name__ == "__main__":
    unittest.main()
