# SPDX-License-Identifier: Apache-2.0
"""Plots of a trace with matplotlib, such as `trace.plot.timeline()`."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tracesmith._core import format_bytes, format_duration
from tracesmith._errors import NoDataError, needs
from tracesmith._table import Table
from tracesmith._texts import Texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracesmith._trace import Trace

__all__ = ["Plots"]

_COLUMNS = 1000  # of a timeline: more are not distinguishable
_NAME_WIDTH = 48
Times = npt.NDArray[np.int64]


def busy_shares(starts: Times, durations: Times, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The covered share of each interval between `edges` (ns, rising), 0 to 1: float64 [edges - 1].

    Exact if no two spans overlap, else limited to 1. The covered time up to x is the sum of x - start
    over the spans that started before x, minus the sum of x - end over those that ended before x."""

    def before(times: Times) -> npt.NDArray[np.float64]:
        ordered = np.sort(times)
        sums = np.concatenate(([0.0], np.cumsum(ordered - edges[0], dtype=np.float64)))
        count = np.searchsorted(ordered, edges)
        return np.asarray(count * (edges - edges[0]) - sums[count], dtype=np.float64)

    covered = before(starts) - before(starts + durations)
    return np.clip(np.diff(covered) / np.diff(edges), 0, 1)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else name[: _NAME_WIDTH - 1] + "…"


class Plots:
    """The plots of `trace.plot`. Each draws on `ax` (None: on a new figure) and returns the axes.
    NoDataError: the trace has no such data; MissingPackageError: matplotlib is not installed."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @staticmethod
    def _axes(ax: Axes | None, rows: int) -> Axes:
        if ax is not None:
            return ax
        made: Axes
        _, made = needs("matplotlib.pyplot", "a picture").subplots(figsize=(10, 1.2 + 0.32 * rows), layout="constrained")
        return made

    def _work(self) -> list[tuple[str, Table]]:
        return [(kind, table) for kind, table in (("kernels", self._trace.kernels), ("copies", self._trace.copies),
                                                  ("fills", self._trace.fills)) if len(table) > 0]

    def timeline(self, ax: Axes | None = None) -> Axes:
        """Streams as rows over time. A darker cell was busy for a larger share of its time."""
        work = self._work()
        if not work:
            raise NoDataError("no work of a device is in the trace", self._trace.path)
        begin = min(int(table["start_ns"].min()) for _, table in work)
        end = max(int((table["start_ns"] + table["duration_ns"]).max()) for _, table in work)
        edges = np.linspace(begin, max(end, begin + 1), _COLUMNS + 1)
        labels, shares = [], []
        names = self._trace._file.stream_names()
        for stream in sorted({int(stream) for _, table in work for stream in np.unique(table["stream_id"])}):
            for kind, table in work:
                here = table["stream_id"] == stream
                if here.any():
                    name = names[stream - 1] if 0 < stream <= len(names) else "no stream"
                    labels.append(f"{name}, {kind}")
                    shares.append(busy_shares(table["start_ns"][here], table["duration_ns"][here], edges))
        ax = self._axes(ax, len(labels))
        ax.imshow(np.array(shares), aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=1,
                  extent=(0.0, (end - begin) / 1e6, len(labels) - 0.5, -0.5))
        ax.set_yticks(range(len(labels)), labels)
        ax.set_xlabel("ms since the first work of a device")
        ax.set_title(f"{format_duration(end - begin)}, share of time in which each stream was busy")
        return ax

    def kernels(self, count: int = 15, ax: Axes | None = None) -> Axes:
        """The `count` kernels with the longest total time over all launches."""
        names = self._trace.kernels["name"]
        if not isinstance(names, Texts) or len(names) == 0:
            raise NoDataError("no kernel is in the trace", self._trace.path)
        durations = self._trace.kernels.duration_ns
        named = names.codes >= 0
        totals = np.bincount(names.codes[named], weights=durations[named], minlength=len(names.categories))
        longest = np.argsort(totals)[::-1][:count]
        launches = np.bincount(names.codes[named], minlength=len(names.categories))
        ax = self._axes(ax, len(longest))
        bars = ax.barh(range(len(longest)), totals[longest] / 1e6, color="tab:blue")
        share = totals[longest] / max(1.0, float(totals.sum()))
        ax.bar_label(bars, [f" {part:.1%}, {times} launches" for part, times in zip(share, launches[longest])])
        ax.set_yticks(range(len(longest)), [_short(names.categories[code]) for code in longest])
        ax.invert_yaxis()
        ax.margins(x=0.25)
        ax.set_xlabel("ms on the device, all launches")
        ax.set_title("Kernels by total time")
        return ax

    def overlap(self, ax: Axes | None = None) -> Axes:
        """Combinations of kinds of work that ran at the same time, and for how long: the table `overlap` of
        `trace.analyze()`."""
        table = self._trace.analyze("overlap")["overlap"]
        if len(table) == 0:
            raise NoDataError("no work of a device is in the trace", self._trace.path)
        labels = [f"{device}\n{running}" for device, running in zip(table["device"], table["running"])]
        ax = self._axes(ax, 2 * len(labels))
        bars = ax.barh(range(len(labels)), [time / 1e6 for time in table["time_ns"]], color="tab:blue")
        ax.bar_label(bars, [f" {share:.1%} of busy time" for share in table["share_of_busy"]])
        ax.set_yticks(range(len(labels)), labels)
        ax.invert_yaxis()
        ax.margins(x=0.25)
        ax.set_xlabel("ms")
        ax.set_title("Work that ran at the same time")
        return ax

    def memory(self, ax: Axes | None = None) -> Axes:
        """Allocated bytes over time, for each device and the host. The peaks are those of
        `trace.analyze("memory")`. Memory that was allocated before the trace is not included."""
        curves = self._trace._file.memory()
        if not curves:
            raise NoDataError("no allocation is in the trace", self._trace.path)
        ax = self._axes(ax, 8)
        begin = min(int(times[0]) for _, times, _ in curves)
        for place, times, totals in curves:
            ax.step((times - begin) / 1e6, totals, where="post",
                    label=f"{place}, at most {format_bytes(int(totals.max()))}")
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(lambda value, _: format_bytes(int(max(0, value))))
        ax.set_xlabel("ms since the first allocation")
        ax.set_title("Allocated memory")
        ax.legend()
        return ax
