# SPDX-License-Identifier: Apache-2.0
"""Metal programs, recorded with Apple's Instruments: `tracesmith profile --xctrace`, from Python.

    events, trace_file = profile_with_xctrace(["python", "train.py"], duration=60)

Needs `xctrace`, which is part of Xcode. Its exports can be read on any system (`tracesmith.open`).
Experimental: never run with the real xctrace (docs/importing.md).
"""
from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from tracesmith._api import export_perfetto
from tracesmith._command import command_path, find_xctrace
from tracesmith._core import EventType, SBTReader, TraceEvent
from tracesmith._errors import InvalidArgumentError, IoError, NotFoundError, UnsupportedError
from tracesmith._trace import Trace

__all__ = [
    "MetalDriverInterval",
    "MetalGPUEvent",
    "XCTraceConfig",
    "XCTraceProfiler",
    "add_xctrace_arguments",
    "profile_with_xctrace",
]

PathLike = Union[str, "os.PathLike[str]"]


@dataclass
class XCTraceConfig:
    """Settings of a recording with Instruments.

    Attributes:
        template: a template of Instruments; XCTraceProfiler.list_templates() lists them.
        duration_seconds: length of the recording; None: until the program ends.
        output_dir: folder of traces without a given name.
    """

    template: str = "Metal System Trace"
    duration_seconds: float | None = None
    output_dir: PathLike = "./traces"


@dataclass
class MetalGPUEvent:
    """An interval of GPU work, in ns since the start of the recording. Intervals nest and overlap."""

    timestamp_ns: int
    duration_ns: int
    name: str
    channel: str
    command_buffer: int
    process_id: int

    def to_trace_event(self) -> TraceEvent:
        """As KernelComplete; the command buffer is its correlation id."""
        event = TraceEvent(EventType.KernelComplete, self.timestamp_ns)
        event.duration, event.name, event.correlation_id = self.duration_ns, self.name, self.command_buffer
        return event


@dataclass
class MetalDriverInterval:
    """An interval of driver activity, in ns since the start of the recording."""

    start_ns: int
    duration_ns: int
    name: str
    thread_id: int = 0

    def to_trace_event(self) -> TraceEvent:
        """As RangeStart with a duration."""
        event = TraceEvent(EventType.RangeStart, self.start_ns)
        event.duration, event.name, event.thread_id = self.duration_ns, self.name, self.thread_id
        return event


