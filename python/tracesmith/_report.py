# SPDX-License-Identifier: Apache-2.0
"""Results of analyses, comparisons and checks: the tables of the commands, by name."""
from __future__ import annotations

import html
import shutil
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tracesmith._core import format_bytes, format_duration
from tracesmith._errors import InvalidArgumentError, needs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tracesmith import _core

__all__ = ["Report", "ReportTable"]

_ROWS_SHOWN = 50


class ReportTable:
    """A table of an analysis.

    Attributes:
        title: the topic, and the meaning of its numbers if that is not obvious.
        note: missing data, and why; "" if nothing is missing.
        columns: names. `_ns` at the end means a time, `_share` a fraction of 1.
        rows: tuples; None for a value that is undefined or unknown.
    """

    def __init__(self, title: str, note: str, columns: list[tuple[str, str, str]], rows: list[tuple[Any, ...]]) -> None:
        self.title = title
        self.note = note
        self.columns = tuple(key for key, _, _ in columns)
        self.rows = rows
        self._headers = tuple(header for _, header, _ in columns)
        self._quantities = tuple(quantity for _, _, quantity in columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column. KeyError: there is no such column."""
        if column not in self.columns:
            raise KeyError(f"there is no column '{column}'; there are {', '.join(self.columns)}")
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas with these columns."""
        made: pandas.DataFrame = needs("pandas", "to_pandas()").DataFrame.from_records(self.rows, columns=list(self.columns))
        return made

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow with these columns."""
        made: pyarrow.Table = needs("pyarrow", "to_arrow()").table({name: self[name] for name in self.columns})
        return made

    def to_polars(self) -> polars.DataFrame:
        """A data frame of Polars with these columns."""
        made: polars.DataFrame = needs("polars", "to_polars()").DataFrame({name: self[name] for name in self.columns}, strict=False)
        return made

    def __repr__(self) -> str:
        width = shutil.get_terminal_size((100, 24)).columns
        rows = [[_shown(value, quantity) for value, quantity in zip(row, self._quantities)] for row in self.rows[:20]]
        parts: list[list[str]] = []
        used = 0
        for i, header in enumerate(self._headers):
            cells = [header, *(row[i] for row in rows)]
            wide = max(map(len, cells))
            if parts and used + wide > width:
                break
            used += wide + 2
            parts.append([cell.ljust(wide) if self._quantities[i] == "text" else cell.rjust(wide) for cell in cells])
        lines = [self.title, *("  ".join(line).rstrip() for line in zip(*parts))]
        if len(self.rows) > 20:
            lines.append(f"… {len(self.rows) - 20:,} more rows")
        if len(self.columns) > len(parts):
            lines.append(f"More columns: {', '.join(self.columns[len(parts):])}")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f'<th title="{html.escape(key)}">{html.escape(header)}</th>'
                       for key, header in zip(self.columns, self._headers))
        sides = ["left" if quantity == "text" else "right" for quantity in self._quantities]
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align: {side}" title="{html.escape(str(value))}">'
                             f"{html.escape(_shown(value, quantity))}</td>"
                             for value, quantity, side in zip(row, self._quantities, sides)) + "</tr>"
            for row in self.rows[:_ROWS_SHOWN])
        more = len(self.rows) - _ROWS_SHOWN
        return (f"<p><b>{html.escape(self.title)}</b></p>"
                f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
                + (f"<p>… {more:,} more rows</p>" if more > 0 else "") + f"<p>{html.escape(self.note)}</p>")


class Report(Mapping[str, ReportTable]):
    """The tables of an analysis by their names, in their order. Printed as the command prints them."""

    def __init__(self, made: _core.ReportTables) -> None:
        self._made = made
        self._tables = {key: ReportTable(title, note, columns, rows) for key, title, note, columns, rows in made.tables()}

    def __getitem__(self, name: str) -> ReportTable:
        if name not in self._tables:
            raise KeyError(f"there is no table '{name}'; there are {', '.join(self._tables)}")
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def to_pandas(self) -> pandas.DataFrame:
        """The only table as a data frame of pandas. InvalidArgumentError: there are several."""
        if len(self) != 1:
            raise InvalidArgumentError(f"choose one of its {len(self)} tables: report[NAME].to_pandas(), NAME being one "
                                       f"of {', '.join(self)}")
        return next(iter(self.values())).to_pandas()

    def __repr__(self) -> str:
        return self._made.text(shutil.get_terminal_size((100, 24)).columns).rstrip("\n")

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._tables.values())


def checked_limit(limit: int) -> int:
    """`limit`, if it is a number of rows. InvalidArgumentError: it is none."""
    if not isinstance(limit, int) or not 0 <= limit < 2**63:
        raise InvalidArgumentError("must be a number of rows, or 0 for all rows", "limit")
    return limit


def _shown(value: Any, quantity: str) -> str:
    """A value for people."""
    if value is None:
        return ""
    if quantity == "ns":
        return format_duration(int(value)) if value >= 0 else "-" + format_duration(-int(value))
    if quantity == "bytes" and value >= 0:
        return format_bytes(int(value))
    if quantity == "bytes per second":
        return f"{format_bytes(int(value))}/s"
    if quantity == "share":
        return f"{value:.1%}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
