# SPDX-License-Identifier: Apache-2.0
"""The CUDA agent in a launch: it allocates nothing and takes no lock. TRACESMITH_STANDINS is the
folder of one generation's stand-ins."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")


class LaunchCost(CommandTest):
    def allocations_and_locks(self, *options):
        program = os.path.join(STANDINS, "launch_cost")
        env = environment(LD_LIBRARY_PATH=STANDINS)
        watch = os.path.join(STANDINS, "libcall-watch.so")
        result = self.run_command("profile", *options, "-o", "t.sbt", "--", "env", f"LD_PRELOAD={watch}",
                                  program, "5", "10000", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        launches = self.run_command("query", "t.sbt", "SELECT count(*) FROM host_call WHERE kind = 'launch'", "--csv")
        self.assertEqual(launches.stdout.decode().split()[-1], "50100")
        return int(re.search(r"(\d+) allocations and locks", result.stdout.decode()).group(1))

    def test_a_launch_allocates_nothing_and_takes_no_lock(self):
        self.assertEqual(self.allocations_and_locks("-b", "16M"), 0)

    def test_nor_with_its_stack(self):
        self.assertEqual(self.allocations_and_locks("-b", "16M", "--stacks=native"), 0)


if __name__ == "__main__":
    unittest.main()
