# SPDX-License-Identifier: Apache-2.0
"""`clock`: a host whose clock is 5,000 s ahead, which is a process in a time namespace; so the truth is known."""
import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from harness import DEMO, LIMIT_S, PROGRAM, CommandTest, environment

AHEAD_S = 5000


# A source of time that is ahead of this host. NTP, RFC 5905, figure 8.
AHEAD_NTP_SERVER = """
import socket, struct, sys, time
ahead_ns = int(sys.argv[1])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 11123))
def now():
    seconds, ns = divmod(time.time_ns() + ahead_ns, 10**9)
    return struct.pack(">II", seconds + 2208988800, (ns << 32) // 10**9)
while True:
    question, client = server.recvfrom(1024)
    received = now()
    head = struct.pack(">BBbbII4s", 4 << 3 | 4, 1, question[2], -20, 0, 0, b"GPS\\0")
    server.sendto(head + received + question[40:48] + received + now(), client)
"""


class Server:
    """`clock serve`, begun with `before`."""

    def __init__(self, test, *before):
        self.process = subprocess.Popen([*before, PROGRAM, "clock", "serve", "--port", "0", "--bind", "127.0.0.1"],
                                        cwd=test.dir, env=environment(), stderr=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        test.addCleanup(self.end)
        said = self.process.stderr.readline().decode()
        found = re.search(r"answers at port (\d+)", said)
        test.assertTrue(found, said)
        self.host = f"127.0.0.1:{found[1]}"

    def end(self):
        """What it says at its end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, err.decode()


CHRONYD = shutil.which("chronyd", path=os.pathsep.join(
    [os.path.join(os.path.dirname(PROGRAM), "../../chrony/usr/sbin"), os.environ["PATH"], "/usr/sbin"]))


class Clock(CommandTest):
    def measure(self, *arguments):
        result = self.run_command("clock", "measure", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def need_time_namespaces(self):
        # Without --fork: a signal would end unshare alone.
        probe = subprocess.run(["unshare", "-T", "--monotonic", "1", "true"], check=False, stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("no time namespace: " + probe.stderr.decode().strip())

    def test_the_offset_of_a_host_that_is_ahead_lies_within_the_bound(self):
        self.need_time_namespaces()
        ahead = Server(self, "unshare", "-T", "--monotonic", str(AHEAD_S), "--boottime", str(AHEAD_S))
        same = Server(self)
        of_ahead, of_same = self.measure("-d", "3.5", ahead.host, same.host)
        for measured, truth in ((of_ahead, AHEAD_S * 10**9), (of_same, 0)):
            self.assertLessEqual(abs(measured["offset_ns"] - truth), measured["error_ns"], measured)
            self.assertGreaterEqual(measured["answered"], 48)
            self.assertEqual(measured["steps"], [])
            # How narrow it is on a machine with nothing else to do, clocks_tests shows.
            self.assertLess(measured["error_ns"], 20_000_000)
            self.assertGreater(measured["quickest_trip_ns"], 0)
        code, _, said = ahead.end()
        self.assertEqual(code, 0)
        self.assertIn(f"{of_ahead['answered']} questions answered, 0 refused", said)

    def rows(self, trace, sql):
        return json.loads(self.run_command("query", trace, "--json", sql).stdout)

    def test_a_recording_has_the_offset_of_another_host(self):
        self.need_time_namespaces()
        namespace = ("unshare", "-T", "--monotonic", str(AHEAD_S))
        ahead, same = Server(self, *namespace), Server(self)
        result = self.run_command("profile", "-q", "-o", "a.sbt", "--sync-with", ahead.host, "--sync-with", same.host,
                                  "--", "sleep", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        there = subprocess.run([*namespace, PROGRAM, "profile", "-q", "-o", "b.sbt", "--", "true"], cwd=self.dir,
                               env=environment(), check=False)
        self.assertEqual(there.returncode, 0)
        clock_of = {trace: self.rows(trace, "SELECT value FROM metadata WHERE key = 'clock_id'")[0]["value"]
                    for trace in ("a.sbt", "b.sbt")}
        self.assertEqual(clock_of["b.sbt"], clock_of["a.sbt"] + f"+{AHEAD_S}.000000000 s")
        # All of what the recorder sees is in that clock.
        process, = self.rows("b.sbt", "SELECT start_ns, end_ns FROM process")
        self.assertLess(process["end_ns"] - process["start_ns"], 60 * 10**9)
        for host, clock, truth in ((ahead.host, clock_of["b.sbt"], AHEAD_S * 10**9),
                                   (same.host, clock_of["a.sbt"], 0)):
            offsets = self.rows("a.sbt", f"SELECT * FROM clock_offset WHERE peer = '{host}' ORDER BY host_ns")
            self.assertGreaterEqual(len(offsets), 3)  # at the start, on the way, at the end
            for row in offsets:
                self.assertEqual(row["peer_clock_id"], clock)
                self.assertLessEqual(row["low_ns"], truth)
                self.assertGreaterEqual(row["high_ns"], truth)
            # From before the program's start until after its end.
            self.assertGreater(offsets[-1]["host_ns"] - offsets[0]["host_ns"], 2_900_000_000)

    def start_profile(self, output, *options, program, before=()):
        recorder = subprocess.Popen([*before, PROGRAM, "profile", "-q", "-o", output, *options, "--", *program],
                                    cwd=self.dir, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                    stdout=subprocess.DEVNULL)
        self.addCleanup(recorder.kill)
        return recorder

    def ended(self, recorder):
        _, said = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(said, b"")
        return recorder.returncode

    def record_ranks_of_two_hosts(self):
        """Rank 1 ran on a host whose clock is ahead, with which rank 0 has compared its own."""
        if not os.access(DEMO, os.X_OK):
            self.skipTest("the OpenCL demo was not built")
        self.need_time_namespaces()
        namespace = ("unshare", "-T", "--monotonic", str(AHEAD_S))
        ahead = Server(self, *namespace)
        first = self.start_profile("rank-0.sbt", "--sync-with", ahead.host, program=("sh", "-c", f"{DEMO} && ! read line"))
        for rank, before in ((1, namespace), (2, ())):
            recorder = self.start_profile(f"rank-{rank}.sbt", before=before, program=(DEMO,))
            self.assertEqual(self.ended(recorder), 0)
        self.assertEqual(self.ended(first), 0)  # `read` is at the end of its input
        return [f"rank-{rank}.sbt" for rank in range(3)]

    def merge(self, *arguments):
        result = self.run_command("merge", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.decode()

    def test_merged_ranks_of_two_hosts_have_one_clock(self):
        files = self.record_ranks_of_two_hosts()
        said = self.merge(*files, "-o", "job.sbt")
        self.assertIn("times are of the first one's clock, and no further off than", said)
        ranks = self.rows("job.sbt", "SELECT * FROM rank")
        self.assertEqual([rank["clock_rank_id"] for rank in ranks], [1, 1, 1])
        bound = ranks[1]["clock_error_ns"]
        self.assertEqual([rank["clock_error_ns"] for rank in ranks], [0, bound, 0])
        self.assertGreater(bound, 0)
        self.assertLess(bound, 20_000_000)
        merged = "SELECT k.start_ns, k.duration_ns FROM kernel k JOIN stream s ON k.stream_id = s.id " \
                 "JOIN device d ON s.device_id = d.id WHERE d.rank_id = {} ORDER BY k.start_ns"
        for rank, file in enumerate(files):
            shown = self.rows("job.sbt", merged.format(rank + 1))
            own = self.rows(file, "SELECT start_ns, duration_ns FROM kernel ORDER BY start_ns")
            self.assertEqual(len(shown), len(own))
            for at, true in zip(shown, own):
                ahead = AHEAD_S * 10**9 if rank == 1 else 0
                self.assertLessEqual(abs(at["start_ns"] - (true["start_ns"] - ahead)), ranks[rank]["clock_error_ns"])
                self.assertAlmostEqual(at["duration_ns"], true["duration_ns"], delta=1e-3 * true["duration_ns"] + 2)
        # Whatever reads the trace has the one axis.
        export = self.run_command("export", "job.sbt", "-o", "job.json")
        self.assertIn("the clocks of the ranks were compared", export.stderr.decode())
        with open(self.path("job.json"), encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
        shown = sorted(event["ts"] for event in events if event["name"] == "matrixMul")
        rows = self.rows("job.sbt", "SELECT start_ns FROM kernel WHERE name = 'matrixMul' ORDER BY start_ns")
        for at, row in zip(shown, rows, strict=True):
            self.assertAlmostEqual(at - shown[0], (row["start_ns"] - rows[0]["start_ns"]) / 1e3, delta=0.01)
        report = json.loads(self.run_command("analyze", "--json", "job.sbt").stdout)
        # So does what a rank's trace says of its start, by which viewers find the time of day.
        started = {row["key"]: int(row["value"]) for row in self.rows(
            "job.sbt", "SELECT key, value FROM metadata WHERE key LIKE 'rank.%.start_%_ns'")}
        self.assertNotIn("rank.1.start_boottime_ns", started)
        days = [started[f"rank.{rank}.start_realtime_ns"] - started[f"rank.{rank}.start_monotonic_ns"]
                for rank in range(3)]
        self.assertLess(max(days) - min(days), 50_000_000)
        # Times of a device are as far off as its clock is from the host's, on top.
        errors = {row["number"]: row["error"] for row in self.rows(
            "job.sbt", "SELECT number, clock_error_ns + max(coalesce(s.error_ns, 0)) AS error FROM rank r "
                       "LEFT JOIN clock_domain d ON d.rank_id = r.id LEFT JOIN clock_snapshot s "
                       "ON s.domain_id = d.id GROUP BY number")}
        self.assertGreaterEqual(errors[1], bound)
        self.assertEqual(report["rank_clocks"], [{"ranks": "0 and 2", "other_ranks": "1",
                                                  "apart_ns": max(errors[0], errors[2]) + errors[1]}])
        # Analyses that compare times take all ranks, and a window is one of the job.
        idle = self.run_command("analyze", "--idle", "job.sbt")
        self.assertEqual(idle.returncode, 0, idle.stderr)
        for rank in range(3):
            self.assertIn(f"rank {rank}: ", idle.stdout.decode())
        begin = self.rows("job.sbt", "SELECT min(start_ns) AS at FROM host_call")[0]["at"]
        start_s = (rows[-1]["start_ns"] - begin) / 1e9
        window = self.run_command("export", "job.sbt", "--from", f"{start_s - 1e-3:.9f}s", "-o", "end.json")
        self.assertEqual(window.returncode, 0, window.stderr)
        with open(self.path("end.json"), encoding="utf-8") as file:
            names = [event["name"] for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
        self.assertEqual(names.count("matrixMul"), 1)
        self.assertEqual(self.run_command("verify", "job.sbt").returncode, 0)

    def test_ranks_whose_clocks_were_not_compared_keep_them(self):
        if self.run_command("clock", "status").returncode == 0:
            self.skipTest("this host keeps UTC, and so does whatever is recorded here")
        files = self.record_ranks_of_two_hosts()
        self.assertIn("each rank has its own clock", self.merge("rank-1.sbt", "rank-2.sbt", "-o", "two.sbt"))
        self.assertIn(b"they were not compared", self.run_command("export", "two.sbt", "-o", "two.json").stderr)
        result = self.run_command("merge", "--clock", "compared", "rank-1.sbt", "rank-2.sbt", "-o", "no.sbt")
        self.assert_fails(result, 2, "--clock: the clock of rank-2.sbt was not compared with that of rank-1.sbt")
        self.assertNotIn("no.sbt", self.files())
        # As told to: then a viewer converts what the file has.
        self.assertIn("each rank has its own clock", self.merge("--clock", "none", *files, "-o", "own.sbt"))
        self.assertEqual(self.rows("own.sbt", "SELECT clock_rank_id FROM rank")[0]["clock_rank_id"], None)
        starts = self.rows("own.sbt", "SELECT min(start_ns) AS first, max(start_ns) AS last FROM kernel")[0]
        self.assertGreater(starts["last"] - starts["first"], (AHEAD_S - 60) * 10**9)
        self.assertIn(b"the clocks of the ranks were compared",
                      self.run_command("export", "own.sbt", "-o", "own.json").stderr)
        self.assertIn("the ranks have one clock", self.merge("rank-0.sbt", "rank-2.sbt", "-o", "here.sbt"))

    def test_a_recording_needs_its_hosts_at_the_start_but_not_to_the_end(self):
        server = Server(self)
        server.end()
        result = self.run_command("profile", "-o", "a.sbt", "--sync-with", server.host, "--", "touch", "began")
        self.assert_fails(result, 125, server.host, "answers no questions about its clock")
        self.assertEqual(self.files(), [])
        server = Server(self)
        result = self.run_command("profile", "-o", "a.sbt", "--sync-with", server.host, "--", "sh", "-c",
                                  f"kill {server.process.pid}; sleep 1.5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"the clock of {server.host} is not known at the end", result.stderr.decode())
        self.assertEqual(self.run_command("verify", "a.sbt").returncode, 0)

    def in_network_with_chrony(self, script, server=None):
        """Runs a script in a network of its own, where chrony follows another one and sets no clock, or follows what
        the command `server` starts at port 11123."""
        if CHRONYD is None:
            self.skipTest("no chronyd")
        if subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], check=False).returncode != 0:
            self.skipTest("no network namespace")
        for name, lines in (("server", "port 11123\nlocal stratum 1\nallow\ncmdport 0\n"),
                            ("client", "server 127.0.0.1 port 11123 iburst minpoll 0 maxpoll 0\nport 0\n"
                                       "bindcmdaddress /\n")):
            with open(self.path(name + ".conf"), "w", encoding="utf-8") as file:
                file.write(lines.replace("bindcmdaddress /", "bindcmdaddress 127.0.0.1") +
                           f"pidfile {self.path(name + '.pid')}\n")
        daemon = f"{CHRONYD} -x -d -u root -f {self.dir}/{{}}.conf > {self.dir}/{{}}.log 2>&1 &"
        lines = ["ip link set lo up", "trap 'kill $(jobs -p)' EXIT", server or daemon.format("server", "server"),
                 daemon.format("client", "client"),
                 f"T={PROGRAM}", # It needs some answers until it knows how fast its clock is.
                 "error() { $T clock status --json 2> /dev/null | sed -n 's/^  \"error_ns\": \\([0-9]*\\).*/\\1/p'; }",
                 "for i in $(seq 300); do e=$(error); [ -n \"$e\" ] && [ $e -lt 10000000 ] && break; sleep 0.1; done",
                 "[ -n \"$e\" ] && [ $e -lt 10000000 ] || { echo chrony learned no time >&2; cat *.log >&2; exit 1; }",
                 script]
        result = subprocess.run(["unshare", "-n", "bash", "-c", "\n".join(lines)], cwd=self.dir, env=environment(),
                                check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_hosts_that_keep_utc_need_no_comparison(self):
        self.need_time_namespaces()
        said = self.in_network_with_chrony(f"""
            $T clock status --json > status.json && $T clock status || exit 1
            mkfifo hold
            $T profile -q -o rank-0.sbt -- sh -c 'touch began; cat' < hold &
            recorder=$!
            exec 3> hold
            until [ -e began ]; do sleep 0.05; done
            sleep 1
            unshare -T --monotonic {AHEAD_S} $T profile -q -o rank-1.sbt -- sleep 0.1 || exit 1
            exec 3>&-
            wait $recorder""")
        self.assertRegex(said, r"^chrony follows 127\.0\.0\.1 \(stratum 2\)\nUTC is known to +\S+ \S+: half of the root delay")
        with open(self.path("status.json"), encoding="utf-8") as file:
            status = json.load(file)
        self.assertEqual((status["daemon"], status["source"], status["stratum"]), ("chrony", "127.0.0.1", 2))
        # The one that it follows has this host's time.
        self.assertLessEqual(abs(status["behind_utc_ns"]), status["error_ns"])
        self.assertLess(status["error_ns"], 20_000_000)
        for trace, ahead in (("rank-0.sbt", 0), ("rank-1.sbt", AHEAD_S * 10**9)):
            started = {row["key"]: int(row["value"]) for row in self.rows(
                trace, "SELECT key, value FROM metadata WHERE key LIKE 'start_%_ns'")}
            truth = started["start_realtime_ns"] - started["start_monotonic_ns"]
            offsets = self.rows(trace, "SELECT * FROM clock_offset ORDER BY host_ns")
            self.assertGreaterEqual(len(offsets), 2)
            for row in offsets:
                self.assertEqual((row["peer"], row["peer_clock_id"]), ("chrony", "UTC"))
                self.assertLess(row["low_ns"] - truth, 1_000_000)
                self.assertGreater(row["high_ns"] - truth, -1_000_000)
                self.assertLess(row["high_ns"] - row["low_ns"], 40_000_000)
        self.assertIn("the clocks of the ranks were compared", self.merge("rank-0.sbt", "rank-1.sbt", "-o", "job.sbt"))
        # Rank 1 ran while rank 0 did.
        first, second = self.rows("job.sbt", "SELECT min(start_ns) AS start, max(end_ns) AS stop FROM process "
                                             "WHERE end_ns > 0 GROUP BY rank_id ORDER BY rank_id")
        self.assertLess(first["start"], second["start"])
        self.assertLess(second["stop"], first["stop"])

    def test_the_time_of_a_host_that_is_late(self):
        ahead_ns = 250_000_000
        with open(self.path("server.py"), "w", encoding="utf-8") as file:
            file.write(AHEAD_NTP_SERVER)
        said = self.in_network_with_chrony("$T clock status && $T clock status --json > status.json && "
                                           "$T profile -q -o a.sbt -- true",
                                           f"python3 server.py {ahead_ns} &")
        self.assertIn("chrony follows 127.0.0.1 (stratum 2)", said)
        with open(self.path("status.json"), encoding="utf-8") as file:
            status = json.load(file)
        self.assertLessEqual(abs(status["behind_utc_ns"] - ahead_ns), status["error_ns"])
        started = {row["key"]: int(row["value"]) for row in self.rows(
            "a.sbt", "SELECT key, value FROM metadata WHERE key LIKE 'start_%_ns'")}
        truth = started["start_realtime_ns"] + ahead_ns - started["start_monotonic_ns"]
        for row in self.rows("a.sbt", "SELECT * FROM clock_offset"):
            self.assertLess(row["low_ns"] - truth, 1_000_000)
            self.assertGreater(row["high_ns"] - truth, -1_000_000)

    def test_without_a_time_daemon(self):
        result = subprocess.run(["unshare", "-n", PROGRAM, "clock", "status"], cwd=self.dir, env=environment(),
                                check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if b"unshare:" in result.stderr:
            self.skipTest("no network namespace")
        self.assert_fails(result, 1, "neither chrony nor ntpd answers on this host")

    def test_what_is_printed(self):
        server = Server(self)
        said = self.run_command("clock", "measure", "-d", "0.1", server.host).stdout.decode().splitlines()
        self.assertRegex(said[0], "^host +its clock is ahead by +no further off than +drift")
        self.assertRegex(said[1], rf"^{server.host} +[+-]0\.\d{{9}} s +\S+ (ns|µs|ms) .* 16 of 16$")

    def test_a_host_that_does_not_answer_is_named(self):
        server = Server(self)
        server.end()
        result = self.run_command("clock", "measure", "-d", "0.1", server.host)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"{server.host}: answers no questions about its clock", result.stderr.decode())
        # What others answered counts all the same.
        there = Server(self)
        result = self.run_command("clock", "measure", "--json", "-d", "0.1", server.host, there.host)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("answers no questions about its clock", result.stderr.decode())
        self.assertEqual([each["host"] for each in json.loads(result.stdout)], [there.host])
        result = self.run_command("clock", "measure", "no.such.host.invalid")
        self.assertIn("no.such.host.invalid: cannot be found", result.stderr.decode())

    def test_hosts_that_cannot_be(self):
        for host, why in (("", "'': names no host"), (":9713", "':9713': names no host"),
                          ("127.0.0.1:99999", "'99999' is no port: 1 to 65535"), ("127.0.0.1:0", "'0' is no port"),
                          ("127.0.0.1:abc", "'abc' is no port"), ("[::1]:-1", "'-1' is no port")):
            self.assert_fails(self.run_command("clock", "measure", host), 2, why)
            self.assert_fails(self.run_command("profile", "-o", "a.sbt", "--sync-with", host, "--", "touch", "began"),
                              125, why)
        self.assertEqual(self.files(), [])

    def test_command_lines_that_are_wrong(self):
        for arguments, why in ((("measure",), "which host?"), (("serve", "node2"), "takes no hosts"),
                               (("status", "node2"), "takes no hosts"),
                               (("serve", "--port", "70000"), "is no port"),
                               (("serve", "--bind", "node2"), "is no numeric address")):
            result = self.run_command("clock", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(why, result.stderr.decode())
        taken = Server(self)
        result = self.run_command("clock", "serve", "--bind", "127.0.0.1", "--port", taken.host.split(":")[1])
        self.assertIn("Address already in use", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
