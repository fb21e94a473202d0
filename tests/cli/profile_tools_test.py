#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`profile` by another vendor's recorder. Stand-ins of the tools check how they are called and write
files in the tools' formats; none of the tools themselves runs here."""

import os
import stat
import sys
import unittest

from harness import CommandTest, environment

XCTRACE = r'''
import os, subprocess, sys
a = sys.argv[1:]
with open("calls", "a") as f: f.write(repr(a) + "\n")
def want(condition, why):
    if not condition: sys.exit("stand-in: " + why)
TABLES = {
"metal-gpu-intervals": """<schema name="metal-gpu-intervals"><col><mnemonic>start</mnemonic></col>
<col><mnemonic>duration</mnemonic></col><col><mnemonic>channel-name</mnemonic></col>
<col><mnemonic>event-label</mnemonic></col><col><mnemonic>process</mnemonic></col></schema>
<row><start-time id="1">1000</start-time><duration id="2">500</duration><gpu-channel-name id="3">Compute</gpu-channel-name>
<formatted-label id="4"><string id="5">softmax</string></formatted-label><process id="6" fmt="app (42)"><pid id="7">42</pid></process></row>
<row><start-time id="8">2000</start-time><duration ref="2"/><gpu-channel-name ref="3"/><formatted-label ref="4"/><process ref="6"/></row>""",
"metal-driver-intervals": """<schema name="metal-driver-intervals"><col><mnemonic>start</mnemonic></col>
<col><mnemonic>duration</mnemonic></col><col><mnemonic>name</mnemonic></col><col><mnemonic>thread</mnemonic></col></schema>
<row><start-time id="1">900</start-time><duration id="2">50</duration><string id="3">Submit</string>
<thread id="4" fmt="Main 0x7 (app, pid: 42)"><tid id="5">7</tid><process id="6" fmt="app (42)"><pid id="7">42</pid></process></thread></row>""",
"metal-command-buffer-completed": """<schema name="metal-command-buffer-completed"><col><mnemonic>timestamp</mnemonic></col></schema>
<row><event-time id="1">2600</event-time></row>"""}
def value(option):
    want(option in a, option + " is missing")
    return a[a.index(option) + 1]
if a[0] == "record":
    want(value("--template") == os.environ.get("TEMPLATE", "Metal System Trace"), "template")
    want(a[a.index("--launch") + 1] == "--", "no -- behind --launch")
    want(value("--target-stdout") == "-", "the program's output")
    want((value("--time-limit") if "--time-limit" in a else None) == os.environ.get("LIMIT"), "time limit")
    program = a[a.index("--launch") + 2:]
    want(os.path.isabs(program[0]), "the program has no path")
    subprocess.run(program)
    os.mkdir(value("--output"))
    open(value("--output") + "/data", "w").close()
elif a[0] == "export":
    want(os.path.isdir(value("--input")), "no trace to export")
    with open(value("--output"), "w") as out:
        out.write('<?xml version="1.0"?>\n')
        if "--toc" in a:
            out.write('<trace-toc><run number="1"><info><summary><start-date>2026-09-02T05:30:12.000Z</start-date></summary></info><data>'
                      + "".join('<table schema="%s"/>' % t for t in TABLES) + "</data></run></trace-toc>")
        else:
            name = value("--xpath").split('@schema="')[1].split('"')[0]
            want(value("--xpath") == '/trace-toc/run[@number="1"]/data/table[@schema="%s"]' % name, "xpath")
            out.write("<trace-query-result><node>" + TABLES[name] + "</node></trace-query-result>")
elif a == ["list", "templates"]:
    print("== Standard Templates ==\nActivity Monitor\nMetal System Trace\n\n== User Templates ==\nMy GPU work")
else:
    sys.exit("stand-in: " + a[0])
'''

