# SPDX-License-Identifier: Apache-2.0
"""tracesmith.open(): tables, columns, queries, and what is not as it should be."""
import copy
import gc
import os
import pickle
import shutil

import numpy as np
import pytest
from running import in_threads, run_script

import tracesmith


@pytest.fixture
def trace(simulated):
    with tracesmith.open(simulated) as opened:
        yield opened


def test_a_table_has_its_rows_and_columns(trace):
    kernels = trace.kernels
    assert len(kernels) == trace.query("SELECT count(*) FROM kernel")[0][0] > 0
    assert "duration_ns" in kernels.columns
    assert kernels.describe()["end_ns"] == "start_ns + duration_ns"
    assert trace.tables["kernel"].sql_name == kernels.sql_name == "kernel"


def test_columns_are_what_sql_says(trace):
    """All columns of all tables, row by row."""
    compared = 0
    for name, table in trace.tables.items():
        if name == "schema" or len(table) == 0:
            continue
        quoted = ", ".join(f'"{column}"' for column in table.columns)
        assert table.rows() == list(trace.query(f'SELECT {quoted} FROM "{name}"')), name
        compared += len(table) * len(table.columns)
    assert compared > 10000


def test_of_a_trace_of_another_tool_too(kineto):
    with tracesmith.open(kineto) as trace:
        for name in ("kernel", "host_call", "range", "stream", "thread"):
            table = trace.tables[name]
            quoted = ", ".join(f'"{column}"' for column in table.columns)
            assert table.rows() == list(trace.query(f'SELECT {quoted} FROM "{name}"')), name


def test_numbers_lie_where_they_were_read_to(trace):
    durations = trace.kernels.duration_ns
    assert durations.dtype == np.int64
    assert not durations.flags.owndata and not durations.flags.writeable
    assert trace.kernels["duration_ns"] is durations
    with pytest.raises(ValueError):
        durations[0] = 1


def test_end_is_start_and_duration(trace):
    kernels = trace.kernels
    assert np.array_equal(kernels.end_ns, kernels.start_ns + kernels.duration_ns)


def test_one_column_alone_is_the_same(simulated):
    """Whatever was read before it, and after it."""
    with tracesmith.open(simulated) as whole:
        whole.query("SELECT 1")  # reads all
        for table_name in ("kernel", "copy", "host_call", "memory_event", "counter"):
            for name in whole.tables[table_name].columns:
                with tracesmith.open(simulated) as alone:
                    assert np.array_equal(np.asarray(alone.tables[table_name][name]),
                                          np.asarray(whole.tables[table_name][name])), (table_name, name)


def test_texts(trace):
    names = trace.kernels.name
    assert names.categories == sorted(set(names))
    assert len(names) == len(trace.kernels)
    first = names[0]
    assert (names == first).sum() == list(names).count(first)
    assert (names != first).sum() == len(names) - list(names).count(first)
    assert names.isin([first, "no such kernel"]).sum() == list(names).count(first)
    assert not (names == "no such kernel").any()
    assert list(names[2:5]) == list(names)[2:5]
    assert np.asarray(names)[-1] == names[-1]


def test_what_is_not_known(trace):
    calls = trace.host_calls
    known = calls.known("stream_id")
    assert not known.all() and known.any()
    assert (calls.stream_id[~known] == 0).all()
    assert calls.rows(0, 1)[0][calls.columns.index("pid")] is not None


def test_some_columns(trace):
    some = trace.kernels["name", "duration_ns"]
    assert some.columns == ("name", "duration_ns")
    assert len(some.rows(1, 3)) == 2
    assert "duration_ns" in repr(some) and "start_ns" not in repr(some)
    assert "<table" in some._repr_html_()


def test_in_a_notebook(simulated):
    with tracesmith.open(simulated) as trace:
        page = trace._repr_html_()
        assert f"kernels</td><td>{len(trace.kernels)}</td>" in page and str(simulated) in page
        assert "collectives" not in page and "no end" not in page  # there are none
    assert "closed" in trace._repr_html_()


