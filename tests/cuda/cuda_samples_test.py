# SPDX-License-Identifier: Apache-2.0
"""The CUDA samples compile with NVIDIA's compiler, for sm_90 and as PTX, and say what is missing where
there is no device. Ends with 77, and says why, where there is no compiler."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = sorted(name[:-3] for name in os.listdir(os.path.join(SOURCE, "examples", "cuda"))
                 if name.endswith(".cu"))


def output(*command):
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=False, timeout=550)


class CudaSamples(unittest.TestCase):
    folder = ""

    def test_all_are_compiled_and_need_no_library_of_cuda(self):
        self.assertEqual(sorted(os.listdir(self.folder)), SAMPLES)
        for name in SAMPLES:
            needed = output("readelf", "-d", os.path.join(self.folder, name)).stdout.decode()
            self.assertEqual(set(re.findall(r"\(NEEDED\).*\[([\w+-]+)", needed)) -
                             {"libc", "libm", "libstdc++", "libgcc_s", "ld-linux-x86-64"}, set(), name)

    def test_each_has_code_of_sm_90_and_ptx(self):
        for name in SAMPLES:
            with self.subTest(name):
                path = os.path.join(self.folder, name)
                sections = output("readelf", "-SW", path).stdout.decode()
                at = re.search(r" \.nv_fatbin +PROGBITS +\w+ (\w+) (\w+)", sections)
                self.assertIsNotNone(at, "no code for a device")
                with open(path, "rb") as file:
                    file.seek(int(at[1], 16))
                    code = file.read(int(at[2], 16))
                self.assertEqual(kinds(code), {("ELF", 90), ("PTX", 75)})

    def test_without_a_device_one_line_says_so(self):
        # Where there is one, they run.
        for name in SAMPLES:
            result = output(os.path.join(self.folder, name))
            self.assertIn(result.returncode, (0, 3), name)
            if result.returncode == 3:
                self.assertEqual(result.stdout, b"")
                self.assertRegex(result.stderr, rb"^no CUDA device: [^\n]*\n$")


def kinds(fat):
    """What a fat binary holds, by the heads of its entries: (kind, version)."""
    found, at = set(), 0
    while (at := fat.find(b"\x50\xed\x55\xba", at)) >= 0:
        head, size = int.from_bytes(fat[at + 6:at + 8], "little"), int.from_bytes(fat[at + 8:at + 16], "little")
        entry, end = at + head, at + head + size
        while entry < end:
            kind = int.from_bytes(fat[entry:entry + 2], "little")
            entry_head = int.from_bytes(fat[entry + 4:entry + 8], "little")
            entry_size = int.from_bytes(fat[entry + 8:entry + 16], "little")
            version = int.from_bytes(fat[entry + 28:entry + 32], "little")
            found.add(({1: "PTX", 2: "ELF"}.get(kind, str(kind)), version))
            entry += entry_head + entry_size
        at = end
    return found


def main():
    compiler = output(os.path.join(SOURCE, "script", "cuda-compiler"), "--installed")
    nvcc = compiler.stdout.decode().split()[-1] if compiler.returncode == 0 else shutil.which("nvcc")
    if nvcc is None:
        print("skipped: there is no nvcc (script/cuda-compiler fetches it)")
        return 77
    with tempfile.TemporaryDirectory(prefix="tracesmith-samples-") as folder:
        made = output(os.path.join(SOURCE, "script", "cuda-samples"), folder, nvcc)
        if made.returncode != 0:
            print(made.stderr.decode())
            return 1
        CudaSamples.folder = folder
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
