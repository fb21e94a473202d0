#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of a build folder, unpacked side by side: they have what they should, and the command in them
records, replays and reports. script/packages installs them into bare systems.
Usage: debian_packages_test.py BUILD_DIR
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
NEEDED = ("cpack", "dpkg-deb", "dpkg-shlibdeps")
# What each package is for; the Python module is there only if it was built.
HAS = {
    "tracesmith": ["usr/bin/tracesmith", "usr/bin/tracesmith-cli", "usr/lib/tracesmith/libtracesmith-process.so",
                   "usr/share/man/man1/tracesmith.1.gz", "usr/share/bash-completion/completions/tracesmith",
                   "usr/share/doc/tracesmith/tracesmith.spdx.json", "usr/share/doc/tracesmith/copyright"],
    "libtracesmith1": ["usr/share/doc/libtracesmith1/copyright"],
    "libtracesmith-dev": ["usr/include/tracesmith/tracesmith.h", "usr/share/doc/libtracesmith-dev/copyright"],
}
# Libraries of Debian's main system that any program may ask for; others must have a reason.
MAY_NEED = re.compile(r"(libc6|libgcc-s1|libstdc\+\+6|libdw1|libelf1|libedit2|libexpat1|libfmt9|libisal2|libncursesw6|"
                      r"libpng16-16|libsimdjson14|libsqlite3-0|libtinfo6|libxxhash0|libzstd1|zlib1g)\b")


def output_of(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


@unittest.skipUnless(all(map(shutil.which, NEEDED)), f"one of {', '.join(NEEDED)} is not installed")
class DebianPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="tracesmith packages ")
        made = os.path.join(cls.folder.name, "made")
        # gzip: xz takes half a minute, which script/packages spends.
        output_of("cpack", "-G", "DEB", "-B", made, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=BUILD)
        cls.packages = {output_of("dpkg-deb", "-f", os.path.join(made, name), "Package").strip(): os.path.join(made, name)
                        for name in os.listdir(made) if name.endswith(".deb")}
        cls.system = os.path.join(cls.folder.name, "system")
        for path in cls.packages.values():
            output_of("dpkg-deb", "-x", path, cls.system)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def command(self, *arguments):
        return output_of(os.path.join(self.system, "usr/bin/tracesmith"), *arguments, cwd=self.folder.name)

    def test_they_have_what_they_are_for(self):
        self.assertLessEqual(HAS.keys(), self.packages.keys())
        for name, files in HAS.items():
            there = output_of("dpkg-deb", "-c", self.packages[name])
            for file in files:
                self.assertIn(f"./{file}", there)

    def test_none_has_a_file_of_another(self):
        owner = {}
        for name, path in self.packages.items():
            for line in output_of("dpkg-deb", "-c", path).splitlines():
                file = line.split(" ./", 1)[1].split(" -> ")[0]
                if not file.endswith("/"):
                    self.assertNotIn(file, owner, f"in {name} and in {owner.get(file)}")
                    owner[file] = name

    def test_they_need_only_what_is_known(self):
        for name in ("tracesmith", "libtracesmith1"):
            needs = output_of("dpkg-deb", "-f", self.packages[name], "Depends").strip()
            self.assertIn("libc6", needs)
            for need in needs.split(", "):
                self.assertRegex(need, MAY_NEED, f"{name} depends on it")

    def test_the_command_says_what_is_inside(self):
        with open(os.path.join(self.system, "usr/share/doc/tracesmith/tracesmith.spdx.json"), encoding="utf-8") as file:
            self.assertEqual(self.command("version", "--spdx"), file.read())

    def test_the_command_records_replays_and_reports(self):
        demo = os.path.join(BUILD, "bin", "opencl_demo")
        if not os.path.exists(demo):
            self.skipTest("the demo is not built (no OpenCL here)")
        self.command("profile", "-q", "--record", "-o", "run.sbt", "--", demo)
        self.assertIn("matrixMul", self.command("view", "--stats", "run.sbt"))
        self.command("replay", "--verify", "run.sbt")
        self.command("report", "run.sbt", "-o", "report.html")
        with open(os.path.join(self.folder.name, "report.html"), encoding="utf-8") as file:
            self.assertIn("<title>run.sbt</title>", file.read())


if __name__ == "__main__":
    unittest.main()
