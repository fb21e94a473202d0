# SPDX-License-Identifier: Apache-2.0
"""The frame of the command: names, options, help, exit codes of usage errors, completion, manual."""

import os
import shutil
import subprocess
import unittest

from harness import COMMANDS, PROGRAM, SOURCE, BIN, CommandTest, environment


class Help(CommandTest):
    def test_without_arguments_it_lists_every_command(self):
        for arguments in ([], ["help"], ["--help"], ["-h"], ["--no-color", "help"]):
            result = self.run_command(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, b"")
            for command in COMMANDS:
                self.assertIn(f"\n  {command} ", result.stdout.decode())

    def test_each_command_explains_itself_in_two_ways_alike(self):
        for command in COMMANDS:
            short = self.run_command(command, "-h")
            self.assertEqual(short.returncode, 0, command)
            self.assertEqual(short.stderr, b"")
            text = short.stdout.decode()
            self.assertIn(f"Usage: tracesmith {command}", text)
            self.assertIn("Options:", text)
            if command not in ("version",):
                self.assertIn("Examples:", text)
            for arguments in ([command, "--help"], ["help", command]):
                self.assertEqual(self.run_command(*arguments).stdout.decode(), text)

    def test_help_wins_over_what_else_is_wrong_or_missing(self):
        for command in COMMANDS:
            self.assertEqual(self.run_command(command, "--help").returncode, 0)

    def test_help_about_an_unknown_command_names_the_nearest(self):
        self.assert_fails(self.run_command("help", "proflie"), 2, "'proflie'", "'profile'")

    def test_help_lines_fit_a_narrow_terminal(self):
        for command in COMMANDS:
            _, shown = self.on_terminal(command, "-h", columns=60)
            text = self.without_colours(shown).split("Examples:")[0]
            for line in text.splitlines():
                if not line.startswith("Usage:"):
                    self.assertLessEqual(len(line), 60, line)

    def test_version_is_one_line_for_a_program(self):
        result = self.run_command("version")
        self.assertRegex(result.stdout.decode(), r"^TraceSmith \d+\.\d+\.\d+\n$")
        for arguments in (["--version"], ["-V"]):
            self.assertEqual(self.run_command(*arguments).stdout, result.stdout)
        self.assertEqual(self.run_command("version", program=os.path.join(BIN, "tracesmith-cli"))
                         .stdout, result.stdout)


class Terminals(CommandTest):
    def test_banner_appears_on_a_terminal_only(self):
        for arguments in ([], ["help"], ["version"]):
            self.assertNotIn("██".encode(), self.run_command(*arguments).stdout)
            _, shown = self.on_terminal(*arguments)
            self.assertIn("████████╗██████╗", shown)
        _, shown = self.on_terminal("view", "-h")
        self.assertNotIn("██", shown)

    def test_banner_is_left_out_where_it_does_not_fit(self):
        self.assertNotIn("██", self.on_terminal("help", columns=70)[1])
        self.assertNotIn("██", self.on_terminal("help", env=environment(LANG="C"))[1])

    def test_colours_appear_on_a_terminal_only_and_can_be_switched_off(self):
        self.assertIn("\x1b[", self.on_terminal("help")[1])
        self.assertNotIn(b"\x1b[", self.run_command("help").stdout)
        self.assertNotIn("\x1b[", self.on_terminal("--no-color", "help")[1])
        self.assertNotIn("\x1b[", self.on_terminal("help", "--no-color")[1])
        self.assertNotIn("\x1b[", self.on_terminal("help", env=environment(NO_COLOR="1"))[1])
        self.assertIn("\x1b[", self.on_terminal("help", env=environment(NO_COLOR=""))[1])
        self.assertNotIn("\x1b[", self.on_terminal("help", env=environment(TERM="dumb"))[1])


class UsageErrors(CommandTest):
    def test_unknown_command_names_the_nearest(self):
        self.assert_fails(self.run_command("exprot"), 2, "'exprot'", "did you mean 'export'?")
        result = self.run_command("xyzzy")
        self.assert_fails(result, 2, "'xyzzy' is not a command")
        self.assertNotIn(b"did you mean", result.stderr)

    def test_unknown_option_names_the_nearest_and_does_nothing(self):
        for arguments, word, near in (
                (["--no-colour", "help"], "--no-colour", "--no-color"),
                (["export", "--fomat", "json", "x.sbt"], "--fomat", "--format"),
                (["export", "--formt=json", "x.sbt"], "--formt", "--format"),
                (["man", "--markdwon"], "--markdwon", "--markdown"),
                (["devices", "--jsn"], "--jsn", "--json"),
        ):
            self.assert_fails(self.run_command(*arguments), 2, f"'{word}'",
                              f"did you mean '{near}'?")
        self.assertEqual(self.files(), [])

    def test_every_command_refuses_an_unknown_option(self):
        for command in COMMANDS:
            code = 125 if command in ("profile", "arm") else 2
            self.assert_fails(self.run_command(command, "--frobnicate"), code, "--frobnicate",
                              f"tracesmith {command} -h")

    def test_a_value_that_is_none_of_the_choices_names_them(self):
        self.assert_fails(self.run_command("export", "-f", "jsn", "x.sbt"), 2, "'jsn'", "perfetto",
                          "did you mean 'json'?")
        self.assert_fails(self.run_command("profile", "--overflow", "blok", "--", "true"), 125,
                          "block or drop")

    def test_missing_values_and_arguments_are_named(self):
        self.assert_fails(self.run_command("export"), 2, "FILE is missing")
        self.assert_fails(self.run_command("export", "x.sbt", "-o"), 2, "--output", "value")
        self.assert_fails(self.run_command("export", "x.sbt", "y.sbt"), 2, "'y.sbt'")
        self.assert_fails(self.run_command("completion"), 2, "SHELL is missing")

    def test_times_and_sizes_that_are_none_are_refused_with_an_example(self):
        self.assert_fails(self.run_command("export", "x.sbt", "--from", "soon"), 2, "'soon'", "300ms")
        self.assert_fails(self.run_command("profile", "-b", "much", "--", "true"), 125, "'much'",
                          "4M")

    def test_odd_words_never_crash_it(self):
        for word in ("", "-", "--", "---", "-=", "--=", "=", "\n", "\x1b[31m", "%s%n", "[", "[a,b]",
                     "'", '"', "\\", "é", "a" * 100000, "-" * 1000, "{}", "-1", "@x", "/etc"):
            for arguments in ([word], [word, word], ["export", word], ["export", "-f", word],
                              ["export", word, word, word], ["help", word], ["completion", word]):
                result = self.run_command(*arguments)
                self.assertIn(result.returncode, (0, 1, 2), (arguments[0][:20], result.stderr))
                self.assertNotIn(b"internal error", result.stderr)
                self.assertNotIn(b"\x1b", result.stderr)


