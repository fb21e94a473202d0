# SPDX-License-Identifier: Apache-2.0
"""Plots of a trace with matplotlib, such as `trace.plot.timeline()`."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tracesmith import _core
from tracesmith._arguments import whole
from tracesmith._core import format_bytes, format_duration
from tracesmith._errors import InvalidArgumentError, NoDataError, needs
from tracesmith._flame import FlameBox
from tracesmith._table import Table
from tracesmith._texts import Texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracesmith._trace import Trace
    from tracesmith._verbs import TraceOrPath

__all__ = ["Plots"]

_COLUMNS = 1000  # of a timeline: more are not distinguishable
_NAME_WIDTH = 48
_PAGE_HEIGHT = 10.0  # inches
_ROWS = 24  # more do not fit onto a page: the others are folded into one
_COLOURS = ("#3d85c6", "#e69138", "#8e9aa6")  # seen on white and on black
_FLAME = ("#f6b26b", "#f9cb9c", "#ffd966", "#e99a6c", "#f4a582", "#fdc086")
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


def _legend_above(ax: Axes, columns: int) -> None:
    """Between title and axes, where it covers nothing."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False)


def _times(count: int, what: str, plural: str = "s") -> str:
    return f"{count:,} {what}{'' if count == 1 else plural}"


def _short(name: str) -> str:
    """Both ends of a long name: kernels often differ only at their end."""
    half = (_NAME_WIDTH - 1) // 2
    return name if len(name) <= _NAME_WIDTH else f"{name[:half]}…{name[-half:]}"


def _unit(longest_ns: float) -> tuple[float, str]:
    """The unit for an axis up to this time: its length in ns, and its name."""
    for length, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if longest_ns >= length:
            return length, name
    return 1.0, "ns"


