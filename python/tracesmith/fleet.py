# SPDX-License-Identifier: Apache-2.0
"""Very many traces together: where their time went, on one machine or on an engine that the user has.

    from tracesmith import fleet
    result = fleet.analyze(["/data/traces"])
    print(result.report())

    from dask.distributed import Client                       # the same on the workers of Dask
    result = fleet.analyze(paths, Client("scheduler:8786").get_executor())

Each trace becomes a FleetSummary of at most 64 KiB where the trace is; only summaries travel. They add up to
the same result in any order.
"""
from __future__ import annotations

import concurrent.futures
import datetime
import fcntl
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from tracesmith._core import FleetSummary, fleet_diff, fleet_files, summarize_files
from tracesmith._errors import Error, InvalidArgumentError, needs
from tracesmith._remote import use_remote_files
from tracesmith._report import Report, checked_limit

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Fleet", "FleetFile", "FleetSummary", "analyze", "expire", "summarize"]

PathLike = Union[str, "os.PathLike[str]"]
_Answer = tuple[str, str, str, str, bytes, int, int, int, str, bytes]
# Of a task: its files and their sum, as FleetSummary.to_bytes() gives it.
_Part = tuple[list[_Answer], bytes]
_MOST_BYTES_OF_SUM = 1 << 20

# Tables of a report that have a row for each name; "traces" comes beside them.
_TABLES = ("devices", "idle", "kernel_families", "kernels", "copies", "communication", "steps")
_FILES_AT_ONCE = 16
_FILES_PER_POOL = 64  # in place of a broken one


@dataclass(frozen=True)
class FleetFile:
    """A file of a fleet.

    Attributes:
        path: as it was given or found.
        state: "computed" from the trace; "stored": its summary was there; "repeated": the same trace as an
            earlier file, it does not count; "failed": it does not count either.
        message: why it failed, or which file it repeats; else "".
        not_stored: why its summary could not be stored; "" if it was, or was not wanted.
        trace_id: 32 hexadecimal digits.
        created: when the trace was made, in UTC.
        host: name of the machine; "" if the trace does not say.
        file_bytes: size of the trace.
    """
    path: str
    state: str
    message: str = ""
    not_stored: str = ""
    trace_id: str = ""
    created: datetime.datetime = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    host: str = ""
    file_bytes: int = 0
    _summary: bytes = field(default=b"", repr=False)

    @property
    def summary(self) -> FleetSummary:
        """That of this trace alone; empty if the file failed."""
        return FleetSummary.from_bytes(self._summary) if self._summary else FleetSummary()

    @property
    def counts(self) -> bool:
        """Whether it is part of the sum."""
        return self.state in ("computed", "stored")


