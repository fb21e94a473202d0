# SPDX-License-Identifier: Apache-2.0
"""Tables of a trace. Columns are read on first access; a few rows are read without the rest."""
from __future__ import annotations

import html
import shutil
import textwrap
from collections import namedtuple
from typing import TYPE_CHECKING, Any, Callable, Iterator, Tuple, TypeVar, Union, overload

import numpy as np
import numpy.typing as npt

from tracesmith._arguments import checked_slice, whole
from tracesmith._errors import needs
from tracesmith._texts import Texts

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tracesmith._trace import Trace

__all__ = ["Table"]

_ROWS_SHOWN = 10
_FEW_ROWS = 10_000  # so few rows are read without the rest of their columns
_TEXT_WIDTH = 40

Mask = npt.NDArray[np.bool_]
Column = Tuple[Any, Mask]  # values, and which of them are known
Self = TypeVar("Self", bound="Table")
Pick = Union[None, range, npt.NDArray[np.intp], Callable[[], npt.NDArray[np.intp]]]


class Table:
    """A table of a trace, or some of its rows and columns.

    `len(table)` is its number of rows; iterating gives rows, which are named tuples with None for
    unknown values. `table[0]` is a row, `table[10:20]` and `table.head()` are tables of some rows.

    `table.duration_ns`, or `table["duration_ns"]`, is a column: `Texts`, or a NumPy array; read-only
    and over the trace's memory, if the table has all rows. An unknown value is 0 in the array
    (`known()` shows which values are known), and a null in Arrow and pandas.
    `table["name", "duration_ns"]` is a table of these columns.

    Tables are lazy: `filter()`, `sort()` and slices find their rows when these are first needed, and
    copy only the columns that are asked for.

    Arrow takes a table directly: `pyarrow.table(table)`, `polars.DataFrame(table)`,
    `duckdb.from_arrow(table)`. Stored numbers are not copied. Indices of texts and derived columns
    (`end_ns`, `pid`) are computed each time.
    """

    def __init__(self, trace: Trace, name: str, meaning: str, columns: dict[str, tuple[str, str]],
                 shown: tuple[str, ...] | None = None, pick: Pick = None) -> None:
        self._trace = trace
        self._name = name
        self._meaning = meaning
        self._all = columns
        self._columns = tuple(columns) if shown is None else shown
        self._pick = pick  # the rows; None: all
        self._few: dict[str, Column] = {}  # columns of a few rows, read alone

    @property
    def sql_name(self) -> str:
        """Name of the table in SQL."""
        return self._name

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._columns

    def describe(self) -> dict[str, str]:
        """The meaning of each column, by its name."""
        return {name: self._all[name][1] for name in self._columns}

    def _with(self: Self, pick: Pick, columns: tuple[str, ...] | None = None) -> Self:
        return type(self)(self._trace, self._name, self._meaning, self._all,
                          self._columns if columns is None else columns, pick)

    def _rows(self) -> range | npt.NDArray[np.intp] | None:
        """The numbers of the rows; None: all."""
        if callable(self._pick):
            self._pick = self._pick()
        return self._pick

    def _window(self) -> range | None:
        """Consecutive rows that are few, perhaps with some after the end of the table."""
        rows = self._rows()
        return rows if isinstance(rows, range) and rows.step == 1 and len(rows) <= _FEW_ROWS else None

    def _read(self, names: tuple[str, ...]) -> dict[str, Column]:
        """These columns, of the rows of this table."""
        window = self._window()
        if window is None or self._trace._has(self._name, names):
            self._trace._load(self._name, names)
            return {name: self._taken(name) for name in names}
        missing = [name for name in names if name not in self._few]
        if missing:
            _, arrays = self._trace._file.rows_at(self._name, missing, window.start, len(window))
            for name, (values, valid, texts) in zip(missing, arrays):
                self._few[name] = (values if texts is None else Texts(values, texts), mask_of(valid, len(values)))
        return {name: self._few[name] for name in names}

    def _taken(self, name: str) -> Column:
        values, valid = self._trace._column(self._name, name)
        known = mask_of(valid, len(values))
        rows = self._rows()
        if rows is None:
            return values, known
        where = _slice_of(rows) if isinstance(rows, range) else rows
        return values[where], known[where]

    def __len__(self) -> int:
        rows = self._rows()
        if rows is None:
            return self._trace._file.rows(self._name)
        if not isinstance(rows, range):
            return len(rows)
        if self._window() is None:
            return len(range(self._trace._file.rows(self._name))[_slice_of(rows)])
        return self._trace._file.rows_at(self._name, [], rows.start, len(rows))[0]

    def __bool__(self) -> bool:
        """Whether there is a row."""
        return len(self.head(1)) > 0

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def _check(self, name: object) -> str:
        if not isinstance(name, str):
            raise TypeError(f"rows are asked for by number or slice, columns by name, not by {type(name).__name__}; "
                            "filter() takes a mask")
        if name not in self._columns:
            raise KeyError(f"{self._name} has no column '{name}'; it has {', '.join(self._columns)}")
        return name

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self: Self, key: slice | tuple[str, ...] | list[str]) -> Self: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (tuple, list)):
            return self.select(*key)
        if isinstance(key, slice):
            return self._slice(key)
        if isinstance(key, (int, np.integer)):
            row = self[key:key + 1 if key != -1 else None].rows()
            if not row:
                raise IndexError(f"{self._name} has no row {key} here; it has {len(self)} rows")
            return row[0]
        return self._read((self._check(key),))[key][0]

    def _slice(self: Self, key: slice) -> Self:
        key = checked_slice(key)
        rows = self._rows()
        if isinstance(rows, np.ndarray):
            return self._with(rows[key])
        open_end = key.stop is None and (rows is None or key.step not in (None, 1))
        signs = [part for part in (key.start, key.stop, key.step) if part is not None]
        if open_end or any(part < 0 for part in signs):
            there = range(len(self)) if rows is None else rows[: len(self)]
            return self._with(there[key])
        # Without the number of rows, which takes a pass over the file.
        whole = range(key.stop) if rows is None else rows
        return self._with(whole[key])

    if not TYPE_CHECKING:  # mypy knows the columns of each table (_tables.pyi)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # never a column; Python may ask for it before __init__
                raise AttributeError(name)
            if name in self._columns:
                return self[name]
            raise AttributeError(f"{self._name} has no column '{name}'; it has {', '.join(self._columns)}")

    def __contains__(self, name: object) -> bool:
        """Whether there is a column of that name."""
        return name in self._columns

    def __reduce__(self) -> tuple[Any, ...]:
        return (_table_of, (self._trace, self._name, self._columns, self._rows()))

    def known(self, name: str) -> Mask:
        """True for rows with a known value in this column: bool [rows]."""
        return self._read((self._check(name),))[name][1]

    def select(self: Self, *names: str) -> Self:
        """A table of these columns. KeyError: there is no column of that name. TypeError: none is named."""
        if not names:
            raise TypeError("select() needs the name of a column")
        return self._with(self._pick, tuple(self._check(name) for name in names))

    def head(self: Self, count: int = 10) -> Self:
        """The first rows. Reads only these, however long the table is. InvalidArgumentError: `count` is negative or no
        whole number."""
        return self[: whole(count, "count", 0)]

    def filter(self: Self, where: Mask | Callable[[Self], Mask]) -> Self:
        """The rows for which `where` is true: bool [rows], or a function that makes it of the table.

            trace.kernels.filter(lambda kernel: kernel.duration_ns > 1_000_000)
        """

        def found() -> npt.NDArray[np.intp]:
            mask = np.asarray(where(self) if callable(where) else where)
            if mask.dtype != np.bool_ or mask.shape != (len(self),):
                raise ValueError(f"filter() needs {len(self)} truth values, one for each row, not {mask.dtype} {mask.shape}")
            return self._numbers()[mask]

        return self._with(found)

    def sort(self: Self, *names: str, descending: bool = False) -> Self:
        """The rows in the order of these columns, the first one first. Rows with equal values keep their
        order; unknown values come last."""
        if not names:
            raise TypeError("sort() needs the name of a column")
        for name in names:
            self._check(name)

        def found() -> npt.NDArray[np.intp]:
            columns = self._read(names)
            order = np.arange(len(self))
            for name in reversed(names):
                values, known = columns[name]
                keys = (values.codes if isinstance(values, Texts) else values)[order]
                # Reversed twice, so that equal values keep their order.
                by = len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1] if descending else \
                    np.argsort(keys, kind="stable")
                order = order[by]
                there = known[order]
                order = np.concatenate((order[there], order[~there]))
            return self._numbers()[order]

        return self._with(found)

    def _numbers(self) -> npt.NDArray[np.intp]:
        rows = self._rows()
        if isinstance(rows, np.ndarray):
            return rows
        return np.arange(len(self)) if rows is None else np.asarray(rows[: len(self)], dtype=np.intp)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html"""
        del requested_schema
        positions = None if self._rows() is None else self._numbers().astype(np.uint64)
        return self._trace._file.arrow(self._name, list(self._columns), positions)

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow. Texts are dictionaries; stored numbers are not copied."""
        made: pyarrow.Table = needs("pyarrow", "to_arrow()").table(self)
        return made

    def to_polars(self) -> polars.DataFrame:
        """A data frame of Polars."""
        made: polars.DataFrame = needs("polars", "to_polars()").DataFrame(self)
        return made

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas. Texts are ordered categories. Numbers are the trace's memory if all of
        them are known, else a nullable copy."""
        pd = needs("pandas", "to_pandas()")

        data: dict[str, Any] = {}
        for name, (column, known) in self._read(self._columns).items():
            if isinstance(column, Texts):
                kind = pd.CategoricalDtype(column.categories, ordered=True)
                data[name] = pd.Categorical.from_codes(column.codes, dtype=kind)
            elif known.all():
                data[name] = column
            elif column.dtype.kind == "f":
                data[name] = np.where(known, column, np.nan)
            else:
                data[name] = pd.arrays.IntegerArray(column.copy(), ~known)
        frame: pandas.DataFrame = pd.DataFrame(data, copy=False)
        return frame

    def rows(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """Rows as named tuples, with None for unknown values. Meant for a few rows."""
        if start != 0 or stop is not None:
            return self[start:stop].rows()
        kind = namedtuple(f"{self._name}_row", self._columns, rename=True)  # type: ignore[misc]
        columns = []
        for values, known in self._read(self._columns).values():
            there = list(values) if isinstance(values, Texts) else values.tolist()
            columns.append(there if known.all() else [value if is_known else None for value, is_known in zip(there, known)])
        return [kind._make(row) for row in zip(*columns)]

    def __iter__(self) -> Iterator[Any]:
        if self._window() is not None:
            yield from self.rows()
            return
        first = self.head(_ROWS_SHOWN).rows()  # whoever looks at a few rows reads no others
        yield from first
        if len(first) < _ROWS_SHOWN:
            return
        self._trace._load(self._name, self._columns)
        for start in range(_ROWS_SHOWN, len(self), _FEW_ROWS):
            yield from self[start : start + _FEW_ROWS].rows()

    def _shown(self) -> list[tuple[str, ...]]:
        return [tuple("" if value is None else str(value) for value in row) for row in self.head(_ROWS_SHOWN).rows()]

    def _is_text(self, name: str) -> bool:
        return self._all[name][0] == "TEXT"

    def __repr__(self) -> str:
        rows = self._shown()
        width = shutil.get_terminal_size((100, 24)).columns
        parts: list[list[str]] = []
        used = 0
        for i, name in enumerate(self._columns):
            cells = [name, *(_cut(row[i], _TEXT_WIDTH) for row in rows)]
            wide = max(map(len, cells))
            if parts and used + wide > width:
                break
            used += wide + 2
            parts.append([cell.ljust(wide) if self._is_text(name) else cell.rjust(wide) for cell in cells])
        count = len(self)
        lines = [f"{self._name}: {_counted(count)}, {len(self._columns)} columns ({self._meaning})"]
        lines += ["  ".join(line).rstrip() for line in zip(*parts)]
        if count > len(rows):
            lines.append(f"… {count - len(rows):,} more rows")
        if len(self._columns) > len(parts):
            lines += _wrapped(f"More columns: {', '.join(self._columns[len(parts):])}", width)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self._shown()
        count = len(self)
        head = "".join(f'<th title="{html.escape(self._all[name][1])}">{html.escape(name)}</th>' for name in self._columns)
        styles = ["left" if self._is_text(name) else "right" for name in self._columns]
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align: {style}" title="{html.escape(cell)}">{html.escape(_cut(cell, 80))}</td>'
                             for style, cell in zip(styles, row)) + "</tr>" for row in rows)
        more = f"<p>… {count - len(rows):,} more rows</p>" if count > len(rows) else ""
        return (f"<p><b>{html.escape(self._name)}</b>: {_counted(count)} ({html.escape(self._meaning)})</p>"
                f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}')


def mask_of(valid: bytes | None, rows: int) -> Mask:
    """One truth value for each bit of `valid`; without it, all are true."""
    if valid is None:
        return np.ones(rows, dtype=np.bool_)
    return np.unpackbits(np.frombuffer(valid, dtype=np.uint8), count=rows, bitorder="little").astype(np.bool_)


def _table_of(trace: Trace, name: str, columns: tuple[str, ...], pick: Pick) -> Table:
    """Restores a pickled table."""
    return trace.tables[name].select(*columns)._with(pick)


def _slice_of(rows: range) -> slice:
    if len(rows) == 0:
        return slice(0, 0)
    return slice(rows.start, None if rows.stop < 0 else rows.stop, rows.step)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
