# SPDX-License-Identifier: Apache-2.0
"""Tables and answers in pandas, pyarrow, Polars and DuckDB."""
import numpy as np
import pytest

import tracesmith


@pytest.fixture
def trace(simulated):
    with tracesmith.open(simulated) as opened:
        yield opened


def by_name(trace):
    return dict(trace.query("SELECT name, sum(duration_ns) FROM kernel GROUP BY name"))


def test_pandas(trace):
    frame = trace.kernels["name", "duration_ns"].to_pandas()
    assert frame.groupby("name", observed=True).duration_ns.sum().to_dict() == by_name(trace)
    assert np.shares_memory(frame.duration_ns.to_numpy(), trace.kernels.duration_ns)


def test_pandas_has_nulls_where_nothing_is_known(trace):
    frame = trace.host_calls.to_pandas()
    assert frame.stream_id.isna().sum() == trace.query("SELECT count(*) FROM host_call WHERE stream_id IS NULL")[0][0]


def test_pyarrow(trace):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(trace.kernels)
    table.validate(full=True)
    assert table.num_rows == len(trace.kernels)
    assert tuple(table.column_names) == trace.kernels.columns
    address = table["duration_ns"].chunk(0).buffers()[1].address
    assert address == trace.kernels.duration_ns.ctypes.data  # not copied
    for name in trace.kernels.columns:
        assert table[name].to_pylist() == [row[0] for row in trace.kernels[[name]].rows()], name
    answer = pyarrow.table(trace.query("SELECT name, duration_ns FROM kernel ORDER BY 2"))
    assert answer.num_rows == len(trace.kernels)


def test_all_tables_in_pyarrow(trace):
    pyarrow = pytest.importorskip("pyarrow")
    for name, table in trace.tables.items():
        converted = pyarrow.table(table)
        converted.validate(full=True)
        assert converted.num_rows == len(table), name


def test_arrow_outlives_the_trace(simulated):
    pyarrow = pytest.importorskip("pyarrow")
    trace = tracesmith.open(simulated)
    table = pyarrow.table(trace.kernels["duration_ns", "name"])
    total = int(trace.kernels.duration_ns.sum())
    trace.close()
    del trace
    assert sum(table["duration_ns"].to_pylist()) == total
    capsule = tracesmith.open(simulated).kernels.__arrow_c_stream__()
    del capsule  # nobody took it


def test_polars(trace):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(trace.kernels["name", "duration_ns"])
    sums = frame.group_by("name").agg(polars.col("duration_ns").sum())
    assert {str(name): total for name, total in sums.iter_rows()} == by_name(trace)


def test_duckdb(trace):
    duckdb = pytest.importorskip("duckdb")
    kernels = trace.kernels  # pylint: disable=unused-variable
    rows = duckdb.sql("SELECT name, sum(duration_ns) FROM kernels GROUP BY name").fetchall()
    assert {str(name): int(total) for name, total in rows} == by_name(trace)