class XCTraceProfiler:
    """Records programs with Instruments. UnsupportedError: this machine has no `xctrace`."""

    def __init__(self, config: XCTraceConfig | None = None) -> None:
        self.config = config or XCTraceConfig()
        program = find_xctrace()
        if program is None:
            raise UnsupportedError(
                "was not found: it is part of Xcode, for macOS (the command line tools alone do not have it)",
                "xctrace",
            )
        self._program = program
        self._trace: Trace | None = None
        self._made: list[Path] = []
        self.exit_code = 0
        """exit code of xctrace in the last run; it is the program's if xctrace passes that on"""

    @staticmethod
    def is_available() -> bool:
        """Whether this machine has `xctrace`."""
        return find_xctrace() is not None

    @staticmethod
    def list_templates() -> list[str]:
        """Names of Instruments' templates on this machine. UnsupportedError: it has no `xctrace`; IoError:
        xctrace failed."""
        result = subprocess.run(
            [XCTraceProfiler()._program, "list", "templates"], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise IoError(f"ended with {result.returncode}: {result.stderr.strip()}", "xctrace list templates")
        return [line.strip() for line in result.stdout.splitlines() if line.strip() and not line.startswith("==")]

    @staticmethod
    def get_metal_templates() -> list[str]:
        """Names of the templates for graphics."""
        words = ("metal", "gpu", "game", "animation", "graphics")
        return [name for name in XCTraceProfiler.list_templates() if any(word in name.lower() for word in words)]

    def profile_command(
        self, command: Sequence[str], duration: float | None = None, output_file: PathLike | None = None
    ) -> list[TraceEvent]:
        """Records a program to its end, or for `duration` seconds, and returns its events.

        `output_file`: path of the trace (.sbt), with xctrace's own recording beside it (.trace); None: a
        new file in config.output_dir. NotFoundError: no such program; IoError: xctrace wrote nothing
        readable; its messages are on standard error."""
        if isinstance(command, str) or not command:
            raise InvalidArgumentError("must be a list: the program and its arguments", "command")
        if shutil.which(command[0]) is None:
            raise NotFoundError("no such program", command[0])
        limit = self.config.duration_seconds if duration is None else duration
        if limit is not None and not limit > 0:
            raise InvalidArgumentError("must be more than 0 seconds", "duration")
        if output_file is None:
            folder = Path(self.config.output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            # Unique among all profilers of all processes, and never a prefix of another name.
            path = folder / f"metal_{time.strftime('%Y%m%d_%H%M%S')}_{secrets.token_hex(6)}.sbt"
            self._made.append(path)
        else:
            path = Path(output_file).with_suffix(".sbt")
        words = [str(command_path()), "profile", "-q", "--xctrace", "--xctrace-template", self.config.template]
        if limit is not None:
            words += ["--xctrace-time-limit", f"{round(limit * 1000)}ms"]
        words += ["--keep-trace", "-o", str(path), "--", *command]
        before = _stamp(path)
        places = os.pathsep.join([os.path.dirname(self._program), os.environ.get("PATH", "")])
        self._trace = None
        self.exit_code = subprocess.run(words, env={**os.environ, "PATH": places}, check=False).returncode
        if _stamp(path) == before:
            raise IoError(f"there is no trace (the recording ended with {self.exit_code})", str(path))
        self._trace = Trace(path)
        return self.get_events()

    @property
    def trace(self) -> Trace:
        """The recorded trace, as tables. InvalidArgumentError: nothing was recorded yet."""
        if self._trace is None:
            raise InvalidArgumentError("profile_command() has recorded nothing yet", "XCTraceProfiler")
        return self._trace

    def get_events(self) -> list[TraceEvent]:
        """The recorded events in order of time; [] before the first recording."""
        return [] if self._trace is None else SBTReader(self._trace.path).read_events()

    def get_gpu_events(self) -> list[MetalGPUEvent]:
        """Intervals of GPU work in order of time."""
        return [MetalGPUEvent(*row) for row in self.trace.query(
            "SELECT k.start_ns, k.duration_ns, coalesce(k.name, ''), coalesce(s.name, ''),"
            " coalesce(k.correlation_id, 0), coalesce(k.pid, 0)"
            " FROM kernel k LEFT JOIN stream s ON s.id = k.stream_id ORDER BY k.start_ns")]

    def get_driver_intervals(self) -> list[MetalDriverInterval]:
        """Intervals of driver activity in order of time."""
        return [MetalDriverInterval(*row) for row in self.trace.query(
            "SELECT start_ns, duration_ns, coalesce(name, ''), coalesce(tid, 0) FROM range"
            " WHERE category = 'metal-driver-intervals' ORDER BY start_ns")]

    def export_perfetto(self, output_file: PathLike) -> bool:
        """Writes the recorded trace for https://ui.perfetto.dev."""
        return export_perfetto(self.trace, output_file)

    def get_trace_file(self) -> str | None:
        """xctrace's own recording, which Instruments opens; None: there is none."""
        if self._trace is None:
            return None
        path = Path(self.trace.path)
        kept = [p for p in path.parent.glob("*.trace") if p.stem == path.stem or p.stem.startswith(path.stem + "-")]
        return str(max(kept, key=lambda p: p.stat().st_mtime_ns)) if kept else None

    def cleanup(self) -> None:
        """Removes the traces without a given name."""
        for path in self._made:
            for part in path.parent.glob(f"{path.stem}[.-]*"):
                if part.is_dir():
                    shutil.rmtree(part, ignore_errors=True)
                else:
                    part.unlink()
        self._made.clear()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_ino, found.st_mtime_ns)


def profile_with_xctrace(
    command: Sequence[str],
    duration: float | None = None,
    template: str = "Metal System Trace",
    output_file: PathLike | None = None,
) -> tuple[list[TraceEvent], str | None]:
    """Records a program with Instruments. Returns its events, and the path of xctrace's own recording.
    Arguments and errors as in XCTraceProfiler.profile_command()."""
    profiler = XCTraceProfiler(XCTraceConfig(template=template))
    events = profiler.profile_command(command, duration, output_file)
    return events, profiler.get_trace_file()


def add_xctrace_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the Instruments options of `tracesmith profile` to a parser."""
    group = parser.add_argument_group("Apple's Instruments")
    group.add_argument("--xctrace", action="store_true", help="record with Instruments")
    group.add_argument(
        "--xctrace-template", metavar="NAME", default=XCTraceConfig.template, help="default: %(default)s")
    group.add_argument("--xctrace-time-limit", metavar="SECONDS", type=float, help="end the recording after this time")
    group.add_argument("--keep-trace", action="store_true", help="keep the files of Instruments")
