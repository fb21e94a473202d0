# SPDX-License-Identifier: Apache-2.0
"""The tables of a trace as its attributes. Their columns and types, for mypy and editors, are in
_tables.pyi, which the build makes of the schema (python/src/table_types.py)."""
from __future__ import annotations

from tracesmith._table import Table

__all__ = ["PLURALS", "Tables"]

# Python's plural names of tables; SQL has singular names.
PLURALS = {
    "kernels": "kernel",
    "copies": "copy",
    "fills": "fill",
    "syncs": "sync",
    "host_calls": "host_call",
    "memory_events": "memory_event",
    "counters": "counter",
    "ranges": "range",
    "flows": "flow",
    "devices": "device",
    "contexts": "context",
    "streams": "stream",
    "processes": "process",
    "threads": "thread",
    "program_builds": "program_build",
    "spans": "span",
    "steps": "step",
    "collectives": "collective",
    "frames": "frame",
    "losses": "loss",
    "ranks": "rank",
}


class Tables:
    """Gives each table of `tables` as an attribute, by its plural or its SQL name."""

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by their SQL names."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_"):
            raise AttributeError(name)
        table = self.tables.get(PLURALS.get(name, name))
        if table is None:
            raise AttributeError(f"a trace has no '{name}'; its tables are {', '.join(PLURALS)}")
        return table

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *PLURALS]
