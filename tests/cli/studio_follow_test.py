# SPDX-License-Identifier: Apache-2.0
"""`studio` shows a trace while it is recorded, and keeps what it has when the file goes away."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import DEMO, PROGRAM, CommandTest, environment

LIMIT_S = 60
TWO_RUNS = f"{DEMO} >&2; sleep 1.5; {DEMO} >&2; exit 7"


class Address:
    def __init__(self, url):
        self.host = url.split("/")[2]
        self.cookie = f"tracesmith_{self.host.split(':')[1]}={url.strip().split('=')[1]}"

    def ask(self, target):
        """Returns (status, JSON)."""
        connection = http.client.HTTPConnection(self.host, timeout=LIMIT_S)
        connection.request("GET", target, headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        connection.close()
        return answer.status, content

    def wait(self, target, wanted):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            content = self.ask(target)[1]
            if wanted(content):
                return content
            time.sleep(0.1)
        raise AssertionError(f"{target} stays {content}")


class StudioFollowTest(CommandTest):
    def start(self, *arguments):
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.dir, env=environment(PATH=os.environ["PATH"]),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_a_trace_grows_while_it_is_shown(self):
        process = self.start("profile", "--studio", "-q", "-o", "run.sbt", "--", "bash", "-c", TWO_RUNS)
        url = ""
        while not url.startswith("http"):
            url = process.stderr.readline().decode()
            self.assertTrue(url, "no address")
        address = Address(url)
        first = address.wait("/api/trace", lambda trace: trace["events"] > 0)
        whole = address.wait("/api/trace", lambda trace: trace["complete"])
        self.assertGreater(whole["events"], first["events"])
        self.assertGreater(whole["generation"], first["generation"])
        self.assertEqual(address.ask(f"/api/parts?g={first['generation']}")[0], 409)
        self.assertEqual(address.ask(f"/api/parts?g={whole['generation']}")[0], 200)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=LIMIT_S), 7)
        with self.assertRaises(OSError):
            address.ask("/api/status")
        count = self.run_command("query", "run.sbt", "SELECT count(*) AS n FROM kernel", "--json")
        self.assertGreater(json.loads(count.stdout)[0]["n"], 0)

    def test_a_file_that_goes_away_or_breaks_stays_shown(self):
        self.assertEqual(self.run_command("profile", "-q", "-o", "run.sbt", "--", DEMO).returncode, 0)
        shutil.copy(self.path("run.sbt"), self.path("kept"))
        process = self.start("studio", "run.sbt", "--no-browser")
        address = Address(process.stdout.readline().decode())
        trace = address.ask("/api/trace")[1]
        os.remove(self.path("run.sbt"))
        self.assertIn("run.sbt is gone", address.wait("/api/status", lambda status: status["note"])["note"])
        self.assertEqual(address.ask("/api/trace")[1], trace)
        with open(self.path("run.sbt"), "wb") as file:
            file.write(b"not a trace")
        address.wait("/api/status", lambda status: "read before" in status["note"] and "gone" not in status["note"])
        self.assertEqual(address.ask("/api/trace")[1], trace)
        os.replace(self.path("kept"), self.path("run.sbt"))
        address.wait("/api/status", lambda status: status["note"] == "" and status["generation"] > 1)
        self.assertEqual(address.ask("/api/trace")[1]["events"], trace["events"])

    def test_of_two_traces_the_second_is_followed(self):
        for name in ("a", "b"):
            self.assertEqual(self.run_command("profile", "-q", "-o", f"{name}.sbt", "--", DEMO).returncode, 0)
        process = self.start("studio", "a.sbt", "b.sbt", "--no-browser")
        address = Address(process.stdout.readline().decode())
        os.utime(self.path("a.sbt"))
        shutil.copy(self.path("b.sbt"), self.path("new"))
        os.replace(self.path("new"), self.path("b.sbt"))
        address.wait("/api/status", lambda status: status["generation"] > 1)
        trace = address.ask("/api/trace")[1]
        self.assertEqual((trace["name"], trace["before"]), ("b.sbt", "a.sbt"))

    def test_studio_ends_with_a_program_that_cannot_start(self):
        process = self.start("profile", "--studio", "-o", "run.sbt", "--", "./none")
        self.assertEqual(process.wait(timeout=LIMIT_S), 127)


if __name__ == "__main__":
    unittest.main()
