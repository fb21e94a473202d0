# SPDX-License-Identifier: Apache-2.0
"""The bounds of `clock measure` over a network of known delays, with clocks of known drift: the short form of
`script/bench clock_bounds`. Asserts only what holds however busy the machine is."""
import json
import os
import subprocess
import sys
import unittest

from harness import BIN, LIMIT_S, SOURCE

SECONDS = 6


class ClockNetwork(unittest.TestCase):
    def test_no_offset_is_outside_its_bound(self):
        if not os.access(os.path.join(BIN, "clock_relay"), os.X_OK):
            self.skipTest("clock_relay was not built")
        done = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "bench/clock_bounds.py"), BIN, "--no-peer",
                               "--json", "--seconds", str(SECONDS)], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=LIMIT_S)
        if done.returncode == 77:
            self.skipTest(done.stderr.decode().strip())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        scenarios = json.loads(done.stdout)["scenarios"]
        self.assertEqual(len(scenarios), 11)
        for name, result in scenarios.items():
            with self.subTest(name):
                self.assertEqual(result["points"], 10_000)
                self.assertEqual((result["violations"], result["violations_back"]), (0, 0), result)
                self.assertGreater(result["answered"], 0)
        # What is uneven by 100 µs costs about half of that, which the bound has.
        uneven = scenarios["asymmetric 2:1"]
        self.assertGreater(uneven["median_bound"], 150_000)  # half of 200 + 100 µs
        self.assertLessEqual(uneven["worst_error"], uneven["worst_bound"])
        # The bounds cover both sides of a step.
        self.assertGreaterEqual(scenarios["step"]["worst_bound"], 750_000)


if __name__ == "__main__":
    unittest.main()
