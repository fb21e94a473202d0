# SPDX-License-Identifier: Apache-2.0
"""Traces in an object store: a server that speaks S3, on this machine."""
import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

import tracesmith as ts
from tracesmith import _remote, fleet

LIMIT_S = 60
STORE = "s3://traces"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    for package in ("moto", "s3fs", "flask"):
        pytest.importorskip(package)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(tmp_path_factory.mktemp("store") / "log", "wb") as log:
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture
def store(server, monkeypatch):
    """An empty bucket, as fsspec's file system."""
    import fsspec
    import s3fs

    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": server, "key": "a", "secret": "b"})
    monkeypatch.setenv("FSSPEC_S3", json.dumps(fsspec.config.conf["s3"]))  # of processes that are not forked
    s3fs.S3FileSystem.clear_instance_cache()
    files = fsspec.filesystem("s3")
    files.mkdir("traces")
    yield files
    files.invalidate_cache()
    files.rm("traces", recursive=True)


@pytest.fixture
def folder(simulated, tmp_path):
    """Traces on the disk."""
    out = tmp_path / "runs"
    out.mkdir()
    shutil.copy(simulated, out / "a.sbt")
    for name in ("b", "c"):
        command = [ts.command_path(), "record", "-q", "-p", "simulation", "-d", "0.4", "-o", out / f"{name}.sbt"]
        subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.fixture
def reads(monkeypatch):
    """The size of each read of a remote file, and of each write."""
    made = {"read": [], "write": []}
    read, write = _remote.RemoteFiles.read, _remote.RemoteFiles.write

    def counted_read(self, url, offset, size):
        content = read(self, url, offset, size)
        made["read"].append(len(content))
        return content

    def counted_write(self, url, content):
        made["write"].append(len(content))
        return write(self, url, content)

    monkeypatch.setattr(_remote.RemoteFiles, "read", counted_read)
    monkeypatch.setattr(_remote.RemoteFiles, "write", counted_write)
    return made


def names(result):
    return {file.path.rpartition("/")[2]: file.state for file in result.files}


def test_like_files_on_the_disk(store, folder):
    store.put(str(folder), "traces/night", recursive=True)
    local = fleet.analyze(folder, store=False)
    result = fleet.analyze(f"{STORE}/night")
    assert names(result) == dict.fromkeys(("a.sbt", "b.sbt", "c.sbt"), "computed")
    assert result.summary == local.summary and not [file.not_stored for file in result.files if file.not_stored]
    assert store.exists("traces/night/a.sbt.summary")
    again = fleet.analyze([f"{STORE}/night/a.sbt", f"{STORE}/night/b.sbt.summary", str(folder / "c.sbt")], store=False)
    assert names(again) == {"a.sbt": "stored", "b.sbt.summary": "stored", "c.sbt": "computed"}
    assert again.summary == local.summary
    one = fleet.summarize(f"{STORE}/night/a.sbt", again=True, summaries=f"{STORE}/elsewhere")
    assert one.state == "computed" and one.path == f"{STORE}/night/a.sbt" and not one.not_stored
    assert len(store.find("traces/elsewhere")) == 1


