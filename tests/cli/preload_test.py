#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs of other kinds notice of the libraries that LD_PRELOAD names: nothing."""
import os
import platform
import shutil
import subprocess
import sys
import unittest

from harness import BIN, DEMO, PROGRAM, CommandTest, environment

AGENTS = os.path.join(os.path.dirname(BIN), "lib", "tracesmith")

# Writes "ran" and leaves; without a C library, which need not be there for linking.
PROGRAM_32 = r"""
.globl _start
_start: movl $4, %eax
        movl $1, %ebx
        movl $text, %ecx
        movl $4, %edx
        int $0x80
        movl $1, %eax
        xorl %ebx, %ebx
        int $0x80
.data
text:   .ascii "ran\n"
.section .note.GNU-stack,"",@progbits
"""

# Says whether the library is in the program's maps.
MAPS = r"""
#include <stdio.h>
#include <string.h>
int main(void) {
  char line[8192];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (strstr(line, "libtracesmith-process")) return puts("there"), 0;
  return puts("not there"), 0;
}
"""


class Preload(CommandTest):
    def profile(self, *program, options=("--stacks",), env=None):
        result = self.run_command("profile", "-q", *options, "-o", "t.sbt", "--", *program, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def program_32(self):
        """A dynamic 32-bit program that runs here by itself."""
        if platform.machine() != "x86_64" or not (shutil.which("as") and shutil.which("ld")):
            self.skipTest("no assembler that makes a 32-bit program")
        with open(self.path("p.s"), "w", encoding="utf-8") as file:
            file.write(PROGRAM_32)
        for command in (["as", "--32", "p.s", "-o", "p.o"],
                        ["ld", "-m", "elf_i386", "-dynamic-linker", "/lib/ld-linux.so.2", "-pie",
                         "-z", "notext", "-o", "p32", "p.o"]):
            made = subprocess.run(command, cwd=self.dir, capture_output=True, check=False)
            if made.returncode != 0:
                self.skipTest(f"no 32-bit program can be made: {made.stderr.decode()}")
        try:
            alone = subprocess.run([self.path("p32")], capture_output=True, check=False)
        except OSError as error:
            self.skipTest(f"no 32-bit program runs here (Debian: libc6-i386): {error}")
        self.assertEqual((alone.stdout, alone.stderr), (b"ran\n", b""))
        return self.path("p32")

    def test_a_32_bit_program_notices_nothing(self):
        program = self.program_32()
        if not os.path.isdir(os.path.join(AGENTS, "i686")):
            self.skipTest("the compiler of this build makes no 32-bit library")
        for options in (("--stacks",), ("--stacks", "--inject", "preload"),
                        ("--record", "--stacks", "--inject", "preload"), ("--xray", "--stacks")):
            result = self.run_command("profile", "-q", *options, "-o", "t.sbt", "--", "sh", "-c",
                                      f"{program}; {program} >&2")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn(b"LD_PRELOAD", result.stderr)
            self.assertTrue(result.stderr.startswith(b"ran\n"), result.stderr)
            self.assertEqual(result.stdout, b"ran\n")

    def test_a_64_bit_program_still_loads_it(self):
        result = self.profile("grep", "-c", "libtracesmith-process", "/proc/self/maps")
        self.assertGreater(int(result.stdout), 0)

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl-gcc is not installed")
    def test_a_program_of_musl_still_loads_it(self):
        with open(self.path("m.c"), "w", encoding="utf-8") as file:
            file.write(MAPS)
        subprocess.run(["musl-gcc", "-o", "m", "m.c"], cwd=self.dir, check=True)
        result = self.profile(self.path("m"))
        self.assertEqual(result.stdout, b"there\n", result.stderr)

    def test_a_shell_that_expands_the_variable_does_no_harm(self):
        result = self.profile("sh", "-c", 'eval "export LD_PRELOAD=\\"$LD_PRELOAD\\""; '
                              "grep -c libtracesmith-process /proc/self/maps")
        self.assertGreater(int(result.stdout), 0)
        self.assertNotIn(b"LD_PRELOAD", result.stderr)

    def links(self):
        """The folder of links to agents; the test's own are removed after it."""
        folder = f"/tmp/tracesmith-{os.geteuid()}"

        def remove():
            for link in (os.path.join(folder, name) for name in os.listdir(folder)):
                if os.readlink(link).startswith(self.dir):
                    os.unlink(link)

        self.addCleanup(remove)
        return folder

    def test_a_path_that_the_variable_cannot_hold_is_reached_through_a_link(self):
        for name in ("a folder", "a:folder", "a$LIB"):
            os.symlink(AGENTS, self.path(name))
            for options in ((), ("--inject", "preload"), ("--record", "--stacks")):
                result = self.run_command("profile", *options, "-o", "t.sbt", "--", DEMO,
                                          env=environment(TRACESMITH_AGENT_DIR=self.path(name)))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn(b"LD_PRELOAD", result.stderr)
                self.assertIn(b"3 kernels", result.stderr)
        links = self.links()
        self.assertEqual(os.stat(links).st_uid, os.geteuid())
        self.assertEqual(os.stat(links).st_mode & 0o022, 0)

    def test_a_link_that_leads_elsewhere_is_replaced(self):
        os.symlink(AGENTS, self.path("a folder"))
        links = self.links()

        def profile():
            result = self.run_command("profile", "-o", "t.sbt", "--stacks", "--", "sh", "-c", "echo $LD_PRELOAD",
                                      env=environment(TRACESMITH_AGENT_DIR=self.path("a folder")))
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout.decode().split("/agents-")[1].split("/")[0]

        link = os.path.join(links, "agents-" + profile())
        self.assertEqual(os.readlink(link), self.path("a folder"))
        os.unlink(link)
        os.symlink("/nowhere", link)
        profile()
        self.assertEqual(os.readlink(link), self.path("a folder"))


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        sys.exit("set TRACESMITH_BIN to the directory of the tracesmith executable")
    unittest.main(verbosity=2)
