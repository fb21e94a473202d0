# SPDX-License-Identifier: Apache-2.0
"""`tracesmith benchmark` on a GPU of CUDA's: it is found, and each launch has its stack."""
import os
import unittest

from cuda_harness import STANDINS, CudaTest, environment


class CudaBenchmark(CudaTest):
    def benchmark(self, *options, folder=STANDINS):
        return self.run_command("benchmark", "-n", "300", "--rounds", "1", *options,
                                env=environment(LD_LIBRARY_PATH=folder, TRACESMITH_CUPTI=None))

    def test_a_gpu_of_cuda_is_found_and_all_stacks_are_right(self):
        for options in (("--api", "cuda"), ("--real-gpu", "--api", "cuda")):
            result = self.benchmark(*options)
            self.assertEqual(result.returncode, 0, result.stderr)
            said = result.stdout.decode()
            self.assertRegex(said, r"on .* \(CUDA\)\n")
            self.assertNotIn("which is not a GPU", said)
            self.assertIn("verified: 300 of 300 launch stacks", said)

    def test_the_trace_has_the_launches(self):
        result = self.benchmark("--api", "cuda", "-o", "t.sbt")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.one("SELECT count(*) FROM kernel WHERE name = 'benchmark_kernel'"), 301)

    def test_without_cupti_it_says_what_is_missing(self):
        os.symlink(os.path.join(STANDINS, "libcuda.so.1"), self.path("libcuda.so.1"))
        result = self.benchmark("--api", "cuda", folder=self.dir)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("none was recorded: ", result.stderr.decode())
        self.assertIn("libcupti was not found", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
