# SPDX-License-Identifier: Apache-2.0
"""PyTorch: `torch.profiler`, and what TraceSmith records meanwhile, as one trace.

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
from pathlib import Path
from typing import Any, Callable, Union

import torch.profiler

from tracesmith import _core
from tracesmith._core import PlatformType, TraceEvent
from tracesmith._errors import InvalidArgumentError
from tracesmith._profile import profile as _profile
from tracesmith._trace import Trace

__all__ = ["profile"]


class profile(torch.profiler.profile):  # type: ignore[misc]  # pylint: disable=invalid-name
    """torch.profiler.profile with a trace of ours at each `on_trace_ready`.

    Takes all that torch's takes, and does it at the same steps: `schedule`, `activities`,
    `record_shapes`, … The trace has torch's operators and, of the steps that it records,
    `tracesmith.annotate()` and `mark()`, and what is done on a device that torch does not record
    itself. All of it is on torch's clock; the two are joined by Unix time, which torch works out from
    the processor's counter: within some microseconds.

    `path`: where traces go (run.sbt, run-2.sbt, …); None: into a temporary folder, which goes when
    this and its traces do. `platform`: whose work TraceSmith records; None: that of this machine's
    devices, but nothing where torch records a GPU itself; PlatformType.Unknown: none.

    Where another tracesmith.profile() is active, annotations go to that one, and `problem` says so."""

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
        self.traces: list[Trace] = []
        """one for each time that torch's was ready, the latest last"""
        self.problem = ""
        """why something is not recorded; "": nothing is missing"""

    @property
    def trace(self) -> Trace:
        """The latest. InvalidArgumentError: none is ready yet."""
        if not self.traces:
            raise InvalidArgumentError("no trace is ready: it is when the schedule says so, or after the `with`",
                                       "torch.profile.trace")
        return self.traces[-1]

    def start_trace(self) -> None:
        """As torch calls it when the active steps begin."""
        if _core.has_active_session():
            self.problem = "another tracesmith.profile() is active: annotations go there"
        else:
            self._capture = _profile(platform=self._platform).start()
            self.problem = self._capture.problem
        super().start_trace()

    def stop_trace(self) -> None:
        """As torch calls it when they are over."""
        super().stop_trace()
        if self._capture is not None:
            self._capture.stop()

    def export_chrome_trace(self, path: str, *rest: Any, **named: Any) -> Any:
        """As torch's, which can be written only once, and was."""
        if self._document is None:
            return super().export_chrome_trace(path, *rest, **named)
        with open(self._document, "rb") as source:
            with gzip.open(path, "wb") if str(path).endswith(".gz") else open(path, "wb") as target:
                shutil.copyfileobj(source, target)
        return None

    def _ready(self, _: object) -> None:
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="tracesmith-torch-")
        number = len(self.traces) + 1
        document = Path(self._temporary.name, f"{number}.json")
        self._document = None
        super().export_chrome_trace(str(document))
        self._document = document
        events: list[TraceEvent] = []
        counters: list[_core.CounterEvent] = []
        if self._capture is not None:
            events, counters = self._capture._session.get_events(), self._capture._session.get_counters()
            self._capture = None
        if self._path is None:
            output = document.with_suffix(".sbt")
        else:
            output = self._path if number == 1 else self._path.with_name(f"{self._path.stem}-{number}{self._path.suffix}")
        _core.join_events(document, events, counters, _unix_minus_monotonic(), output)
        self.traces.append(Trace(output, self._temporary if self._path is None else None))
        if self._then is not None:
            self._then(self)


def _unix_minus_monotonic() -> int:
    """ns; of some tries the one that took the shortest."""
    best = (1 << 62, 0)
    for _ in range(9):
        before = time.monotonic_ns()
        now = time.time_ns()
        after = time.monotonic_ns()
        best = min(best, (after - before, now - (before + after) // 2))
    return best[1]
