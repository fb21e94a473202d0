# SPDX-License-Identifier: Apache-2.0
"""`version`: the commit, and all that the command is made from, as text and as SPDX."""
import json
import os
import re
import subprocess
import unittest

from harness import PROGRAM, CommandTest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Parts of a system that every program uses, and what comes with a library in the list.
OF_THE_SYSTEM = {"libc", "libdl", "libm", "libpthread", "libgcc_s", "ld-linux-x86-64", "ld-linux-aarch64"}
COMES_WITH = {"libdw": "elfutils", "libelf": "elfutils", "libtinfo": "ncurses", "libncursesw": "ncurses", "libedit": "libedit",
              "libexpat": "Expat", "libfmt": "fmt", "libisal": "ISA-L", "libpng16": "libpng", "libsimdjson": "simdjson",
              "libsqlite3": "SQLite", "libstdc++": "libstdc++", "libxxhash": "xxHash", "libz": "zlib", "libzstd": "zstd"}


class Version(CommandTest):
    def said(self, *arguments):
        done = self.run_command("version", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def test_a_program_gets_one_line(self):
        self.assertRegex(self.said(), r"^TraceSmith \d+\.\d+\.\d+\n$")

    def test_the_commit_is_that_of_the_sources(self):
        def git(*arguments):
            asked = subprocess.run(["git", "-C", SOURCE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   check=False)
            return asked.stdout.decode().strip()

        commit = re.search(r"^commit (\w+)", self.said("--long"), re.M)[1]
        if os.path.exists(os.path.join(SOURCE, ".git")) and git("rev-parse", "HEAD"):
            self.assertEqual(git("cat-file", "-t", commit), "commit")
        else:  # no clone, or one that git does not trust
            self.assertEqual(commit, "unknown")

    def test_every_library_is_in_the_list(self):
        read = subprocess.run(["readelf", "-d", PROGRAM], stdout=subprocess.PIPE, check=True).stdout.decode()
        needed = {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.+)\]", read)} - OF_THE_SYSTEM
        self.assertEqual({name for name in needed if name not in COMES_WITH and not name.startswith("libclang_rt")
                          and name not in ("libasan", "libubsan", "libtsan")}, set())
        text = self.said("--long")
        for name in needed & set(COMES_WITH):
            self.assertRegex(text, rf"(?m)^{re.escape(COMES_WITH[name])} .* shared library$")

    def test_the_list_is_that_of_the_document(self):
        with open(os.path.join(SOURCE, "docs", "dependencies.md"), encoding="utf-8") as file:
            document = file.read().lower()
        packages = json.loads(self.said("--spdx"))["packages"]
        for package in packages[1:]:
            place = package["downloadLocation"]
            known = package["name"].lower() if "npmjs" in place else place.lower()
            if package["name"] not in ("libstdc++", "libc++", "react-dom", "scheduler"):  # the compiler's; of React
                self.assertIn(known, document)

    def test_spdx_is_whole(self):
        document = json.loads(self.said("--spdx"))
        self.assertEqual((document["spdxVersion"], document["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        self.assertRegex(document["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        ids = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        related = document["relationships"]
        self.assertEqual({entry["relatedSpdxElement"] for entry in related}, set(ids))
        for package in document["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(package["versionInfo"] and package["licenseDeclared"])


if __name__ == "__main__":
    unittest.main()
