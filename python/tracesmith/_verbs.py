# SPDX-License-Identifier: Apache-2.0
"""What can be done with a trace, as methods: comparisons, predictions, checks and exports. The numbers
are those of the command, because both call the same functions."""
from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Iterable, Mapping, Union

from tracesmith import _core
from tracesmith._arguments import factor, factors, names, whole
from tracesmith._errors import InvalidArgumentError, UnsupportedError
from tracesmith._report import Report, checked_limit
from tracesmith._studio import ReportFile, Studio, write_report

if TYPE_CHECKING:
    from tracesmith._trace import Trace

__all__ = ["Verbs"]

PathLike = Union[str, bytes, "os.PathLike[str]"]
TraceOrPath = Union["Trace", PathLike]
Names = Union[str, Iterable[str]]

_WAYS = ("", "device-time", "host-time", "launches", "bytes")


class Verbs:
    """The methods of a trace that answer a question about it."""

    _path: str

    @property
    def _file(self) -> _core.TraceFile:
        raise NotImplementedError

    def analyze(self, *parts: str, limit: int = 15) -> Report:
        """The analyses of `tracesmith analyze`, as tables (docs/analysis.md): utilisation, idle time and
        its causes, overlap, launches, steps, the critical path. `parts`: their option names ("gpu-util",
        "idle", ...); none: all parts. `limit`: the number of rows in tables by name; 0: all rows.
        InvalidArgumentError: there is no such part."""
        return Report(self._file.analyze(list(parts), checked_limit(limit)))

    def operators(self, by: str = "operator", *, sort: str | None = None, limit: int = 15) -> Report:
        """Device and host time of each operator, as `tracesmith analyze --operators` shows it
        (docs/operators.md): the table `operators_by_...`. `by`: operator, module, family, stack, step, stream
        or device. `sort`: device-self, device-total, host-self, host-total or calls; None: device-self, or
        host-self in a trace without device work. `limit`: the number of rows; 0: all.
        InvalidArgumentError: there is no such `by` or `sort`."""
        return Report(self._file.operators(by, sort or "", checked_limit(limit)))

    def findings(self, *, predict: bool = True) -> Report:
        """What the run loses most time to, or why it cannot be trusted (docs/findings.md): the tables "verdict",
        "findings", the most important first, and "not_checked". `predict`: also predicts gains, which takes
        most of the time. Races are found if the recording lies beside the trace; nothing is executed."""
        return Report(self._file.findings(self._path, predict))

    def stragglers(self) -> Report:
        """Ranks and connections that the others of a job wait for, of a trace of several ranks
        (`tracesmith merge`, docs/communication.md): the tables "stragglers", those that cost most first, and
        "job_time". Durations alone count, so the ranks' clocks need not have been compared. Times are in ns,
        shares parts of the job's length."""
        return Report(self._file.stragglers())

    def diff(self, other: TraceOrPath | Iterable[TraceOrPath], *, runs: Iterable[TraceOrPath] = (),
             limit: int = 25) -> Report:
        """What changed from this trace to `other`, as `tracesmith diff` says it (docs/analysis.md): kernels,
        copies and calls that appeared, vanished, or became slower or faster, and how certain that is.

        `other`: a trace, a path, or several of them, which are runs of the same program. `runs`: more runs
        of the program of this trace. With several runs of each side, the result holds for the programs,
        not only for these runs. `limit`: the number of rows in the table by name; 0: all."""
        before = [_opened(self), *(_opened(run) for run in runs)]
        if not _is_one(other) and not isinstance(other, Iterable):
            raise InvalidArgumentError(f"must be a trace, a path, or several of them, not {other!r}", "other")
        after = [_opened(run) for run in ([other] if _is_one(other) else other)]  # type: ignore[union-attr]
        if not after:
            raise InvalidArgumentError("no trace to compare with", "other")
        paths = [trace.path for trace in (*before, *after)]
        return Report(_core.diff([trace._file for trace in before], [trace._file for trace in after], paths,
                                 checked_limit(limit)))

    def whatif(self, *, scale: Mapping[str, float] | None = None, remove: Names = (), fuse: Names = (),
               bandwidth: float | Mapping[str, float] | None = None, streams: int | None = None,
               allow_unmatched: bool = False, check: bool = True, limit: int = 15) -> Report:
        """Predicts the run time after a change, as `tracesmith whatif` does (docs/whatif.md). Without
        changes: how well the model fits this trace.

            trace.whatif(scale={"kernel=gemm": 0.5}, bandwidth={"h2d": 2})

        `scale`: factors of durations, by kernel=REGEX, copy=REGEX, fill=REGEX, call=REGEX, a REGEX for
        all device work, or host. `remove`, `fuse`: the work, in the same form. `bandwidth`: a factor for
        all copies, or by direction: h2d, d2h, d2d, p2p. `streams`: spreads each device's work over so
        many. `allow_unmatched`: keeps the recorded start of work whose launch is not in the trace.
        `check`: also estimates the model's error. `limit`: the rows of a table; 0: all.
        InvalidArgumentError: a change makes no sense, or matches nothing."""
        if streams is not None:
            streams = whole(streams, "streams", 1, 1024)
        if bandwidth is None:
            speeds = []
        elif isinstance(bandwidth, Mapping):
            speeds = [f"{direction}={number!r}" for direction, number in factors(bandwidth, "bandwidth", "{'h2d': 2}")]
        else:
            speeds = [repr(factor(bandwidth, "bandwidth"))]
        scales = [f"{what}:{number!r}" for what, number in factors(scale or {}, "scale", "{'kernel=gemm': 0.5}")]
        return Report(_core.what_if(self._file, scales, names(remove, "remove"), names(fuse, "fuse"), speeds, streams,
                                    allow_unmatched, check, checked_limit(limit)))

    def races(self, *, possible: bool = False, confirm: bool = False, replays: int = 50, device: str = "",
              step_limit_s: float = 60) -> Report:
        """Commands that race because a wait is missing, as `tracesmith races` finds them (docs/races.md):
        one table, `races`. The trace must have been made with `profile --record`; NotFoundError: there is
        no recording.

        `possible`: also races for which nothing shows that both use the same bytes. `confirm`: replays the
        commands of each race in both orders, in a child process, with at most `replays` replays on
        `device` (a number or a part of its name; "": the recorded one). Confirm only recordings that you
        trust as you trust the program."""
        if (replays := whole(replays, "replays", 0)) < 6:
            raise InvalidArgumentError("is below 6", "replays")
        self._file  # pylint: disable=pointless-statement # ClosedError
        limits = _core.RaceTrialLimits(min(replays, 1_000_000), device, step_limit_s) if confirm else None
        return Report(_core.races(self._path, possible, limits))

    def determinism(self, *, runs: int | None = None, seed: int = 1, device: str = "", step_limit_s: float = 60,
                    pid: int | None = None) -> Report:
        """Launches whose results vary, and why, as `tracesmith determinism` finds them
        (docs/determinism.md). Executes the recording many times, in child processes: use it only for
        recordings that you trust as you trust the program. NotFoundError: there is no recording.

        `runs`: of each launch from equal inputs, at least 10. `pid`: the process; None: the one with the
        most launches. `device`: as for races()."""
        if runs is not None:
            runs = whole(runs, "runs", 10, 1_000_000)
        self._file  # pylint: disable=pointless-statement # ClosedError
        return Report(_core.determinism(self._path, runs, seed, device, step_limit_s, pid))

    def report(self, path: PathLike, format: str | None = None) -> ReportFile:  # pylint: disable=redefined-builtin
        """Writes findings, timeline and tables as one file, as `tracesmith report` does; a notebook shows the
        result.

        `format`: html (a page that needs no network) or md (Markdown); None: what the path's extension says."""
        self._file  # pylint: disable=pointless-statement # ClosedError
        return write_report(self._path, os.fsdecode(path), format)

    def studio(self, before: PathLike | None = None, *, browser: bool = True, port: int | None = None) -> Studio:
        """Starts `tracesmith studio` for the trace, and opens the browser.

        `before`: an earlier trace to compare it with. `browser`: False only starts the server; the result has
        the address. `port`: None takes any free one."""
        self._file  # pylint: disable=pointless-statement # ClosedError
        files = [] if before is None else [os.fsdecode(before)]
        return Studio([*files, self._path], browser, None if port is None else whole(port, "port", 1, 65535))

    def export(self, path: PathLike, format: str | None = None, *,  # pylint: disable=redefined-builtin
               table: str = "kernel", by: str | None = None, from_ns: int | None = None, to_ns: int | None = None,
               counters: bool = True, flows: bool = True, full: bool = False, all_frames: bool = False) -> None:
        """Writes the trace in another format, as `tracesmith export` does, completely or not at all.

        `format`: perfetto, json, csv, speedscope, folded, dot or sbt; None: what the path's extension says,
        else perfetto. `table`: the table of a CSV file. `by`: device-time, host-time, launches or bytes, for flame
        graphs of call stacks (speedscope, folded). `from_ns`, `to_ns`: times as in the tables; other events
        are left out. `full`: includes attributes that differ for every event. RuntimeWarning: what the
        export lacks of the trace."""
        if (by or "") not in _WAYS:
            raise InvalidArgumentError(f"'{by}' is none of {', '.join(_WAYS[1:])}", "by")
        if os.fsdecode(path).endswith(".parquet"):
            raise UnsupportedError("TraceSmith does not write Parquet; pyarrow does: "
                                   "pyarrow.parquet.write_table(trace.kernels.to_arrow(), path)", os.fsdecode(path))
        lacks = _core.export_file(self._file, self._path, path, format or "", table, by or "", from_ns, to_ns, counters,
                                  flows, full, all_frames)
        for lacking in lacks:
            warnings.warn(lacking, RuntimeWarning, stacklevel=2)


def _is_one(other: object) -> bool:
    return isinstance(other, (str, bytes, os.PathLike, Verbs))


def _opened(trace: object) -> Trace:
    from tracesmith._trace import Trace  # pylint: disable=import-outside-toplevel,cyclic-import

    return trace if isinstance(trace, Trace) else Trace(trace)  # type: ignore[arg-type]
