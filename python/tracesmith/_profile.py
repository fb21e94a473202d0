# SPDX-License-Identifier: Apache-2.0
"""Recording from within: `with tracesmith.profile() as p:` and `tracesmith.annotate()`."""
from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, Union

from tracesmith import _core
from tracesmith._api import create_profiler
from tracesmith._core import PlatformType, ProfilerConfig, TracingConfig, TracingSession, annotate
from tracesmith._errors import InvalidArgumentError
from tracesmith._trace import Trace

__all__ = ["annotate", "mark", "profile"]

Function = TypeVar("Function", bound=Callable[..., Any])


def annotated(name: str, function: Function) -> Function:
    """What a function becomes under `@annotate(name)`."""

    @functools.wraps(function)
    def calling(*args: Any, **kwargs: Any) -> Any:
        with annotate(name):
            return function(*args, **kwargs)

    return calling  # type: ignore[return-value]


def mark(name: str) -> None:
    """Marks a moment of the program, where annotate() names a part of it."""
    _core.mark(name)


class profile:  # pylint: disable=invalid-name
    """Records this process: its annotations, and what it does on a device.

        with tracesmith.profile("run.sbt") as p:
            work()
        p.trace.query("SELECT name, duration_ns FROM range")

    `path`: where the trace goes, which can be read if the program dies; None: it is kept in memory.
    `platform`: whose work is captured; None: that of this machine's devices, if there are any
    that can be captured from within (`problem` says why not); PlatformType.Unknown: none.
    One at a time in a process. Children that it forks are recorded as well."""

    def __init__(
        self,
        path: Union[str, bytes, "os.PathLike[str]", None] = None,
        platform: PlatformType | None = None,
        config: ProfilerConfig | None = None,
    ) -> None:
        self._config = TracingConfig()
        if path is not None:
            self._config.output_file = os.path.abspath(os.fsdecode(path))
        self._wanted = platform
        self._profiler_config = config or ProfilerConfig()
        self._session = TracingSession()
        self._profiler: _core.Profiler | None = None
        self._trace: Trace | None = None
        self._active = False
        self.platform = PlatformType.Unknown
        """whose work is captured; Unknown: annotations alone"""
        self.problem = ""
        """why the device's work is not captured; "": it is, or was not asked for"""

    def start(self) -> profile:
        """As entering a `with` does. InvalidArgumentError: another one is active;
        UnsupportedError: a platform was asked for that can not be captured."""
        if _core.has_active_session():
            raise InvalidArgumentError("another profile() is active in this process", "profile")
        if self._trace is not None:  # of an earlier run; it may be in use
            self._session, self._trace = TracingSession(), None
        self._session.start(self._config)
        try:
            self._start_profiler()
        except BaseException:
            self._session.stop()
            raise
        _core.set_active_session(self._session)
        self._active = True
        return self

    def _start_profiler(self) -> None:
        platform = _core.detect_platform() if self._wanted is None else self._wanted
        if platform == PlatformType.Unknown:
            return
        profiler = create_profiler(platform)
        try:
            profiler.initialize(self._profiler_config)
            profiler.start_capture()
        except Exception as error:
            if self._wanted is not None:
                raise
            self.problem = str(error)
            return
        self._profiler, self.platform = profiler, platform

    def stop(self) -> None:
        """As leaving the `with` does; the second time does nothing."""
        if not self._active:
            return
        self._active = False
        _core.set_active_session(None)
        profiler, self._profiler = self._profiler, None
        try:
            if profiler is not None:
                profiler.stop_capture()
                for event in profiler.get_events():
                    self._session.emit(event)
                profiler.finalize()
        finally:
            self._session.stop()

    def __enter__(self) -> profile:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def trace(self) -> Trace:
        """What was recorded. InvalidArgumentError: it is still being recorded, or was never."""
        if self._trace is None:
            if self._active or not self._session.trace_path():
                raise InvalidArgumentError("there is a trace after stop(), or after the `with`", "profile.trace")
            in_memory = not self._config.output_file
            self._trace = Trace(self._session.trace_path(), self._session if in_memory else None)
        return self._trace
