# SPDX-License-Identifier: Apache-2.0
"""Programs that make it hard to take their call stacks: they end as they would without us, every
command is in the trace, and a stack that could not be had is counted by its reason."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import BIN, CommandTest, environment  # pylint: disable=wrong-import-position

PROGRAMS = os.path.join(BIN, "bad_days")
FIXED = os.path.join(BIN, "bad_days_fixed")

LIBRARY = """
    __attribute__((noinline)) static void from_{name}(void (*f)(void)) {{ f(); __asm__(""); }}
    void run(void (*f)(void)) {{ from_{name}(f); __asm__(""); }}
"""


class BadDays(CommandTest):
    def both(self, day, *arguments, program=PROGRAMS, options=()):
        """Runs it alone and under profile; the same must come of both."""
        alone = subprocess.run([program, day, *arguments], cwd=self.dir, timeout=60, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        ours = self.profile(day, *arguments, program=program, options=options, code=alone.returncode)
        self.assertEqual(ours.stdout, alone.stdout)
        self.code = alone.returncode

    def profile(self, day, *arguments, program=PROGRAMS, options=(), code=0):
        result = self.run_command("profile", "-q", "--stacks=native", *options, "-o", "t.sbt", "--",
                                  program, day, *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        verified = self.run_command("verify", "t.sbt")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        return result

    def rows(self, sql):
        result = self.run_command("query", "t.sbt", sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def launches(self):
        """Of each kernel the names of its frames, innermost first."""
        shown = self.run_command("view", "t.sbt", "--stacks", "-t", "kernel", "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return [[line.split()[0] for line in row["stack"]] for row in json.loads(shown.stdout)]

    def losses(self):
        return {row["reason"]: row["dropped"] for row in
                self.rows("SELECT reason, dropped FROM loss WHERE source = 'call stacks'")}

    def assert_all_have_stacks(self, launches):
        counts = self.rows("SELECT count(*) AS n, count(call_path_id) AS known FROM kernel")[0]
        self.assertEqual((counts["n"], counts["known"]), (launches, launches), self.losses())

    def test_programs_at_fixed_and_at_moving_addresses(self):
        for program in (PROGRAMS, FIXED):
            self.both("plain", program=program)
            stacks = self.launches()
            self.assertEqual(len(stacks), 10)
            for depth, stack in enumerate(stacks):
                self.assertEqual([f for f in stack if f in ("launch", "recurse", "main")],
                                 ["launch"] + ["recurse"] * (depth + 1) + ["main"], stack)
            self.assertEqual(self.losses(), {})

    def test_a_stripped_program_has_its_frames_without_names(self):
        stripped = self.path("stripped")
        shutil.copy(PROGRAMS, stripped)
        subprocess.run(["strip", "-s", stripped], check=True)
        self.both("plain", program=stripped)
        for depth, stack in enumerate(self.launches()):
            mine = [f for f in stack if f.startswith("stripped+")]
            self.assertGreaterEqual(len(mine), depth + 3, stack)
        self.assertEqual(self.losses(), {})

    def test_a_library_in_the_place_of_another_is_not_taken_for_it(self):
        paths = []
        for name in ("first", "other"):
            with open(self.path(name + ".c"), "w", encoding="ascii") as file:
                file.write(LIBRARY.format(name=name))
            paths.append(self.path(f"lib{name}.so"))
            subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", paths[-1], name + ".c"],
                           cwd=self.dir, check=True)
        same_place = False
        for _ in range(5):
            result = self.profile("replaced", *paths)
            callers = [[f for f in stack if f.startswith("from_")] for stack in self.launches()]
            self.assertEqual(callers, [["from_first"]] * 2 + [["from_other"]] * 2)
            same_place = same_place or b"same place" in result.stdout
        if not same_place:
            self.skipTest("the system always put the second elsewhere")

    def test_an_overflow_of_the_stack(self):
        self.both("overflow")
        self.assertEqual(self.code, -11)
        launches = self.rows("SELECT count(*) AS n FROM host_call WHERE name = "
                             "'clEnqueueNDRangeKernel'")[0]["n"]
        self.assertGreater(launches, 2)
        self.assertTrue(any("--max-depth" in reason for reason in self.losses()), self.losses())

    def test_an_overflow_of_the_stack_whose_handler_launches(self):
        self.both("overflow_with_handler")
        self.assertEqual(self.code, 7)
        last = self.rows("SELECT call_path_id AS p FROM host_call WHERE name = "
                         "'clEnqueueNDRangeKernel' ORDER BY start_ns DESC LIMIT 1")
        self.assertIsNotNone(last[0]["p"])

    def test_a_hundred_thousand_frames_are_cut_where_asked(self):
        self.both("deep", options=("--max-depth", "200"))
        for stack in self.launches():
            self.assertEqual(stack.count("recurse"), 199 - stack.index("recurse"), stack[:5])
        # Three launches, and the wait after each.
        self.assertEqual(sum(n for reason, n in self.losses().items() if "--max-depth" in reason),
                         6, self.losses())

    def test_stacks_of_rubbish(self):
        self.both("corrupt")
        stacks = self.launches()
        self.assertEqual(len(stacks), 801)
        for stack in stacks:
            self.assertEqual(stack[stack.index("launch")], "launch")
        counts = self.rows("SELECT count(*) AS n, count(call_path_id) AS known FROM kernel")[0]
        self.assertEqual(counts["n"], counts["known"])

    def test_coroutines(self):
        self.both("coroutines")
        self.assert_all_have_stacks(160)
        for stack in self.launches():
            self.assertIn("launch", stack)
            self.assertTrue(any("coroutine" in f for f in stack), stack)

    def test_threads_that_end_in_the_middle(self):
        self.both("threads")
        counts = self.rows("SELECT count(*) AS n, count(call_path_id) AS known FROM kernel")[0]
        self.assertEqual((counts["n"], counts["known"]), (200, 200))
        for stack in self.launches():
            self.assertEqual(stack.count("recurse"), 4, stack)

    def test_threads_that_are_cancelled(self):
        self.both("cancelled")
        calls = self.rows("SELECT count(*) AS n, count(call_path_id) AS known FROM host_call WHERE "
                          "name = 'clEnqueueNDRangeKernel'")[0]
        self.assertGreaterEqual(calls["n"], 500)
        self.assertEqual(calls["n"], calls["known"])

    def test_forked_children(self):
        self.both("forked")
        self.assert_all_have_stacks(6)
        children = self.rows("SELECT process_id, count(*) AS n, count(call_path_id) AS known, "
                             "count(DISTINCT call_path_id) AS paths FROM host_call WHERE name = "
                             "'clEnqueueNDRangeKernel' GROUP BY process_id")
        self.assertEqual(sorted(row["n"] for row in children), [2] * 5 + [6])
        self.assertTrue(all(row["n"] == row["known"] for row in children), children)

    def test_signals_that_come_within(self):
        self.both("signals")
        calls = self.rows("SELECT count(*) AS n, count(call_path_id) AS known FROM host_call WHERE "
                          "name = 'clEnqueueNDRangeKernel'")[0]
        lost = self.rows("SELECT sum(dropped) AS n FROM loss")[0]["n"]
        self.assertGreaterEqual(calls["n"] + lost, 400_000)
        self.assertGreaterEqual(calls["n"], 399_000)
        self.assertLess(calls["n"] - calls["known"], 1000)

    def test_a_static_program_is_named_and_runs(self):
        result = self.run_command("profile", "--stacks", "-o", "t.sbt", "--",
                                  os.path.join(BIN, "static_program"))
        self.assertEqual(result.returncode, 6, result.stderr)  # as without us
        self.assertIn(b"linked statically", result.stderr)

    @unittest.skipUnless(os.getuid() == 0, "only root can give a file away")
    def test_a_set_user_id_program_is_refused_with_the_reason(self):
        program = self.path("other")
        shutil.copy("/bin/true", program)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        result = self.run_command("profile", "--stacks", "-o", "t.sbt", "--", program)
        self.assert_fails(result, 125, "set-user-id")
        self.assertNotIn("t.sbt", self.files())

    def check_that_it_runs_as_ever(self, compiler):
        """A program that asks for functions, as a library of ours does that is preloaded."""
        with open(self.path("m.c"), "w", encoding="ascii") as file:
            file.write('#include <dlfcn.h>\n#include <stdio.h>\n#include <unistd.h>\n'
                       '#include <sys/wait.h>\n'
                       'int main(void) { int s = 0; puts(dlerror() ? "error" : "none");\n'
                       'void* self = dlopen(0, RTLD_NOW); printf("%d ", dlsym(self, "puts") != 0);\n'
                       'printf("%d ", dlsym(self, "clFinish") != 0); puts(dlerror() ? "error" : "none");\n'
                       'fflush(stdout); if (fork() == 0) return 3; wait(&s); '
                       'printf("child %d\\n", WEXITSTATUS(s)); return 5; }\n')
        subprocess.run([*compiler, "-o", "m", "m.c"], cwd=self.dir, check=True)
        expected = b"none\n1 0 error\nchild 3\n"
        for injection in ("layer", "preload"):
            result = self.run_command("profile", "-q", "--stacks", "--record", "-o", "t.sbt",
                                      "--inject", injection, "--", "./m")
            self.assertEqual((result.returncode, result.stdout), (5, expected), result.stderr)

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl-gcc is not installed")
    def test_programs_of_another_c_library_run_as_ever(self):
        self.check_that_it_runs_as_ever(["musl-gcc"])
        self.assertEqual(self.rows("SELECT count(*) AS n FROM process")[0]["n"], 2)

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
    def test_programs_with_a_sanitizer_run_as_ever(self):
        for sanitizer in ("address", "thread"):
            with self.subTest(sanitizer):
                self.check_that_it_runs_as_ever(["gcc", "-fsanitize=" + sanitizer])


if __name__ == "__main__":
    unittest.main()
