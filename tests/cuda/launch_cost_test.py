# SPDX-License-Identifier: Apache-2.0
"""The CUDA agent in a launch: it allocates nothing, takes no lock, and adds few instructions to a
tool whose callback does nothing. TRACESMITH_STANDINS is the folder of one generation's stand-ins."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
PROGRAM = os.path.join(STANDINS, "launch_cost")
# Instructions of a launch that may come on top of an empty callback: what GCC 12's code takes, and a fifth.
AGENT_BUDGET = 380
STACKS_BUDGET = 660


class LaunchCost(CommandTest):
    def allocations_and_locks(self, *options):
        env = environment(LD_LIBRARY_PATH=STANDINS)
        watch = os.path.join(STANDINS, "libcall-watch.so")
        result = self.run_command("profile", *options, "-o", "t.sbt", "--", "env", f"LD_PRELOAD={watch}",
                                  PROGRAM, "5", "10000", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        launches = self.run_command("query", "t.sbt", "SELECT count(*) FROM host_call WHERE kind = 'launch'", "--csv")
        self.assertEqual(launches.stdout.decode().split()[-1], "50100")
        return int(re.search(r"(\d+) allocations and locks", result.stdout.decode()).group(1))

    def test_a_launch_allocates_nothing_and_takes_no_lock(self):
        self.assertEqual(self.allocations_and_locks("-b", "16M"), 0)

    def test_nor_with_its_stack(self):
        self.assertEqual(self.allocations_and_locks("-b", "16M", "--stacks=native"), 0)

    def instructions(self, profile=None, **variables):
        """Of one launch: what 20,000 more of them take, under callgrind."""
        env = environment(LD_LIBRARY_PATH=STANDINS, **variables)
        counted = []
        for calls in (5000, 25000):
            count = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, "1", str(calls)]
            if profile is not None:
                result = self.run_command("profile", "-b", "16M", *profile, "-o", "t.sbt", "--", *count, env=env)
                launches = self.run_command("query", "t.sbt", "SELECT count(*) FROM host_call WHERE kind = 'launch'",
                                            "--csv")
                self.assertEqual(launches.stdout.decode().split()[-1], str(calls + 100))
            else:
                result = subprocess.run(count, env=env, capture_output=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            counted.append(int(re.search(rb"Collected : (\d+)", result.stderr).group(1)))
        return (counted[1] - counted[0]) // 20000

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    @unittest.skipUnless(os.path.basename(STANDINS.rstrip("/")) == "13", "the newest generation speaks for all")
    def test_instructions_of_a_launch(self):
        consumer = os.path.join(STANDINS, "libempty-callback.so")
        empty = self.instructions(CUDA_INJECTION64_PATH=consumer)
        agent = self.instructions([]) - empty
        stacks = self.instructions(["--stacks=native"]) - empty
        print(f"beside an empty callback ({empty} instructions a launch) the agent adds {agent}, "
              f"with call stacks {stacks}")
        self.assertLess(agent, AGENT_BUDGET)
        self.assertLess(stacks, STACKS_BUDGET)


if __name__ == "__main__":
    unittest.main()
