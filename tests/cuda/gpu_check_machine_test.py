# SPDX-License-Identifier: Apache-2.0
"""script/gpu-check on machines of all kinds: from its pack, in an empty root; without a libcupti, with one
that the driver refuses, without a device; and with a command line that is wrong."""
import glob
import json
import os
import shutil
import subprocess
import sys

from empty_root import EmptyRoot
from gpu_check_harness import PYTHON_STANDINS, SCRIPT, SOURCE, STANDINS, TRACESMITH, WRAPPED, GpuCheckTest, main

MOST_BYTES = 15_000_000
LIBCUDA, LIBCUPTI = "libcuda.so.1", "libcupti.so.13"


class GpuCheckMachine(GpuCheckTest):
    def pack(self, cupti):
        """The pack of what was built here. `cupti`: the folder whose libcupti it carries."""
        pack = self.path("pack.tar.xz")
        env = dict(os.environ, GPU_CHECK_BUILD=os.path.dirname(os.path.dirname(TRACESMITH)), GPU_CHECK_CUPTI=cupti,
                   GPU_CHECK_SAMPLES=self.samples, GPU_CHECK_COMPRESS="-1")
        packed = subprocess.run([SCRIPT, "--pack", pack], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                timeout=300, env=env)
        self.assertEqual(packed.returncode, 0, packed.stderr.decode())
        self.assertLess(os.path.getsize(pack), MOST_BYTES)
        return pack

    def test_a_pack_is_all_that_it_takes_in_an_empty_root(self):
        pack = self.pack(self.standins(LIBCUPTI))
        with self.subTest("cut"):  # half of it, as after a copy that broke off
            with open(pack, "rb") as whole, open(self.path("cut"), "wb") as cut:
                cut.write(whole.read(os.path.getsize(pack) // 2))
            self.assert_is_no_pack(cut.name)
        why_not = EmptyRoot.why_not()
        if why_not:
            self.skipTest(why_not)
        root = EmptyRoot(self.path("root"))
        subprocess.run(["tar", "-xf", pack, "-C", root.to("/root")], check=True)
        # Instead of a driver, one that is none. The machine has no libcupti: the pack's is taken.
        os.makedirs(root.to("/standins"))
        shutil.copy(os.path.join(STANDINS, LIBCUDA), root.to("/standins"))
        root.add_libraries(os.path.join(STANDINS, LIBCUDA), os.path.join(STANDINS, "standin_samples"))
        # A Python program that brings no libcupti of its own is recorded with the chosen one.
        shutil.copytree(PYTHON_STANDINS, root.to("/root/python"))
        result = subprocess.run(
            root.command("/root/tracesmith-gpu-check/script/gpu-check", "--light", "--stand-in", "/standins",
                         "--output", "/root/results", "--only",
                         "agent,counts and brackets,graphs,10k stacks,training,two processes,recorder killed,"
                         "arm and attach"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=200,
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "PYTHONPATH": "/root/python"})
        said = result.stderr.decode()
        self.assertEqual(result.stdout, b"")
        self.output = root.to("/root/results")
        data, _ = self.found()
        self.assertEqual({step["status"] for step in data["steps"]}, {"ran"}, said)
        wrong = [what for what in self.failing(data)
                 if not any(word in what for word in ("time beside", "a second", "overhead"))]
        self.assertEqual(wrong, [], said)
        self.assertIn("carried", data["machine"]["samples_compiled_by"])
        self.assertRegex(data["commit"], "^([0-9a-f]{40}|unknown)")
        cupti = data["machine"]["cupti"]
        self.assertEqual(cupti["from"], "pack", data["machine"]["cupti_tried"])
        self.assertTrue(cupti["path"].endswith("pack/lib/cupti/" + LIBCUPTI), cupti)
        self.assertEqual(glob.glob(root.to("/tmp") + "/tracesmith-*"), [])

    def test_without_libcupti_all_is_absent_and_nothing_fails(self):
        result = self.run_check(standins=self.standins(LIBCUDA), more=["--cupti-folder", self.path("none")])
        self.assert_no_cupti(result, "no libcupti was found")

    def test_a_driver_that_refuses_all_of_them(self):
        for script, reason in (("no_driver=1", "error 999"), ("second_subscriber=1", "error 39"),
                               ("deny_all=1", r"saw 0 of 5 kernels: .*deliver kernels \(error 35\)")):
            with self.subTest(script):
                result = self.run_check(more=["--cupti-folder", self.standins(LIBCUPTI)], STANDIN_SCRIPT=script)
                self.assert_no_cupti(result, reason)
                shutil.rmtree(self.output)

    def run_check(self, *arguments, more=(), **named):
        return super().run_check(*arguments, *more, **named)

    def assert_no_cupti(self, result, reason):
        self.assertEqual(result.returncode, 4, result.stderr.decode())
        data, _ = self.found()
        for step in data["steps"]:
            self.assertEqual((step["status"], step["checks"]), ("absent", []), step)
            self.assertRegex(step["reason"], reason)
        self.assertGreater(len(data["steps"]), 28)
        self.assertIsNone(data["machine"]["cupti"])
        self.assertRegex(self.verdict(result), f"^gpu-check: NO CUPTI: .*{reason}.*; 0 checks pass, 0 fail")

    def test_the_second_libcupti_where_the_driver_refuses_the_first(self):
        broken = self.path("libcupti.so.99")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no library\n")
        for first, reason in ((WRAPPED, r"error 14"), (broken, "invalid ELF header|file too short"),
                              (self.path("libcupti.so.1"), "no such file")):
            with self.subTest(first):
                result = self.run_check("--only", "agent,counts and brackets", "--cupti", first,
                                        STANDIN_SCRIPT="wrap_refuse=14")
                self.assertEqual(result.returncode, 0, result.stderr.decode())
                data, _ = self.found()
                tried = data["machine"]["cupti_tried"]
                self.assertEqual([entry["from"] for entry in tried[:2]], ["named", "loader"])
                self.assertRegex(tried[0]["result"], reason)
                self.assertEqual(tried[0]["version"], 130500 if first == WRAPPED else None)
                self.assertEqual(tried[1]["result"], "works")
                self.assertEqual(data["machine"]["cupti"]["path"], tried[1]["path"])
                self.assertTrue(tried[1]["path"].endswith(LIBCUPTI))
                shutil.rmtree(self.output)

    def test_an_agent_that_cannot_use_what_others_can_is_a_failure(self):
        # CUPTI 11.2's interface takes no clock, which the agent needs and the consumer does not.
        result = self.run_check("--only", "agent,counts and brackets", STANDIN_CUPTI_VERSION="14")
        self.assertEqual(result.returncode, 1, result.stderr.decode())
        data, _ = self.found()
        self.assertEqual(self.failing(data), ["agent: kernels in the agent's trace, with this libcupti"])
        self.assertIn("clock", json.dumps(data["steps"][0]["values"]))
        self.assertEqual(data["steps"][1]["status"], "absent")
        self.assertIn("clock", data["steps"][1]["reason"])

    def test_the_state_of_the_gpu(self):
        """What nvidia-smi says, also one that does not know all that is asked."""
        folder = self.path("smi")
        os.mkdir(folder)
        with open(os.path.join(folder, "nvidia-smi"), "w", encoding="utf-8") as file:
            file.write("""#!/bin/sh
case "$1" in
  *mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
  --query-compute-apps=*) echo '4711, python, 512 MiB' ;;
  --query-gpu=*,*) echo '0, Some GPU, 580.1' ;;
  --query-gpu=index) echo 0 ;;
  --query-gpu=name) echo 'Some GPU' ;;
  --query-gpu=driver_version) echo 580.1 ;;
  *) exit 2 ;;
esac
""")
        os.chmod(file.name, 0o755)
        said = subprocess.run(
            [sys.executable, "-B", "-c", "import json, machine; print(json.dumps(machine.gpu_state()))"],
            cwd=os.path.join(SOURCE, "bench", "gpu_check"), stdout=subprocess.PIPE, check=True,
            env=dict(os.environ, PATH=folder + ":" + os.environ["PATH"])).stdout
        self.assertEqual(json.loads(said), {"processes": ["4711, python, 512 MiB"], "gpus": [
            {"index": "0", "name": "Some GPU", "driver_version": "580.1"}]})

    def test_no_device(self):
        os.unlink(os.path.join(self.samples, "vector_add"))
        with open(os.path.join(self.samples, "vector_add"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'no CUDA device: none' >&2\nexit 3\n")
        os.chmod(file.name, 0o755)
        result = self.run_check()
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"no CUDA device", result.stderr)
        self.assertEqual(self.verdict(result), "gpu-check: NO DEVICE")
        self.assertEqual(glob.glob(os.path.join(self.output, "*")), [])

    def sanitizer(self, before=""):
        """A folder with what behaves as compute-sanitizer does, after some other commands."""
        folder = self.path("sanitizer")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "compute-sanitizer"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n[ \"$1\" = --version ] && { echo Version 1.2.3; exit 0; }\nerrors=0\n"
                       f"{before}\nshift 2\n\"$@\"\ncode=$?\necho \"=== ERROR SUMMARY: $errors errors\"\nexit $code\n")
        os.chmod(file.name, 0o755)
        return folder + ":" + os.environ["PATH"]

    def test_two_devices(self):
        result = self.run_check("--only", "peer copies", STANDIN_SCRIPT="devices=2")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        data, _ = self.found()
        self.assertEqual([check["value"] for check in data["steps"][0]["checks"]], [[20, 160 << 20], 1])

    def test_compute_sanitizer(self):
        injected = '[ -n "$CUDA_INJECTION64_PATH" ]'
        for before, code, kernels in (("", 0, "pass"), (f"{injected} && errors=3", 1, "pass"),
                                      ("unset CUDA_INJECTION64_PATH", 0, "absent")):
            with self.subTest(before):
                # Where one of them gets nothing, that is said; what passes is the rest.
                result = self.run_check("--only", "compute-sanitizer", PATH=self.sanitizer(before))
                data, _ = self.found()
                checks = {check["what"]: check["verdict"] for check in data["steps"][0]["checks"]}
                self.assertEqual(checks["vector_add: errors that it finds"], "pass", result.stderr.decode())
                self.assertEqual(checks["vector_add, with the sanitizer: kernels in the trace"], kernels)
                self.assertEqual(checks["vector_add, with the agent: errors that it finds"],
                                 "fail" if "errors=3" in before else "pass")
                self.assertEqual(result.returncode, code)
                self.assertEqual(data["machine"]["compute_sanitizer"], "1.2.3")
                shutil.rmtree(self.output)

    def assert_is_no_pack(self, path):
        result = self.run_check("--from", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{path} is no pack", result.stderr.decode())
        self.assertNotIn("Traceback", result.stderr.decode())

    def test_what_is_no_pack_is_said_to_be_none(self):
        text, other, empty = self.path("text"), self.path("other.tar"), self.path("empty")
        with open(text, "w", encoding="utf-8") as file:
            file.write("a text\n")
        subprocess.run(["tar", "-C", self.dir, "-cf", other, "text"], check=True)
        with open(empty, "w", encoding="utf-8"):
            pass
        for path in (text, other, empty, self.dir, self.path("absent")):
            with self.subTest(path=path):
                self.assert_is_no_pack(path)

    def test_a_wrong_command_line(self):
        for arguments, said in ((["--pack"], "--pack needs a value"), (["--limit"], "--limit needs a value"),
                                (["--no-such"], "unknown option --no-such")):
            with self.subTest(arguments):
                result = subprocess.run([SCRIPT, *arguments], check=False, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(result.returncode, 2)
                self.assertIn(said, result.stderr.decode())
        result = self.run_check("--only", "no such step")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such step: no such step", result.stderr.decode())


if __name__ == "__main__":
    main()
