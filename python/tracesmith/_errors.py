# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package. All of them are `tracesmith.Error`, and where Python has a class
for the same thing they are that as well."""
from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "ClosedError",
    "DamagedError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "MissingPackageError",
    "NoDataError",
    "NoSpaceError",
    "NotATraceError",
    "NotFoundError",
    "PermissionDeniedError",
    "TooNewError",
    "UnsupportedError",
]


class Error(Exception):
    """What TraceSmith could not do.

    Attributes:
        message: what happened, and what to do about it.
        where: a path, an option or a place in a query; "" where there is none.
    """

    def __init__(self, message: str = "", where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where
        if isinstance(self, OSError) and where:
            setattr(self, "filename", where)  # which mypy does not see here

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return (type(self), (self.message, self.where))


class InvalidArgumentError(Error, ValueError):
    """What was asked for makes no sense, as SQL with a mistake in it."""


class NotFoundError(Error, FileNotFoundError):
    """A file, command, name or library is missing."""


class NoDataError(Error, LookupError):
    """The trace can be read, but has nothing of what was asked for."""


class MissingPackageError(Error, ImportError):
    """A Python package that is needed for this alone is not installed."""


class PermissionDeniedError(Error, PermissionError):
    """The system refused, or a statement that only reads is needed."""


class NoSpaceError(Error, MemoryError):
    """A disk, memory or quota is full."""


class IoError(Error, OSError):
    """The system failed to read or write."""


class NotATraceError(Error, ValueError):
    """The file is no trace, neither ours nor one that can be imported."""


class TooNewError(Error, ValueError):
    """The trace was written by a newer version than this one reads."""


class DamagedError(Error, ValueError):
    """It is a trace, but broken where it was to be read."""


class UnsupportedError(Error, RuntimeError):
    """It is known, but not possible with this build or on this machine."""


class InternalError(Error, RuntimeError):
    """A defect of TraceSmith: please report it."""


class ClosedError(Error, ValueError):
    """The trace was closed."""


# In the order of ErrorCode in base/result.hpp.
_OF_CODE: tuple[type[Error], ...] = (
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    NoSpaceError,
    IoError,
    NotATraceError,
    TooNewError,
    DamagedError,
    UnsupportedError,
    InternalError,
)


def needs(package: str, purpose: str) -> Any:
    """The module `package`, which TraceSmith does without otherwise. MissingPackageError: it is not installed."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if error.name not in (top, package):
            raise  # it is there, but something that it needs is not
        wanted = "dask[dataframe]" if top == "dask" else top
        missing = MissingPackageError(f"{purpose} needs {top}, which is not installed: pip install '{wanted}'")
        missing.name = top
        raise missing from None


def of_code(code: int, message: str, where: str) -> Error:
    return _OF_CODE[code](message, where)
