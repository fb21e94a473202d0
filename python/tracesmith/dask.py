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
    """A dask.dataframe.DataFrame of one table of all these traces: each is a partition, which is read
    when it is computed, where it is computed; workers must see the files by the same paths.

    `table`: as an attribute of a Trace ("kernels", "host_calls", …) or in SQL ("kernel").
    `columns`: those that are wanted, which saves reading the others; None: all. Another one, "trace",
    has the path. Texts are of pandas' string type and integers are nullable, as traces differ in what
    they know. InvalidArgumentError: no paths; AttributeError, KeyError: no such table, column; and what
    opening a trace raises. The first trace is opened at once."""
    dataframe = needs("dask.dataframe", "read_traces()")

    if isinstance(paths, (str, bytes, os.PathLike)) or not paths:
        raise InvalidArgumentError("are a list with one path or more", "paths")
    files = [os.fspath(path) for path in paths]
    wanted = None if columns is None else ["trace", *columns]
    from_map = dataframe.from_map
    return from_map(_frame, files, table=table, columns=wanted, meta=_frame(files[0], table, wanted, 0))


def _frame(path: str, table: str, columns: list[str] | None, most: int | None = None) -> pandas.DataFrame:
    """Dask asks for fewer columns, by this argument's name, where it needs no more."""
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
            types[name] = str(kind).replace("i", "I").replace("u", "U")  # the nullable one
    frame = frame.astype(types)
    frame["trace"] = pd.Series(path, index=frame.index, dtype="string")
    return frame[wanted]
