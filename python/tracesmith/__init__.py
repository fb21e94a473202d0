# SPDX-License-Identifier: Apache-2.0
"""TraceSmith: what a program does on a GPU, as tables.

    import tracesmith
    trace = tracesmith.open("run.sbt")
    trace.kernels.duration_ns.sum()
    trace.kernels["name", "duration_ns"].to_pandas().groupby("name", observed=True).sum()
    trace.query("SELECT name, count(*) FROM kernel GROUP BY name")

Times are nanoseconds of the host's monotonic clock, durations nanoseconds, sizes bytes.
"""
from tracesmith._command import command_path
from tracesmith._core import version as __version__
from tracesmith._errors import (
    ClosedError,
    DamagedError,
    Error,
    InternalError,
    InvalidArgumentError,
    IoError,
    NoSpaceError,
    NotATraceError,
    NotFoundError,
    PermissionDeniedError,
    TooNewError,
    UnsupportedError,
)
from tracesmith._report import Report, ReportTable
from tracesmith._table import Table, Texts
from tracesmith._trace import Answer, Loss, Trace, open

VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH = (int(part) for part in __version__.split("."))

__all__ = [
    "Answer",
    "ClosedError",
    "DamagedError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "Loss",
    "NoSpaceError",
    "NotATraceError",
    "NotFoundError",
    "PermissionDeniedError",
    "Report",
    "ReportTable",
    "Table",
    "Texts",
    "TooNewError",
    "Trace",
    "UnsupportedError",
    "VERSION_MAJOR",
    "VERSION_MINOR",
    "VERSION_PATCH",
    "__version__",
    "command_path",
    "open",
]
