# SPDX-License-Identifier: Apache-2.0
"""profile of programs that use CUDA on bad days: a thousand threads, 64 processes, containers, no
room, allocators of the program's own, a driver that lets nobody in. The program does what it does
alone, every launch is in the trace or counted, and what is missing is said. TRACESMITH_STANDINS is
the folder of one generation's stand-ins."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import BIN, CommandTest, environment  # pylint: disable=wrong-import-position

STANDINS = os.environ.get("TRACESMITH_STANDINS", "")
PROGRAM = os.path.join(STANDINS, "standin_program")
RUNTIME_PROGRAM = os.path.join(STANDINS, "standin_runtime_program")
STATIC_PROGRAM = os.path.join(STANDINS, "standin_static_program")
GENERATION = os.path.basename(STANDINS)
SHARES = GENERATION == "13" and int(os.environ.get("STANDIN_CUPTI_VERSION", "130400")) >= 130400
JEMALLOC = next(iter(sorted(glob.glob("/usr/lib/*/libjemalloc.so.2"))), None)
MIB = 1 << 20


def can_unshare(*what):
    return subprocess.run(["unshare", *what, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


class SessionWatch(threading.Thread):
    """What the session directory holds while the program runs: at most so many arenas, so many bytes."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.ended = path, threading.Event()
        self.arenas = self.bytes = 0

    def run(self):
        while not self.ended.wait(0.02):
            try:
                with os.scandir(self.path) as entries:
                    files = [(entry.name, entry.stat().st_blocks * 512) for entry in entries]
            except OSError:  # not yet, or no more
                continue
            self.arenas = max(self.arenas, sum(name.endswith(".arena") for name, _ in files))
            self.bytes = max(self.bytes, sum(size for _, size in files))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