class Fleet:
    """The sum of many traces, and what became of each file.

    Attributes:
        summary: the sum.
        files: a FleetFile for each file, in the order given.
    """

    def __init__(self, files: Iterable[FleetFile]) -> None:
        self.files = list(files)
        self.summary = FleetSummary()
        for file in self.files:
            if file.counts:
                self.summary.add_bytes(file._summary)

    @property
    def failed(self) -> list[FleetFile]:
        """Files that could not be read."""
        return [file for file in self.files if file.state == "failed"]

    def report(self, limit: int = 15) -> Report:
        """The tables of `tracesmith fleet`. `limit`: rows of tables by name; 0: all.
        InvalidArgumentError: `limit` is no number of rows."""
        return Report(self.summary.report_tables(checked_limit(limit), False))

    def compare(self, after: Fleet, limit: int = 25) -> Report:
        """What changed from these traces to those of `after`, with the statistics of `tracesmith diff` for groups
        of runs (docs/analysis.md): a kernel has one value for each trace, its mean duration. `limit`: rows of
        tables by name; 0: all. InvalidArgumentError: one of both has no traces, or both have only one."""
        old, new = ([file._summary for file in fleet.files if file.counts] for fleet in (self, after))
        if not old or not new or len(old) == len(new) == 1:
            raise InvalidArgumentError(f"comparing {len(old)} traces with {len(new)} says nothing of chance; "
                                       "Trace.diff() compares one with another", "after")
        return Report(fleet_diff(old, new, checked_limit(limit)))

    def to_arrow(self, table: str, job: str = "") -> pyarrow.Table:
        """A row for each trace and name: "kernels", "devices", "idle", "kernel_families", "copies",
        "communication" or "steps"; or "traces" with a row for each trace. The columns are those of the report
        of that name, after job, host, day (of the trace's creation, UTC), trace_id and path.
        InvalidArgumentError: there is no such table."""
        if table not in (*_TABLES, "traces"):
            raise InvalidArgumentError(f"there is no table '{table}'; there are traces, {', '.join(_TABLES)}", "table")
        return self._arrow_tables([table], job)[0]

    def _arrow_tables(self, tables: Sequence[str], job: str) -> list[pyarrow.Table]:
        """Several tables in one pass over the files."""
        arrow = needs("pyarrow", "to_arrow()")
        columns: list[dict[str, list[Any]]] = [{} for _ in tables]
        quantities: dict[str, str] = {}
        for file in self.files:
            if not file.counts:
                continue
            head = {"job": job, "host": file.host, "day": file.created.date(), "trace_id": file.trace_id, "path": file.path}
            report = Report(file.summary.report_tables(0, False))
            for of_table, table in zip(columns, tables):
                if table == "traces":
                    _append(of_table, [{**head, "created": file.created, "file_bytes": file.file_bytes, **_facts(report)}])
                    continue
                made = report[table]
                quantities.update(zip(made.columns, made._quantities))
                _append(of_table, [{**head, **dict(zip(made.columns, row))} for row in made.rows])
        fixed = _fixed_types()
        types = {"text": arrow.string(), "share": arrow.float64(), "number": arrow.float64(), "bytes per second": arrow.float64()}
        return [arrow.table(of_table, schema=arrow.schema(
            [(name, fixed.get(name) or types.get(quantities.get(name, ""), arrow.int64())) for name in of_table]))
            for of_table in columns]

    def write_parquet(self, folder: PathLike, job: str = "") -> list[Path]:
        """Adds the traces to a folder of Parquet files, which DuckDB and Polars query as it is:
        `folder/TABLE/job=J/host=H/day=D/part.parquet`, a TABLE for each that to_arrow() has. Rows of a trace
        that is there already are replaced. Several programs may write at once. Returns the files written.
        MissingPackageError: pyarrow is not installed."""
        parquet = needs("pyarrow.parquet", "write_parquet()")
        arrow = needs("pyarrow", "write_parquet()")
        compute = needs("pyarrow.compute", "write_parquet()")
        folder = Path(folder)
        written = []
        with _only_one_writer(folder):
            tables = ("traces", *_TABLES)
            for table, rows in zip(tables, self._arrow_tables(tables, job)):
                if not len(rows):
                    continue
                for host, day in sorted(set(zip(rows["host"].to_pylist(), rows["day"].to_pylist()))):
                    here = compute.and_(compute.equal(rows["host"], host), compute.equal(rows["day"], arrow.scalar(day)))
                    part = rows.filter(here).drop_columns(["job", "host", "day"])
                    path = folder / table / f"job={_value(job)}" / f"host={_value(host)}" / f"day={day}" / "part.parquet"
                    if path.exists():
                        old = parquet.read_table(path, partitioning=None)
                        kept = old.filter(compute.invert(compute.is_in(old["trace_id"], part["trace_id"].combine_chunks())))
                        part = arrow.concat_tables([kept, part], promote_options="default")
                    path.parent.mkdir(parents=True, exist_ok=True)
                    unfinished = path.with_suffix(".unfinished")
                    parquet.write_table(part, unfinished, compression="zstd")
                    os.replace(unfinished, path)
                    written.append(path)
        return written


