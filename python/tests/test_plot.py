# SPDX-License-Identifier: Apache-2.0
"""trace.plot: what the pictures show."""
import json
import sys

import numpy as np
import pytest

import tracesmith as ts
import tracesmith.dask
from tracesmith._flame import FlameBox
from tracesmith._plot import busy_shares

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.style")


def test_busy_shares_are_those_of_counting():
    generator = np.random.default_rng(5)
    for _ in range(20):
        gaps, durations = generator.integers(0, 50, (2, 200))
        starts = np.cumsum(gaps + np.concatenate(([0], durations[:-1]))) + 10**15
        edges = np.linspace(starts[0], starts[-1] + durations[-1], 38)
        busy = np.zeros(int(edges[-1] - edges[0]) + 1)
        for start, duration in zip(starts - starts[0], durations):
            busy[start : start + duration] = 1
        covered = np.interp(edges - edges[0], np.arange(len(busy) + 1), np.concatenate(([0], np.cumsum(busy))))
        assert busy_shares(starts, durations, edges) == pytest.approx(np.diff(covered) / np.diff(edges), abs=1e-3)


def test_pictures(simulated, tmp_path):
    with ts.open(simulated) as trace:
        timeline = trace.plot.timeline()
        assert [label.get_text() for label in timeline.get_yticklabels()][0].startswith("compute (0x1)")
        kernels = trace.plot.kernels(3)
        assert len(kernels.patches) == 3
        longest = trace.query("SELECT name, sum(duration_ns) / 1e6 FROM kernel GROUP BY name ORDER BY 2 DESC LIMIT 3")
        assert [patch.get_width() for patch in kernels.patches] == pytest.approx([row[1] for row in longest])
        assert [label.get_text() for label in kernels.get_yticklabels()] == [row[0] for row in longest]
        overlap = trace.plot.overlap()
        assert overlap.patches
        memory = trace.plot.memory()
        assert memory.lines
        for name, axes in {"timeline": timeline, "kernels": kernels, "overlap": overlap, "memory": memory}.items():
            axes.figure.savefig(tmp_path / f"{name}.png")
            assert (tmp_path / f"{name}.png").stat().st_size > 5000


