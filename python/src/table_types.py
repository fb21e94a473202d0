# SPDX-License-Identifier: Apache-2.0
"""Writes _tables.pyi: the tables of a trace with their columns, so that mypy and editors know
`trace.kernels.duration_ns` and `row.duration_ns`. The build runs it with the package it has built.
Usage: table_types.py OUTPUT"""
import keyword
import sys
from pathlib import Path

from tracesmith import _core
from tracesmith._table import Table
from tracesmith._tables import PLURALS
from tracesmith._trace import Trace

HEAD = '''# Made by python/src/table_types.py from the schema of traces.
from collections.abc import Iterator
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tracesmith._table import Table
from tracesmith._texts import Texts

__all__ = ["PLURALS", "Tables"]

PLURALS: dict[str, str]
'''
COLUMN = {"TEXT": "Texts", "REAL": "npt.NDArray[np.float64]", "INTEGER": "npt.NDArray[np.integer[Any]]"}
VALUE = {"TEXT": "str | None", "REAL": "float | None", "INTEGER": "Any"}  # an integer may be unknown


def class_of(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def attributes(columns: list[tuple[str, str, str]], types: dict[str, str], used: set[str]) -> list[str]:
    lines = []
    for name, kind, meaning in columns:
        if keyword.iskeyword(name) or name in used:
            continue
        lines += ["    @property", f"    def {name}(self) -> {types[kind]}:", f"        {meaning!r}"]
    return lines or ["    pass"]


def main(output: str) -> None:
    singular = {name: plural for plural, name in PLURALS.items()}
    classes, tables = [], ["", "class Tables:", "    @property", "    def tables(self) -> dict[str, Table]: ..."]
    for name, meaning, columns in _core.schema():
        plural = singular.get(name, name)
        if plural in vars(Trace):  # `metadata` is a dict there
            continue
        kind = class_of(plural)
        classes += ["", f"class _{kind}Row(tuple[Any, ...]):", *attributes(columns, VALUE, {"count", "index"})]
        classes += ["", f"class {kind}(Table):", f"    {meaning!r}", *attributes(columns, COLUMN, set(dir(Table)))]
        classes += [f"    def __iter__(self) -> Iterator[_{kind}Row]: ...",
                    f"    def rows(self, start: int = 0, stop: int | None = None) -> list[_{kind}Row]: ..."]
        tables += ["    @property", f"    def {plural}(self) -> {kind}:", f"        {meaning!r}"]
    Path(output).write_text("\n".join([HEAD.rstrip(), *classes, *tables]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
