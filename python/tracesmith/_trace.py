# SPDX-License-Identifier: Apache-2.0
"""Traces: `tracesmith.open()` and the classes that it returns."""
from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence

import numpy.typing as npt

from tracesmith import _core
from tracesmith._errors import ClosedError, needs
from tracesmith._plot import Plots
from tracesmith._table import Table
from tracesmith._tables import PLURALS, Tables
from tracesmith._texts import Texts
from tracesmith._verbs import Verbs

if TYPE_CHECKING:
    import pandas

__all__ = ["Answer", "Loss", "Trace", "open"]

class Loss(NamedTuple):
    """A part of a damaged file that could not be read."""

    offset: int
    """position in bytes from the file's start"""
    bytes: int
    reason: str
    """the fault at that position"""


class Answer(Sequence[Any]):
    """The result of a query: rows as tuples. Arrow takes it directly (`pyarrow.table(trace.query(...))`);
    this runs the query again and stores nothing here."""

    def __init__(self, trace: Trace, sql: str) -> None:
        self._trace = trace
        self._sql = sql
        self._columns: tuple[str, ...] = ()
        self._rows: list[tuple[Any, ...]] | None = None

    def _ask(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            names, rows = self._trace._file.query(self._sql)
            self._columns = tuple(names)
            self._rows = rows
        return self._rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, from the query."""
        self._ask()
        return self._columns

    def __len__(self) -> int:
        return len(self._ask())

    def __getitem__(self, index: Any) -> Any:
        return self._ask()[index]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._ask())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html"""
        del requested_schema
        return self._trace._file.query_arrow(self._sql)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with these columns."""
        pd = needs("pandas", "to_pandas()")

        return pd.DataFrame.from_records(self._ask(), columns=list(self.columns))

    def __repr__(self) -> str:
        rows = self._ask()
        cells = [self.columns, *(tuple("" if v is None else str(v) for v in row) for row in rows[:20])]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        if len(rows) > 20:
            lines.append(f"… {len(rows)} rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape('' if v is None else str(v))}</td>" for v in row) + "</tr>"
            for row in self._ask()[:50])
        return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


class Trace(Tables, Verbs):
    """An open trace, of TraceSmith or of another tool (docs/importing.md).

    Its tables are attributes: `trace.kernels`, `trace.copies`, `trace.host_calls`, `trace.streams`
    and so on. `trace.tables` has all of them by their SQL names. Columns are read on first access and
    stay in memory. Threads may share a trace. Pickling stores the path: the receiving process opens the
    file again.
    """

    # Of an object that no call of __init__ has filled, as of a closed trace.
    _path: str = ""
    _open: _core.TraceFile | None = None
    _keeps: object = None
    _tables: dict[str, Table] | None = None

    def __init__(self, path: str | bytes | os.PathLike[str], _keeps: object = None) -> None:
        """Errors: NotFoundError, NotATraceError, TooNewError, DamagedError, PermissionDeniedError,
        IoError."""
        self._path = os.fsdecode(path)
        self._open = _core.TraceFile(self._path)
        self._path = os.path.abspath(self._path)
        self._keeps = _keeps  # the owner of a trace in memory, kept alive here
        self._tables = None
        self._kept: dict[tuple[str, str], tuple[npt.NDArray[Any] | Texts, bytes | None]] = {}

    @property
    def _file(self) -> _core.TraceFile:
        if self._open is None:
            raise ClosedError("the trace was closed", str(self._path))
        return self._open

    def _column(self, table: str, name: str) -> tuple[npt.NDArray[Any] | Texts, bytes | None]:
        file = self._file
        known = self._kept.get((table, name))
        if known is None or len(known[0]) != file.rows(table):
            values, valid, texts = file.column(table, name)
            known = (values if texts is None else Texts(values, texts), valid)
            self._kept[table, name] = known
        return known

    def _load(self, table: str, names: Sequence[str]) -> None:
        """Reads these columns in one pass over the file, unless they have been read."""
        if not self._has(table, names):
            self._file.load(table, list(names))

    def _has(self, table: str, names: Sequence[str]) -> bool:
        return all((table, name) in self._kept for name in names)

    @property
    def path(self) -> str:
        """Path of the file."""
        return self._path

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by their SQL names."""
        if self._tables is None:
            self._tables = {
                name: Table(self, name, meaning, {column: (kind, says) for column, kind, says in columns})
                for name, meaning, columns in self._file.tables()
            }
        return self._tables

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of the trace."""
        return dict(self._file.about()["metadata"])

    @property
    def complete(self) -> bool:
        """False: the trace was cut off, or is still being written."""
        return bool(self._file.about()["complete"])

    @property
    def damage(self) -> list[Loss]:
        """Parts of the file that could not be read, as far as they have been read. Events lost while
        recording are in the table `losses`."""
        return [Loss(*loss) for loss in self._file.about()["losses"]]

    def query(self, sql: str) -> Answer:
        """Runs one SELECT in SQLite's language over the tables (docs/query.md). Times are in ns. Ctrl-C
        ends it. Errors: InvalidArgumentError for SQL with a mistake, PermissionDeniedError for a
        statement that would write."""
        answer = Answer(self, sql)
        answer._ask()
        return answer

    @property
    def plot(self) -> Plots:
        """Plots with matplotlib: `trace.plot.timeline()`, `.kernels()`, `.overlap()`, `.idle()`, `.steps()`,
        `.memory()`, `.flame()`, `.compare(other)`."""
        return Plots(self)

    def close(self) -> None:
        """Closes the trace. File and memory are released when the last array of the trace is gone."""
        self._open = None
        self._tables = None
        self._kept = {}

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Trace], tuple[str]]:
        if self._keeps is not None:
            raise TypeError("a trace in memory cannot be pickled; give profile() a path")
        return (Trace, (self._path,))

    def __repr__(self) -> str:
        if self._open is None:
            return f"<closed trace {self._path!r}>"
        counts = ", ".join(f"{len(getattr(self, name))} {name}" for name in ("kernels", "copies", "host_calls"))
        return f"<trace {self._path!r}: {counts}>"

    def _repr_html_(self) -> str:
        title = f"<p><b>{html.escape(self._path)}</b>"
        if self._open is None:
            return f"{title}: closed</p>"
        body = "".join(
            f'<tr><td title="{html.escape(table._meaning)}">{html.escape(name)}</td><td>{len(table)}</td></tr>'
            for name in PLURALS if len(table := getattr(self, name)) > 0)
        return (f"{title}{'' if self.complete else ': the end is missing'}</p>"
                f'<table class="dataframe"><thead><tr><th>table</th><th>rows</th></tr></thead><tbody>{body}</tbody></table>')


def open(path: str | bytes | os.PathLike[str]) -> Trace:  # pylint: disable=redefined-builtin
    """Opens a trace: .sbt, or another tool's that can be imported. Events are read on first access."""
    return Trace(path)
