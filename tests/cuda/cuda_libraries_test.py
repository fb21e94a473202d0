# SPDX-License-Identifier: Apache-2.0
"""Which libcupti the agent uses, and what the trace says where it can use none: because there is none, because
it does not fit the driver, or because another tool has it. TRACESMITH_STANDINS is the folder of one
generation's stand-ins."""
import os
import shutil
import unittest

from cuda_harness import GENERATION, SHARES, STANDINS, CudaTest


class CudaLibraries(CudaTest):
    def test_another_tool_in_the_way_is_named_and_does_no_harm(self):
        did = self.profile("launches", "10", STANDIN_SCRIPT="second_subscriber=1")
        self.assertEqual(did["kernels"], 10)
        self.assertIn("another tool uses CUPTI", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)

    def test_no_driver(self):
        did = self.profile("launches", "10", STANDIN_SCRIPT="no_driver=1")
        self.assertEqual(did["kernels"], 10)
        self.assertIn("CUPTI cannot be used", self.said)

    def test_a_library_that_is_injected_already_stays(self):
        did = self.profile("launches", "10", CUDA_INJECTION64_PATH="/no/such/library.so")
        self.assertEqual(did["kernels"], 10)
        self.assertIn("CUDA_INJECTION64_PATH names /no/such/library.so", self.said)

    def test_a_cupti_that_is_named_and_is_none(self):
        did = self.profile("launches", "10", TRACESMITH_CUPTI="/etc/passwd")
        self.assertEqual(did["kernels"], 10)
        self.assertIn("TRACESMITH_CUPTI names /etc/passwd", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)

    @unittest.skipUnless(GENERATION == "12", "one is newer than the other")
    def test_a_cupti_that_does_not_fit_the_driver_is_not_the_end(self):
        newer = os.path.join(os.path.dirname(STANDINS.rstrip("/")), "13", "libcupti.so.13")
        for file in (os.path.join(STANDINS, "libcuda.so.1"), os.path.join(STANDINS, "libcupti.so.12"), newer):
            shutil.copy(file, self.dir)
        for refusal in ("version_error_from", "incompatible_from"):
            script = {"STANDIN_SCRIPT": f"{refusal}=130000"}
            did = self.profile("launches", "300", folder=self.dir, **script)
            self.assert_all_is_there(did)
            self.assertNotIn("CUPTI", self.said)
        # It is, where the user has named it.
        did = self.profile("launches", "10", folder=self.dir, TRACESMITH_CUPTI=self.path("libcupti.so.13"), **script)
        self.assertEqual(did["kernels"], 10)
        self.assertIn("CUPTI cannot be used (15", self.said)
        self.assertIn("libcupti.so.13)", self.said)
        os.unlink(self.path("libcupti.so.12"))
        self.profile("launches", "10", folder=self.dir, **script)
        self.assertIn("(tried: libcupti.so.13)", self.said)

    def test_a_cupti_without_our_clock(self):
        did = self.profile("launches", "10", STANDIN_CUPTI_VERSION="14")
        self.assertEqual(did["kernels"], 10)
        self.assertIn("older than CUDA 11.6", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)

    def test_no_cupti(self):
        for name in ("libcuda.so.1", "libcuda.so"):
            shutil.copy(os.path.join(STANDINS, name), self.path(name))
        did = self.profile("launches", "10", folder=self.dir)
        self.assertEqual(did["kernels"], 10)
        self.assertIn("libcupti was not found", self.said)

    def package(self):
        """A file of CUPTI where no other way leads to, as Python's packages have it; and the driver alone."""
        for name in ("libcuda.so.1", "libcuda.so"):
            shutil.copy(os.path.join(STANDINS, name), self.path(name))
        os.makedirs(self.path("package"))
        return shutil.copy(os.path.join(STANDINS, "libcupti.so"), self.path("package/libcupti.so.of-a-package"))

    def test_a_cupti_of_a_python_package(self):
        cupti = self.package()
        did = self.profile("launches", "10", folder=self.dir, TRACESMITH_CUPTI_FALLBACK=f"/no/such.so::{cupti}")
        self.assert_all_is_there(did)
        self.assertNotIn("libcupti", self.said)

    def test_a_cupti_of_a_python_package_comes_last(self):
        cupti = self.package()
        seen = {"LD_DEBUG": "files", "TRACESMITH_CUPTI_FALLBACK": cupti}
        self.assert_all_is_there(self.profile("launches", "10", folder=self.dir, **seen))
        self.assertIn(cupti, self.said)  # it shows when it is used
        self.assert_all_is_there(self.profile("launches", "10", **seen))
        self.assertNotIn(cupti, self.said)
        os.makedirs(self.path("toolkit/lib64"))
        shutil.copy(cupti, self.path("toolkit/lib64/libcupti.so"))
        self.assert_all_is_there(self.profile("launches", "10", folder=self.dir, CUDA_HOME=self.path("toolkit"), **seen))
        self.assertNotIn(cupti, self.said)
        self.assertIn("toolkit/lib64/libcupti.so", self.said)

    def assert_another_tool_is_named(self, did, name):
        self.assertEqual(did["kernels"], 10)
        self.assertIn(f"another tool uses CUPTI in this process{name}", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)

    def test_beside_a_tool_that_lets_others_in(self):
        script = {"STANDIN_SCRIPT": "second_subscriber=2"}
        if not SHARES:
            name = ": CUPTI for another tool" if GENERATION == "13" else ""
            self.assert_another_tool_is_named(self.profile("launches", "10", **script), name)
            return
        did = self.profile("launches", "300", "3", **script)
        self.assert_all_is_there(did)
        self.assertNotIn("another tool", self.said)
        row = self.rows("SELECT DISTINCT name, grid_x, block_x FROM kernel LIMIT 1")[0]
        self.assertEqual(row["name"], "vectorAdd")
        self.assertGreater(row["grid_x"] * row["block_x"], 0)
        self.assertEqual(self.one("SELECT count(*) FROM device WHERE name = 'Stand-in GPU'"), 1)

    @unittest.skipUnless(SHARES, "of CUDA 13.4 and later")
    def test_a_killed_program_beside_such_a_tool(self):
        did = self.profile("busy", "1500", "500", code=-9,
                           STANDIN_SCRIPT="long_kernel_ns=1000000,second_subscriber=2")
        kernels = self.assert_launches_are_accounted_for(did["kernels"])
        self.assertGreaterEqual(kernels, did["synchronized_kernels"] + 450)
        self.assertEqual(self.one("SELECT count(DISTINCT correlation_id) FROM kernel"), kernels)

    @unittest.skipUnless(GENERATION == "13", "names the other tool")
    def test_a_tool_that_lets_nobody_in_is_named(self):
        did = self.profile("launches", "10", STANDIN_SCRIPT="second_subscriber=1")
        self.assert_another_tool_is_named(did, ": CUPTI for another tool")

    @unittest.skipUnless(SHARES, "of CUDA 13.4 and later")
    def test_where_who_shares_has_no_clock_of_its_own_the_agent_is_alone(self):
        self.assert_all_is_there(self.profile("launches", "300", STANDIN_CUPTI_VERSION="130300"))
        did = self.profile("launches", "10", STANDIN_CUPTI_VERSION="130300", STANDIN_SCRIPT="second_subscriber=2")
        self.assert_another_tool_is_named(did, ": CUPTI for another tool")


if __name__ == "__main__":
    unittest.main()
