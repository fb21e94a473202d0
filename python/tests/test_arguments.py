# SPDX-License-Identifier: Apache-2.0
"""Arguments that make no sense are errors of documented classes, with a sentence."""
import pickle

import pytest

import tracesmith as ts


@pytest.fixture
def trace(simulated):
    with ts.open(simulated) as opened:
        yield opened


@pytest.mark.parametrize("part", [
    slice(10**30), slice(10**20, 10**21), slice(-10**30, None), slice(None, 10**30, 2), slice(None, None, 10**30),
    slice(None, None, -10**30), slice(5, -10**30, -1)])
def test_numbers_beyond_any_table_mean_what_they_do_in_a_list(trace, part):
    rows = trace.kernels.head(1000)
    assert rows[part].rows() == rows.rows()[part]


@pytest.mark.parametrize("part", [slice("a", "b"), slice(1.5, 3), slice(None, None, "x")])
def test_parts_of_slices_are_whole_numbers(trace, part):
    with pytest.raises(TypeError, match="made of whole numbers, not of"):
        trace.kernels[part]  # pylint: disable=expression-not-assigned


def test_numbers_of_rows(trace):
    assert len(trace.kernels.head(10**30)) == len(trace.kernels)
    with pytest.raises(IndexError, match="has no row"):
        trace.kernels[10**30]  # pylint: disable=expression-not-assigned
    for count in ("a", 1.5, None):
        with pytest.raises(ts.InvalidArgumentError, match="count: must be a whole number"):
            trace.kernels.head(count)
    with pytest.raises(ts.InvalidArgumentError, match="count: must be 0 or more"):
        trace.kernels.head(-1)


def test_select_needs_a_column(trace):
    with pytest.raises(TypeError, match="needs the name of a column"):
        trace.kernels.select()
    with pytest.raises(TypeError, match="needs the name of a column"):
        trace.kernels[()]  # pylint: disable=expression-not-assigned


@pytest.mark.parametrize("change, message", [
    ({"scale": ["kernel=."]}, "scale: must map names to factors"),
    ({"scale": "kernel=.:2"}, "scale: must map names to factors"),
    ({"scale": {"kernel=.": "x"}}, "scale: a factor is a number, not 'x'"),
    ({"bandwidth": "x"}, "bandwidth: a factor is a number"),
    ({"bandwidth": [1]}, "bandwidth: a factor is a number"),
    ({"bandwidth": {"h2d": None}}, "bandwidth: a factor is a number"),
    ({"remove": 3}, "remove: must be a text or several, not 3"),
    ({"fuse": ["a", 1]}, "fuse: must be a text or several, not 1"),
    ({"streams": "3"}, "streams: must be a whole number"),
    ({"streams": 10**30}, "streams: there can be 1 to 1024"),
    ({"limit": "a"}, "limit: must be a number of rows"),
])
def test_changes_that_make_no_sense(trace, change, message):
    with pytest.raises(ts.InvalidArgumentError, match=message):
        trace.whatif(**change)


def test_a_trace_to_compare_with(trace):
    with pytest.raises(ts.InvalidArgumentError, match="other: must be a trace"):
        trace.diff(3)


def test_plots_need_a_positive_number_of_rows(trace):
    pytest.importorskip("matplotlib")
    for count in (0, -1, "x"):
        with pytest.raises(ts.InvalidArgumentError, match="count: "):
            trace.plot.kernels(count)
        with pytest.raises(ts.InvalidArgumentError, match="count: "):
            trace.plot.compare(trace, count)


def test_a_trace_that_was_never_opened_is_closed(trace):
    empty = ts.Trace.__new__(ts.Trace)
    for use in (lambda: empty.kernels, lambda: empty.metadata, lambda: empty.query("SELECT 1")):
        with pytest.raises(ts.ClosedError):
            use()
    assert "closed" in repr(empty) and "closed" in empty._repr_html_()
    empty.close()
    with pytest.raises(AttributeError, match="no_such_table"):
        trace.no_such_table  # pylint: disable=pointless-statement
    assert len(pickle.loads(pickle.dumps(trace)).kernels) == len(trace.kernels)
