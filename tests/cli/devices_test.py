# SPDX-License-Identifier: Apache-2.0
"""`devices` ends with what can be recorded here, and what to do about what cannot."""
import json
import os
import shutil
import unittest

from harness import CommandTest, environment


class Devices(CommandTest):
    def ends_with(self, env=None):
        """The last paragraph, and its JSON by backend."""
        text = self.run_command("devices", env=env).stdout.decode()
        reports = json.loads(self.run_command("devices", "--json", env=env).stdout)
        return text.split("\n\n")[-1], {report["backend"]: report["to_do"] for report in reports}

    def test_what_is_there_is_named_with_the_next_command(self):
        text, to_do = self.ends_with()
        self.assertRegex(text, r"^Can be recorded here: .*OpenCL.*Next: tracesmith profile -- PROGRAM\n")
        self.assertEqual(to_do["OpenCL"], "")
        # No agent: nothing that is installed changes it.
        self.assertEqual(to_do["ROCm"], "")
        self.assertIn("does not record ROCm, Metal, MACA, Ascend, Vulkan", text)

    @unittest.skipUnless(shutil.which("apt"), "the command names packages of apt")
    def test_a_loader_without_a_driver_needs_one(self):
        text, to_do = self.ends_with(environment(OCL_ICD_VENDORS="/nowhere"))
        self.assertNotIn("OpenCL", text.split("\n", maxsplit=1)[0])
        self.assertIn("apt install pocl-opencl-icd", to_do["OpenCL"])
        self.assertIn(f"  OpenCL  {to_do['OpenCL']}\n", text)

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia"), "this machine has NVIDIA's driver")
    def test_a_missing_driver_is_to_be_installed(self):
        text, to_do = self.ends_with()
        self.assertIn("install NVIDIA's driver", to_do["CUDA"])
        self.assertIn(f"  CUDA    {to_do['CUDA']}\n", text)


if __name__ == "__main__":
    unittest.main()
