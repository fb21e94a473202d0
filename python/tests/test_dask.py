# SPDX-License-Identifier: Apache-2.0
"""Many traces as one Dask data frame."""
import shutil

import pytest

import tracesmith as ts

pytest.importorskip("dask.dataframe", reason="dask is not installed")
from tracesmith.dask import read_traces  # noqa: E402  pylint: disable=wrong-import-position


@pytest.fixture
def runs(simulated, tmp_path):
    paths = [tmp_path / f"run{n}.sbt" for n in range(3)]
    for path in paths[:2]:
        shutil.copy(simulated, path)
    with ts.profile(paths[2]):  # without kernels
        ts.mark("here")
    return paths


def test_many_traces(runs):
    frame = read_traces(runs, "kernels", ["name", "duration_ns"])
    assert frame.npartitions == 3 and list(frame.columns) == ["trace", "name", "duration_ns"]
    sums = frame.groupby(["trace", "name"]).duration_ns.sum().compute()
    with ts.open(runs[0]) as trace:
        wanted = dict(trace.query("SELECT name, sum(duration_ns) FROM kernel GROUP BY name"))
    for path in runs[:2]:
        assert sums[str(path)].to_dict() == wanted
    assert str(runs[2]) not in sums.index.get_level_values(0)
    assert len(read_traces(runs, "kernel")) == 2 * len(ts.open(runs[0]).kernels)


def test_traces_that_know_different_things(runs, kineto):
    for table in ("host_calls", "kernels"):
        frame = read_traces([*runs, kineto], table)
        computed = frame.compute()
        assert len(computed) == sum(len(getattr(ts.open(path), table)) for path in [*runs, kineto])
        assert set(map(str, computed.trace.unique())) <= {str(path) for path in [*runs, kineto]}


def test_bad_input(runs, tmp_path):
    with pytest.raises(ts.InvalidArgumentError):
        read_traces([])
    with pytest.raises(ts.InvalidArgumentError):
        read_traces("run.sbt")
    with pytest.raises(ts.NotFoundError):
        read_traces([tmp_path / "nowhere.sbt"])
    with pytest.raises(AttributeError):
        read_traces(runs, "nothing")
    with pytest.raises(KeyError):
        read_traces(runs, "kernels", ["nothing"])