def analyze(paths: PathLike | Iterable[PathLike], executor: concurrent.futures.Executor | None = None, *,
            summaries: PathLike | None = None, store: bool = True, again: bool = False,
            files_per_task: int = _FILES_AT_ONCE) -> Fleet:
    """Adds up traces (.sbt), their summaries (.summary), and those in folders and the folders within.

    A path may be a URL of fsspec, as "s3://bucket/traces" (package s3fs): only the ranges that are needed are
    read, and summaries are stored there too.

    `executor`: any concurrent.futures.Executor whose workers see the files by the same paths: of a pool of
    processes, `dask.distributed.Client.get_executor()`, `mpi4py.futures.MPIPoolExecutor`. None: all processors
    of this machine, without further processes.
    `summaries`: a folder for the summaries; None: beside each trace. `store` False: they are not written.
    `again` True: also traces that have a stored summary are read.
    `files_per_task`: how many files are one task of the executor.

    A file that cannot be read does not stop the others: see Fleet.failed. If a task fails as a whole, as when a
    file makes its worker crash, each of its files becomes a task of its own, and at last one that runs alone.
    InvalidArgumentError: no paths, or less than one file a task."""
    given = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    if not given:
        raise InvalidArgumentError("must have at least one path", "paths")
    if files_per_task < 1:
        raise InvalidArgumentError("must be 1 or more", "files_per_task")
    names = [os.fspath(path) for path in given]
    _prepare(*names, *([] if summaries is None else [os.fspath(summaries)]))
    files = fleet_files(names)
    options = ("" if summaries is None else os.fspath(summaries), store, again)
    if executor is None:
        return Fleet(_without_repeated(summarize_files(files, *options, 0)))
    tasks = [files[i:i + files_per_task] for i in range(0, len(files), files_per_task)]
    answers = _run(executor, tasks, options)
    again_paths = [path for task, answer in zip(tasks, answers) if isinstance(answer, BaseException) for path in task]
    second = _run_apart(executor, again_paths, any(isinstance(answer, BrokenProcessPool) for answer in answers), options)
    parts: list[_Part] = []
    for task, answer in zip(tasks, answers):
        if not isinstance(answer, BaseException):
            parts.append(answer)
            continue
        for path in task:
            single = second[path]
            parts.append(_with_sum([_failed(path, single)]) if isinstance(single, BaseException) else single)
    return _joined(parts)


def summarize(path: PathLike, *, summaries: PathLike | None = None, store: bool = True, again: bool = False) -> FleetFile:
    """The summary of one trace, from its stored one if there is one. A file that cannot be read has the state
    "failed". The arguments are those of analyze()."""
    folder = "" if summaries is None else os.fspath(summaries)
    _prepare(os.fspath(path), folder)
    return _file(summarize_files([os.fspath(path)], folder, store, again, 0)[0])


def expire(folder: PathLike, days: int, today: datetime.date | None = None) -> list[Path]:
    """Removes from a folder of write_parquet() what is of traces made more than `days` days before `today`
    (the current day in UTC). Returns the files removed. InvalidArgumentError: `days` is negative."""
    if days < 0:
        raise InvalidArgumentError("must not be negative", "days")
    folder = Path(folder)
    first = (today or datetime.datetime.now(datetime.timezone.utc).date()) - datetime.timedelta(days=days)
    removed = []
    with _only_one_writer(folder):
        for path in sorted(folder.glob("*/job=*/host=*/day=*/part.parquet")):
            try:
                day = datetime.date.fromisoformat(path.parent.name.removeprefix("day="))
            except ValueError:
                continue  # somebody else's
            if day < first:
                path.unlink()
                path.parent.rmdir()
                removed.append(path)
    return removed


# --- Details --------------------------------------------------------------------------------------------------------

def _fixed_types() -> dict[str, Any]:
    """The Arrow types of the columns that no report has."""
    arrow = needs("pyarrow", "to_arrow()")
    return {"created": arrow.timestamp("us", "UTC"), "day": arrow.date32(),
            **dict.fromkeys(("job", "host", "trace_id", "path"), arrow.string())}


def _task(paths: list[str], folder: str, store: bool, again: bool, attempt: int) -> _Part:
    """What a worker does. Engines have several workers on a machine, so each takes one processor. `attempt` tells
    tasks apart: Dask takes one with equal arguments for the same, and gives its old answer."""
    del attempt
    _prepare(*paths, folder)
    return _with_sum(summarize_files(paths, folder, store, again, 1))


def _with_sum(answers: list[_Answer]) -> _Part:
    """Workers add up what they have found, so that whoever asked has little to do for very many files. b"": there is
    nothing to add up, or the sum is much larger than a summary."""
    summaries = [answer[-1] for answer in answers if _file(answer).counts]
    if len(summaries) < 2:
        return answers, b""
    its_sum = FleetSummary()
    for summary in summaries:
        its_sum.add_bytes(summary)
    total = its_sum.to_bytes()
    return answers, total if len(total) <= _MOST_BYTES_OF_SUM else b""


def _joined(parts: list[_Part]) -> Fleet:
    """The fleet of all parts. The sum of a part holds unless one of its files repeats one of another part."""
    fleet = Fleet(())
    fleet.files = list(_without_repeated(answer for answers, _ in parts for answer in answers))
    files = iter(fleet.files)
    for answers, its_sum in parts:
        of_part = list(itertools.islice(files, len(answers)))
        if its_sum and all(file.state == answer[1] for file, answer in zip(of_part, answers)):
            fleet.summary.add_bytes(its_sum)
        else:
            fleet.summary += Fleet(of_part).summary
    return fleet


