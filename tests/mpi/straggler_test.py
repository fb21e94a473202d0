#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four real MPI ranks that compute with OpenCL, one of them slowed: `analyze` names it and why, and nobody where there
is nobody. The slowdown is a multiple of the noise that the ranks measure in the same run, so it holds on a busy
machine. `script/bench straggler_runs` repeats it many times.

With an argument N: N runs of each fault, and a table instead of tests."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from harness import PROGRAM, environment  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
RUN_LIMIT_S = 120
RANKS, STEPS = 4, 40
TIMES_THE_NOISE = 3
KINDS = {"work": "more work", "stop": "late host", "lock": "late host"}
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca",
          "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none", "-n", str(RANKS)]


class Job:
    """The compiled program, and the folder that it runs in."""

    def __init__(self, folder):
        self.folder = folder
        self.program = os.path.join(folder, "straggler")
        subprocess.run(["mpicc.openmpi", "-w", "-O1", os.path.join(HERE, "straggler.c"), "-lOpenCL", "-lm", "-pthread",
                        "-o", self.program], check=True)

    def command(self, fault, rank, slow_us):
        return [*MPIRUN, self.program, fault, str(rank), str(STEPS), f"{slow_us:.0f}"]

    def noise_us(self):
        """What steps of ranks without a fault differ by: their standard deviation, the median of the ranks."""
        said = subprocess.run(self.command("none", -1, 0), cwd=self.folder, env=environment(POCL_MAX_PTHREAD_COUNT="1"),
                              check=True, timeout=RUN_LIMIT_S, stdout=subprocess.PIPE).stdout.decode()
        means = [float(number) for number in re.findall(r": ([\d.]+) us a step", said)]
        deviations = sorted(float(number) for number in re.findall(r"deviation ([\d.]+)", said))
        return deviations[len(deviations) // 2], sum(means) / len(means)

    def stragglers(self, fault, rank, slow_us):
        """[(rank, kind, evidence)], the costliest first."""
        for name in ("run.sbt", "job.sbt"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))
        env = environment(POCL_MAX_PTHREAD_COUNT="1")
        for command in ([PROGRAM, "profile", "-q", "-o", "run.sbt", "--", *self.command(fault, rank, slow_us)],
                        [PROGRAM, "merge", "-q", "run.sbt", "-o", "job.sbt"]):
            result = subprocess.run(command, cwd=self.folder, env=env, check=False, timeout=RUN_LIMIT_S,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if result.returncode != 0:
                raise RuntimeError(f"{command}: {result.stderr.decode()}")
        said = subprocess.run([PROGRAM, "analyze", "job.sbt", "--json"], cwd=self.folder, env=env, check=True,
                              timeout=RUN_LIMIT_S, stdout=subprocess.PIPE).stdout
        return [(row["rank"], row["kind"], row["evidence"]) for row in json.loads(said)["stragglers"]]


@unittest.skipIf(shutil.which("mpicc.openmpi") is None, "Open MPI is not installed")
class Stragglers(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="tracesmith-straggler-")
        cls.job = Job(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_each_fault_is_named(self):
        noise, mean = self.job.noise_us()
        for fault, kind in KINDS.items():
            with self.subTest(fault):
                found = self.job.stragglers(fault, 2, max(TIMES_THE_NOISE * noise, mean))
                self.assertEqual([row[:2] for row in found[:1]], [("2", kind)], (found, noise, mean))


def table(runs):
    with tempfile.TemporaryDirectory(prefix="tracesmith-straggler-") as folder:
        job, missed = Job(folder), False
        for fault in ("none", *KINDS):
            right = 0
            for i in range(runs):
                noise, mean = job.noise_us()
                rank = i % RANKS
                found = job.stragglers(fault, rank, TIMES_THE_NOISE * noise)
                expected = [] if fault == "none" else [(str(rank), KINDS[fault])]
                is_right = [row[:2] for row in found[:1]] == expected
                right += is_right
                if not is_right:
                    print(f"  {fault} in rank {rank}, {TIMES_THE_NOISE * noise:.0f} us more than {mean:.0f}: {found}",
                          flush=True)
            print(f"{fault:5} {right} of {runs} right", flush=True)
            missed = missed or right < runs
        return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        sys.exit(table(int(sys.argv[1])))
    unittest.main()