def test_columns_that_there_are_not(trace):
    with pytest.raises(KeyError, match="no column 'durations'.*duration_ns"):
        trace.kernels["durations"]
    with pytest.raises(AttributeError, match="no column 'durations'"):
        trace.kernels.durations
    with pytest.raises(TypeError, match="by name"):
        trace.kernels[0.5]
    with pytest.raises(AttributeError, match="its tables are kernels"):
        trace.kernals


def test_query(trace):
    answer = trace.query("SELECT name, count(*) AS n FROM kernel GROUP BY name ORDER BY n DESC")
    assert answer.columns == ("name", "n")
    assert sum(n for _, n in answer) == len(trace.kernels)
    assert isinstance(answer[0][0], str)
    assert str(answer[0][1]) in repr(answer)


@pytest.mark.parametrize("sql, error, says", [
    ("SELECT nme FROM kernel", tracesmith.InvalidArgumentError, "nme"),
    ("SELEC", tracesmith.InvalidArgumentError, "syntax error"),
    ("", tracesmith.InvalidArgumentError, "SELECT"),
    ("DELETE FROM kernel", tracesmith.Error, "modified"),
    ("ATTACH '/tmp/x.db' AS x", tracesmith.PermissionDeniedError, "read"),
])
def test_queries_that_can_not_be(trace, sql, error, says):
    with pytest.raises(error, match=says):
        trace.query(sql)


def test_numbers_that_can_not_be(trace):
    for limit in (-1, 2**70):
        with pytest.raises(tracesmith.InvalidArgumentError, match="limit"):
            trace.analyze(limit=limit)
    for duration in (-1, float("nan"), float("inf")):
        with pytest.raises(tracesmith.InvalidArgumentError, match="duration_ms"):
            tracesmith.capture_trace(duration, tracesmith.PlatformType.Simulation)


def test_interrupting_a_query(simulated):
    """Ctrl-C ends a query that would take years."""
    script = (
        "import os, signal, threading, time, tracesmith\n"
        f"trace = tracesmith.open({str(simulated)!r})\n"
        "threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    trace.query('SELECT count(*) FROM host_call a, host_call b, host_call c, host_call d')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', len(trace.query('SELECT 1')))\n")
    result = run_script(script)
    assert result.stdout == "interrupted 1\n", result.stderr


def test_a_signal_handler_that_asks_the_same_trace(simulated):
    """While a query runs: it may wait, and must not wait for itself."""
    script = (
        "import signal, tracesmith\n"
        f"trace = tracesmith.open({str(simulated)!r})\n"
        "seen = []\n"
        "signal.signal(signal.SIGALRM, lambda *_: seen.append(len(trace.kernels)))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n"
        "while len(seen) < 3:\n"
        "    trace.query('SELECT count(*) FROM host_call a, (SELECT 1 FROM host_call LIMIT 20) b')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print('done', set(seen) == {len(trace.kernels)})\n")
    result = run_script(script)
    assert result.stdout == "done True\n", result.stderr


def test_interrupting_what_takes_long(tmp_path):
    """Ctrl-C ends opening another tool's trace, and a handler of the program's own leaves it alone."""
    path = tmp_path / "large.json"
    event = '{"ph":"X","name":"kernel %d","cat":"kernel","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"stream":7,"device":0}}'
    path.write_text("[" + ",\n".join(event % (n % 100, 10 * n) for n in range(400000)) + "]")
    script = (
        "import os, signal, threading, time, tracesmith\n"
        "def interrupted(after):\n"
        "    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    began = time.monotonic()\n"
        "    try:\n"
        f"        trace = tracesmith.open({str(path)!r})\n"
        "        len(trace.kernels)\n"
        "        took = time.monotonic() - began\n"
        "        while not seen and time.monotonic() - began < 60: pass\n"
        "        return took\n"
        "    except KeyboardInterrupt:\n"
        "        return 'interrupted'\n"
        "seen = []\n"
        "default = signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n"
        "took = interrupted(0.01)\n"
        "signal.signal(signal.SIGINT, default)\n"
        "del seen[:]\n"
        "print(interrupted(took / 4))\n")
    result = run_script(script)
    assert result.stdout == "interrupted\n", result.stdout + result.stderr


