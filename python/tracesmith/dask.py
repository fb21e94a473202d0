# SPDX-License-Identifier: Apache-2.0
"""Many traces as one Dask data frame (`pip install tracesmith[dask]`).

    from tracesmith.dask import read_traces
    kernels = read_traces(sorted(Path("runs").glob("*.sbt")), "kernels", ["name", "duration_ns"])
    kernels.groupby(["trace", "name"]).duration_ns.sum().compute()
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from tracesmith._errors import InvalidArgumentError, needs
from tracesmith._trace import Trace

if TYPE_CHECKING:
    import pandas

__all__ = ["read_traces"]

PathLike = Union[str, "os.PathLike[str]"]


def read_traces(paths: Sequence[PathLike], table: str = "kernels", columns: Sequence[str] | None = None) -> Any:
    """One table of all these traces, as a dask.dataframe.DataFrame. Each trace is a partition.

    The worker that computes a partition reads its trace, so workers must see the files by the same paths.
    The first trace is opened at once.

    `table`: its name as an attribute of a Trace ("kernels", "host_calls", …) or in SQL ("kernel").
    `columns`: the columns to read; None: all. The additional column "trace" has the path.
    Texts have pandas' string type and integers are nullable, because a value that one trace has may be
    unknown in another. InvalidArgumentError: no paths; AttributeError, KeyError: no such table, column;
    also the errors of opening a trace."""
    dataframe = needs("dask.dataframe", "read_traces()")

    if isinstance(paths, (str, bytes, os.PathLike)) or not paths:
        raise InvalidArgumentError("must be a list with at least one path", "paths")
    files = [os.fspath(path) for path in paths]
    wanted = None if columns is None else ["trace", *columns]
    from_map = dataframe.from_map
    return from_map(_frame, files, table=table, columns=wanted, meta=_frame(files[0], table, wanted, 0))


def _frame(path: str, table: str, columns: list[str] | None, most: int | None = None) -> pandas.DataFrame:
    """One partition. Dask itself passes a shorter `columns`, by this name, if it needs fewer."""
    pd = needs("pandas", "read_traces()")

    with Trace(path) as trace:
        rows = trace.tables.get(table) or getattr(trace, table)
        wanted = ["trace", *rows.columns] if columns is None else columns
        names = [name for name in wanted if name != "trace"]
        frame = rows.select(*names).to_pandas() if names else pd.DataFrame(index=range(len(rows)))
    frame = frame.iloc[:most]
    types = {}
    for name, kind in frame.dtypes.items():
        if kind == "category":
            types[name] = "string"
        elif str(kind).startswith(("int", "uint")):
            types[name] = str(kind).replace("i", "I").replace("u", "U")  # pandas' nullable type
    frame = frame.astype(types)
    frame["trace"] = pd.Series(path, index=frame.index, dtype="string")
    return frame[wanted]
