# SPDX-License-Identifier: Apache-2.0
"""Many traces together: on threads, on a pool of processes, and on Dask, with workers that are killed."""
import concurrent.futures
import datetime
import importlib.util
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tracesmith as ts
from tracesmith import fleet

LIMIT_S = 120


@pytest.fixture
def traces(tmp_path):
    """A folder with nine traces, and what is none."""
    folder = tmp_path / "traces"
    folder.mkdir()
    for n in range(9):
        with ts.profile(folder / f"run-{n}.sbt"):
            ts.mark(f"mark {n}")
    (folder / "empty.sbt").write_bytes(b"")
    shutil.copy(folder / "run-0.sbt", folder / "copy.sbt")
    return folder


@pytest.fixture
def runs(simulated, tmp_path):
    """Two traces with kernels."""
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(simulated, folder / "a.sbt")
    command = [ts.command_path(), "record", "-q", "-p", "simulation", "-d", "0.5", "-o", folder / "b.sbt"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def states(result):
    return {os.path.basename(file.path): file.state for file in result.files}


def test_sums_of_files_and_summaries(runs):
    result = fleet.analyze(runs)
    assert states(result) == {"a.sbt": "computed", "b.sbt": "computed"} and result.summary.traces == 2
    again = fleet.analyze([runs / "b.sbt", runs / "a.sbt.summary"])
    assert set(states(again).values()) == {"stored"}
    assert again.summary == result.summary
    kernels = result.report(0)["kernels"]
    with ts.open(runs / "a.sbt") as a, ts.open(runs / "b.sbt") as b:
        assert sum(kernels["count"]) == len(a.kernels) + len(b.kernels)
        assert sum(kernels["total_ns"]) == a.kernels.duration_ns.sum() + b.kernels.duration_ns.sum()
    assert "Kernels by family" in repr(result.report())


def test_one_trace(runs, tmp_path):
    file = fleet.summarize(runs / "a.sbt", summaries=tmp_path)
    assert file.state == "computed" and len(file.trace_id) == 32 and file.file_bytes == os.path.getsize(runs / "a.sbt")
    assert abs(datetime.datetime.now(datetime.timezone.utc) - file.created) < datetime.timedelta(hours=1)
    assert fleet.summarize(runs / "a.sbt", summaries=tmp_path).state == "stored"
    assert fleet.summarize(runs / "a.sbt", summaries=tmp_path, again=True).state == "computed"
    failed = fleet.summarize(runs / "nothing.sbt")
    assert failed.state == "failed" and "nothing.sbt" in failed.message and failed.summary == fleet.FleetSummary()


def test_summaries_are_values(runs):
    a, b = (fleet.summarize(runs / name, store=False).summary for name in ("a.sbt", "b.sbt"))
    assert a + b == b + a != a
    assert pickle.loads(pickle.dumps(a)) == a == fleet.FleetSummary.from_bytes(a.to_bytes())
    with pytest.raises(ts.NotATraceError):
        fleet.FleetSummary.from_bytes(b"something else")
    with pytest.raises(ts.DamagedError):
        fleet.FleetSummary.from_bytes(a.to_bytes()[:-1])
    newer = bytearray(a.to_bytes())
    newer[8] += 1
    with pytest.raises(ts.TooNewError):
        fleet.FleetSummary.from_bytes(bytes(newer))


@pytest.mark.parametrize("files_per_task", [1, 4, 100])
def test_any_executor(traces, files_per_task):
    alone = fleet.analyze(traces, store=False)
    assert alone.summary.traces == 9 and [file.path for file in alone.failed] == [str(traces / "empty.sbt")]
    assert states(alone)["run-0.sbt"] == "repeated"
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        assert fleet.analyze(traces, executor, store=False, files_per_task=files_per_task).summary == alone.summary
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        result = fleet.analyze(traces, executor, store=False, files_per_task=files_per_task)
        twice = fleet.analyze([traces, traces / "run-1.sbt"], executor, store=False, files_per_task=files_per_task)
    assert result.summary == alone.summary == twice.summary and states(result) == states(alone)


def test_sums_that_are_too_large_are_made_here(traces, monkeypatch):
    alone = fleet.analyze(traces, store=False)
    monkeypatch.setattr(fleet, "_MOST_BYTES_OF_SUM", 10)
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        assert fleet.analyze(traces, executor, store=False, files_per_task=2).summary == alone.summary


def test_a_pool_whose_process_dies(traces, monkeypatch):
    """Its executor is broken then: other processes take its place, and only the file to blame fails."""
    alone = fleet.analyze(traces, store=False)
    shutil.copy(traces / "run-0.sbt", traces / "poison.sbt")
    parent, summarize_files = os.getpid(), fleet.summarize_files

    def die_of_poison(paths, *arguments):
        if os.getpid() != parent and any("poison" in path for path in paths):
            os._exit(1)
        return summarize_files(paths, *arguments)

    monkeypatch.setattr(fleet, "summarize_files", die_of_poison)  # also for processes forked from now on
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        result = fleet.analyze(traces, executor, store=False, files_per_task=4)
    assert sorted(os.path.basename(file.path) for file in result.failed) == ["empty.sbt", "poison.sbt"]
    assert "BrokenProcessPool" in next(file for file in result.failed if "poison" in file.path).message
    assert result.summary == alone.summary


MPI_PROGRAM = """
import os, sys
from mpi4py.futures import MPIPoolExecutor
from tracesmith import fleet
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        result = fleet.analyze(sys.argv[1], executor, store=False, files_per_task=3)
        others = set(executor.starmap(os.getpid, [()] * 40)) - {os.getpid()}
    with open(sys.argv[2], "wb") as out:
        out.write(result.summary.to_bytes())
    print(len(others) > 0, len(result.failed))
"""


def test_mpi(traces, tmp_path):
    """On two ranks beside the first, with the system's mpi4py."""
    python = "/usr/bin/python3"
    where = subprocess.run([python, "-c", "import sys, mpi4py; print(sys.version_info[:2] == tuple(map(int, sys.argv[1:])), mpi4py.__path__[0])",
                            *map(str, sys.version_info[:2])], capture_output=True, text=True, check=False)
    if shutil.which("mpirun.openmpi") is None or not where.stdout.startswith("True"):
        pytest.skip("no Open MPI, or no mpi4py for this Python")
    os.symlink(where.stdout.split(maxsplit=1)[1].strip(), tmp_path / "mpi4py")
    program = tmp_path / "program.py"
    program.write_text(MPI_PROGRAM, encoding="utf-8")
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none",
               "-n", "3", sys.executable, "-m", "mpi4py.futures", program, traces, tmp_path / "sum"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S,
                         env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, sys.path)])))
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["True", "1"]
    assert fleet.FleetSummary.from_bytes((tmp_path / "sum").read_bytes()) == fleet.analyze(traces, store=False).summary


