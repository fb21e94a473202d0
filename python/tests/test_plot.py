# SPDX-License-Identifier: Apache-2.0
"""trace.plot: what the pictures show."""
import numpy as np
import pytest

import tracesmith as ts
from tracesmith._plot import busy_shares

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


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
        assert [label.get_text() for label in timeline.get_yticklabels()][0].startswith("stream 1")
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


def test_nothing_to_draw():
    with ts.profile(platform=ts.PlatformType.Unknown) as p:
        pass
    for draw in (p.trace.plot.timeline, p.trace.plot.kernels, p.trace.plot.overlap, p.trace.plot.memory):
        with pytest.raises(ts.NotFoundError, match="is in the trace"):
            draw()
