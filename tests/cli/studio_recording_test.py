# SPDX-License-Identifier: Apache-2.0
"""Studio's view of a recording: its commands, and the memory before and after a launch, which a run of `replay`
shows."""

import json
import os
import struct
import unittest

from harness import BIN, DEMO, CommandTest
from studio_test import Server

CHECKED = os.path.join(BIN, "cl_checked")


class StudioRecordingTest(CommandTest):
    def serve(self, program):
        if not os.path.exists(program):
            self.skipTest(f"{program} is not built (no OpenCL here)")
        done = self.run_command("profile", "-q", "--record", "-o", "r.sbt", "--", program)
        if done.returncode == 77 or b"clGetPlatformIDs failed" in done.stderr:
            self.skipTest("no OpenCL platform here")
        self.assertEqual(done.returncode, 0, done.stderr)
        server = Server(self, "r.sbt", cwd=self.dir)
        self.assertTrue(server.url)
        return server

    def run_until(self, server, launch, buffers):
        number = server.json("/api/run", {"what": "replay", "launch": launch, "buffers": buffers})["id"]
        return server.ended_job(number)

    def test_commands_are_listed_in_order_with_sizes_and_waits(self):
        server = self.serve(DEMO)
        info = json.loads(self.run_command("info", "r.sbr", "--json").stdout)["processes"][0]
        every = server.json("/api/commands?count=1000")
        self.assertEqual((every["total"], len(every["commands"])), (info["commands"], info["commands"]))
        self.assertEqual([c["sequence"] for c in every["commands"]], sorted(c["sequence"] for c in every["commands"]))
        launches = server.json("/api/commands?show=launches")["commands"]
        self.assertEqual([(c["name"], c["launch"], c["queue"]) for c in launches],
                         [("vectorAdd", 1, 0), ("matrixMul", 2, 1), ("relu", 3, 1)])
        self.assertEqual(launches[2]["waits"], [launches[0]["sequence"]])
        self.assertEqual((launches[1]["shape"], launches[1]["group"]), ("512 x 512", "16 x 16"))
        writes = server.json("/api/commands?show=commands&q=WRITE")["commands"]
        self.assertEqual([c["bytes"] for c in writes], [4 << 20, 4 << 20, 1 << 20, 1 << 20])
        page = server.json("/api/commands?show=commands&from=2&count=3")
        self.assertEqual(page["commands"], server.json("/api/commands?show=commands")["commands"][2:5])
        self.assertEqual(server.json("/api/commands?from=999999")["commands"], [])
        self.assertEqual(server.ask("/api/commands?show=x")[0], 400)
        self.assertEqual(server.ask("/api/command?step=99999")[0], 404)
        launch = server.json(f"/api/command?step={launches[1]['step']}")
        self.assertEqual([a.get("object") for a in launch["arguments"]], ["buffer 5", "buffer 6", "buffer 7", None])
        self.assertTrue(launch["arguments"][3]["value"].startswith("512 as int, "))
        text = server.json(f"/api/program?program={launch['program']}&kernel=matrixMul")["source"]
        self.assertIn("kernel void matrixMul(", text)
        self.assertNotIn("relu", text)
        self.assertIn("relu", server.json(f"/api/program?program={launch['program']}")["source"])

    def test_memory_before_and_after_a_launch(self):
        server = self.serve(CHECKED)  # launches 1 and 2 add 5 to 0..63 in buffer 1
        job = self.run_until(server, 2, [1])
        self.assertEqual((job["state"], job["exit_code"]), ("finished", 0), job)
        self.assertEqual(job["result"]["replay"][0]["launches"], 2)
        content = server.json(f"/api/content?id={job['id']}&buffer=1")
        self.assertEqual((content["type"], content["elements"]), ("int", 64))
        self.assertEqual(content["before"], [str(i + 5) for i in range(64)])
        self.assertEqual(content["after"], [str(i + 10) for i in range(64)])
        self.assertEqual(content["difference"]["differing"], 64)
        part = server.json(f"/api/content?id={job['id']}&buffer=1&type=uchar&from=250&count=100")
        self.assertEqual((part["elements"], part["from"], part["after"]), (256, 250, ["0", "0", "73", "0", "0", "0"]))

        def cells(query):
            status, _, body = server.ask(f"/api/cells?id={job['id']}&buffer=1&{query}")
            self.assertEqual(status, 200, body)
            columns, rows, channels, empty, low, high = struct.unpack_from("<4I2d", body)
            self.assertEqual(len(body), 32 + 4 * columns * rows * channels)
            values = struct.unpack_from(f"<{columns * rows * channels}f", body, 32)
            return (columns, rows, channels, low, high, values[:len(values) - empty])

        self.assertEqual(cells("width=16&show=after"), (16, 4, 1, 10, 73, tuple(float(i + 10) for i in range(64))))
        self.assertEqual(cells("width=8&show=difference"), (8, 8, 1, 5, 5, (5.0,) * 64))
        self.assertEqual(cells("width=4&channels=4&show=before")[:5], (4, 4, 4, 5, 68))
        columns, rows, _, _, _, values = cells("width=10&show=after")
        self.assertEqual((columns, rows, len(values)), (10, 7, 64))
        for query in ("width=0", "width=8&show=x", "width=8&type=struct", "width=8&channels=9", "show=after"):
            self.assertEqual(server.ask(f"/api/cells?id={job['id']}&buffer=1&{query}")[0], 400, query)
        self.assertEqual(server.ask(f"/api/content?id={job['id']}&buffer=2")[0], 404)
        self.assertEqual(server.ask("/api/content?id=99&buffer=1")[0], 404)

    def test_means_of_large_memory(self):
        server = self.serve(DEMO)
        job = self.run_until(server, 1, [1, 3])
        status, _, body = server.ask(f"/api/cells?id={job['id']}&buffer=3&width=1024&show=after")
        self.assertEqual(status, 200)
        self.assertEqual(struct.unpack_from("<3I", body), (512, 512, 1))
        one = server.json(f"/api/content?id={job['id']}&buffer=3&from=0&count=2")["after"]
        below = server.json(f"/api/content?id={job['id']}&buffer=3&from=1024&count=2")["after"]
        mean = sum(float(value) for value in one + below) / 4
        self.assertAlmostEqual(struct.unpack_from("<f", body, 32)[0], mean, places=4)

    def test_what_cannot_be_run(self):
        server = self.serve(CHECKED)
        for body in ({"launch": 0, "buffers": []}, {"launch": 99, "buffers": []}, {"launch": 1},
                     {"launch": 1, "buffers": ["1"]}, {"launch": 1, "buffers": [1] * 1000},
                     {"launch": "1 --device 0", "buffers": []}):
            self.assertEqual(server.ask("/api/run", {"what": "replay", **body})[0], 400, body)
        self.assertEqual(server.ask("/api/run", {"what": "replay", "launch": 1, "buffers": [77]})[0], 404)
        job = self.run_until(server, 1, [])
        self.assertEqual(job["exit_code"], 0, job)
        self.assertEqual(server.ask(f"/api/content?id={job['id']}&buffer=1")[0], 404)


if __name__ == "__main__":
    unittest.main()