MCTRACER = r'''
import os, subprocess, sys
a = sys.argv[1:]
with open("calls", "a") as f: f.write(repr(a) + "\n")
if a[:2] != ["--mctx", "--odname"]: sys.exit("stand-in: options")
code = subprocess.run(a[3:]).returncode
folder = os.path.join(os.getcwd(), "") + a[2]   # below the working directory, whatever it begins with
os.makedirs(folder, exist_ok=True)
for pid, kernels in ((101, 3), (102, 1)):
    with open(folder + "/tracer_out-%d.json" % pid, "w") as out:
        out.write('{"traceEvents":[\n{"ph":"X","name":"mcLaunchKernel","pid":%d,"tid":1,"ts":5,"dur":1,"args":{}}' % pid)
        for k in range(kernels):
            out.write(',\n{"ph":"X","name":"k%d","cat":"gpu_op","pid":%d,"tid":2,"ts":%d,"dur":70,"args":{"grid":{"x":1,"y":1,"z":1},'
                      '"block":{"x":64,"y":1,"z":1},"mem":{"registers_per_thread":8},"mtreg_occupancy(%%)":50.0}}' % (k, pid, 100 * k + 10))
        out.write("]}")
sys.exit(code)
'''

MSPROF = r'''
import os, subprocess, sys
a = sys.argv[1:]
with open("calls", "a") as f: f.write(repr(a) + "\n")
options = dict(word.lstrip("-").split("=", 1) for word in a)
if "application" in options:
    # Split at spaces, with no regard for quotes.
    code = subprocess.run(options["application"].split(" ")).returncode
    os.makedirs(options["output"] + "/PROF_000001_20260101_X/device_0")
    if os.environ.get("MSPROF_OLD"): sys.exit(code)
    options["output"] += "/PROF_000001_20260101_X"
else:
    if options.get("export") != "on": sys.exit("stand-in: options")
    code = 0
os.makedirs(options["output"] + "/mindstudio_profiler_output")
with open(options["output"] + "/mindstudio_profiler_output/msprof_20260101120000.json", "w") as out:
    out.write('[{"ph":"M","name":"process_name","pid":9,"tid":0,"args":{"name":"Ascend Hardware"}}')
    if not os.environ.get("MSPROF_EMPTY"): out.write(','
              '{"ph":"X","name":"MatMul","pid":9,"tid":3,"ts":"1699529623106750.25","dur":1.5,'
              '"args":{"Task Type":"AI_CORE","Stream Id":3,"Task Id":1,"connection_id":5}}')
    out.write(']')
sys.exit(code)
'''


