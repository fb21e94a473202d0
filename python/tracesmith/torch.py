# SPDX-License-Identifier: Apache-2.0
"""PyTorch: `torch.profiler` and TraceSmith's own recording, joined in one trace.

    import tracesmith.torch
    with tracesmith.torch.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)) as p:
        for batch in batches:
            train(batch)
            p.step()
    p.trace.query("SELECT name, duration_ns FROM range WHERE category = 'cpu_op'")

Works without a GPU, with torch's operators on the CPU.
"""
from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, Union, overload

from tracesmith._errors import InvalidArgumentError, needs

needs("torch.profiler", "tracesmith.torch")

# pylint: disable=wrong-import-position
import torch.profiler  # noqa: E402

from tracesmith import _core  # noqa: E402
from tracesmith._core import PlatformType, TraceEvent  # noqa: E402
from tracesmith._profile import profile as _profile  # noqa: E402
from tracesmith._trace import Trace  # noqa: E402

__all__ = ["Traces", "profile"]


class Traces(Sequence[Trace]):
    """Traces in the order in which they were written. A file is opened on access. It is closed when the
    last reference to its trace is gone, except for the latest trace. So there may be any number."""

    def __init__(self) -> None:
        self._paths: list[Path] = []
        self._keeps: object = None
        self._in_use: weakref.WeakValueDictionary[int, Trace] = weakref.WeakValueDictionary()
        self._latest: Trace | None = None

    def _add(self, path: Path, keeps: object) -> None:
        self._paths.append(path)
        self._keeps = keeps
        self._latest = None

    def __len__(self) -> int:
        return len(self._paths)

    @overload
    def __getitem__(self, index: int) -> Trace: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trace]: ...
    def __getitem__(self, index: int | slice) -> Trace | list[Trace]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        trace = self._in_use.get(place)
        if trace is None or trace._open is None:
            trace = self._in_use[place] = Trace(self._paths[place], self._keeps)
        if place == len(self) - 1:
            self._latest = trace
        return trace

    def __repr__(self) -> str:
        return f"<{len(self)} traces>"


class profile(torch.profiler.profile):  # type: ignore[misc]  # pylint: disable=invalid-name
    """torch.profiler.profile that also writes a TraceSmith trace at each `on_trace_ready`.

    It takes the arguments of torch's profile (`schedule`, `activities`, `record_shapes`, …) and works at
    the same steps. The trace has torch's operators. For the recorded steps it also has
    `tracesmith.annotate()` and `mark()`, and the work of devices that torch does not record itself.
    All times are on torch's clock. The two recordings are joined by Unix time, which torch derives from
    the processor's counter: within some microseconds.

    `path`: file of the traces (run.sbt, run-2.sbt, …); None: in a temporary folder, which is removed
    together with this object and its traces. `platform`: the platform that TraceSmith records; None:
    that of this machine's devices, but none if torch records a GPU itself; PlatformType.Unknown: none.

    If another tracesmith.profile() is active, annotations go to that one, and `problem` says so."""

    def __init__(
        self,
        *,
        on_trace_ready: Callable[..., Any] | None = None,
        path: Union[str, "os.PathLike[str]", None] = None,
        platform: PlatformType | None = None,
        **how: Any,
    ) -> None:
        super().__init__(on_trace_ready=self._ready, **how)
        self._then = on_trace_ready
        self._path = None if path is None else Path(path).absolute()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if platform is None and torch.cuda.is_available():
            activities = how.get("activities")
            if activities is None or torch.profiler.ProfilerActivity.CUDA in activities:
                platform = PlatformType.Unknown
        self._platform = platform
        self._capture: _profile | None = None
        self._document: Path | None = None
        self._made = 0  # number of on_trace_ready calls
        self.traces = Traces()
        """one for each `on_trace_ready`, the latest last"""
        self.problem = ""
        """the latest problem: missing data or a missing trace, and why; "": none"""

    @property
    def trace(self) -> Trace:
        """The latest trace. InvalidArgumentError: none is ready yet."""
        if not self.traces:
            raise InvalidArgumentError(
                "no trace is ready yet: the schedule decides when, at the latest after the `with`", "torch.profile.trace")
        return self.traces[-1]

    def start_trace(self) -> None:
        """Called by torch when the active steps start."""
        capture = _profile(platform=self._platform)
        try:
            self._capture = capture.start()
            self.problem = capture.problem or self.problem
        except InvalidArgumentError:
            self.problem = "another tracesmith.profile() is active: annotations go there"
        super().start_trace()

    def stop_trace(self) -> None:
        """Called by torch when the active steps have ended."""
        super().stop_trace()
        if self._capture is not None:
            try:
                self._capture.stop()
            except Exception as error:  # pylint: disable=broad-exception-caught
                self.problem = str(error)
            self.problem = self._capture.problem or self.problem

    def export_chrome_trace(self, path: str, *rest: Any, **named: Any) -> Any:
        """Writes torch's document. Torch can write it only once, so later calls copy the first file."""
        if self._document is None:
            return super().export_chrome_trace(path, *rest, **named)
        with open(self._document, "rb") as source:
            with gzip.open(path, "wb") if str(path).endswith(".gz") else open(path, "wb") as target:
                shutil.copyfileobj(source, target)
        return None

    def _ready(self, _: object) -> None:
        self._made += 1
        capture, self._capture = self._capture, None
        try:
            self._join(capture)
        except Exception as error:  # must not end a training  pylint: disable=broad-exception-caught
            self.problem = f"trace {self._made} was not made: {error}"
        if self._then is not None:
            self._then(self)

    def _join(self, capture: _profile | None) -> None:
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="tracesmith-torch-")
        document = Path(self._temporary.name, f"{self._made}.json")
        earlier, self._document = self._document, None
        if earlier is not None:
            earlier.unlink(missing_ok=True)
        super().export_chrome_trace(str(document))
        self._document = document
        events: list[TraceEvent] = []
        counters: list[_core.CounterEvent] = []
        if capture is not None:
            lost = capture.trace.query("SELECT source || ': ' || coalesce(reason, '') FROM loss WHERE dropped > 0")
            self.problem = "; ".join(row[0] for row in lost) or self.problem
            events, counters = capture._session.get_events(), capture._session.get_counters()
        if self._path is None:
            output = document.with_suffix(".sbt")
        else:
            number = "" if self._made == 1 else f"-{self._made}"
            output = self._path.with_name(f"{self._path.stem}{number}{self._path.suffix}")
        _core.join_events(document, events, counters, _unix_minus_monotonic(), output)
        self.traces._add(output, self._temporary if self._path is None else None)


def _unix_minus_monotonic() -> int:
    """Difference of the clocks in ns, from the fastest of several readings."""
    best = (1 << 62, 0)
    for _ in range(9):
        before = time.monotonic_ns()
        now = time.time_ns()
        after = time.monotonic_ns()
        best = min(best, (after - before, now - (before + after) // 2))
    return best[1]