@pytest.mark.parametrize("executor", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_on_workers(store, folder, executor):
    store.put(str(folder), "traces/night", recursive=True)
    fleet.analyze(f"{STORE}/night", store=False)  # the client of the parent is there when processes fork
    with executor(2) as pool:
        result = fleet.analyze(f"{STORE}/night", pool, files_per_task=1)
    assert result.summary == fleet.analyze(folder, store=False).summary and not result.failed


def test_ranges_are_read(store, tmp_path, reads):
    big = tmp_path / "big.sbt"
    command = [ts.command_path(), "record", "-q", "-p", "simulation", "-d", "60", "-o", big]
    subprocess.run(command, check=True, capture_output=True)
    size = big.stat().st_size
    assert size > 2_000_000
    store.put(str(big), "traces/big.sbt")
    computed = fleet.analyze(f"{STORE}/big.sbt")
    assert computed.summary == fleet.analyze(big, store=False).summary
    assert max(reads["read"]) < size / 4, "never the whole file at once"
    assert sum(reads["read"]) < 1.5 * size, "each part about once"
    assert len(reads["write"]) == 1 and reads["write"][0] <= 66_000
    reads["read"].clear()
    assert names(fleet.analyze(f"{STORE}/big.sbt")) == {"big.sbt": "stored"}
    assert sum(reads["read"]) < 700_000, "what tells which trace it is, and the summary"


def test_files_that_change_are_seen(store, folder):
    store.pipe_file("traces/a.sbt", (folder / "a.sbt").read_bytes()[:-2000])
    before = fleet.analyze(STORE)
    store.put(str(folder / "a.sbt"), "traces/a.sbt")
    store.put(str(folder / "b.sbt"), "traces/b.sbt")
    fresh = fleet.analyze([f"{STORE}/a.sbt", f"{STORE}/b.sbt"])
    assert names(before) == {"a.sbt": "computed"} and names(fresh) == {"a.sbt": "computed", "b.sbt": "computed"}


def test_what_signal_handlers_raise(store, folder, monkeypatch):
    store.put(str(folder), "traces/night", recursive=True)

    def stop(self, url, offset, size):
        raise SystemExit(7)

    monkeypatch.setattr(_remote.RemoteFiles, "read", stop)
    with pytest.raises(SystemExit):
        fleet.analyze(f"{STORE}/night")


class WithoutRanges:
    """A file system whose server sends the whole file, whatever is asked for."""

    def __init__(self, files):
        self.files = files

    def __getattr__(self, name):
        return getattr(self.files, name)

    def cat_file(self, path, **_):
        return self.files.cat_file(path) * 2


def test_servers_without_ranges(store, folder, monkeypatch):
    store.put(str(folder / "a.sbt"), "traces/a.sbt")
    monkeypatch.setattr(_remote.RemoteFiles, "_find", lambda self, url: (WithoutRanges(store), url.removeprefix("s3://")))
    result = fleet.analyze(f"{STORE}/a.sbt")
    assert "ranges" in result.failed[0].message


def test_bad_files_are_named(store, folder):
    good = (folder / "a.sbt").read_bytes()
    contents = {"good.sbt": good, "cut.sbt": (folder / "b.sbt").read_bytes()[:-3000], "empty.sbt": b"", "foreign.sbt": b"hello" * 99}
    for name, content in contents.items():
        store.pipe_file(f"traces/{name}", content)
    result = fleet.analyze([STORE, f"{STORE}/missing.sbt", "s3://no-such-bucket/x", "s3://no-such-bucket", "nonsense://host/a.sbt"])
    assert names(result)["good.sbt"] == names(result)["cut.sbt"] == "computed"
    failed = {file.path: file.message for file in result.failed}
    assert set(failed) == {f"{STORE}/empty.sbt", f"{STORE}/foreign.sbt", f"{STORE}/missing.sbt", "s3://no-such-bucket/x",
                           "s3://no-such-bucket", "nonsense://host/a.sbt"}
    assert [file.state for file in fleet.analyze([f"{STORE}/no-ending"]).files] == ["failed"]
    store.pipe_file("traces/no-ending", b"something else")
    assert [file.state for file in fleet.analyze([f"{STORE}/no-ending"]).files] == ["failed"]
    assert "does not exist" in failed[f"{STORE}/missing.sbt"] and "nonsense" in failed["nonsense://host/a.sbt"]


def test_summaries_that_cannot_be_written(store, folder, monkeypatch):
    store.put(str(folder / "a.sbt"), "traces/a.sbt")

    def refuse(self, url, content):
        raise PermissionError("only for reading")

    monkeypatch.setattr(_remote.RemoteFiles, "write", refuse)
    result = fleet.analyze(STORE)
    assert names(result) == {"a.sbt": "computed"} and "only for reading" in result.files[0].not_stored


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setattr(_remote, "_in_use", [])
    with pytest.raises(ts.MissingPackageError, match="fsspec"):
        fleet.analyze("s3://bucket/a.sbt")


def test_the_command_says_where_urls_are_read():
    command = [ts.command_path(), "fleet", "s3://bucket/a.sbt"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ, LC_ALL="C"))
    assert result.returncode == 1 and "tracesmith.fleet" in result.stderr
