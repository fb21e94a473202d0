# SPDX-License-Identifier: Apache-2.0
"""trace.diff(), .whatif(), .races(), .determinism() and .export(): what the commands say."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_guide import programs  # noqa: F401 pylint: disable=unused-import

import tracesmith as ts


@pytest.fixture(scope="module")
def trace(simulated):
    with ts.open(simulated) as opened:
        yield opened


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "other.sbt"
    subprocess.run([ts.command_path(), "record", "-q", "-p", "simulation", "-d", "0.5", "-o", path], check=True)
    return path


def said(*command, code=0):
    done = subprocess.run([ts.command_path(), *command], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == code, done.stderr
    return done.stdout


def same(report, expected):
    """Whether the tables have the cells that the command's JSON has."""
    compared = 0
    for name, table in report.items():
        assert len(table) == len(expected[name]), name
        for row, wanted in zip(table.rows, expected[name]):
            for key, value in zip(table.columns, row):
                assert value == pytest.approx(wanted[key]) if isinstance(value, float) else value == wanted[key], (name, key)
                compared += 1
    return compared


def test_diff(trace, simulated, other, monkeypatch):
    report = trace.diff(other, limit=0)
    assert same(report, json.loads(said("diff", "--json", simulated, other))) > 100
    # As wide as it needs, like the command in a pipe.
    monkeypatch.setattr(shutil, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
    assert repr(trace.diff(other)) == said("diff", simulated, other).rstrip("\n")
    assert "Before and after" in report._repr_html_() and "Before and after" in repr(report)
    with ts.open(other) as opened:
        assert repr(trace.diff(opened)) == repr(trace.diff(other)) == repr(trace.diff([other]))
    assert list(report["diff_names"].to_pandas().name) == report["diff_names"]["name"]


def test_diff_of_several_runs(trace, simulated, other, tmp_path):
    more = []
    for number in range(4):
        more.append(tmp_path / f"{number}.sbt")
        shutil.copy(other if number % 2 else simulated, more[-1])
    report = trace.diff(more[2:], runs=more[:2], limit=0)
    assert same(report, json.loads(said("diff", "--json", simulated, *more[:2], "--", *more[2:]))) > 100
    with pytest.raises(ts.InvalidArgumentError, match="given twice"):
        trace.diff([more[0], more[0]])
    with pytest.raises(ts.InvalidArgumentError, match="no trace"):
        trace.diff([])


@pytest.mark.parametrize(("change", "options"), [
    ({}, []),
    ({"scale": {"kernel=sgemm": 0.5, "host": 2}}, ["--scale", "kernel=sgemm:0.5", "--scale", "host:2"]),
    ({"remove": "softmax", "bandwidth": {"h2d": 2}, "check": False},
     ["--remove", "softmax", "--bandwidth", "h2d=2", "--no-check"]),
    ({"bandwidth": 1.5, "streams": 2}, ["--bandwidth", "1.5", "--streams", "2"])])
def test_whatif(trace, simulated, change, options):
    assert same(trace.whatif(**change, limit=0), json.loads(said("whatif", "--json", simulated, *options))) > 10


@pytest.mark.parametrize(("change", "says"), [
    ({"scale": {"kernel=[": 1}}, "scale"), ({"remove": "no such kernel"}, "matches"), ({"streams": 0}, "1 to 1024"),
    ({"bandwidth": {"up": 2}}, "not a direction"), ({"limit": -1}, "limit")])
def test_changes_that_make_no_sense(trace, change, says):
    with pytest.raises(ts.InvalidArgumentError, match=says):
        trace.whatif(**change)


@pytest.mark.parametrize("name", ["x.pftrace", "x.json", "x.csv", "x.folded", "x.speedscope.json", "x.dot", "x.part.sbt"])
def test_export(trace, simulated, name, tmp_path):
    ours, expected = tmp_path / name, tmp_path / f"command.{name}"
    trace.export(ours)
    said("export", "-q", simulated, "-o", expected)
    if name.endswith(".sbt"):  # with its own id
        with ts.open(ours) as a, ts.open(expected) as b:
            assert a.kernels.rows() == b.kernels.rows() == trace.kernels.rows()
    else:
        assert ours.read_bytes() == expected.read_bytes()


def test_export_of_another_tools_trace(kineto, tmp_path):
    with ts.open(kineto) as trace:
        trace.export(tmp_path / "ours.json")
    said("export", "-q", kineto, "-o", tmp_path / "command.json")
    assert json.loads((tmp_path / "ours.json").read_bytes()) == json.loads((tmp_path / "command.json").read_bytes())


def test_export_of_a_part(trace, tmp_path):
    path = tmp_path / "copies.txt"
    begin, end = sorted(trace.copies.start_ns)[3], sorted(trace.copies.start_ns)[9]
    trace.export(path, "csv", table="copy", from_ns=int(begin), to_ns=int(end))
    inside = trace.copies.filter(lambda copy: (copy.start_ns < end) & (copy.end_ns > begin))
    assert 0 < len(inside) < len(trace.copies)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + len(inside)


def test_an_export_says_what_it_lacks(simulated, recorded, tmp_path):
    intact = Path(simulated).read_bytes()
    damaged = tmp_path / "damaged.sbt"
    damaged.write_bytes(intact[: len(intact) // 2] + bytes([intact[len(intact) // 2] ^ 0xFF]) + intact[len(intact) // 2 + 1:])
    with ts.open(damaged) as trace:
        assert len(trace.kernels) >= 0 and trace.damage
        for name in ("x.pftrace", "x.csv", "x.json", "x.sbt"):
            with pytest.warns(RuntimeWarning, match="damaged in 1 places"):
                trace.export(tmp_path / name)
    whole = tmp_path / "whole.sbt"
    subprocess.run([ts.command_path(), "export", recorded, "--with-recording", "-o", whole], check=True, capture_output=True)
    with pytest.warns(RuntimeWarning, match="the recording in the trace is omitted"):
        ts.open(whole).export(tmp_path / "part.sbt")
    with ts.open(simulated) as trace:
        for arguments in ({"by": "bytes"}, {"from_ns": 100, "to_ns": 5}):
            with pytest.raises(ts.InvalidArgumentError):
                trace.export(tmp_path / "no.json", **arguments)
        with pytest.raises(ts.InvalidArgumentError, match="standard output"):
            trace.export("-")


@pytest.mark.parametrize(("arguments", "error", "says"), [
    (("x.parquet",), ts.UnsupportedError, "write_table"), (("x", "nope"), ts.InvalidArgumentError, "'nope' is not a format"),
    (("no/folder/x.json",), ts.NotFoundError, "no/folder")])
def test_exports_that_can_not_be(trace, arguments, error, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=says):
        trace.export(*arguments)
    with pytest.raises(ts.InvalidArgumentError, match="overwritten"):
        trace.export(trace.path)
    with pytest.raises(ts.InvalidArgumentError, match="none of device-time"):
        trace.export("x.folded", by="time")
    assert not list(tmp_path.iterdir())


def test_without_a_recording(trace):
    for check in (trace.races, trace.determinism):
        with pytest.raises(ts.NotFoundError, match="--record"):
            check()


@pytest.fixture(scope="module")
def recorded(programs, tmp_path_factory):  # noqa: F811
    """A trace of a program with missing waits, with its recording."""
    path = tmp_path_factory.mktemp("recorded") / "race.sbt"
    done = subprocess.run([ts.command_path(), "profile", "-q", "--record", "-o", path, "--", programs / "race_demo"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"race_demo cannot be recorded here: {done.stderr}")
    return path


def test_races(recorded):
    with ts.open(recorded) as trace:
        found = trace.races()["races"]
        expected = json.loads(said("races", "--json", recorded, code=4))["processes"][0]
        assert len(found) == len(expected["groups"]) > 0
        for row, group in zip(found.to_pandas().to_dict("records"), expected["groups"]):
            for key in ("grade", "conflict", "count", "begin", "end", "bytes", "fix"):
                assert row[key] == group[key]
            for side in ("first", "second"):
                assert row[side] == group[side]["name"] and row[f"{side}_command"] == group[side]["command"]
        assert "Let " in repr(trace.races())
        with pytest.raises(ts.InvalidArgumentError, match="below 6"):
            trace.races(confirm=True, replays=5)


def new_process(code, path):
    """What a process prints that has loaded no driver: those of other tests have (replays fork)."""
    done = subprocess.run([sys.executable, "-c", f"import json, sys, tracesmith as ts\n{code}", path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_confirmed_races(recorded):
    verdicts = json.loads(new_process(
        "print(json.dumps(list(ts.open(sys.argv[1]).races(confirm=True, replays=6)['races']['verdict'])))", recorded))
    assert len(verdicts) == 1 and set(verdicts) <= {"confirmed", "no difference seen", "undecided", "not tried"}


def test_determinism(recorded):
    tables = json.loads(new_process(
        "report = ts.open(sys.argv[1]).determinism(runs=10)\nassert repr(report).splitlines()[0]\n"
        "print(json.dumps(list(report)))", recorded))
    own = subprocess.run([ts.command_path(), "determinism", "--runs", "10", "--json", recorded],
                         capture_output=True, check=False).stdout
    assert tables and set(tables) == set(json.loads(own)) - {"notes"}


def test_a_process_with_a_driver_is_refused(recorded):
    loads = ("import ctypes\ncl = ctypes.CDLL('libOpenCL.so.1')\n"
             "assert cl.clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint())) == 0\n")
    for call in ("determinism(runs=10)", "races(confirm=True)"):
        said_of_it = new_process(
            f"{loads}try: print(ts.open(sys.argv[1]).{call})\nexcept ts.UnsupportedError as error: print(error)", recorded)
        assert "has loaded an OpenCL driver" in said_of_it
