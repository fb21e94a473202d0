# SPDX-License-Identifier: Apache-2.0
"""`clock status` and ptp4l: two of them in network namespaces, with software time stamps, which set no clock."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import LIMIT_S, PROGRAM, CommandTest, environment

PTP4L = shutil.which("ptp4l", path=os.pathsep.join(
    [os.path.join(os.path.dirname(PROGRAM), "../../linuxptp/usr/sbin"), os.environ["PATH"], "/usr/sbin"]))
DOMAIN = 24


class Ptp(CommandTest):
    def status(self, name, *arguments, before=()):
        return subprocess.run([*before, PROGRAM, "clock", "status", "--ptp-socket", self.path(name + ".socket"),
                               *arguments], cwd=self.dir, env=environment(), check=False, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def connect_hosts(self):
        """Two hosts, which are network namespaces; their names."""
        if PTP4L is None:
            self.skipTest("no ptp4l; script/linuxptp fetches it")
        names = [f"tracesmith-{os.getpid()}-{which}" for which in ("master", "slave")]
        for name in names:
            if subprocess.run(["ip", "netns", "add", name], check=False, stderr=subprocess.DEVNULL).returncode != 0:
                self.skipTest("no network namespace")
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=False)
        lines = [f"link add host netns {names[0]} type veth peer name host netns {names[1]}"]
        for number, name in enumerate(names, 1):
            lines += [f"-n {name} address add 10.79.79.{number}/24 dev host", f"-n {name} link set host up"]
        for line in lines:
            if subprocess.run(["ip", *line.split()], check=False).returncode != 0:
                self.skipTest("no pair of virtual adapters")
        return names

    def start_ptp4l(self, namespace, name, *lines):
        config = ["[global]", "free_running 1", f"domainNumber {DOMAIN}", f"uds_address {self.path(name)}.socket",
                  "logSyncInterval -3", "logMinDelayReqInterval -3", "logAnnounceInterval -2", *lines]
        with open(self.path(name + ".conf"), "w", encoding="utf-8") as file:
            file.write("\n".join(config) + "\n")
        with open(self.path(name + ".log"), "w", encoding="utf-8") as log:
            daemon = subprocess.Popen(["ip", "netns", "exec", namespace, PTP4L, "-S", "-m", "-i", "host", "-f",
                                       name + ".conf"], cwd=self.dir, stdout=log, stderr=log)
        self.addCleanup(daemon.wait, LIMIT_S)
        self.addCleanup(daemon.send_signal, signal.SIGTERM)

    def wait_for(self, name, is_it):
        """The state that ptp4l tells, once it is the wanted one."""
        end = time.monotonic() + LIMIT_S
        said = None
        while time.monotonic() < end:
            result = self.status(name, "--json")
            if result.returncode == 0:
                said = json.loads(result.stdout)["ptp"]
                if is_it(said):
                    return said
            time.sleep(0.1)
        with open(self.path(name + ".log"), encoding="utf-8") as log:
            self.fail(f"{name} says {said}; its log:\n{log.read()}")

    def test_what_ptp4l_says_is_shown(self):
        master, slave = self.connect_hosts()
        self.start_ptp4l(master, "master")
        self.start_ptp4l(slave, "slave", "slaveOnly 1")
        follows = self.wait_for("slave", lambda said: said["mean_path_delay_ns"] is not None)
        self.assertTrue(follows["is_following"])
        self.assertEqual((follows["domain"], follows["steps_removed"]), (DOMAIN, 1))
        self.assertEqual(follows["parent"], follows["grandmaster"])
        self.assertNotEqual(follows["parent"], follows["clock"])
        self.assertEqual(follows["ports"], [{"number": 1, "state": "UNCALIBRATED", "interface": "host",
                                             "stamps": "software"}])
        # Both have the calendar clock of this machine. How far off that is when the machine is busy, nobody says.
        self.assertLess(abs(follows["offset_from_master_ns"]), 1_000_000_000)
        self.assertGreater(follows["mean_path_delay_ns"], 0)
        leads = self.wait_for("master", lambda said: said["ports"][0]["state"] == "MASTER")
        self.assertEqual(leads["clock"], follows["grandmaster"])
        self.assertFalse(leads["is_following"])
        self.assertIsNone(leads["offset_from_master_ns"])
        # Within its network namespace and from outside: it answers otherwise.
        inside = self.status("slave", "--json", before=("ip", "netns", "exec", slave))
        self.assertEqual(json.loads(inside.stdout)["ptp"]["parent"], follows["parent"])
        self.assertEqual([name for name in self.files() if "tracesmith" in name], [])
        text = self.status("slave").stdout.decode()
        self.assertIn(f"ptp4l follows {leads['clock']} by port 1 (host, UNCALIBRATED), domain {DOMAIN}\n", text)
        self.assertRegex(text, r"\nthe system clock +was \S+ \S+ (behind|ahead of) its master's when it was compared "
                               r"last, by software stamps\n")
        self.assertIn("it is no bound, so traces do not have it", text)
        self.assertIn("ptp4l follows no master: it has its own time; port 1 (host, MASTER); domain 24",
                      self.status("master").stdout.decode())
        # A trace has no bound by it.
        self.assertEqual(self.run_command("profile", "-q", "-o", "a.sbt", "--", "true").returncode, 0)
        rows = json.loads(self.run_command("query", "a.sbt", "--json",
                                           "SELECT peer FROM clock_offset WHERE peer LIKE '%ptp%'").stdout)
        self.assertEqual(rows, [])

    def test_a_socket_that_is_none(self):
        result = self.status("none")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("none.socket: no ptp4l listens there", result.stderr.decode())

    def test_a_socket_that_may_not_be_used(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("only root can become another user")
        os.chmod(self.dir, 0o700)
        result = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", PROGRAM, "clock", "status",
                                 "--ptp-socket", self.path("a.socket")], cwd="/", env=environment(), check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S)
        if b"setpriv:" in result.stderr:
            self.skipTest(result.stderr.decode())
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("a.socket: ptp4l's socket cannot be used: permission denied; run as root", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