def test_a_child_of_a_busy_process(simulated):
    """A thread that is not in the child has the trace: that is said, and not waited for."""
    script = (
        "import os, threading, time, tracesmith\n"
        f"trace = tracesmith.open({str(simulated)!r})\n"
        "ask = 'SELECT count(*) FROM host_call a, host_call b, host_call c, host_call d'\n"
        "threading.Thread(target=trace.query, args=(ask,), daemon=True).start()\n"
        "time.sleep(1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        trace.query('SELECT 1')\n"
        "    except tracesmith.UnsupportedError as error:\n"
        "        os._exit(len(tracesmith.open(trace.path).kernels) > 0 and 'forked' in str(error))\n"
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) + 40)\n")
    result = run_script(script)
    assert result.returncode == 41, result.stderr


def test_errors_of_the_system_are_python_s(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        tracesmith.open(tmp_path / "none.sbt")
    assert caught.value.filename == str(tmp_path / "none.sbt") and caught.value.errno is None
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.where == caught.value.where
    with pytest.raises(ValueError):
        tracesmith.open("x.sbt\0y")


def test_files_that_are_no_trace(tmp_path):
    with pytest.raises(tracesmith.NotFoundError) as caught:
        tracesmith.open(tmp_path / "none.sbt")
    assert isinstance(caught.value, FileNotFoundError) and "none.sbt" in str(caught.value)
    (tmp_path / "text.sbt").write_text("words")
    with pytest.raises(tracesmith.NotATraceError):
        tracesmith.open(tmp_path / "text.sbt")
    with pytest.raises(tracesmith.Error):
        tracesmith.open(tmp_path)
    with pytest.raises(TypeError):
        tracesmith.open(3.5)


def test_names_that_are_not_utf8(simulated, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.sbt"
    shutil.copy(os.fsencode(simulated), path)
    with tracesmith.open(path) as trace:
        assert len(trace.kernels) > 0
    with pytest.raises(tracesmith.NotFoundError) as caught:
        tracesmith.open(path + b"x")
    assert "\udcff" in str(caught.value)


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_a_cut_trace(simulated, tmp_path, cut):
    data = simulated.read_bytes()
    (tmp_path / "cut.sbt").write_bytes(data[: int(len(data) * cut)])
    with tracesmith.open(tmp_path / "cut.sbt") as trace:
        assert not trace.complete
        assert len(trace.kernels.duration_ns) == trace.query("SELECT count(*) FROM kernel")[0][0]


def test_a_damaged_trace(simulated, tmp_path):
    """Wherever a byte is wrong: columns agree with each other, and with queries."""
    data = simulated.read_bytes()
    generator = np.random.default_rng(1)
    damaged = 0
    for place in generator.integers(200, len(data), 60):
        broken = bytearray(data)
        broken[place] ^= 0x55
        (tmp_path / "broken.sbt").write_bytes(broken)
        try:
            trace = tracesmith.open(tmp_path / "broken.sbt")
        except tracesmith.Error:
            continue
        for table in (trace.kernels, trace.host_calls):
            lengths = {len(table[name]) for name in ("flags", "start_ns", "stream_id", "name", "correlation_id")}
            lengths = {len(table[name]) for name in ("flags", "start_ns", "stream_id", "name", "correlation_id")}
            assert lengths == {len(table)}
        damaged += bool(trace.damage)
        assert len(trace.kernels) == trace.query("SELECT count(*) FROM kernel")[0][0]
        trace.close()
    assert damaged > 10


def test_the_length_of_a_damaged_table(simulated, tmp_path):
    """Is right before any column of it was read."""
    data = simulated.read_bytes()
    shorter = 0
    for place in range(len(data) // 4, len(data), len(data) // 40):
        broken = bytearray(data)
        broken[place] ^= 0x55
        (tmp_path / "broken.sbt").write_bytes(broken)
        with tracesmith.open(tmp_path / "broken.sbt") as trace:
            length = len(trace.host_calls)
            assert length == len(trace.host_calls.start_ns)
            shorter += bool(trace.damage)
    assert shorter > 3


def test_a_closed_trace(simulated):
    trace = tracesmith.open(simulated)
    kernels = trace.kernels
    durations = kernels.duration_ns
    total = durations.sum()
    trace.close()
    trace.close()
    assert "closed" in repr(trace)
    gc.collect()
    assert durations.sum() == total  # an array keeps what it needs
    for use in (lambda: kernels.start_ns, lambda: len(kernels), lambda: trace.query("SELECT 1"), lambda: trace.kernels):
        with pytest.raises(tracesmith.ClosedError):
            use()


def test_arrays_outlive_their_trace(simulated):
    durations = tracesmith.open(simulated).kernels.duration_ns
    gc.collect()
    with tracesmith.open(simulated) as trace:
        assert np.array_equal(durations, trace.kernels.duration_ns)


def test_a_trace_that_vanishes(simulated, tmp_path):
    path = tmp_path / "vanishes.sbt"
    shutil.copy(simulated, path)
    trace = tracesmith.open(path)
    path.unlink()
    assert len(trace.kernels.duration_ns) == len(trace.kernels)


def test_a_trace_that_becomes_shorter(simulated, tmp_path):
    path = tmp_path / "shorter.sbt"
    shutil.copy(simulated, path)
    trace = tracesmith.open(path)
    os.truncate(path, 4096)
    assert len(trace.kernels.duration_ns) == len(trace.kernels)
    assert trace.damage


def test_pickling(trace):
    again = pickle.loads(pickle.dumps(trace))
    assert again.path == trace.path
    table = trace.kernels["name", "duration_ns"]
    for same in (pickle.loads(pickle.dumps(table)), copy.copy(table)):
        assert same.columns == table.columns and len(same) == len(table)
    assert "name" in table and "start_ns" not in table
    assert np.array_equal(again.kernels.start_ns, trace.kernels.start_ns)


def test_a_path_is_where_it_was(simulated, tmp_path, monkeypatch):
    shutil.copy(simulated, tmp_path / "here.sbt")
    monkeypatch.chdir(tmp_path)
    trace = tracesmith.open("here.sbt")
    monkeypatch.chdir("/")
    assert len(pickle.loads(pickle.dumps(trace)).kernels) == len(trace.kernels)


def test_every_plural_is_a_table(trace):
    for name in dir(trace):
        if not name.startswith("_"):
            getattr(trace, name)
    assert len(trace.counters.value) == len(trace.counters)


def test_threads(simulated):
    """Many at once, on one trace, while others ask and close."""
    trace = tracesmith.open(simulated)
    expected = trace.query("SELECT sum(duration_ns) FROM kernel")[0][0]
    fresh = tracesmith.open(simulated)
    failures = []

    def work(number):
        try:
            for _ in range(20):
                names = list(fresh.kernels.columns)
                fresh.kernels[names[number % len(names)]]
                assert fresh.kernels.duration_ns.sum() == expected
                assert fresh.query("SELECT sum(duration_ns) FROM kernel")[0][0] == expected
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    in_threads(8, work)
    assert not failures


def test_a_forked_child(trace):
    total = int(trace.kernels.duration_ns.sum())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = trace.query("SELECT sum(duration_ns) FROM kernel")[0][0]
        os.write(writer, str(said).encode())
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 100).decode() == str(total)
    os.close(reader)
    assert os.waitpid(child, 0)[1] == 0
