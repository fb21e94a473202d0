# SPDX-License-Identifier: Apache-2.0
"""What this user may see of processors, and a test that records a program with profile --system."""
import json
import os
import re
import subprocess
import tempfile

from harness import PROGRAM, CommandTest, environment


def rights():
    """What `devices` says: "all", "user" or "nothing"."""
    text = subprocess.run([PROGRAM, "devices"], check=True, stdout=subprocess.PIPE, env=environment()).stdout.decode()
    line = re.search(r"^Processors \(profile --system\): (.*)$", text, re.M).group(1)
    return "nothing" if line.startswith("nothing") else "all" if "of the kernel," in line else "user"


def why_no_calls():
    """What a trace says of system calls: "recorded", or why they are not."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.sbt")
        for arguments in (["profile", "-q", "--system", "-o", trace, "--", "true"],
                          ["query", "--csv", trace, "SELECT value FROM metadata WHERE key = 'system_calls'"]):
            result = subprocess.run([PROGRAM, *arguments], check=False, stdout=subprocess.PIPE, env=environment())
    return result.stdout.decode().partition("\n")[2].strip().strip('"')


RIGHTS = rights()
WHY_NO_CALLS = "no rights" if RIGHTS == "nothing" else why_no_calls()
CALLS = WHY_NO_CALLS == "recorded"


class System(CommandTest):
    def profile(self, *program, options=(), output="t.sbt", user=None):
        command = [PROGRAM, "profile", "-q", "--system", *options, "-o", output, "--", *program]
        if user is not None:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
            os.chmod(self.dir, 0o777)
        result = subprocess.run(command, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                env=environment(HOME=self.dir))
        self.assertEqual(result.returncode, 0, result.stderr)
        if user is None:  # whose rings are small
            self.assertEqual(result.stderr, b"")
        return result.stdout.decode()

    def rows(self, sql, trace="t.sbt"):
        result = self.run_command("query", trace, sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def value(self, sql):
        (row,) = self.rows(sql)
        (value,) = row.values()
        return value

    def assert_nothing_lost(self):
        (loss,) = self.rows("SELECT emitted, written, dropped FROM loss WHERE source = 'processor records'")
        self.assertEqual((loss["dropped"], loss["emitted"]), (0, loss["written"]))
        self.assertEqual(loss["written"],
                         sum(self.value(f"SELECT count(*) FROM {table}") for table in
                             ("cpu_sample", "thread_state", "wakeup", "system_call"))
                         + self.value("SELECT count(*) FROM range WHERE category = 'signal'"))