def test_bad_arguments(tmp_path):
    with pytest.raises(ts.InvalidArgumentError):
        fleet.analyze([])
    with pytest.raises(ts.InvalidArgumentError):
        fleet.analyze(tmp_path, files_per_task=0)
    assert states(fleet.analyze(tmp_path / "nowhere")) == {"nowhere": "failed"}
    assert not fleet.analyze(tmp_path).files
    with pytest.raises(ts.InvalidArgumentError):
        fleet.analyze(tmp_path).to_arrow("nothing")


# --- Comparing ------------------------------------------------------------------------------------------------------

def write_traces(folder, prefix, durations_us):
    """A trace for each list of durations of the kernel "changing"; "steady" has the same ones in all."""
    for number, changing in enumerate(durations_us):
        events = []
        for i, us in enumerate(changing):
            for name, length in (("changing", us), ("steady", 50 + (i * 7 + number) % 5)):
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000 * len(events), "dur": length,
                               "args": {"device": 0, "stream": 7}})
        source = folder / f"{prefix}-{number}.json"
        source.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        subprocess.run([ts.command_path(), "import", "-q", source, "-o", folder / f"{prefix}-{number}.sbt"], check=True)
        source.unlink()


def test_kernels_that_became_slower_since_a_moment(tmp_path, capsys):
    write_traces(tmp_path, "old", [[100 + n + i % 3 for i in range(30)] for n in range(6)])
    since = datetime.datetime.now(datetime.timezone.utc)
    write_traces(tmp_path, "new", [[130 + n + i % 3 for i in range(30)] for n in range(6)])
    before, after = (fleet.analyze(sorted(tmp_path.glob(pattern))) for pattern in ("old*.sbt", "new*.sbt"))
    names = before.compare(after)["diff_names"]
    assert dict(zip(names["name"], names["status"])) == {"changing": "slower", "steady": "same"}
    assert names["relative"][0] == pytest.approx(0.3, abs=0.03)

    spec = importlib.util.spec_from_file_location("slower_kernels", Path(__file__).parents[2] / "examples/fleet/slower_kernels.py")
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    (tmp_path / "broken.sbt").write_bytes(b"")
    moment = since.replace(tzinfo=None).isoformat()
    assert job.main([str(tmp_path), "--since", moment]) == 1
    printed = capsys.readouterr()
    assert "6 traces before, 6 since" in printed.out and "changing" in printed.out and "steady" not in printed.out
    assert "broken.sbt" in printed.err
    # The other way round nothing became slower.
    assert "changing" not in [n for n, s in zip(*(after.compare(before)["diff_names"][c] for c in ("name", "status"))) if s == "slower"]