class Plots:
    """The plots of `trace.plot`. Each draws on `ax` (None: on a new figure, at most a page high) and
    returns the axes; `.figure.savefig("x.svg")` or `"x.png"` writes them. Colours follow matplotlib's
    style, also a dark one: `with matplotlib.style.context("dark_background"): trace.plot.timeline()`.
    NoDataError: the trace has no such data; MissingPackageError: matplotlib is not installed."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @staticmethod
    def _axes(ax: Axes | None, rows: int) -> Axes:
        if ax is not None:
            return ax
        made: Axes
        height = min(_PAGE_HEIGHT, 1.4 + 0.32 * rows)
        _, made = needs("matplotlib.pyplot", "a picture").subplots(figsize=(10, height), layout="constrained")
        return made

    def _bars(self, ax: Axes | None, labels: list[str], parts: dict[str, list[float]], texts: list[str], title: str,
              meaning: str) -> Axes:
        """Horizontal bars of times in ns: for each label the parts, one after the other, then its text."""
        ax = self._axes(ax, len(labels))
        totals = np.sum([np.asarray(times, dtype=np.float64) for times in parts.values()], axis=0)
        length, unit = _unit(float(np.abs(totals).max(initial=0)))
        left = np.zeros(len(labels))
        for (name, times), colour in zip(parts.items(), _COLOURS):
            bars = ax.barh(range(len(labels)), np.asarray(times) / length, left=left, color=colour,
                           label=name if len(parts) > 1 else None)
            left = left + np.asarray(times) / length
        ax.bar_label(bars, [f" {text}" for text in texts])
        ax.set_yticks(range(len(labels)), [_short(label) for label in labels])
        ax.invert_yaxis()
        ax.set_xlim(0, max(1e-9, float(left.max())) * 1.4)  # room for the texts
        ax.set_xlabel(f"{unit} {meaning}".strip())
        ax.set_title(title, pad=26 if len(parts) > 1 else None)
        if len(parts) > 1:
            _legend_above(ax, len(parts))
        return ax

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
        rows: list[tuple[float, int, str, npt.NDArray[np.float64]]] = []
        names = self._trace._file.stream_names()
        for stream in sorted({int(stream) for _, table in work for stream in np.unique(table["stream_id"])}):
            for kind, table in work:
                here = table["stream_id"] == stream
                if here.any():
                    name = names[stream - 1] if 0 < stream <= len(names) else "no stream"
                    busy = busy_shares(table["start_ns"][here], table["duration_ns"][here], edges)
                    rows.append((float(busy.sum()), len(rows), f"{name}, {kind}", busy))
        busiest = sorted(sorted(rows, key=lambda row: -row[0])[: _ROWS - 1 if len(rows) > _ROWS else _ROWS],
                         key=lambda row: row[1])
        labels = [_short(label) for _, _, label, _ in busiest]
        shares = [busy for _, _, _, busy in busiest]
        if len(rows) > len(busiest):
            chosen = {number for _, number, _, _ in busiest}
            others = [busy for _, number, _, busy in rows if number not in chosen]
            labels.append(f"busiest of {len(others)} others")
            shares.append(np.max(others, axis=0))
        ax = self._axes(ax, len(labels))
        length, unit = _unit(end - begin)
        colours = needs("matplotlib.colors", "a picture")
        cells = colours.LinearSegmentedColormap.from_list("busy", [ax.get_facecolor(), _COLOURS[0]])
        image = ax.imshow(np.array(shares), aspect="auto", interpolation="nearest", cmap=cells, vmin=0, vmax=1,
                          extent=(0.0, (end - begin) / length, len(labels) - 0.5, -0.5))
        ax.set_yticks(range(len(labels)), labels)
        ax.set_xlabel(f"{unit} since the first work of a device")
        ax.set_title(f"{format_duration(end - begin)}, share of time in which each stream was busy")
        ax.figure.colorbar(image, ax=ax, format=lambda share, _: f"{share:.0%}", fraction=0.03, pad=0.01)
        return ax

    def kernels(self, count: int = 15, ax: Axes | None = None) -> Axes:
        """The `count` kernels with the longest total time over all launches. InvalidArgumentError: `count` is no
        positive number."""
        count = whole(count, "count", 1)
        names = self._trace.kernels["short_name"]
        if not isinstance(names, Texts) or len(names) == 0:
            raise NoDataError("no kernel is in the trace", self._trace.path)
        durations = self._trace.kernels["duration_ns"]
        named = names.codes >= 0
        totals = np.bincount(names.codes[named], weights=durations[named], minlength=len(names.categories))
        longest = np.argsort(totals)[::-1][:count]
        launches = np.bincount(names.codes[named], minlength=len(names.categories))
        share = totals[longest] / max(1.0, float(totals.sum()))
        return self._bars(ax, [names.categories[code] for code in longest], {"kernels": list(totals[longest])},
                          [f"{part:.1%}, {_times(times, 'launch', 'es')}" for part, times in zip(share, launches[longest])],
                          "Kernels by total time", "on the device, all launches")

    def operators(self, by: str = "operator", count: int = 15, ax: Axes | None = None) -> Axes:
        """The `count` operators with the longest device time, and what they launched in nested ones: the table of
        `trace.operators(by)`. Without device work the host's time."""
        table = self._trace.operators(by, limit=count)[f"operators_by_{by}"]
        side = "device"
        if "host_self_ns" in table.columns and not any(table["device_self_ns"]):
            side = "host"
        if len(table) == 0:
            raise NoDataError("no host range and no work of a device is in the trace", self._trace.path)
        own = [float(time) for time in table[f"{side}_self_ns"]]
        parts = {f"{side} time": own}
        if f"{side}_total_ns" in table.columns:
            totals = table[f"{side}_total_ns"]
            parts = {f"{side}, self": own, "in nested ranges": [max(0.0, total - self) for total, self in zip(totals, own)]}
        count_of, word = ("calls", "call") if "calls" in table.columns else ("launches", "launch")
        texts = [f"{format_duration(int(time))}, {_times(times, word, 'es' if word == 'launch' else 's')}"
                 for time, times in zip(own, table[count_of])]
        return self._bars(ax, list(table[by]), parts, texts,
                          "Time of steps" if by == "step" else f"Time by {by}, the longest {side} time first", "")

    def overlap(self, ax: Axes | None = None) -> Axes:
        """Combinations of kinds of work that ran at the same time, and for how long: the table `overlap` of
        `trace.analyze()`."""
        table = self._trace.analyze("overlap")["overlap"]
        if len(table) == 0:
            raise NoDataError("no work of a device is in the trace", self._trace.path)
        labels = [f"{device}: {running}" for device, running in zip(table["device"], table["running"])]
        return self._bars(ax, labels[:_ROWS], {"time": table["time_ns"][:_ROWS]},
                          [f"{share:.1%} of busy time" for share in table["share_of_busy"][:_ROWS]],
                          "Work that ran at the same time", "")

    def idle(self, ax: Axes | None = None) -> Axes:
        """Idle time of each stream between two operations, by its cause: the table `idle` of
        `trace.analyze()`."""
        table = self._trace.analyze("idle", limit=_ROWS)["idle"]
        rows = [dict(zip(table.columns, row)) for row in table if row[table.columns.index("idle_ns")]]
        if not rows:
            raise NoDataError("no idle time of a stream is in the trace", self._trace.path)
        parts = {text: [row[key] for row in rows] for text, key in (
            ("waits for the host", "host_wait_ns"), ("waits for a kernel", "kernel_wait_ns"), ("other causes", "other_ns"))}
        labels = [f"{row['device']}, stream {row['stream']}" for row in rows]
        return self._bars(ax, labels, parts, [f"{format_duration(row['idle_ns'])} in {_times(row['gaps'], 'gap')}" for row in rows],
                          "Idle time of streams, by cause", "of all gaps between two operations")

    def steps(self, ax: Axes | None = None) -> Axes:
        """The duration of each step, and how long devices were busy with its work: the table `steps` of
        `trace.analyze()`."""
        report = self._trace.analyze("steps", limit=0)
        if "steps" not in report or len(report["steps"]) == 0:
            raise NoDataError("no step is in the trace", self._trace.path)
        table = report["steps"]
        ax = self._axes(ax, 8)
        durations = np.asarray(table["duration_ns"], dtype=np.float64)
        length, unit = _unit(float(durations.max()))
        numbers = np.arange(len(durations)) + 1
        ax.step(numbers, durations / length, where="mid", color=_COLOURS[1],
                label=f"duration, median {format_duration(int(np.median(durations)))}")
        busy = np.asarray(table["busy_ns"], dtype=np.float64) / length
        ax.fill_between(numbers, busy, step="mid", color=_COLOURS[0], label="devices busy with work launched in it")
        if len(numbers) == 1:  # a line of one point would not be seen
            ax.bar(numbers, busy, color=_COLOURS[0])
            ax.hlines(durations / length, 0.6, 1.4, color=_COLOURS[1])
        ax.set_ylim(0, max(float(durations.max()) / length, float(busy.max())) * 1.1)
        ax.xaxis.set_major_locator(needs("matplotlib.ticker", "a picture").MaxNLocator(integer=True))
        ax.set_xlabel(f"step ({_short(str(table['step'][0]))} is 1)")
        ax.set_ylabel(unit)
        ax.set_title(f"{_times(len(durations), 'step')}", pad=26)
        _legend_above(ax, 2)
        return ax

    def compare(self, other: TraceOrPath, count: int = 15, ax: Axes | None = None) -> Axes:
        """The names with the largest change of their total time from this trace to `other`: the table
        `diff_names` of `trace.diff(other)`."""
        table = self._trace.diff(other, limit=whole(count, "count", 1))["diff_names"]
        if len(table) == 0:
            raise NoDataError("no name is in either trace", self._trace.path)
        ax = self._axes(ax, 2 * len(table))
        before, after = (np.asarray(table[side], dtype=np.float64) for side in ("total_a_ns", "total_b_ns"))
        length, unit = _unit(float(max(before.max(), after.max())))
        places = np.arange(len(table))
        ax.barh(places - 0.2, before / length, 0.4, color=_COLOURS[2], label="before")
        bars = ax.barh(places + 0.2, after / length, 0.4, color=_COLOURS[0], label="after")
        ax.bar_label(bars, [f" {status}" for status in table["status"]])
        ax.set_yticks(places, [_short(name or kind) for name, kind in zip(table["name"], table["kind"])])
        ax.invert_yaxis()
        ax.margins(x=0.15)
        ax.set_xlabel(f"{unit}, total")
        ax.set_title("Before and after, the largest change of the total first", pad=26)
        _legend_above(ax, 2)
        return ax

    def flame(self, by: str | None = None, depth: int = 20, ax: Axes | None = None) -> Axes:
        """A flame graph: a box for each call path, as wide as its weight, its callers below it.

        `by`: device-time, host-time or bytes, of call stacks (`profile --stacks`); None: the time of ranges,
        calls and device work. `depth`: the levels that are drawn. The stacks are those of
        `trace.export("x.folded")`."""
        if by not in (None, "device-time", "host-time", "bytes"):
            raise InvalidArgumentError(f"'{by}' is none of device-time, host-time, bytes", "by")
        root = FlameBox.of(_core.folded(self._trace._file, by or ""))
        if root.weight <= 0:
            raise NoDataError("nothing with a duration is in the trace", self._trace.path)
        boxes = [box for box in root.boxes() if box.level < depth and box.weight >= root.weight / _COLUMNS]
        ax = self._axes(ax, max(box.level for box in boxes) + 1)
        shown = format_bytes if by == "bytes" else format_duration
        for box in boxes:
            colour = _FLAME[sum(map(ord, box.name)) % len(_FLAME)]  # the same name, the same colour
            ax.barh(box.level, box.weight, 0.95, left=box.start, color=colour, edgecolor=ax.get_facecolor(), linewidth=0.5)
            letters = int(box.weight / root.weight * 118)
            if letters >= 4:
                text = box.name if len(box.name) <= letters else box.name[: letters - 1] + "…"
                ax.text(box.start + box.weight / 2, box.level, text, ha="center", va="center", fontsize=8, color="black",
                        clip_on=True)
        ax.set_xlim(0, root.weight)
        ax.set_yticks([])
        ax.xaxis.set_major_formatter(lambda weight, _: shown(int(max(0, weight))))
        ax.set_title(f"{shown(int(root.weight))} {'' if by is None else 'by ' + by.replace('-', ' ')}".strip()
                     + (f", the first {depth} levels" if root.height() > depth else ""))
        return ax

    def memory(self, ax: Axes | None = None) -> Axes:
        """Allocated bytes over time, for each device and the host. The peaks are those of
        `trace.analyze("memory")`. Memory that was allocated before the trace is not included."""
        curves = self._trace._file.memory()
        if not curves:
            raise NoDataError("no allocation is in the trace", self._trace.path)
        ax = self._axes(ax, 8)
        begin = min(int(times[0]) for _, times, _ in curves)
        most = max(int(totals.max()) for _, _, totals in curves)
        power = min(4, max(0, most.bit_length() - 1) // 10)
        length, unit = _unit(max(int(times[-1]) for _, times, _ in curves) - begin)
        for place, times, totals in curves:
            ax.step((times - begin) / length, totals / 1024**power, where="post",
                    label=f"{place}, at most {format_bytes(int(totals.max()))}")
        ax.set_ylim(bottom=0)
        ax.set_ylabel(("B", "KiB", "MiB", "GiB", "TiB")[power])
        ax.set_xlabel(f"{unit} since the first allocation")
        ax.set_title("Allocated memory")
        ax.legend()
        return ax
