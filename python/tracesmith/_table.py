# SPDX-License-Identifier: Apache-2.0
"""Tables of a trace. Columns are read on first access."""
from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Iterator, Sequence, overload

import numpy as np
import numpy.typing as npt

from tracesmith._errors import needs

if TYPE_CHECKING:
    import pandas

    from tracesmith._trace import Trace

__all__ = ["Texts", "Table"]

_ROWS_SHOWN = 10


class Texts:
    """A column of texts. Each different text is stored once; each row has the index of its text.

    Attributes:
        codes: int32 [rows], the index of each row's text in `categories`; -1 for no text.
        categories: the different texts, in their order.
    """

    __slots__ = ("codes", "categories")

    def __init__(self, codes: npt.NDArray[np.int32], categories: list[str]) -> None:
        self.codes = codes
        self.categories = categories

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice | npt.NDArray[Any]) -> Texts: ...
    def __getitem__(self, index: Any) -> Any:
        """One text, or the texts of a slice, of an array of indices or of a mask."""
        if isinstance(index, (int, np.integer)):
            code = int(self.codes[index])
            return None if code < 0 else self.categories[code]
        return Texts(self.codes[index], self.categories)

    def __iter__(self) -> Iterator[str | None]:
        for code in self.codes:
            yield None if code < 0 else self.categories[code]

    def __eq__(self, other: object) -> Any:
        """True for rows with this text: bool [rows]. With another column: true for equal rows."""
        if isinstance(other, str):
            code = self.categories.index(other) if other in self.categories else -2
            return self.codes == code
        return np.asarray(self) == np.asarray(other)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __hash__ = None  # type: ignore[assignment]

    def isin(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """True for rows with one of these texts: bool [rows]."""
        if isinstance(texts, str):
            raise TypeError("isin() takes a list of texts; use == for one text")
        wanted = [code for code, text in enumerate(self.categories) if text in texts]
        return np.isin(self.codes, wanted)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The texts as objects (None for no text): a copy, 8 bytes a row."""
        del copy
        texts = np.empty(len(self.categories) + 1, dtype=object)
        texts[: len(self.categories)] = self.categories
        out = texts[self.codes]  # -1 is the last one: None
        return out if dtype is None else out.astype(dtype)

    def __repr__(self) -> str:
        shown = ", ".join(repr(text) for text in self[:_ROWS_SHOWN])
        more = ", …" if len(self) > _ROWS_SHOWN else ""
        return f"Texts([{shown}{more}], {len(self)} rows of {len(self.categories)} texts)"


class Table:
    """A table of a trace, or some of its columns.

    `len(table)` is its number of rows. `table["duration_ns"]`, or `table.duration_ns`, is a column:
    `Texts`, or a read-only NumPy array over the trace's memory. An unknown value is 0 in the array
    (`known()` shows which values are known), and a null in Arrow and pandas.
    `table["name", "duration_ns"]` is a table of these columns.

    Arrow takes a table directly: `pyarrow.table(table)`, `polars.DataFrame(table)`,
    `duckdb.from_arrow(table)`. Stored numbers are not copied. Indices of texts and derived columns
    (`end_ns`, `pid`) are computed each time.
    """

    def __init__(self, trace: Trace, name: str, meaning: str, columns: dict[str, tuple[str, str]],
                 shown: tuple[str, ...] | None = None) -> None:
        self._trace = trace
        self._name = name
        self._meaning = meaning
        self._all = columns
        self._columns = tuple(columns) if shown is None else shown

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

    def __len__(self) -> int:
        return self._trace._file.rows(self._name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def _check(self, name: object) -> str:
        if not isinstance(name, str):
            raise TypeError(f"columns are asked for by name, not by {type(name).__name__}")
        if name not in self._columns:
            raise KeyError(f"{self._name} has no column '{name}'; it has {', '.join(self._columns)}")
        return name

    @overload
    def __getitem__(self, name: str) -> Any: ...
    @overload
    def __getitem__(self, name: tuple[str, ...] | list[str]) -> Table: ...
    def __getitem__(self, name: str | tuple[str, ...] | list[str]) -> Any:
        if isinstance(name, (tuple, list)):
            return self.select(*name)
        return self._trace._column(self._name, self._check(name))[0]

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
        return (_table_of, (self._trace, self._name, self._columns))

    def known(self, name: str) -> npt.NDArray[np.bool_]:
        """True for rows with a known value in this column: bool [rows]."""
        return self._trace._known(self._name, self._check(name))

    def select(self, *names: str) -> Table:
        """A table of these columns. KeyError: there is no column of that name."""
        checked = tuple(self._check(name) for name in names)
        return Table(self._trace, self._name, self._meaning, self._all, checked)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html"""
        del requested_schema
        return self._trace._file.arrow(self._name, list(self._columns))

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame. Texts are ordered categories. Numbers are the trace's memory if all of them are
        known, else a nullable copy."""
        pd = needs("pandas", "to_pandas()")

        self._trace._load(self._name, self._columns)
        data: dict[str, Any] = {}
        for name in self._columns:
            column = self[name]
            if isinstance(column, Texts):
                kind = pd.CategoricalDtype(column.categories, ordered=True)
                data[name] = pd.Categorical.from_codes(column.codes, dtype=kind)
                continue
            known = self.known(name)
            if known.all():
                data[name] = column
            elif column.dtype.kind == "f":
                data[name] = np.where(known, column, np.nan)
            else:
                array = pd.arrays.IntegerArray(column.copy(), ~known)
                data[name] = array
        return pd.DataFrame(data, copy=False)

    def rows(self, start: int = 0, stop: int | None = None) -> list[tuple[Any, ...]]:
        """Rows as tuples, with None for unknown values. Meant for a few rows."""
        window = slice(start, stop)
        self._trace._load(self._name, self._columns)
        columns = []
        for name in self._columns:
            column = self[name]
            part = column[window]
            if isinstance(part, Texts):
                columns.append(list(part))
            else:
                known = self.known(name)[window]
                columns.append([value if there else None for value, there in zip(part.tolist(), known)])
        return list(zip(*columns))

    def _shown(self) -> list[tuple[str, ...]]:
        return [tuple("" if value is None else str(value) for value in row) for row in self.rows(0, _ROWS_SHOWN)]

    def __repr__(self) -> str:
        count = len(self)
        names = self._columns[:8]
        cells = [names, *(row[:8] for row in self.select(*names)._shown())]
        widths = [min(40, max(len(row[i]) for row in cells)) for i in range(len(names))]
        lines = [f"{self._name}: {count} rows, {len(self._columns)} columns ({self._meaning})"]
        for row in cells:
            lines.append("  ".join(_cut(cell, width).ljust(width) for cell, width in zip(row, widths)).rstrip())
        if len(self._columns) > len(names):
            lines.append(f"and {', '.join(self._columns[len(names):])}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f'<th title="{html.escape(self._all[name][1])}">{html.escape(name)}</th>' for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cut(cell, 80))}</td>" for cell in row) + "</tr>" for row in self._shown())
        return (f"<p><b>{html.escape(self._name)}</b>: {len(self)} rows ({html.escape(self._meaning)})</p>"
                f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def _table_of(trace: Trace, name: str, columns: tuple[str, ...]) -> Table:
    """Restores a pickled table."""
    return trace.tables[name].select(*columns)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


