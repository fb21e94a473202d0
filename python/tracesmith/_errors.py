# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package. All derive from `tracesmith.Error`. If Python has a class for the same
error, they also derive from that."""
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
    """Base class of all errors of TraceSmith.

    Attributes:
        message: what happened, and what to do about it.
        where: a path, an option or a place in a query; "" if there is none.
    """

    def __init__(self, message: str = "", where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where
        if isinstance(self, OSError) and where:
            setattr(self, "filename", where)  # mypy does not know the attribute here

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return (type(self), (self.message, self.where))


class InvalidArgumentError(Error, ValueError):
    """An argument makes no sense, for example SQL with a mistake in it."""


class NotFoundError(Error, FileNotFoundError):
    """A file, command, name or library is missing."""


class NoDataError(Error, LookupError):
    """The trace can be read, but does not have the requested data."""


class MissingPackageError(Error, ImportError):
    """An optional Python package that this function needs is not installed."""


class PermissionDeniedError(Error, PermissionError):
    """The system refused access, or a query is not read-only."""


class NoSpaceError(Error, MemoryError):
    """A disk, memory or quota is full."""


class IoError(Error, OSError):
    """The system failed to read or write."""


class NotATraceError(Error, ValueError):
    """The file is not a trace, neither TraceSmith's nor one that can be imported."""


class TooNewError(Error, ValueError):
    """The trace was written by a newer version, which this version cannot read."""


class DamagedError(Error, ValueError):
    """The file is a trace, but the part to be read is damaged."""


class UnsupportedError(Error, RuntimeError):
    """The feature exists, but not in this build or not on this machine."""


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


# The extras of pyproject.toml that install a package.
_EXTRAS = {
    "dask": "dask",
    "fsspec": "fleet",
    "matplotlib": "visualization",
    "pandas": "frames",
    "polars": "frames",
    "pyarrow": "frames",
    "torch": "torch",
}


def needs(package: str, purpose: str) -> Any:
    """Imports the optional module `package`. MissingPackageError: it is not installed."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if error.name not in (top, package):
            raise  # the package is installed, but one of its own dependencies is not
        missing = MissingPackageError(f"{purpose} needs {top}, which is not installed: pip install 'tracesmith[{_EXTRAS[top]}]'")
        missing.name = top
        raise missing from None


def of_code(code: int, message: str, where: str) -> Error:
    return _OF_CODE[code](message, where)