def test_comparing_needs_several_traces(runs):
    one = fleet.analyze(runs / "a.sbt")
    with pytest.raises(ts.InvalidArgumentError):
        one.compare(one)
    with pytest.raises(ts.InvalidArgumentError):
        fleet.analyze(runs).compare(fleet.Fleet([]))


# --- Parquet --------------------------------------------------------------------------------------------------------

def test_parquet_for_duckdb_and_polars(runs, tmp_path):
    pytest.importorskip("pyarrow")
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    result = fleet.analyze(runs)
    written = result.write_parquet(tmp_path / "lake", job="train 1")
    assert written and all(path.exists() for path in written)
    kernels = result.report(0)["kernels"]
    total = f"SELECT sum(count), sum(total_ns), count(DISTINCT trace_id), min(job) FROM '{tmp_path}/lake/kernels/**/*.parquet'"
    expected = (sum(kernels["count"]), sum(kernels["total_ns"]), 2, "train 1")
    assert duckdb.sql(total).fetchall() == [expected]
    frame = polars.scan_parquet(tmp_path / "lake/kernels", hive_partitioning=True, glob=True).collect()
    assert frame["total_ns"].sum() == expected[1]
    # Once more, and a part of it: rows are replaced.
    result.write_parquet(tmp_path / "lake", job="train 1")
    fleet.analyze(runs / "a.sbt").write_parquet(tmp_path / "lake", job="train 1")
    assert duckdb.sql(total).fetchall() == [expected]
    assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/lake/traces/**/*.parquet'").fetchall() == [(2,)]


