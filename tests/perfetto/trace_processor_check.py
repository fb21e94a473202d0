#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks Perfetto's trace_processor what it thinks of our exports: of its table `stats` no row of
severity "error" or "data_loss" may be other than 0.

TRACE_PROCESSOR names the program (v58 or later; it builds from Perfetto's public source),
TRACESMITH_BIN the directory of ours. TRACESMITH_TEST_DATA may name real traces to import as well.
Exports what was recorded, what was imported, nothing, and what came from damaged files, in both
profiles. (Chrome's JSON has no form for slices that overlap: of it trace_processor complains rightly.)"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

QUESTION = """SELECT name, ifnull(idx, '') AS idx, severity, value FROM stats
WHERE severity IN ('error', 'data_loss') AND value != 0;
"""
HEADER = '"name","idx","severity","value"'
FORMATS = {"gpu": ["-f", "perfetto"], "compat": ["-f", "perfetto", "--profile", "compat"],
           "full": ["-f", "perfetto", "--full"]}

# Slices that nest, overlap, never end and end alone; an arrow; a counter.
CHROME = """{"traceEvents":[
{"ph":"M","pid":7,"tid":8,"name":"thread_name","args":{"name":"main"}},
{"ph":"X","cat":"cpu_op","name":"outer","pid":7,"tid":8,"ts":10,"dur":50},
{"ph":"X","cat":"cpu_op","name":"inner","pid":7,"tid":8,"ts":20,"dur":10.5},
{"ph":"X","cat":"cpu_op","name":"overlaps","pid":7,"tid":8,"ts":55,"dur":20},
{"ph":"B","cat":"cpu_op","name":"never ends","pid":7,"tid":9,"ts":5},
{"ph":"E","cat":"cpu_op","name":"never began","pid":7,"tid":10,"ts":6},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":8,"ts":80,"dur":4,
 "args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":90,"dur":30,
 "args":{"device":0,"stream":7,"correlation":3,"grid":[4,1,1],"block":[32,1,1]}},
{"ph":"X","cat":"kernel","name":"at the same time","pid":0,"tid":7,"ts":100,"dur":30,
 "args":{"device":0,"stream":7,"correlation":4}},
{"ph":"s","cat":"ac2g","id":3,"name":"ac2g","pid":7,"tid":8,"ts":81},
{"ph":"f","cat":"ac2g","id":3,"name":"ac2g","pid":0,"tid":7,"ts":90,"bp":"e"},
{"ph":"C","name":"queued","pid":7,"ts":30,"args":{"n":3}},
{"ph":"C","name":"queued","pid":7,"ts":40,"args":{"n":1}},
{"ph":"i","cat":"mark","name":"mark","pid":7,"tid":8,"ts":33,"s":"t"}
]}"""


class Check:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.binaries = pathlib.Path(os.environ["TRACESMITH_BIN"])
        self.processor = os.environ["TRACE_PROCESSOR"]
        self.question = self.directory / "question.sql"
        self.question.write_text(QUESTION)
        self.short = os.environ.get("TRACE_PROCESSOR_CHECK") == "short"  # a test of this check
        self.asked = 0
        self.wrong = 0

    def tracesmith(self, *arguments, output, damaged=False):
        """Whether it wrote `output`; of damaged files it may, and say so by its exit status."""
        done = subprocess.run([self.binaries / "tracesmith", *map(str, arguments), "-o", output],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0 and not damaged:
            sys.exit(f"tracesmith {' '.join(map(str, arguments))}: {done.stderr}")
        return output.exists()

    def ask(self, what, file):
        """Its rows of trouble for that file; a program that fails counts as trouble."""
        self.asked += 1
        done = subprocess.run([self.processor, "-q", str(self.question), str(file)],
                              capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        rows = lines[lines.index(HEADER) + 1:] if HEADER in lines else None
        if done.returncode == 0 and rows == []:
            return
        self.wrong += 1
        trouble = rows or [f"exit {done.returncode}: {done.stderr.strip()[-500:]}"]
        for row in trouble:
            print(f"{what}: {row}")

    def export(self, name, trace, *options, damaged=False):
        for profile, chosen in FORMATS.items():
            file = self.directory / f"{name}.{profile}"
            if self.tracesmith("export", *chosen, *options, trace, output=file, damaged=damaged):
                self.ask(f"{name}, {profile}", file)

    def imported(self, name, source, damaged=False):
        trace = self.directory / f"{name}.sbt"
        if self.tracesmith("import", source, output=trace, damaged=damaged):
            self.export(name, trace, damaged=damaged)

    def recorded(self):
        trace = self.directory / "own.sbt"
        subprocess.run([self.binaries / "tracesmith", "profile", "-q", "--stacks", "-o", trace, "--",
                        self.binaries / "opencl_demo"], stdout=subprocess.DEVNULL, check=True)
        self.export("own", trace)
        self.export("nothing of it", trace, "--from", "1000h")
        cut = self.directory / "cut.sbt"
        whole = trace.read_bytes()
        cut.write_bytes(whole[:len(whole) * 2 // 3])
        self.export("own, cut", cut, damaged=True)
        self.imported("own, and back", self.directory / "own.gpu")

    def foreign(self):
        chrome = self.directory / "chrome.json"
        chrome.write_text(CHROME)
        self.imported("chrome", chrome)
        empty = self.directory / "empty.json"
        empty.write_text('{"traceEvents":[]}')
        self.imported("empty", empty, damaged=True)
        draw = random.Random(24)
        for i in range(1 if self.short else 8):
            damaged = bytearray(CHROME.encode())
            for _ in range(3):
                damaged[draw.randrange(20, len(damaged))] = draw.randrange(32, 127)
            (self.directory / f"damaged{i}.json").write_bytes(damaged[:draw.randrange(900, 1500)])
            self.imported(f"damaged {i}", self.directory / f"damaged{i}.json", damaged=True)
        real = os.environ.get("TRACESMITH_TEST_DATA")
        for source in sorted(pathlib.Path(real).rglob("traces/**/*.json*")) if real else []:
            if source.stat().st_size < 32 << 20:
                self.imported(f"real {source.name}", source, damaged=True)


def main():
    with tempfile.TemporaryDirectory(prefix="trace-processor-") as directory:
        check = Check(directory)
        if not check.short:
            check.recorded()
        check.foreign()
        print(f"trace_processor read {check.asked} exports, {check.wrong} with errors or losses")
        return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
