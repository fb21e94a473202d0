# SPDX-License-Identifier: Apache-2.0
"""Rows, slices, filters and orders of tables."""
import operator
import pickle

import numpy as np
import pytest

import tracesmith as ts


@pytest.fixture
def trace(simulated):
    with ts.open(simulated) as opened:
        yield opened


def fresh(path):
    """The kernels of a trace of which nothing has been read."""
    return ts.open(path).kernels


def test_rows_are_named(trace):
    for number, row in enumerate(trace.kernels):
        if number % 500 == 0:
            assert row.duration_ns == trace.kernels.duration_ns[number] and row.name == trace.kernels.name[number]
            assert row == trace.kernels[number] == trace.kernels.rows(number, number + 1)[0]
    assert number + 1 == len(trace.kernels)
    assert {row.call_path_id for row in trace.kernels.head(5)} == {None}  # unknown


@pytest.mark.parametrize("part", [
    slice(0, 0), slice(0, 10), slice(5, 9), slice(3, None), slice(None, -3), slice(-7, None), slice(-9, -2), slice(None, None, 7),
    slice(20, 3, -2), slice(None, None, -1), slice(10**7, 10**8), slice(100, 90), slice(17480, 10**7)])
def test_slices_are_those_of_a_list(simulated, part):
    """Of whole columns, and of rows that are read alone; and slices of them."""
    expected = ts.open(simulated).kernels.rows()
    assert fresh(simulated)[part].rows() == expected[part]
    assert len(fresh(simulated)[part]) == len(expected[part])
    for further in (slice(1, 3), slice(-2, None), slice(None, None, -1), slice(2, None, 2)):
        assert fresh(simulated)[part][further].rows() == expected[part][further], further
        assert len(fresh(simulated)[part][further]) == len(expected[part][further])