class BadDays(CommandTest):
    output = "t.sbt"

    def profile(self, *arguments, options=(), path=PROGRAM, folder=STANDINS, code=0, around=(), **variables):
        """What the program said, each line an object. `around` is a command that runs all of it."""
        env = environment(LD_LIBRARY_PATH=folder, **variables)
        command = [os.path.join(BIN, "tracesmith"), "profile", *options, "-o", self.output, "--", path, *arguments]
        result = self.run_command(*[*around, *command][1:], program=[*around, *command][0], env=env)
        self.said = result.stderr.decode()
        self.assertEqual(result.returncode, code, self.said)
        verified = self.run_command("verify", self.output)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def alone(self, *arguments, path=PROGRAM, folder=STANDINS):
        result = self.run_command(*arguments, program=path, env=environment(LD_LIBRARY_PATH=folder))
        return result.returncode, [json.loads(line) for line in result.stdout.splitlines()]

    def assert_it_does_what_it_does_alone(self, did, *arguments, **named):
        code, said = self.alone(*arguments, **named)
        self.assertEqual(code, 0)
        strip = lambda all_of: sorted(sorted((k, v) for k, v in one.items() if k not in ("pid", "child_ms"))
                                      for one in all_of)
        self.assertEqual(strip(did), strip(said))

    def rows(self, sql):
        result = self.run_command("query", self.output, sql, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def one(self, sql):
        return list(self.rows(sql)[0].values())[0]

    def losses(self):
        # What the kernel tells of processes is not ours.
        return self.rows("SELECT source, dropped, reason FROM loss WHERE dropped > 0 AND source <> 'process events'")

    def assert_kernels(self, count):
        """All of them, each by the thread whose one launch it is."""
        self.assertEqual(self.losses(), [])
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), count)
        self.assertEqual(self.one(
            "SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND h.correlation_id = "
            "k.correlation_id AND h.kind = 'launch' AND h.thread_id = k.thread_id AND h.start_ns <= k.start_ns"), count)

    # --- Threads ----------------------------------------------------------------------------------

    def test_a_thousand_threads_at_once(self):
        with SessionWatch(self.path("t.sbt.session")) as watch:
            did = self.profile("many_threads", "1000")
        self.assert_it_does_what_it_does_alone(did, "many_threads", "1000")
        self.assert_kernels(4000)
        self.assertEqual(self.one("SELECT count(DISTINCT thread_id) FROM kernel"), 1000)
        self.assertEqual(self.one("SELECT max(n) FROM (SELECT count(*) AS n FROM kernel GROUP BY thread_id)"), 4)
        # With rings of 4 MiB for each of them it would be 4000.
        self.assertGreater(watch.bytes, 0)
        self.assertLess(watch.bytes, 400 * MIB)
        self.assertLess(watch.arenas, 50)

    def test_threads_that_come_after_others_have_their_rings(self):
        with SessionWatch(self.path("t.sbt.session")) as watch:
            did = self.profile("waves", "40", "25", options=("-b", "64K"))
        self.assert_it_does_what_it_does_alone(did, "waves", "40", "25")
        self.assert_kernels(4000)
        self.assertEqual(self.one("SELECT count(DISTINCT thread_id) FROM kernel"), 1000)
        # 25, the main thread, the agent's and those of CUPTI; a thousand need 41.
        self.assertLess(watch.arenas, 20)

    # --- Processes --------------------------------------------------------------------------------

    def assert_each_process_has_its_own(self, did, children, kernels):
        self.assertEqual(len(did), children + 1)
        expected = {one["pid"]: one["kernels"] for one in did}
        self.assertEqual(sorted(expected.values()), sorted([kernels, *range(kernels, kernels + children)]))
        found = {row["pid"]: row["n"] for row in self.rows(
            "SELECT p.pid AS pid, count(*) AS n FROM kernel k JOIN process p ON p.id = k.process_id GROUP BY p.pid")}
        self.assertEqual(found, expected)
        self.assert_kernels(sum(expected.values()))

    def test_sixty_four_processes(self):
        did = self.profile("children", "64", "20", options=("-b", "64K"))
        self.assert_each_process_has_its_own(did, 64, 20)

    def test_sixty_four_processes_of_the_bare_system_call(self):
        did = self.profile("bare_children", "64", "20", options=("-b", "64K"))
        self.assert_each_process_has_its_own(did, 64, 20)

    def test_children_of_the_bare_system_call_leave_their_parents_names_alone(self):
        did = self.profile("bare_fork", "64")
        self.assertEqual(did[0]["children"], 64)
        self.assert_kernels(20)
        self.assertEqual(self.rows("SELECT name, count(*) AS n FROM kernel GROUP BY name"),
                         [{"name": "parentsKernel", "n": 20}])
        self.assertEqual(self.one("SELECT count(DISTINCT process_id) FROM host_call"), 1)

    # --- Containers -------------------------------------------------------------------------------

    @unittest.skipUnless(can_unshare("--mount"), "no mount namespaces")
    def test_nothing_needs_dev_shm(self):
        script = 'mount -t tmpfs -o ro none /dev/shm && exec "$@"'
        around = ("unshare", "--mount", "sh", "-c", script, "sh")
        self.assertNotEqual(self.run_command(*around[1:], "touch", "/dev/shm/any", program="unshare").returncode, 0)
        did = self.profile("threads", "8", "50", around=around)
        self.assertEqual(did[0]["kernels"], 400)
        self.assert_kernels(400)

    @unittest.skipUnless(can_unshare("--pid", "--fork", "--mount-proc"), "no pid namespaces")
    def test_a_program_in_a_pid_namespace_of_its_own_is_not_taken_for_dead(self):
        # Its number there is 1, which is that of another process here.
        with open(self.path("in"), "w", encoding="ascii") as file:
            file.write(f'exec unshare --pid --fork --mount-proc "{PROGRAM}" pause 1500\n')
        did = self.profile("in", path="sh")
        self.assertEqual(did[0]["pid"], 1)
        self.assert_kernels(200)
        row = self.rows("SELECT pid, parent_pid FROM process WHERE id = (SELECT DISTINCT process_id FROM kernel)")
        self.assertGreater(row[0]["pid"], 1)  # it has our number for it
        self.assertIn(row[0]["parent_pid"], {r["pid"] for r in self.rows("SELECT pid FROM process")})
        self.assertEqual(self.one(f"SELECT count(*) FROM process WHERE pid = {row[0]['pid']}"), 1)

    @unittest.skipUnless(can_unshare("--mount"), "no mount namespaces")
    def test_a_place_that_can_only_be_read_keeps_the_program_from_starting(self):
        os.mkdir(self.path("closed"))
        script = 'mount -t tmpfs -o ro none closed && exec "$@"'
        result = self.run_command("--mount", "sh", "-c", script, "sh", os.path.join(BIN, "tracesmith"), "profile",
                                  "-o", "closed/t.sbt", "--", "touch", "ran", program="unshare")
        self.assert_fails(result, 125, "closed/t.sbt.session", "Read-only file system")
        self.assertEqual(self.files(), ["closed"])

    # --- No room ----------------------------------------------------------------------------------

    def small(self, kib):
        """A file system of that size for the output; needs root."""
        place = tempfile.mkdtemp(prefix="small-", dir=self.dir)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", place], check=False,
                                 stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest("no mount: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", place], check=False)
        self.output = os.path.join(place, "t.sbt")

    ARENA_KIB = 4 * 64 + 8
    CUDA_FILE_KIB = 256 + 20

    def test_no_room_for_what_is_beside_the_rings(self):
        self.small(self.ARENA_KIB + 100)
        did = self.profile("launches", "100", options=("-b", "64K"))
        self.assert_it_does_what_it_does_alone(did, "launches", "100")
        self.assertIn("no room beside the trace for CUPTI's buffers (No space left on device)", self.said)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)

    def test_no_room_for_the_buffers(self):
        self.small(self.ARENA_KIB + self.CUDA_FILE_KIB + 56)
        did = self.profile("launches", "100", options=("-b", "64K"))
        self.assert_it_does_what_it_does_alone(did, "launches", "100")
        self.assert_kernels(100)

    def test_no_room_for_more_threads(self):
        # One arena, with four rings; the main thread has one.
        self.small(self.ARENA_KIB + self.CUDA_FILE_KIB + 56)
        did = self.profile("many_threads", "40", options=("-b", "64K"))
        self.assert_it_does_what_it_does_alone(did, "many_threads", "40")
        lost = self.rows("SELECT emitted, written, dropped, reason FROM loss WHERE source = 'CUDA records'")[0]
        self.assertGreater(lost["dropped"], 0)
        self.assertEqual(lost["emitted"], lost["written"] + lost["dropped"])
        self.assertEqual(lost["reason"], f"{lost['dropped']} calls came from threads without a ring")
        self.assertIn(f"{lost['dropped']} calls came from threads that could get no ring: "
                      f"{self.output}.session had no space", self.said)
        self.assertNotIn("larger rings", self.said)

    def test_a_disk_that_becomes_full_costs_the_trace_and_not_the_program(self):
        self.small(self.ARENA_KIB + self.CUDA_FILE_KIB + 300)
        env = environment(LD_LIBRARY_PATH=STANDINS)
        result = self.run_command("profile", "-b", "64K", "-o", self.output, "--", PROGRAM, "launches", "60000", env=env)
        said = result.stderr.decode()
        self.assertEqual(result.returncode, 0, said)
        self.assert_it_does_what_it_does_alone([json.loads(result.stdout)], "launches", "60000")
        self.assertEqual(len([line for line in said.splitlines() if "not complete" in line]), 1, said)
        self.assertIn("No space left on device", said)
        counted = self.run_command("query", "--csv", self.output, "SELECT count(*) FROM kernel")
        self.assertEqual(counted.returncode, 3, counted.stderr)
        self.assertIn(f"{int(counted.stdout.split()[-1])} kernels", said)

    # --- How programs are built and loaded ----------------------------------------------------------

    def folder_without_a_runtime(self):
        for library in glob.glob(os.path.join(STANDINS, "libcu*.so*")):
            if "cudart" not in library:
                os.symlink(library, self.path(os.path.basename(library)))
        return self.dir

    def test_a_runtime_that_is_in_the_program(self):
        folder = self.folder_without_a_runtime()
        needed = subprocess.run(["readelf", "-d", STATIC_PROGRAM], stdout=subprocess.PIPE, check=True).stdout
        self.assertNotRegex(needed, rb"NEEDED.*lib(cuda|cupti)")
        for mode in (("launches", "200", "3"), ("threads", "6", "100"), ("reset",)):
            did = self.profile(*mode, path=STATIC_PROGRAM, folder=folder)
            kernels = did[0]["kernels"]
            self.assert_kernels(kernels)
            found = self.rows("SELECT name, kind, result, count(*) AS n FROM host_call GROUP BY name, kind, result ORDER BY n, name")
            names = self.rows("SELECT name, count(*) AS n FROM kernel GROUP BY name")
            with_a_library = self.profile(*mode, path=RUNTIME_PROGRAM)
            self.assertEqual({k: v for k, v in did[0].items() if k != "pid"},
                             {k: v for k, v in with_a_library[0].items() if k != "pid"})
            self.assert_kernels(kernels)
            self.assertEqual(found, self.rows("SELECT name, kind, result, count(*) AS n FROM host_call GROUP BY name, kind, result ORDER BY n, name"))
            self.assertEqual(names, self.rows("SELECT name, count(*) AS n FROM kernel GROUP BY name"))

    def test_an_agent_that_is_loaded_twice_is_one(self):
        agent = os.path.join(BIN, "..", "lib", "tracesmith", "libtracesmith-cuda.so")
        link = self.path("agent.so")
        os.symlink(agent, link)
        for also in (agent, link):
            with open(self.path("in"), "w", encoding="ascii") as file:
                file.write(f'LD_PRELOAD="{also}" exec "{PROGRAM}" launches 300\n')
            did = self.profile("in", path="sh")
            self.assert_it_does_what_it_does_alone(did, "launches", "300")
            self.assert_kernels(300)

    # --- Allocators -------------------------------------------------------------------------------

    def assert_an_allocator_does_no_harm(self, allocator):
        with open(self.path("in"), "w", encoding="ascii") as file:
            file.write(f'LD_PRELOAD="{allocator}" exec "$@"\n')
        for path, mode, kernels in ((PROGRAM, ("threads", "16", "200"), 3200), (PROGRAM, ("fork",), 200),
                                    (RUNTIME_PROGRAM, ("threads", "4", "50"), 200)):
            for options in ((), ("--stacks=native",)):
                did = self.profile("in", path, *mode, path="sh", options=options)
                self.assert_it_does_what_it_does_alone(did, *mode, path=path)
                self.assert_kernels(kernels)

    def test_an_allocator_with_locks_and_variables_of_threads(self):
        self.assert_an_allocator_does_no_harm(os.path.join(STANDINS, "libown-allocator.so"))

    @unittest.skipUnless(JEMALLOC, "libjemalloc2 is not installed")
    def test_jemalloc(self):
        self.assert_an_allocator_does_no_harm(JEMALLOC)

    def test_launches_allocate_nothing_of_such_an_allocator(self):
        allocator = os.path.join(STANDINS, "libown-allocator.so")
        with open(self.path("in"), "w", encoding="ascii") as file:
            file.write(f'LD_PRELOAD="{allocator}" exec "{STANDINS}/launch_cost" 5 2000\n')
        env = environment(LD_LIBRARY_PATH=STANDINS)
        result = self.run_command("profile", "-b", "16M", "-o", "t.sbt", "--", "sh", "in", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(re.search(r"(\d+) allocations", result.stdout.decode()).group(1), "0")
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'"), 10100)

    # --- What lets nobody in ----------------------------------------------------------------------

    def warnings_on_a_terminal(self, script, *arguments):
        """What a person reads, line by line; the program's own run is as ever."""
        env = environment(LD_LIBRARY_PATH=STANDINS, STANDIN_SCRIPT=script)
        code, shown = self.on_terminal("profile", "-o", "t.sbt", "--", PROGRAM, *arguments, env=env, columns=80)
        self.assertEqual(code, 0, shown)
        said = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
        self.assert_it_does_what_it_does_alone(said, *arguments)
        return " ".join(self.without_colours(shown).split())

    def test_a_driver_that_is_older_than_the_library(self):
        for code in (14, 15, 999):
            shown = self.warnings_on_a_terminal(f"subscribe_error={code}", "launches", "20")
            self.assertIn(f"CUDA: CUPTI cannot be used ({code}, CUPTI_ERROR_", shown)
            self.assertIn("older than this libcupti", shown)
            self.assertIn("nvidia-smi", shown)
            self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)

    def test_no_permission(self):
        shown = self.warnings_on_a_terminal("subscribe_error=35", "launches", "20")
        self.assertIn("CUDA: CUPTI cannot be used (35, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)", shown)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", shown)
        shown = self.warnings_on_a_terminal("deny_kind=10", "launches", "20")
        self.assertIn("CUPTI does not deliver kernels (35, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)", shown)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", shown)
        shown = self.warnings_on_a_terminal("deny_all=1", "launches", "20")
        for kind in ("kernels", "copies", "memsets"):
            self.assertIn(f"CUPTI does not deliver {kind} (35, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)", shown)
        self.assertEqual(shown.count("NVreg_RestrictProfilingToAdminUsers=0"), 1)
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'"), 21)

    @unittest.skipUnless(SHARES, "of CUDA 13.4 and later")
    def test_another_tool_that_has_graphs_as_wholes_is_said(self):
        script = "second_subscriber=2"
        did = self.profile("graph", "10", STANDIN_SCRIPT=script)
        self.assert_kernels(did[0]["graph_kernels"])
        self.assertNotIn("graphs as wholes", self.said)
        shown = self.warnings_on_a_terminal(script + ",whole_graphs=1", "graph", "10")
        self.assertIn("another tool has CUPTI report graphs as wholes: their kernels are missing", shown)
        self.assertEqual(self.one("SELECT count(*) FROM kernel"), 0)
        self.assertEqual(self.one("SELECT count(*) FROM host_call WHERE kind = 'launch'"), 10)


if __name__ == "__main__":
    unittest.main()