def labels_of(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_idle_time_and_steps_are_those_of_the_analysis(simulated):
    with ts.open(simulated) as trace:
        idle, steps = trace.analyze("idle")["idle"], trace.analyze("steps", limit=0)["steps"]
        axes = trace.plot.idle()
        widths = np.array([bar.get_width() for bar in axes.patches]).reshape(3, -1).sum(axis=0)
        assert widths * 1e6 == pytest.approx([time for time in idle["idle_ns"] if time])
        assert all(any(str(stream) in label for label in labels_of(axes)) for stream in idle["stream"])
        drawn = trace.plot.steps().lines[0].get_ydata()
        assert drawn * 1e6 == pytest.approx(steps["duration_ns"])


def test_operators_are_those_of_the_analysis(simulated):
    with ts.open(simulated) as trace:
        for by in ("operator", "family", "stream", "step"):
            table = trace.operators(by, limit=5)[f"operators_by_{by}"]
            axes = trace.plot.operators(by, count=5)
            own = [bar.get_width() for bar in axes.patches[:len(table)]]
            time = table["device_self_ns"]
            assert np.array(own) / max(own) == pytest.approx(np.array(time) / max(time))
        kernels = sum(trace.kernels["duration_ns"]) + sum(trace.copies["duration_ns"]) + sum(trace.fills["duration_ns"])
        for by in ("operator", "module", "stack"):
            assert sum(trace.operators(by, limit=0)[f"operators_by_{by}"]["device_self_ns"]) == kernels
        with pytest.raises(ts.InvalidArgumentError, match="none of operator, module"):
            trace.operators("kernel")
        with pytest.raises(ts.InvalidArgumentError, match="none of device-self"):
            trace.operators(sort="name")


def test_compare(simulated):
    with ts.open(simulated) as trace:
        axes = trace.plot.compare(simulated, count=5)
        assert len(axes.patches) == 10
        assert [bar.get_width() for bar in axes.patches[:5]] == [bar.get_width() for bar in axes.patches[5:]]


def test_flame(simulated):
    with ts.open(simulated) as trace:
        axes = trace.plot.flame()
        bottom = [bar for bar in axes.patches if bar.get_y() < 0]
        assert sum(bar.get_width() for bar in bottom) <= axes.get_xlim()[1]
        kernels = trace.query("SELECT sum(duration_ns) FROM kernel")[0][0]
        assert axes.get_xlim()[1] > kernels
        with pytest.raises(ts.InvalidArgumentError, match="device-time"):
            trace.plot.flame(by="time")


def test_boxes_of_a_flame_graph():
    root = FlameBox.of("a;b 3\na;c 4\na 1\nd 2\n")
    boxes = {box.name: (box.level, box.start, box.weight) for box in root.boxes()}
    assert boxes == {"a": (0, 0, 8), "b": (1, 4, 3), "c": (1, 0, 4), "d": (0, 8, 2)}
    assert root.weight == 10 and root.height() == 2


def test_many_streams_fit_on_a_page(tmp_path):
    events = []
    for stream in range(100):
        event = ts.TraceEvent(ts.EventType.KernelComplete, 1000 * stream)
        event.name, event.duration, event.stream_id, event.correlation_id = "k" * 300, 100 + stream, stream, stream + 1
        events.append(event)
    with ts.SBTWriter(tmp_path / "many.sbt") as writer:
        writer.write_events(events)
    with ts.open(tmp_path / "many.sbt") as trace:
        axes = trace.plot.timeline()
        assert len(labels_of(axes)) <= 24 and labels_of(axes)[-1] == f"busiest of {100 - 23} others"
        for axes in (axes, trace.plot.kernels()):
            figure = axes.figure
            assert figure.get_size_inches()[1] <= 10
            figure.canvas.draw()
            page = figure.bbox
            for text in [*axes.get_yticklabels(), *axes.texts, axes.title, axes.xaxis.label]:
                box = text.get_window_extent()
                assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1, text.get_text()  # not clipped


def test_dark_and_light(simulated):
    for style in ("default", "dark_background"):
        with matplotlib.style.context(style), ts.open(simulated) as trace:
            axes = trace.plot.timeline()
            assert axes.images[0].get_cmap()(0.0)[:3] == pytest.approx(axes.get_facecolor()[:3], abs=0.01)


def test_nothing_to_draw():
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        pass
    for draw in (p.trace.plot.timeline, p.trace.plot.kernels, p.trace.plot.overlap, p.trace.plot.memory):
        with pytest.raises(ts.NoDataError, match="is in the trace") as caught:
            draw()
        assert not isinstance(caught.value, OSError)  # the trace's file is there


def test_memory_is_the_same_wherever_it_is_told(tmp_path):
    """Allocations of two devices and of the host, which are at their most at different times."""
    events = []
    for time, device, address, size in ((10, 0, 0x10, 1000), (20, -1, 0x10, 146), (30, 0, 0x10, -1000), (40, 1, 0x10, 70),
                                        (50, 0, 0x20, 600), (60, -1, 0x10, -146), (70, 0, 0x90, -4000)):
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": time,
                       "args": {"Bytes": size, "Addr": address, "Device Id": device, "Device Type": int(device >= 0)}})
    path = tmp_path / "memory.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    with ts.open(path) as trace:
        table = trace.analyze("memory")["memory"]
        peaks = dict(zip(table["device"], table["peak_bytes"]))
        assert sorted(peaks.values()) == [70, 146, 1000, 1146]
        assert peaks["all together"] == 1146
        report = ts.profile_memory(trace).generate_report()
        assert report.peak_memory_usage == peaks.pop("all together")
        assert sorted(stats.peak_usage for stats in report.device_stats.values()) == sorted(peaks.values())
        assert report.device_stats[ts.MemoryEvent.HOST].peak_usage == peaks["host"] == 146
        labels = [text.get_text() for text in trace.plot.memory().get_legend().get_texts()]
        assert labels == [f"{place}, at most {ts.format_bytes(peak)}" for place, peak in peaks.items()]
        assert "host             146 B at most, 0 B now" in report.summary()
        assert json.loads(report.to_json())["device_stats"]["host"]["peak_usage"] == 146


def test_missing_packages_are_named_with_what_installs_them(simulated, monkeypatch):
    with ts.open(simulated) as trace:
        for package, use in (("matplotlib", trace.plot.timeline), ("pandas", trace.kernels.to_pandas),
                             ("pandas", trace.query("SELECT 1").to_pandas),
                             ("pandas", trace.analyze("overlap")["overlap"].to_pandas),
                             ("dask", lambda: tracesmith.dask.read_traces([simulated]))):
            monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
            for name in [name for name in sys.modules if name.startswith(package + ".")]:
                monkeypatch.delitem(sys.modules, name)
            with pytest.raises(ts.MissingPackageError, match=f"needs {package}.*pip install 'tracesmith\\[") as caught:
                use()
            assert isinstance(caught.value, ImportError) and caught.value.name == package
