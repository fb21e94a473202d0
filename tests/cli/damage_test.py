# SPDX-License-Identifier: Apache-2.0
"""Bad input: a clear line and exit code 1 or 3, quickly; never a crash, never a traceless loss."""

import ctypes
import ctypes.util
import os
import random
import shutil
import struct
import tempfile
import time
import unittest

from harness import PROGRAM, CommandTest

READERS = (["info"], ["view", "--stats"], ["view", "-n", "0", "-f", "csv"], ["view", "--timeline"],
           ["query", "SELECT name, sum(duration_ns) FROM kernel GROUP BY name"],
           ["export", "-o", "/dev/null", "-f", "perfetto"], ["export", "-o", "/dev/null", "-f", "json"])


class Damage(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="tracesmith-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        path = os.path.join(cls.shared, "t.sbt")
        assert os.spawnl(os.P_WAIT, PROGRAM, "tracesmith", "record", "-q", "-p", "simulation", "-d",
                         "0.05", "-o", path) == 0
        with open(path, "rb") as file:
            cls.good = file.read()

    def read(self, content, reader):
        """Runs one reading command over `content`; returns (exit code, lines of complaint)."""
        name = self.path("x.sbt")
        with open(name, "wb") as file:
            file.write(content)
        arguments = [reader[0], name, *reader[1:]]
        begin = time.monotonic()
        result = self.run_command(*arguments)
        took = time.monotonic() - begin
        error = result.stderr.decode("utf-8", "replace")
        self.assertIn(result.returncode, (0, 1, 3), f"{reader}: {result.returncode} {error}")
        self.assertLess(took, 20, "far over the two seconds that even a loaded machine needs")
        for line in error.splitlines():
            self.assertTrue(line.startswith("tracesmith: "), line)
        if result.returncode != 0:
            self.assertNotEqual(error, "")
        if result.returncode == 1:
            self.assertEqual(len(error.splitlines()), 1, error)
            self.assertEqual(result.stdout, b"")
        return result.returncode, error

    def test_a_format_that_is_known_and_not_read_is_named(self):
        plane = b"\x0a\x11\x08\x07\x12\x0d/device:GPU:0"
        for reader in (("view",), ("info",), ("query", "SELECT 1")):
            code, error = self.read(plane, reader)
            self.assertEqual(code, 1, error)
            self.assertIn("XPlane", error)
            self.assertIn("trace.json.gz", error)

    def test_what_is_no_trace_is_called_so(self):
        for content, word in ((b"", "empty"), (b"hello, world\n" * 100, "not a"),
                              (b"\x7fELF" + b"\0" * 300, "not a"), (b"TS", ""), (b"\0" * 4096, "not a"),
                              (b'{"events": []}', "trace")):
            for reader in READERS:
                code, error = self.read(content, reader)
                self.assertEqual(code, 1, error)
                self.assertIn(word, error)

    def test_paths_that_hold_no_file_are_named(self):
        for reader in READERS:
            for path, word in (("missing.sbt", "No such file"), (".", "directory")):
                result = self.run_command(reader[0], path, *reader[1:])
                self.assert_fails(result, 1, path, word)

    def test_a_later_major_version_asks_for_a_newer_program(self):
        library = ctypes.CDLL(ctypes.util.find_library("xxhash"))
        library.XXH3_64bits.restype = ctypes.c_uint64
        library.XXH3_64bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
        checksum = lambda b: library.XXH3_64bits(bytes(b), len(b))
        content = bytearray(self.good)
        self.assertEqual(struct.unpack_from("<H", content, 8)[0], 1)
        self.assertEqual(struct.unpack_from("<Q", content, 56)[0], checksum(content[:56]))
        struct.pack_into("<H", content, 8, 2)
        struct.pack_into("<Q", content, 56, checksum(content[:56]))
        for reader in READERS:
            code, error = self.read(bytes(content), reader)
            self.assertEqual(code, 1)
            self.assertIn("newer", error)

    def test_a_trace_that_was_cut_anywhere_is_read_as_far_as_it_goes(self):
        chance = random.Random(1)
        places = [1, 7, 63, 64, 65, len(self.good) - 1, len(self.good) - 9]
        places += [chance.randrange(len(self.good)) for _ in range(60)]
        for i, place in enumerate(places):
            code, error = self.read(self.good[:place], READERS[i % len(READERS)])
            self.assertIn(code, (1, 3), (place, error))
            if place >= 64:
                self.assertEqual(code, 3, (place, error))

    def test_flipped_bits_are_found_and_the_rest_is_read(self):
        chance = random.Random(2)
        for i in range(120):
            content = bytearray(self.good)
            place = chance.randrange(len(content))
            content[place] ^= 1 << chance.randrange(8)
            code, error = self.read(bytes(content), READERS[i % len(READERS)])
            self.assertIn(code, (1, 3), (place, error))
            if place >= 64:
                self.assertEqual(code, 3, (place, error))

    def test_absurd_numbers_neither_hang_nor_fill_the_memory(self):
        chance = random.Random(3)
        for i in range(80):
            content = bytearray(self.good)
            place = chance.randrange(64, len(content) - 8)
            struct.pack_into("<Q", content, place, chance.choice((2**64 - 1, 2**63, 2**40, 2**32 - 1)))
            self.read(bytes(content), READERS[i % len(READERS)])

    def test_garbage_behind_a_true_header_is_a_loss_and_not_a_crash(self):
        chance = random.Random(4)
        for i in range(20):
            content = self.good[:64] + chance.randbytes(5000)
            code, _ = self.read(content, READERS[i % len(READERS)])
            self.assertIn(code, (1, 3))


if __name__ == "__main__":
    unittest.main()
