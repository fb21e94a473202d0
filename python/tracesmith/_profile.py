# SPDX-License-Identifier: Apache-2.0
"""Recording the own process: `with tracesmith.profile() as p:` and `tracesmith.annotate()`."""
from __future__ import annotations

import atexit
import functools
import inspect
import os
import threading
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
    """Wraps a function for `@annotate(name)`, as if a `with` were around its body.

    A coroutine's range lasts from its first step to its end, waiting included. A generator's range lasts
    from the first requested item until the generator is exhausted or closed."""
    calling: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def calling(*args: Any, **kwargs: Any) -> Any:
            with annotate(name):
                return await function(*args, **kwargs)

    elif inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def calling(*args: Any, **kwargs: Any) -> Any:
            with annotate(name):
                items = function(*args, **kwargs)
                try:
                    item = await items.__anext__()
                    while True:
                        try:
                            sent = yield item
                        except GeneratorExit:
                            await items.aclose()
                            raise
                        except BaseException as error:  # pylint: disable=broad-exception-caught
                            item = await items.athrow(error)
                        else:
                            item = await items.asend(sent)
                except StopAsyncIteration:
                    return

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def calling(*args: Any, **kwargs: Any) -> Any:
            with annotate(name):
                return (yield from function(*args, **kwargs))

    else:

        @functools.wraps(function)
        def calling(*args: Any, **kwargs: Any) -> Any:
            with annotate(name):
                return function(*args, **kwargs)

    return calling  # type: ignore[return-value]


def mark(name: str) -> None:
    """Records a marker: a named moment. (annotate() records a named range.)"""
    _core.mark(name)


class profile:  # pylint: disable=invalid-name
    """Records this process: its annotations and its device work.

        with tracesmith.profile("run.sbt") as p:
            work()
        p.trace.query("SELECT name, duration_ns FROM range")

    `path`: the trace file, which is readable even if the program dies; None: the trace is kept in memory.
    `platform`: the platform to capture; None: that of this machine's devices, if they can be captured
    from within (`problem` says why not); PlatformType.Unknown: none.
    Only one can be active in a process. Forked children are recorded as well."""

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
        self._feed: _core.DeviceFeed | None = None
        self._trace: Trace | None = None
        self._owner = 0  # pid of the process that started it
        self._active = False
        self.platform = PlatformType.Unknown
        """the captured platform; Unknown: only annotations"""
        self.problem = ""
        """why device work is not captured, or not completely; "": it is captured, or was not requested"""

    @staticmethod
    def active() -> profile | None:
        """The active profile of this process; None: there is none."""
        return _running

    def start(self) -> profile:
        """Starts recording, like entering a `with`. It stays active until stop(), or the end of the program.
        InvalidArgumentError: another profile is active; UnsupportedError: the requested platform cannot
        be captured."""
        global _running  # pylint: disable=global-statement
        if not _one.acquire(blocking=False):
            raise InvalidArgumentError(
                "another profile() is active in this process; tracesmith.profile.active().stop() ends it", "profile")
        try:
            # The trace of an earlier run may still be in use: replace it, do not change it.
            self._session, self._trace = TracingSession(), None
            self.platform, self.problem = PlatformType.Unknown, ""
            self._session.start(self._config)
            try:
                self._start_profiler()
            except BaseException:
                self._session.stop()
                raise
        except BaseException:
            _one.release()
            raise
        self._owner, self._active = os.getpid(), True
        _running = self
        _core.set_active_session(self._session)
        return self

    def _start_profiler(self) -> None:
        platform = _core.detect_platform() if self._wanted is None else self._wanted
        if platform == PlatformType.Unknown:
            return
        profiler = create_profiler(platform)
        try:
            profiler.initialize(self._profiler_config)
            profiler.start_capture()
            feed = _core.DeviceFeed(profiler, self._session)
            feed.start()
        except Exception as error:
            profiler.finalize()
            if self._wanted is not None:
                raise
            self.problem = str(error)
            return
        self._profiler, self._feed, self.platform = profiler, feed, platform

    def stop(self) -> None:
        """Stops recording, like leaving the `with`. A second call does nothing. The recorded events are in
        the trace even if an error is raised. UnsupportedError: the requested platform was not captured,
        or not to the end; IoError, NoSpaceError: the trace could not be written.

        In a forked child, it ends only the child's part; the parent's profile continues."""
        global _running  # pylint: disable=global-statement
        if not _core.end_active_session(self._session):
            return
        try:
            if self._owner == os.getpid():
                self._end()
        finally:
            self._active = False
            _running = None
            _one.release()

    def _end(self) -> None:
        failed = None
        try:
            failed = self._end_profiler()
        finally:
            self._session.stop()
        if failed is not None:
            self.problem = str(failed)
            if self._wanted is not None:
                raise failed

    def _end_profiler(self) -> Exception | None:
        """Stops the capture of device work. Returns the reason why it is incomplete; None: it is complete."""
        profiler, feed = self._profiler, self._feed
        self._profiler = self._feed = None
        if profiler is None or feed is None:
            return None
        failed = None
        try:
            profiler.stop_capture()
        except Exception as error:  # pylint: disable=broad-exception-caught
            failed = error
        feed.stop()
        profiler.finalize()
        return failed

    def __enter__(self) -> profile:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception as failure:
            if error is None:
                raise
            self.problem = str(failure)  # the error of the body is more important

    @property
    def trace(self) -> Trace:
        """The recorded trace. InvalidArgumentError: recording has not stopped yet, or was never started."""
        if self._trace is None:
            if self._active or not self._session.trace_path():
                raise InvalidArgumentError("the trace is available after stop(), or after the `with`", "profile.trace")
            in_memory = not self._config.output_file
            self._trace = Trace(self._session.trace_path(), self._session if in_memory else None)
        return self._trace


# Held by the active profile. It makes taking the role atomic; nothing ever waits for it. A forked child
# inherits it in the state of its parent.
_one = threading.Lock()
_running: profile | None = None


@atexit.register
def _stop_at_exit() -> None:
    if _running is not None:
        _running.stop()
