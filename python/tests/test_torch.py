# SPDX-License-Identifier: Apache-2.0
"""tracesmith.torch.profile(), with real torch, on the CPU."""
import gc
import gzip
import json
import os
import re
from pathlib import Path

import pytest

import tracesmith as ts

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from tracesmith.torch import profile  # noqa: E402  pylint: disable=wrong-import-position


def work(name="work"):
    with ts.annotate(name):
        a = torch.randn(64, 64)
        return (a @ a).relu().sum()


def names(trace, category=None):
    where = "" if category is None else f"WHERE category = '{category}'"
    return [row[0] for row in trace.query(f"SELECT name FROM range {where} ORDER BY start_ns")]


def test_without_a_schedule():
    with profile(platform=ts.PlatformType.Unknown) as p:
        with pytest.raises(ts.InvalidArgumentError):
            _ = p.trace
        with torch.profiler.record_function("theirs"):
            work("ours")
    assert "aten::mm" in names(p.trace, "cpu_op")
    # Both tell of the same span: their clocks agree.
    rows = {name: (start, duration, (pid, tid)) for name, start, duration, pid, tid in p.trace.query(
        "SELECT name, start_ns, duration_ns, process_id, thread_id FROM range WHERE name IN ('ours', 'theirs', 'aten::mm')")}
    assert rows["ours"][2] == rows["theirs"][2] == rows["aten::mm"][2]
    slack = 2_000_000
    assert rows["theirs"][0] - slack < rows["ours"][0]
    assert rows["ours"][0] + rows["ours"][1] < rows["theirs"][0] + rows["theirs"][1] + slack
    assert rows["ours"][0] - slack < rows["aten::mm"][0] < rows["ours"][0] + rows["ours"][1] + slack


def test_a_schedule(tmp_path):
    ready = []
    steps = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)

    def on_ready(p):
        ready.append((p.step_num, len(p.traces), p.trace.path))
        p.export_chrome_trace(str(tmp_path / f"{len(ready)}.json"))
        p.export_chrome_trace(str(tmp_path / f"{len(ready)}.json.gz"))
        p.key_averages()

    with profile(schedule=steps, on_trace_ready=on_ready, path=tmp_path / "run.sbt",
                 activities=[torch.profiler.ProfilerActivity.CPU], platform=ts.PlatformType.Unknown) as p:
        for step in range(9):
            work(f"step {step}")
            p.step()
    assert [r[:2] for r in ready] == [(4, 1), (8, 2)]
    assert [r[2] for r in ready] == [str(tmp_path / "run.sbt"), str(tmp_path / "run-2.sbt")]
    for trace, wanted in zip(p.traces, (("step 2", "step 3"), ("step 6", "step 7"))):
        assert [name for name in names(trace) if name.startswith("step ")] == list(wanted)
        assert len([name for name in names(trace) if name.startswith("ProfilerStep#")]) == 2
        assert names(trace, "cpu_op").count("aten::mm") == 2
    document = json.loads((tmp_path / "1.json").read_text(encoding="utf-8"))
    assert json.loads(gzip.decompress((tmp_path / "1.json.gz").read_bytes())) == document
    assert len(p.traces[0].query("SELECT 1 FROM range WHERE category = 'cpu_op'")) == sum(
        e.get("cat") == "cpu_op" for e in document["traceEvents"])


def test_device_work_is_joined():
    with profile(platform=ts.PlatformType.Simulation) as p:
        work()
        torch.randn(2000, 2000) @ torch.randn(2000, 2000)
    assert len(p.trace.kernels) > 0
    first, last = p.trace.query("SELECT min(start_ns), max(end_ns) FROM range WHERE category = 'cpu_op'")[0]
    inside = p.trace.query(f"SELECT count(*) FROM kernel WHERE start_ns BETWEEN {first} AND {last}")[0][0]
    assert inside > 0
    # Each with the call that launched it.
    assert p.trace.query(
        "SELECT count(*) FROM kernel k JOIN host_call h ON h.process_id = k.process_id AND"
        " h.correlation_id = k.correlation_id")[0][0] == len(p.trace.kernels)


def test_beside_another_profile(tmp_path):
    with ts.profile(tmp_path / "outer.sbt", platform=ts.PlatformType.Unknown) as outer:
        with profile() as p:
            work("inside")
    assert "active" in p.problem
    assert "inside" in names(outer.trace) and "inside" not in names(p.trace)
    assert "aten::mm" in names(p.trace)


def test_what_a_program_raises():
    with pytest.raises(ZeroDivisionError):
        with profile(platform=ts.PlatformType.Unknown) as p:
            work()
            _ = 1 / 0
    assert "aten::mm" in names(p.trace)
    with profile(platform=ts.PlatformType.Unknown):  # nothing is left over
        work()


def test_traces_outlive_what_made_them():
    with profile(platform=ts.PlatformType.Unknown) as p:
        work()
    trace = p.trace
    del p
    assert "aten::mm" in names(trace)


def test_many_cycles(tmp_path):
    """A training that goes on and on opens no more files, and keeps no document but the last."""
    steps = torch.profiler.schedule(wait=0, warmup=0, active=1)
    files, documents = [], []

    def on_ready(p):
        p.trace.query("SELECT 1 FROM range")
        gc.collect()
        files.append(len(os.listdir("/proc/self/fd")))
        documents.append([path.suffix for path in Path(p._temporary.name).iterdir()])

    with profile(schedule=steps, on_trace_ready=on_ready, path=tmp_path / "run.sbt",
                 activities=[torch.profiler.ProfilerActivity.CPU], platform=ts.PlatformType.Unknown) as p:
        for step in range(20):
            work(f"step {step}")
            p.step()
    assert len(p.traces) >= 20 and max(files[5:]) <= files[1]
    assert set(map(tuple, documents)) == {(".json",)}
    assert [f"step {i}" in names(p.traces[i]) for i in (0, 7, 19)] == [True] * 3
    assert p.traces[3] is not p.traces[4] and p.trace is p.traces[-1]
    assert [Path(trace.path).name for trace in p.traces[:2]] == ["run.sbt", "run-2.sbt"]
    with pytest.raises(IndexError):
        p.traces[99]  # pylint: disable=expression-not-assigned


def test_a_trace_that_can_not_be_made(tmp_path):
    """The training goes on, and so do the traces after it."""
    steps = torch.profiler.schedule(wait=0, warmup=0, active=1)
    folder = tmp_path / "out"
    ready = []
    with profile(schedule=steps, on_trace_ready=lambda p: ready.append(p.problem), path=folder / "run.sbt",
                 platform=ts.PlatformType.Unknown) as p:
        for step in range(4):
            work(f"step {step}")
            p.step()
            if step == 1:
                folder.mkdir()
    assert "trace 1 was not made" in ready[0] and str(folder) in ready[0]
    assert "trace 2 was not made" in p.problem
    assert len(ready) >= 4 and len(p.traces) == len(ready) - 2
    assert "step 2" in names(p.traces[0]) and p.traces[0].path == str(folder / "run-3.sbt")


def test_the_guide(capsys):
    guide = (Path(__file__).parents[2] / "docs" / "python_guide.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```py\n(.*?)```", guide, re.S)
    places = {"ts": ts}
    exec(compile(block, "python_guide.md", "exec"), places)  # pylint: disable=exec-used
    assert "<trace" in capsys.readouterr().out
    assert len(places["p"].traces) == 1