def test_parquet_written_by_several_at_once(runs, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    results = [fleet.analyze(runs / name) for name in ("a.sbt", "b.sbt")]
    threads = [threading.Thread(target=result.write_parquet, args=(tmp_path / "lake",)) for result in results * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = duckdb.sql(f"SELECT count(*), count(DISTINCT trace_id) FROM '{tmp_path}/lake/traces/**/*.parquet'").fetchall()
    assert rows == [(2, 2)]


def test_old_days_expire(runs, tmp_path):
    pytest.importorskip("pyarrow")
    fleet.analyze(runs).write_parquet(tmp_path / "lake")
    today = datetime.datetime.now(datetime.timezone.utc).date()
    assert not fleet.expire(tmp_path / "lake", 30)
    assert fleet.expire(tmp_path / "lake", 30, today + datetime.timedelta(days=32))
    assert not list((tmp_path / "lake").glob("**/*.parquet"))
    with pytest.raises(ts.InvalidArgumentError):
        fleet.expire(tmp_path / "lake", -1)


# --- Dask -----------------------------------------------------------------------------------------------------------

# Loaded into each worker: it notes which files it takes, takes its time, and dies of some.
PRELOAD = """
import os, time
from tracesmith import _core, fleet

def summarize_files(paths, *options):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{os.getpid()} {' '.join(paths)}\\n")
    time.sleep(float(os.environ["TAKES_S"]))
    if any("poison" in path for path in paths):
        os._exit(9)
    return _core.summarize_files(paths, *options)

fleet.summarize_files = summarize_files
"""


class Dask:
    """A scheduler and two workers, as processes of their own."""

    def __init__(self, folder, takes_s, restarts, allowed_failures):
        self.notes = folder / "notes.txt"
        self.notes.touch()
        preload = folder / "preload.py"
        preload.write_text(PRELOAD)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.address = f"tcp://{address}"
        package = os.path.dirname(os.path.dirname(os.path.abspath(ts.__file__)))
        self.environment = {**os.environ, "PYTHONPATH": package, "NOTES": str(self.notes), "TAKES_S": str(takes_s),
                            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures)}
        self.log = open(folder / "dask.log", "wb")  # pylint: disable=consider-using-with
        self.processes = [self.start("scheduler", "--host", "127.0.0.1", "--port", address.split(":")[1], "--no-dashboard")]
        for _ in range(2):
            self.processes.append(self.start("worker", self.address, "--nthreads", "1", "--no-dashboard", "--preload", str(preload),
                                             "--nanny" if restarts else "--no-nanny", "--memory-limit", "0", "--local-directory", str(folder)))

    def start(self, *arguments):
        command = [sys.executable, "-c", "import sys; from dask.__main__ import main; sys.exit(main())", *arguments]
        return subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=subprocess.STDOUT)

    def taken(self):
        return [line.split(" ", 1) for line in self.notes.read_text().splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):  # a worker without a scheduler waits for one
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()


def test_dask_on_a_local_cluster(traces):
    distributed = pytest.importorskip("distributed")
    alone = fleet.analyze(traces, store=False)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        result = fleet.analyze(traces, client.get_executor(), files_per_task=2)
    assert result.summary == alone.summary and states(result) == states(alone)


def test_dask_loses_nothing_with_a_worker_that_is_killed(traces, tmp_path):
    distributed = pytest.importorskip("distributed")
    alone = fleet.analyze(traces, store=False)
    with Dask(tmp_path, takes_s=0.3, restarts=False, allowed_failures=3) as dask, distributed.Client(dask.address, timeout=LIMIT_S) as client:
        client.wait_for_workers(2, timeout=LIMIT_S)
        killed = []

        def kill():
            while len(dask.taken()) < 4:
                time.sleep(0.02)
            dask.processes[1].send_signal(signal.SIGKILL)
            killed.append(len(dask.taken()))

        killer = threading.Thread(target=kill)
        killer.start()
        result = fleet.analyze(traces, client.get_executor(), store=False, files_per_task=1)
        killer.join(LIMIT_S)
        taken = dask.taken()
    assert killed and killed[0] < 11, "it was killed in the middle"
    assert result.summary == alone.summary and states(result) == states(alone)
    assert len(taken) <= 11 + 2, "only what it was doing, or had done and kept, is done again"


def test_dask_names_a_file_of_which_workers_die(traces, tmp_path):
    distributed = pytest.importorskip("distributed")
    alone = fleet.analyze(traces, store=False)
    shutil.copy(traces / "run-0.sbt", traces / "poison.sbt")
    with Dask(tmp_path, takes_s=0, restarts=True, allowed_failures=0) as dask, distributed.Client(dask.address, timeout=LIMIT_S) as client:
        client.wait_for_workers(2, timeout=LIMIT_S)
        result = fleet.analyze(traces, client.get_executor(), store=False, files_per_task=6)
        taken = dask.taken()
    assert sorted(os.path.basename(file.path) for file in result.failed) == ["empty.sbt", "poison.sbt"]
    assert "KilledWorker" in next(file for file in result.failed if "poison" in file.path).message
    assert result.summary == alone.summary
    assert sum("poison" in paths for _, paths in taken) == 3, "once with the others, once beside them, once alone"