def _run(executor: concurrent.futures.Executor, tasks: list[list[str]],
         options: tuple[str, bool, bool], attempt: int = 1) -> list[_Part | BaseException]:
    """The answer of each task, or why it has none."""
    out: list[_Part | BaseException] = []
    futures: list[concurrent.futures.Future[_Part] | Exception] = []
    for task in tasks:
        try:
            futures.append(executor.submit(_task, task, *options, attempt))
        except Exception as error:  # pylint: disable=broad-exception-caught  # a broken pool refuses
            futures.append(error)
    for future in futures:
        if isinstance(future, Exception):
            out.append(future)
            continue
        try:
            out.append(future.result())
        except Exception as error:  # pylint: disable=broad-exception-caught  # engines have errors of their own
            out.append(error)
    return out


def _run_apart(executor: concurrent.futures.Executor, paths: list[str], is_broken: bool,
               options: tuple[str, bool, bool]) -> dict[str, _Part | BaseException]:
    """The files of tasks that failed, each as a task: all at once, and those that fail then one after the other.
    A worker that dies of one takes others with it, which are not to blame. A pool of processes is broken from then
    on, so others take its place."""
    def run(its_paths: list[str], attempt: int, broken: bool) -> list[_Part | BaseException]:
        with _pool_like(executor) if broken else nullcontext(executor) as engine:
            return _run(engine, [[path] for path in its_paths], options, attempt)

    # Only files of a group whose pool breaks too have to run alone.
    at_once = _FILES_PER_POOL if is_broken else max(1, len(paths))
    answers: dict[str, _Part | BaseException] = {}
    for i in range(0, len(paths), at_once):
        group = paths[i:i + at_once]
        answers.update(zip(group, run(group, 2, is_broken)))
    for path, answer in answers.items():
        if isinstance(answer, BaseException):
            answers[path] = run([path], 3, isinstance(answer, BrokenProcessPool))[0]
    return answers


def _prepare(*paths: str | bytes) -> None:
    """Before paths are used that may be URLs."""
    if any("://" in os.fsdecode(path) for path in paths):
        use_remote_files()


def _pool_like(broken: concurrent.futures.Executor) -> ProcessPoolExecutor:
    """A new pool of processes in place of a broken one."""
    if not isinstance(broken, ProcessPoolExecutor):
        return ProcessPoolExecutor()
    of = {name: getattr(broken, "_" + name, None) for name in ("max_workers", "mp_context", "initializer")}
    return ProcessPoolExecutor(**of, initargs=getattr(broken, "_initargs", ()))


def _failed(path: str, error: BaseException) -> _Answer:
    text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    return (path, "failed", f"{path}: its task failed: {text}", "", bytes(16), 0, 0, 0, "", b"")


def _file(answer: _Answer) -> FleetFile:
    path, state, message, not_stored, trace_id, file_bytes, _, created_ns, host, summary = answer
    created = datetime.datetime.fromtimestamp(created_ns // 1000 / 1e6, datetime.timezone.utc)
    return FleetFile(path, state, message, not_stored, trace_id.hex(), created, host, file_bytes, summary)


def _without_repeated(answers: Iterable[_Answer]) -> Iterator[FleetFile]:
    """The files, of which those of one trace count once, also if different tasks found them."""
    known: dict[tuple[bytes, int, int], str] = {}
    for answer in answers:
        file = _file(answer)
        trace = (answer[4], answer[5], answer[6])
        if file.counts and file.file_bytes:
            if trace in known:
                file = _file((file.path, "repeated", f"is the same trace as {known[trace]}", *answer[3:]))
            else:
                known[trace] = file.path
        yield file


def _facts(report: Report) -> dict[str, int]:
    """The table of facts as columns."""
    return {what.replace(": ", "_").replace(" ", "_"): value for what, value in report["fleet"].rows if what != "traces"}


def _append(columns: dict[str, list[Any]], rows: list[dict[str, Any]]) -> None:
    """Adds rows to columns; what a row lacks is None."""
    before = len(next(iter(columns.values()), []))
    for number, row in enumerate(rows):
        for name in row.keys() - columns.keys():
            columns[name] = [None] * (before + number)
        for name, column in columns.items():
            column.append(row.get(name))


def _value(text: str) -> str:
    """A value of a partition as part of a path, as Hive writes it."""
    return "".join(c if c.isalnum() or c in "._-" else f"%{ord(c):02X}" for c in text) or "__HIVE_DEFAULT_PARTITION__"


@contextmanager
def _only_one_writer(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