def test_a_few_rows_of_each_table_are_those_of_the_whole(simulated, kineto):
    for path in (simulated, kineto):
        with ts.open(path) as whole:
            for name, table in whole.tables.items():
                if name == "schema" or len(table) == 0:
                    continue
                rows = table.rows()
                for start in {0, len(rows) // 2, len(rows) - 1}:
                    with ts.open(path) as alone:
                        few = alone.tables[name][start : start + 3].rows()
                        assert few == rows[start : start + 3], (name, start)


def test_rows_that_there_are_not(trace):
    for number in (len(trace.kernels), -len(trace.kernels) - 1, 10**9):
        with pytest.raises(IndexError, match="kernel has no row"):
            trace.kernels[number]
    assert trace.kernels[-1] == trace.kernels.rows()[-1]
    assert bool(trace.kernels) and not trace.kernels[:0] and not trace.collectives
    with pytest.raises(TypeError, match="filter"):
        trace.kernels[trace.kernels.duration_ns > 0]


def test_head_reads_only_its_rows(tmp_path):
    """A damaged later block shows it: whoever read it would have found the damage."""
    path = tmp_path / "long.sbt"
    with ts.SBTWriter(path) as writer:
        for block in range(3):
            made = []
            for number in range(2000):
                made.append(ts.TraceEvent(ts.EventType.KernelComplete, 1000 * (2000 * block + number)))
                made[-1].name, made[-1].duration, made[-1].correlation_id = f"k{number % 7}", 10 + number, number + 1
            writer.write_events(made)
            writer.flush()
    whole = fresh(path).rows()
    intact = path.read_bytes()

    def damage(place):
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 0xFF]) + intact[place + 1 :])

    damage(len(intact) * 55 // 100)
    with ts.open(path) as trace:
        len(trace.kernels)
        block = trace.damage[0]
    for place in range(block.offset + block.bytes - 1, block.offset, -8):
        damage(place)  # the values in that block, not its directory, and no padding
        with ts.open(path) as trace:
            trace.kernels.head(1)
            if trace.damage == [] and len(trace.kernels) < len(whole):
                break
    with ts.open(path) as trace:
        stored = [name for name in trace.kernels.columns if name != "short_name"]  # which depends on all names
        kernels = trace.kernels[tuple(stored)]
        expected = [tuple(getattr(row, name) for name in stored) for row in whole]
        assert trace.damage == []
        assert kernels.head(20).rows() == expected[:20]
        assert [row for row, _ in zip(kernels, range(5))] == expected[:5]
        assert kernels[3] == expected[3]
        assert list(kernels.head()) == list(kernels.head(10)) == expected[:10]
        assert trace.damage == []  # not seen so far
        assert trace.kernels[3] == whole[3]
        assert len(trace.kernels) < len(whole) and trace.damage
        assert trace.kernels.head(20).rows() == whole[:20]


def test_texts_of_a_few_rows_are_only_theirs(kineto):
    with ts.open(kineto) as trace:
        few = trace.kernels.head(3).name
        assert sorted(set(few)) == few.categories
        assert list(few) == list(trace.kernels.name[:3])


def test_filter_and_sort_are_those_of_sql(trace):
    long = trace.kernels.filter(lambda kernel: kernel.duration_ns > 100_000)
    assert len(long) == trace.query("SELECT count(*) FROM kernel WHERE duration_ns > 100000")[0][0] > 0
    assert [row.duration_ns for row in long.sort("duration_ns", descending=True)] == \
        [row[0] for row in trace.query("SELECT duration_ns FROM kernel WHERE duration_ns > 100000 ORDER BY 1 DESC")]
    both = trace.kernels["name", "duration_ns"].sort("name", "duration_ns")
    assert both.rows() == list(trace.query("SELECT name, duration_ns FROM kernel ORDER BY 1, 2"))
    mask = trace.kernels.name == trace.kernels.name[0]
    assert set(trace.kernels.filter(mask).name) == {trace.kernels.name[0]}
    assert len(trace.kernels.filter(mask).filter(lambda kernel: ~(kernel.duration_ns > 0))) == 0


def test_sorting_is_stable_and_unknown_values_come_last(trace):
    calls = trace.host_calls
    for descending in (False, True):
        ordered = calls.sort("stream_id", descending=descending)
        known = ordered.known("stream_id")
        assert known[: known.sum()].all() and not known[known.sum():].any()
        starts = ordered.start_ns
        streams = ordered.stream_id
        same = (streams[1:] == streams[:-1]) & (known[1:] == known[:-1])
        position = {start: number for number, start in reversed(list(enumerate(calls.start_ns.tolist())))}
        numbers = np.array([position[start] for start in starts.tolist()])
        assert (np.diff(numbers)[same] >= 0).mean() > 0.99  # calls that start together have one number
        order = operator.ge if descending else operator.le
        assert order(streams[: known.sum()][:-1], streams[: known.sum()][1:]).all()


def test_nothing_is_read_before_it_is_needed(simulated):
    kernels = fresh(simulated)
    asked = []
    chosen = kernels.filter(lambda of: asked.append(1) or of.duration_ns > 0).sort("start_ns")[:5]["name",]
    assert asked == [1] or not asked  # a slice of a filter has to know its rows
    kernels.filter(lambda of: asked.append(2) or of.duration_ns > 0).sort("start_ns")
    assert 2 not in asked
    assert len(chosen) == 5


def test_what_can_not_be_filtered_or_sorted(trace):
    for wrong in ([True], np.ones(len(trace.kernels)), lambda kernel: kernel.duration_ns):
        with pytest.raises(ValueError, match="truth values"):
            len(trace.kernels.filter(wrong))
    with pytest.raises(KeyError, match="no column 'length'"):
        trace.kernels.sort("length")
    with pytest.raises(TypeError, match="name of a column"):
        trace.kernels.sort()


def test_some_rows_in_other_packages(trace):
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    some = trace.host_calls.filter(trace.host_calls.duration_ns > 1000).sort("duration_ns")
    expected = [tuple(row) for row in some.rows()]
    assert 0 < len(expected) < len(trace.host_calls)
    arrow = some.to_arrow()
    arrow.validate(full=True)
    assert list(zip(*(arrow[name].to_pylist() for name in some.columns))) == expected
    assert some.to_polars().shape == some.to_pandas().shape == (len(expected), len(some.columns))
    assert some.to_polars()["duration_ns"].to_list() == some.to_pandas().duration_ns.tolist() == some.duration_ns.tolist()
    assert trace.kernels[10:20].to_arrow()["name"].to_pylist() == list(trace.kernels.name[10:20])


def test_a_part_can_be_pickled(trace):
    part = trace.kernels["name", "duration_ns"].sort("duration_ns")[:7]
    assert pickle.loads(pickle.dumps(part)).rows() == part.rows()


def test_shown_within_the_width(trace, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for table in (trace.kernels, trace.host_calls.head(3), trace.kernels["name",]):
        lines = repr(table).splitlines()
        assert max(map(len, lines)) <= 80 and "…" not in lines[0]
        assert f"{len(table):,} rows" in lines[0]
    assert f"… {len(trace.kernels) - 10:,} more rows" in repr(trace.kernels)
    assert f"… {len(trace.kernels) - 10:,} more rows" in trace.kernels._repr_html_()


def test_completion(trace):
    assert {"duration_ns", "filter", "head"} <= set(dir(trace.kernels))
    assert {"kernels", "diff", "whatif", "export"} <= set(dir(trace))