class Outputs(CommandTest):
    def test_a_reader_that_leaves_ends_it_quietly(self):
        script = '"$T" man --markdown | head -n 1 > /dev/null; echo "${PIPESTATUS[0]}"'
        result = self.shell(script)
        self.assertIn(result.stdout.decode().strip(), ("0", "141"))
        self.assertEqual(result.stderr, b"")

    def test_a_full_disk_is_an_error(self):
        for command in ("help", "version", "man", "completion bash"):
            result = self.shell(f'"$T" {command} > /dev/full')
            self.assert_fails(result, 1, "standard output", "No space left")

    def test_a_closed_standard_output_is_an_error(self):
        self.assert_fails(self.shell('"$T" man >&-'), 1, "standard output")

    def test_a_closed_standard_error_changes_nothing(self):
        result = self.shell('"$T" exprot 2>&-')
        self.assertEqual(result.returncode, 2)


class Generated(CommandTest):
    def completion(self, shell):
        result = self.run_command("completion", shell)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, b"")
        path = self.path(f"completion.{shell}")
        with open(path, "wb") as file:
            file.write(result.stdout)
        return path

    def offers(self, *words):
        """What bash offers for the last word."""
        script = (f'source {self.completion("bash")}; COMP_WORDS=("$@"); '
                  'COMP_CWORD=$(($# - 1)); _tracesmith; printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", script, "bash", "tracesmith", *words], check=False,
                                cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                timeout=60)
        self.assertEqual(result.stderr, b"")
        return sorted(result.stdout.decode().split())

    def test_bash_reads_its_completion(self):
        subprocess.run(["bash", "-n", self.completion("bash")], check=True, timeout=60)

    def test_bash_completes_commands_options_values_and_files(self):
        self.assertEqual(self.offers("exp"), ["export"])
        for command in COMMANDS:
            self.assertIn(command, self.offers(""))
        self.assertEqual(self.offers("export", "--fo"), ["--format"])
        self.assertEqual(self.offers("export", "-f", "p"), ["perfetto", "proto"])
        self.assertEqual(self.offers("--no-color", "export", "--format", "j"), ["json"])
        self.assertEqual(self.offers("help", "prof"), ["profile"])
        self.assertEqual(self.offers("completion", "z"), ["zsh"])
        with open(self.path("mine.sbt"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.offers("export", "mi"), ["mine.sbt"])
        self.assertEqual(self.offers("export", "-o", "mi"), ["mine.sbt"])
        self.assertEqual(self.offers("profile", "--", "cat", "mi"), ["mine.sbt"])

    def test_zsh_and_fish_read_theirs(self):
        checked = 0
        for shell in ("zsh", "fish"):
            path = self.completion(shell)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for command in COMMANDS:
                self.assertIn(command, text)
            if shutil.which(shell):
                subprocess.run([shell, "-n", path], check=True, timeout=60)
                checked += 1
        if checked == 0:
            self.skipTest("neither zsh nor fish is installed; only their contents were looked at")

    def test_manual_page_renders_without_a_warning(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        page = self.path("tracesmith.1")
        with open(page, "wb") as file:
            file.write(self.run_command("man").stdout)
        result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                env=environment(MANWIDTH="80", PAGER="cat", MANPAGER="cat"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.decode(), "")
        text = result.stdout.decode()
        for heading in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT"):
            self.assertIn(heading, text)
        for command in COMMANDS:
            self.assertIn(f"tracesmith {command}", text)

    def test_the_reference_in_docs_is_current(self):
        with open(os.path.join(SOURCE, "docs", "cli_reference.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.run_command("man", "--markdown").stdout.decode(),
                             "make it anew: tracesmith man --markdown > docs/cli_reference.md")


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit("set TRACESMITH_BIN to the folder with the built programs")
    unittest.main(verbosity=2)
