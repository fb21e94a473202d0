# SPDX-License-Identifier: Apache-2.0
"""The comparison consumer of bench/gpu_check asks CUPTI for exactly what the CUDA agent asks for:
kinds, fields, callbacks, buffer sizes, clock. A library around the stand-in for libcupti
(wrapped_cupti.cpp) writes down the requests of both. TRACESMITH_STANDINS is the folder of the
stand-ins, TRACESMITH_CONSUMER the consumer."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
CONSUMER = os.environ.get("TRACESMITH_CONSUMER", "")
WRAPPED = os.path.join(STANDINS, "libwrapped-cupti.so")
ATTRIBUTE_LATENCY, ATTRIBUTE_ZEROED = 15, 5
# CUPTI with several subscribers, and as it was before.
VERSIONS = {"shared": "130500", "alone": "130001"}
KIND_OVERHEAD, KIND_CUDA_EVENT, KIND_GRAPH_TRACE = 17, 36, 51


class Requests:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = [line.split() for line in file]
        self.all = {tuple(words) for words in lines}

    def of(self, what):
        return {words[1:] for words in self.all if words[0] == what}


class Consumer(CommandTest):
    def setUp(self):
        super().setUp()
        os.symlink(os.path.join(STANDINS, "standin_samples"), self.path("graphs"))
        os.symlink(os.path.join(STANDINS, "standin_samples"), self.path("memory_phases"))

    def env(self, version, name, **variables):
        return environment(LD_LIBRARY_PATH=STANDINS, TRACESMITH_CUPTI=WRAPPED, STANDIN_CUPTI_VERSION=version,
                           STANDIN_REQUESTS=self.path(name), **variables)

    def of_agent(self, version, *options):
        done = self.run_command("profile", *options, "-o", "t.sbt", "--", self.path("graphs"), "5", "4",
                                env=self.env(version, "agent"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return Requests(self.path("agent"))

    def of_consumer(self, version, sample="graphs", **variables):
        env = self.env(version, "consumer", CUDA_INJECTION64_PATH=CONSUMER, **variables)
        done = subprocess.run([self.path(sample), "5", "4"], env=env, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return Requests(self.path("consumer"))

    def test_both_ask_for_the_same(self):
        for way, version in VERSIONS.items():
            with self.subTest(way):
                agent, consumer = self.of_agent(version), self.of_consumer(version)
                self.assertIn((str(KIND_CUDA_EVENT),), agent.of("kind"))
                for what in ("kind", "field", "callback", "buffer", "clock", "subscriber"):
                    self.assertEqual(agent.of(what), consumer.of(what), what)
                    self.assertEqual(bool(agent.of(what)), what != "field" or way == "shared", what)
                self.assertEqual({tuple(a) for a in agent.of("attribute")} - {(str(ATTRIBUTE_LATENCY), "1")},
                                 {tuple(a) for a in consumer.of("attribute")} - {(str(ATTRIBUTE_LATENCY), "0")})
                # Alone it would hold for the buffers of a tool that takes CUPTI over.
                self.assertEqual((str(ATTRIBUTE_ZEROED), "1") in consumer.of("attribute"), way == "shared")
                for name in ("agent", "consumer"):
                    os.unlink(self.path(name))

    def test_a_difference_would_be_seen(self):
        """The comparison is of what was really asked: it sees that callbacks are left out."""
        without = self.of_consumer(VERSIONS["shared"], EMPTY_CONSUMER_CALLBACKS="0")
        self.assertEqual(without.of("callback"), set())
        self.assertNotEqual(without.of("kind"), set())

    def test_latency_timestamps_are_an_option(self):
        for way, version in VERSIONS.items():
            with self.subTest(way):
                self.assertFalse(self.has_latency(self.of_consumer(version)))
                self.assertTrue(self.has_latency(self.of_consumer(version, EMPTY_CONSUMER_LATENCY="1")))
                os.unlink(self.path("consumer"))

    @staticmethod
    def has_latency(requests):
        return ("latency", "1") in requests.all or ("attribute", str(ATTRIBUTE_LATENCY), "1") in requests.all

    def counted(self, sample="graphs", version=VERSIONS["shared"], **variables):
        self.of_consumer(version, sample, EMPTY_CONSUMER_COUNT=self.path("counts"), **variables)
        with open(self.path("counts"), encoding="utf-8") as file:
            counts = json.loads(file.read())
        os.unlink(self.path("counts"))
        return counts

    def test_it_counts(self):
        for version in VERSIONS.values():
            with self.subTest(version):
                counts = self.counted(version=version)
                self.assertEqual((counts["kernels"], counts["graphs"], counts["dropped"]), (20, 0, 0))
                self.assertEqual(counts["fills"], 1)
                self.assertEqual(counts["cupti_version"], int(version))
                self.assertEqual(os.path.basename(counts["cupti"]).split(".so")[0], "libcupti")
                counts = self.counted("memory_phases", version)
                self.assertEqual((counts["memory_allocations"], counts["memory_frees"]), (21, 16))
                self.assertEqual(counts["memory_allocated_bytes"], 230 << 20)
                self.assertEqual(counts["memory_freed_bytes"], 199 << 20)

    def test_graphs_as_wholes(self):
        counts = self.counted(EMPTY_CONSUMER_GRAPHS="graph")
        self.assertEqual((counts["kernels"], counts["graphs"]), (0, 5))

    def test_a_library_that_is_named_for_want_of_another(self):
        """As for programs of Python, which may bring one along: where they do not, the fallback is taken."""
        folder = self.path("driver")
        os.mkdir(folder)
        shutil.copy(os.path.join(STANDINS, "libcuda.so.1"), folder)
        fallback = os.path.join(STANDINS, "libcupti.so.13")
        env = environment(LD_LIBRARY_PATH=folder, CUDA_INJECTION64_PATH=CONSUMER, TRACESMITH_CUPTI_FALLBACK=fallback,
                          EMPTY_CONSUMER_COUNT=self.path("counts"))
        done = subprocess.run([self.path("graphs"), "5", "4"], env=env, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with open(self.path("counts"), encoding="utf-8") as file:
            counts = json.loads(file.read())
        self.assertEqual((counts["kernels"], counts["cupti"]), (20, fallback))

    def test_without_cupti_it_says_so_and_the_program_runs(self):
        env = environment(LD_LIBRARY_PATH=STANDINS, TRACESMITH_CUPTI="/nowhere/libcupti.so",
                          CUDA_INJECTION64_PATH=CONSUMER, EMPTY_CONSUMER_COUNT=self.path("counts"))
        done = subprocess.run([self.path("graphs"), "5", "4"], env=env, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, b"^comparison consumer: no libcupti: .*/nowhere/libcupti.so")
        self.assertFalse(os.path.exists(self.path("counts")))


if __name__ == "__main__":
    unittest.main()
