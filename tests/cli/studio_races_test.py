# SPDX-License-Identifier: Apache-2.0
"""Studio's view of races: what it is told is what `races` says; runs of the recording start only when asked
for, are the commands' own, and leave no process behind."""

import glob
import json
import os
import signal
import time
import unittest

from harness import BIN, DEMO, CommandTest
from studio_test import Server

PROGRAM = os.path.join(BIN, "race_demo")
LIMIT_S = 60


class StudioRacesTest(CommandTest):
    def record(self, program=PROGRAM, name="r.sbt"):
        if not os.path.exists(program):
            self.skipTest(f"{program} is not built (no OpenCL here)")
        done = self.run_command("profile", "-q", "--record", "-o", name, "--", program)
        if b"clGetPlatformIDs failed" in done.stderr:
            self.skipTest("no OpenCL platform here")
        self.assertEqual(done.returncode, 0, done.stderr)

    def serve(self, *arguments):
        server = Server(self, *arguments, cwd=self.dir)
        self.assertTrue(server.url)
        return server

    def runs(self):
        """Processes that execute a recording of this test."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[1:2] in ([b"determinism"], [b"races"]) and self.dir.encode() in words[2]:
                found.append(path)
        return found

    def assert_no_run_is_left(self):
        end = time.monotonic() + LIMIT_S
        while self.runs() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.runs(), [])

    def test_races_are_those_of_the_command_and_have_their_place(self):
        self.record()
        server = self.serve("r.sbt")
        said = json.loads(self.run_command("races", "r.sbt", "--json").stdout)
        answer = server.json("/api/races")
        self.assertEqual(answer["processes"], said["processes"])
        group, = answer["processes"][0]["groups"]
        self.assertEqual(group["first"]["text"], "launch 1 of fill in queue 0 writes it")
        # In the order of the report: which of the two runs first is the race.
        kernels = server.json("/api/query", {"sql": "SELECT start_ns, end_ns FROM kernel WHERE name IN ('fill', 'blur') "
                                                    "ORDER BY name DESC", "limit": 10})["rows"]
        zero = kernels[0][0] - answer["places"][0]["work"][0]
        self.assertEqual([place["work"] for place in answer["places"]],
                         [[begin - zero, end - zero] for begin, end in kernels[:2]])
        self.assertEqual(server.json("/api/launch?number=2")["work"], answer["places"][1]["work"])
        self.assertEqual(server.ask("/api/launch?number=9")[0], 404)
        text = self.run_command("races", "r.sbt").stdout.decode()
        self.assertIn(f"1. {group['text']}\n     {group['first']['text']}  (", text)
        self.assertIn(f"   Missing: {group['missing']}.\n   Fix: {group['fix']}\n", text)
        every = json.loads(self.run_command("races", "r.sbt", "--json", "--all").stdout)
        self.assertEqual(server.json("/api/races?all=1")["processes"], every["processes"])

    def test_what_would_run_is_said_before(self):
        self.record()
        server = self.serve("r.sbt")
        info = server.json("/api/recording")
        self.assertEqual((info["launches"], info["path"]), (3, "r.sbr"))
        self.assertEqual(len(info["devices"]), 1)
        program, = info["programs"]
        self.assertEqual([kernel["name"] for kernel in program["kernels"]], ["blur", "fill", "sum"])
        text = server.json(f"/api/program?program={program['program']}")
        self.assertIn("kernel void blur(", text["source"])
        self.assertEqual(text["source"].count("\n"), program["lines"])
        self.assertEqual(server.ask("/api/program?program=1")[0], 404)
        server.json("/api/races")
        self.assertEqual(server.json("/api/job?what=determinism")["id"], 0)
        self.assertEqual(self.runs(), [])

    def test_a_run_confirms_and_another_checks_determinism(self):
        self.record()
        server = self.serve("r.sbt")
        number = server.json("/api/run", {"what": "confirm"})["id"]
        status, _, content = server.ask("/api/run", {"what": "determinism"})
        self.assertEqual(status, 400)
        self.assertIn("another run has not ended", json.loads(content)["error"])
        job = server.ended_job(number)
        self.assertEqual((job["state"], job["exit_code"]), ("finished", 4), job)
        self.assertIn("races", job["command"])
        confirm = job["result"]["processes"][0]["groups"][0]["confirm"]
        self.assertEqual(confirm["verdict"], "confirmed")
        self.assertIn("in the opposite order launch 2 of blur leaves different bytes", confirm["text"])
        job = server.ended_job(server.json("/api/run", {"what": "determinism"})["id"])
        self.assertEqual((job["state"], job["exit_code"]), ("finished", 4), job)
        self.assertIn("blur", [row["kernel"] for row in job["result"]["divergences"]])
        self.assertEqual(server.json("/api/job?what=determinism")["id"], job["id"])

    def test_only_what_is_offered_can_be_run(self):
        self.record()
        server = self.serve("r.sbt")
        for body in ({"what": "rm"}, {"what": "determinism --runs 1"}, {}, [], {"what": 1}):
            self.assertEqual(server.ask("/api/run", body)[0], 400, body)
        self.assertEqual(server.ask("/api/run")[0], 404)  # a link cannot start a run
        self.assertEqual(server.ask("/api/run", {"what": "determinism"}, Origin="http://evil.example")[0], 403)
        self.assertEqual(server.ask("/api/run", {"what": "determinism"}, Content_Type="text/plain")[0], 415)
        self.assertEqual(server.json("/api/job?what=determinism")["id"], 0)
        open_server = self.serve("r.sbt", "--bind", "0.0.0.0", "--yes-expose")
        self.assertEqual(len(open_server.json("/api/races")["processes"]), 1)
        self.assertEqual(open_server.ask("/api/run", {"what": "determinism"})[0], 403)
        self.assertEqual(self.runs(), [])

    def test_a_run_is_cancelled_and_none_outlives_the_server(self):
        self.record(DEMO)
        server = self.serve("r.sbt")

        def start():
            number = server.json("/api/run", {"what": "determinism"})["id"]
            end = time.monotonic() + LIMIT_S
            while not self.runs() and time.monotonic() < end:
                time.sleep(0.02)
            self.assertTrue(self.runs())
            return number

        number = start()
        server.json("/api/cancel", {"id": number})
        job = server.ended_job(number)
        self.assertEqual((job["state"], job["result"]), ("cancelled", None))
        self.assertLess(job["seconds"], 5)
        self.assert_no_run_is_left()
        start()
        self.assertEqual(server.end(signal.SIGINT)[0], 0)
        self.assertEqual(self.runs(), [])
        server = self.serve("r.sbt")
        start()
        server.process.kill()
        server.process.communicate()
        self.assert_no_run_is_left()

    def test_a_trace_without_a_recording(self):
        self.assertEqual(self.run_command("record", "-p", "simulation", "-d", "0.05", "-o", "t.sbt").returncode, 0)
        server = self.serve("t.sbt")
        self.assertEqual(server.json("/api/recording"), {"path": None, "why": ""})
        self.assertEqual(server.ask("/api/races")[0], 404)
        self.assertEqual(server.ask("/api/run", {"what": "confirm"})[0], 404)

    def test_a_recording_of_another_run_is_not_used(self):
        self.record()
        self.record(name="other.sbt")
        os.replace(self.path("other.sbr"), self.path("r.sbr"))
        server = self.serve("r.sbt")
        self.assertIn("Put the right recording beside the trace", server.json("/api/recording")["why"])
        self.assertEqual(server.ask("/api/run", {"what": "confirm"})[0], 400)


if __name__ == "__main__":
    unittest.main()