class ProfileTools(CommandTest):

    def stand_in(self, name, text):
        folder = self.path("tools")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n{text}")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def profile(self, *arguments, **variables):
        env = environment(PATH=self.path("tools") + ":" + os.environ["PATH"], **variables)
        return self.run_command("profile", *arguments, env=env)

    def rows(self, trace, sql):
        result = self.run_command("query", trace, sql, "--csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode().split()[1:]

    def left(self):
        return [f for f in self.files() if f not in ("tools", "calls")]

    def test_xctrace(self):
        self.stand_in("xctrace", XCTRACE)
        result = self.profile("--xctrace", "--", "echo", "a  b", "it's")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, b"a  b it's\n")
        self.assertEqual(self.left(), ["trace.sbt"])
        self.assertEqual(self.rows("trace.sbt", "select name, start_ns, duration_ns from kernel"),
                         ["softmax,1000,500", "softmax,2000,500"])
        self.assertEqual(self.rows("trace.sbt", "select start_ns from range order by 1"), ["900", "2600"])
        self.assertIn(b"experimental", result.stderr)

    def test_xctrace_with_a_template_and_its_trace_kept(self):
        self.stand_in("xctrace", XCTRACE)
        result = self.profile("--xctrace", "--xctrace-template", "GPU Driver", "--keep-trace", "-o",
                              "run.sbt", "--perfetto", "--", "true", TEMPLATE="GPU Driver")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.left(), ["run.pftrace", "run.sbt", "run.trace"])
        self.assertEqual(os.listdir(self.path("run.trace")), ["data"])
        again = self.profile("--xctrace", "--keep-trace", "--xctrace-time-limit", "1.5s", "-o", "run.sbt", "--",
                             "true", LIMIT="1500ms")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.left(), ["run-2.trace", "run.pftrace", "run.sbt", "run.trace"])

    def test_a_tool_that_saw_nothing_replaces_no_trace_with_events(self):
        self.stand_in("msprof", MSPROF)
        self.assertEqual(self.profile("--msprof", "--", "true").returncode, 0)
        result = self.profile("--msprof", "--", "true", MSPROF_EMPTY="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"stays as it was", result.stderr)
        self.assertEqual(self.rows("trace.sbt", "select count(*) from kernel"), ["1"])
        self.assertEqual(self.left(), ["trace-2.sbt", "trace.sbt"])
        result = self.profile("--msprof", "--force", "--", "true", MSPROF_EMPTY="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.rows("trace.sbt", "select count(*) from kernel"), ["0"])

    def test_mctracer(self):
        self.stand_in("mcTracer", MCTRACER)
        result = self.profile("--mctracer", "--", "sh", "-c", "echo hello; exit 7")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertEqual(result.stdout, b"hello\n")
        self.assertEqual(self.left(), ["trace-2.sbt", "trace.sbt"])  # a file for each process
        self.assertEqual(self.rows("trace.sbt", "select name, start_ns, duration_ns from kernel"),
                         ["k0,10,70", "k1,110,70", "k2,210,70"])
        self.assertEqual(self.rows("trace-2.sbt", "select count(*) from kernel"), ["1"])

    def test_mctracer_writes_elsewhere(self):
        self.stand_in("mcTracer", MCTRACER)
        os.makedirs(self.path("below/deep"))
        os.makedirs(self.path("aside"))
        result = self.profile("--mctracer", "-o", "aside/x.sbt", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("aside"))), ["x-2.sbt", "x.sbt"])

    def test_msprof(self):
        self.stand_in("msprof", MSPROF)
        for words, old in ((["echo", "plain"], None), (["echo", "two words", "$HOME", "it's"], None),
                           (["echo", "plain"], "1")):
            with self.subTest(words=words, old=old):
                result = self.profile("--msprof", "--", *words, MSPROF_OLD=old)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout.decode(), " ".join(words[1:]) + "\n")
                self.assertEqual(self.left(), ["trace.sbt"])
                self.assertEqual(self.rows("trace.sbt", "select name, start_ns, duration_ns from kernel"),
                                 ["MatMul,1699529623106750250,1500"])

    def test_what_a_tool_leaves_unfinished_is_kept(self):
        self.stand_in("msprof", MSPROF.replace("'[{", "'nothing"))
        result = self.profile("--msprof", "--", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"cannot be imported", result.stderr)
        self.assertEqual(self.left(), ["trace.msprof"])
        self.stand_in("mcTracer", "import sys; sys.exit(3)")
        result = self.profile("--mctracer", "-o", "b.sbt", "--", "true")
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"has left nothing", result.stderr)
        self.assertEqual(self.left(), ["trace.msprof"])

    def test_without_the_tool(self):
        for option, name, word in (("--xctrace", b"xctrace", b"Xcode"), ("--mctracer", b"mcTracer", b"MACA SDK"),
                                   ("--msprof", b"msprof", b"CANN")):
            with self.subTest(option):
                result = self.run_command("profile", option, "--", "true")
                self.assertEqual(result.returncode, 125)
                self.assertIn(name, result.stderr)
                self.assertIn(word, result.stderr)
                self.assertEqual(self.files(), [])

    def test_an_output_that_cannot_be_written_is_told_before_the_program_runs(self):
        self.stand_in("xctrace", XCTRACE)
        self.stand_in("nsys", "raise SystemExit('it was started')")
        os.symlink("missing/t.sbt", self.path("l.sbt"))
        for option in ("--xctrace", "--nsys"):
            with self.subTest(option):
                result = self.profile(option, "-o", "l.sbt", "--", "touch", "ran")
                self.assertEqual(result.returncode, 125)
                self.assertIn(b"l.sbt", result.stderr)
                self.assertEqual(self.left(), ["l.sbt"])

    def test_one_tool_at_a_time(self):
        result = self.run_command("profile", "--xctrace", "--msprof", "--", "true")
        self.assertEqual(result.returncode, 125)


if __name__ == "__main__":
    unittest.main()
