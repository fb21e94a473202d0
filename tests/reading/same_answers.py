#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a build that only reads traces (TRACESMITH_READING_ONLY) answers as the whole build does, byte for byte:
output, messages and exit codes, with traces that the whole one makes, with those of other tools in a folder, and with
files that are no traces.
Usage: same_answers.py WHOLE OTHER [FOLDER]     OTHER: a command, also with what starts it ("wine tracesmith.exe")
"""
import os
import shlex
import subprocess
import sys
import tempfile

MOST_BYTES = 4 << 20  # of a file of the folder
ENDINGS = (".json", ".json.gz", ".sqlite", ".db", ".rpd", ".pftrace", ".csv", ".et")
LIMIT_S = 120
ASKED = (("info",), ("info", "--json"), ("view",), ("view", "--stats"), ("view", "--timeline"), ("analyze",),
         ("analyze", "--json"), ("verify",), ("whatif", "--scale", "kernel=.:0.5"))
TOPOLOGY = """<system version="1"><cpu numaid="0" affinity="0000000f">
<pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="16">
<gpu dev="0" sm="80"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="16">
<gpu dev="1" sm="80"><nvlink target="0000:01:00.0" count="3" tclass="0x030200"/></gpu></pci></cpu></system>"""
SQL = "SELECT name, count(*), sum(duration_ns) FROM kernel GROUP BY name ORDER BY name"


class Builds:
    def __init__(self, whole, other):
        # They run in another folder.
        self.commands = [[os.path.abspath(word) if os.path.exists(word) else word for word in command]
                         for command in ([whole], shlex.split(other))]
        self.answers = self.refusals = 0
        self.differences = []

    def run(self, which, folder, arguments):
        done = subprocess.run(self.commands[which] + list(arguments), cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S)
        return done.returncode, done.stdout, done.stderr

    def compare(self, folder, arguments, made=None):
        """Both in the same folder, one after the other; `made`: a file that each writes."""
        results = []
        for which in (0, 1):
            result = self.run(which, folder, arguments)
            path = os.path.join(folder, made) if made else None
            if path and os.path.exists(path):
                with open(path, "rb") as file:
                    result += (file.read(),)
                os.remove(path)
            results.append(result)
        self.answers += 1
        self.refusals += results[0][0] != 0
        if results[0] == results[1]:
            return
        what = next(name for name, a, b in zip(("exit code", "output", "messages", "file"), *results) if a != b) \
            if len(results[0]) == len(results[1]) else "file"
        self.differences.append(f"{' '.join(arguments)}: the {what} differs: {results[0][:1]} {results[0][2][-200:]!r} "
                                f"and {results[1][:1]} {results[1][2][-200:]!r}")

    def ask_all(self, folder, name):
        for command, *options in ASKED:
            self.compare(folder, (command, name, *options))
        self.compare(folder, ("query", name, SQL))
        for ending in ("json", "pftrace", "csv"):
            self.compare(folder, ("export", name, "-o", f"out.{ending}"), f"out.{ending}")


def sources_in(folder):
    found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in sorted(names)
             if name.endswith(ENDINGS)]
    return sorted(path for path in found if os.path.getsize(path) <= MOST_BYTES)


def main(arguments):
    if not 2 <= len(arguments) <= 3:
        print(__doc__.strip())
        return 2
    builds = Builds(*arguments[:2])
    traces = 0
    with tempfile.TemporaryDirectory() as folder:
        code, _, messages = builds.run(0, folder, ("record", "-q", "-p", "simulation", "-d", "0.1", "-o", "made.sbt"))
        assert code == 0, messages
        with open(os.path.join(folder, "made.sbt"), "rb") as file:
            whole = file.read()
        for name, content in (("cut.sbt", whole[:len(whole) * 2 // 3]), ("empty.sbt", b""), ("text.sbt", b"no trace\n")):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        builds.ask_all(folder, "made.sbt")
        assert builds.refusals == 0, "a question that the whole build refuses compares nothing"
        for name, content in (("topology.xml", TOPOLOGY), ("cut.xml", TOPOLOGY[:-20])):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
            for form in ((), ("--json",), ("--dot",), ("--svg",)):
                builds.compare(folder, ("topology", "--from", name, *form))
        for name in ("cut.sbt", "empty.sbt", "text.sbt", "missing.sbt", "."):
            builds.ask_all(folder, name)
        traces += 2
        for path in sources_in(arguments[2]) if len(arguments) == 3 else ():
            source = "source" + os.path.basename(path)[os.path.basename(path).index("."):]
            os.symlink(os.path.abspath(path), os.path.join(folder, source))
            made = []
            for which in (0, 1):
                made.append(builds.run(which, folder, ("import", source, "-o", f"imported{which}.sbt", "-q")))
            imported = [os.path.exists(os.path.join(folder, f"imported{which}.sbt")) for which in (0, 1)]
            builds.answers += 1
            if made[0][0] != made[1][0] or imported[0] != imported[1]:
                builds.differences.append(f"import {path}: {made[0][::2]} and {made[1][::2]}")
            elif all(imported):  # what the other imported must be what the whole one did
                exported = []
                for which in (0, 1):
                    builds.run(0, folder, ("export", f"imported{which}.sbt", "-q", "-o", f"{which}.json"))
                    with open(os.path.join(folder, f"{which}.json"), "rb") as file:
                        exported.append(file.read().replace(f"imported{which}".encode(), b"imported"))
                if exported[0] != exported[1]:
                    builds.differences.append(f"import {path}: the traces differ")
                traces += 1
                builds.ask_all(folder, "imported0.sbt")
            print(f"{path}: {builds.answers} answers so far, {len(builds.differences)} differ", file=sys.stderr, flush=True)
            for name in os.listdir(folder):
                if name.startswith(("source", "imported", "0.", "1.")):
                    os.remove(os.path.join(folder, name))
    for line in builds.differences:
        print(line)
    print(f"{traces} traces, {builds.answers} answers ({builds.refusals} of them refusals), "
          f"{len(builds.differences)} differ")
    return 1 if builds.differences or builds.answers == builds.refusals else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
