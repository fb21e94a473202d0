# SPDX-License-Identifier: Apache-2.0
"""Results of `trace.analyze()`: the tables of `tracesmith analyze`, by name."""
from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tracesmith._errors import InvalidArgumentError, needs

if TYPE_CHECKING:
    import pandas

    from tracesmith import _core

__all__ = ["Report", "ReportTable"]


class ReportTable:
    """A table of an analysis.

    Attributes:
        title: the topic, and the meaning of its numbers if that is not obvious.
        note: missing data, and why; "" if nothing is missing.
        columns: names. `_ns` at the end means a time, `_share` a fraction of 1.
        rows: tuples; None for a value that is undefined or unknown.
    """

    def __init__(self, title: str, note: str, columns: list[tuple[str, str]], rows: list[tuple[Any, ...]]) -> None:
        self.title = title
        self.note = note
        self.columns = tuple(key for key, _ in columns)
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column. KeyError: there is no such column."""
        if column not in self.columns:
            raise KeyError(f"there is no column '{column}'; there are {', '.join(self.columns)}")
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with these columns."""
        pd = needs("pandas", "to_pandas()")

        return pd.DataFrame.from_records(self.rows, columns=list(self.columns))

    def __repr__(self) -> str:
        cells = [self.columns, *(tuple("" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row)
                                  for row in self.rows[:20])]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [self.title]
        lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        if len(self.rows) > 20:
            lines.append(f"… {len(self.rows)} rows")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape('' if v is None else str(v))}</td>" for v in row) + "</tr>"
            for row in self.rows)
        return (f"<p><b>{html.escape(self.title)}</b></p>"
                f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
                f"<p>{html.escape(self.note)}</p>")


class Report(Mapping[str, ReportTable]):
    """The tables of an analysis by their names, in their order."""

    def __init__(self, tables: list[tuple[str, str, str, list[tuple[str, str]], list[tuple[Any, ...]]]]) -> None:
        self._tables = {key: ReportTable(title, note, columns, rows) for key, title, note, columns, rows in tables}

    @classmethod
    def of(cls, file: _core.TraceFile, parts: list[str], limit: int) -> Report:
        """The analysis of a file. InvalidArgumentError: `limit` is not a number of rows."""
        if not 0 <= limit < 2**63:
            raise InvalidArgumentError("must be a number of rows, or 0 for all rows", "limit")
        return cls(file.analyze(parts, limit))

    def __getitem__(self, name: str) -> ReportTable:
        if name not in self._tables:
            raise KeyError(f"there is no table '{name}'; there are {', '.join(self._tables)}")
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return "\n\n".join(repr(table) for table in self._tables.values())

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._tables.values())
