// SPDX-License-Identifier: Apache-2.0
#include "trace_file.hpp"

#include <dlfcn.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <type_traits>

#include "errors.hpp"
#include "text.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/report/report_operators.hpp"
#include "tracesmith/analysis/stragglers/straggler_report.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/findings/findings_report.hpp"
#include "tracesmith/model/live_memory.hpp"
#include "tracesmith/model/names/device_names.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/query/arrow/arrow_stream.hpp"
#include "tracesmith/query/arrow/arrow_table.hpp"
#include "tracesmith/query/arrow/guarded_stream.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Loaded = OpenTrace::Loaded;

/// A stream of Arrow batches as PyCapsule:
/// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
nb::object capsuleOf(std::unique_ptr<ArrowArrayStream> stream) {
  PyObject* const capsule = PyCapsule_New(stream.get(), "arrow_array_stream", [](PyObject* object) {
    auto* const held =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(object, "arrow_array_stream"));
    if (held->release != nullptr) held->release(held);  // no consumer took the stream
    delete held;
  });
  if (capsule == nullptr) {
    stream->release(stream.get());
    throw nb::python_error();
  }
  stream.release();
  return nb::steal(capsule);
}

/// Whether this thread holds the GIL. (PyGILState_Check() is always true after a subinterpreter was
/// created.)
bool holdsGil() {
  PyThreadState* const own = PyGILState_GetThisThreadState();
#if defined(Py_LIMITED_API)  // lacks both functions: look up the names of 3.13 and 3.12
  static const auto current = reinterpret_cast<PyThreadState* (*)()>([] {
    void* const from_3_13 = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
    return from_3_13 ? from_3_13 : dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
  }());
  return own != nullptr && (current == nullptr || own == current());
#else
#if PY_VERSION_HEX >= 0x030d0000
  return own != nullptr && own == PyThreadState_GetUnchecked();
#else
  return own != nullptr && own == _PyThreadState_UncheckedGet();
#endif
#endif
}

/// Runs a call of an answer's stream under the trace's lock. The consumer may call from any thread,
/// with or without the GIL. The GIL is released while waiting, because the thread that holds the
/// lock may need it.
template <class Call>
auto inAnswer(SharedTrace& trace, Call&& call) {
  PyThreadState* const held = holdsGil() ? PyEval_SaveThread() : nullptr;
  const auto result = [&]() -> decltype(call()) {
    if (!trace.lock.lock([] {})) {  // a forked child, which must not wait for ever
      if constexpr (std::is_same_v<decltype(call()), int>) return EIO;
      return decltype(call()){};
    }
    const std::lock_guard lock(trace.lock, std::adopt_lock);
    return call();
  }();
  if (held != nullptr) PyEval_RestoreThread(held);
  return result;
}

nb::object cellOf(const Value& v) {
  switch (v.type) {
    case ValueType::kInteger:
      return nb::int_(v.integer);
    case ValueType::kReal:
      return nb::float_(v.real);
    case ValueType::kText: {
      PyObject* const text =
          PyUnicode_DecodeUTF8(v.text.data(), static_cast<Py_ssize_t>(v.text.size()), "replace");
      if (text == nullptr) throw nb::python_error();
      return nb::steal(text);
    }
    default:
      return nb::none();
  }
}

nb::object arrayOf(const ColumnArray& column) {
  const auto dtype = [&] {
    switch (column.format) {
      case 'g':
        return nb::dtype<double>();
      case 'I':
        return nb::dtype<uint32_t>();
      case 'L':
        return nb::dtype<uint64_t>();
      case 'l':
        return nb::dtype<int64_t>();
      default:
        return nb::dtype<int32_t>();
    }
  }();
  auto owner = std::make_unique<std::shared_ptr<const void>>(column.owner);
  const nb::capsule keep(owner.release(), [](void* held) noexcept {
    delete static_cast<std::shared_ptr<const void>*>(held);
  });
  const size_t shape[1] = {static_cast<size_t>(column.rows)};
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(const_cast<void*>(column.data), 1, shape, keep,
                                                 nullptr, dtype));
}

template <class T>
nb::object numbersOf(std::vector<T> values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  const size_t shape[1] = {owner->size()};
  T* const data = owner->data();
  const nb::capsule keep(owner.release(),
                         [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, 1, shape, keep));
}

nb::object textsOf(const ColumnArray& column) {
  if (!column.is_text) return nb::none();
  nb::list texts;
  for (size_t i = 0; i + 1 < column.text_ends.size(); ++i) {
    const auto begin = static_cast<size_t>(column.text_ends[i]);
    const auto end = static_cast<size_t>(column.text_ends[i + 1]);
    texts.append(nb::str(column.texts.data() + begin, end - begin));
  }
  return texts;
}

nb::object validOf(const ColumnArray& column) {
  if (column.nulls == 0) return nb::none();
  return nb::bytes(column.valid.data(), column.valid.size());
}

nb::tuple partsOf(const ColumnArray& column) {
  return nb::make_tuple(arrayOf(column), validOf(column), textsOf(column));
}

nb::list listOf(const Catalog& catalog) {
  nb::list all;
  for (const auto& table : catalog.tables()) {
    nb::list columns;
    for (const auto& column : table->columns()) {
      if (column->hidden()) continue;
      columns.append(nb::make_tuple(column->name(), column->type(), column->meaning()));
    }
    all.append(nb::make_tuple(table->name(), table->meaning(), columns));
  }
  return all;
}

}  // namespace

TraceFile::TraceFile(const std::string& path) {
  trace_ =
      std::make_shared<SharedTrace>(valueOf(interruptible([&] { return OpenTrace::open(path); })));
}

uint64_t TraceFile::rows(const std::string& table) {
  return valueOf(alone(trace_->lock, [&] { return trace_->open.rows(table); }));
}

void TraceFile::load(const std::string& table, const std::vector<std::string>& columns) {
  check(alone(trace_->lock, [&]() -> Status {
    TS_TRY(const Loaded loaded, trace_->open.tables().need(table, columns));
    return {};
  }));
}

std::shared_ptr<const TraceTables::Loaded> TraceFile::whole() {
  return valueOf(alone(trace_->lock, [&] { return trace_->open.tables().needAll(); }));
}

ColumnArray TraceFile::column(const std::string& table, const std::string& name) {
  return valueOf(alone(trace_->lock, [&] { return trace_->open.column(table, name); }));
}

nb::object TraceFile::arrow(const std::string& table, const std::vector<std::string>& columns,
                            const std::optional<Positions>& positions) {
  auto stream = std::make_unique<ArrowArrayStream>();
  check(alone(trace_->lock, [&]() -> Status {
    if (!positions) return trace_->open.arrow(table, columns, stream.get());
    const std::span<const uint64_t> rows(positions->data(), positions->size());
    TS_TRY(const Loaded loaded, trace_->open.tables().need(table, columns));
    const uint64_t present = presentRows(*loaded->catalog->find(table));
    if (std::any_of(rows.begin(), rows.end(), [&](uint64_t row) { return row >= present; })) {
      return fail(ErrorCode::kInvalidArgument, "a row is not in the table", table);
    }
    std::vector<std::pair<std::string, ColumnArray>> arrays;
    for (const std::string& name : columns) {
      TS_TRY(const ColumnArray whole, tracesmith::python::arrayOf(loaded, table, name));
      arrays.emplace_back(name, takeRows(whole, rows));
    }
    startArrowTable(rows.size(), std::move(arrays), stream.get());
    return {};
  }));
  return capsuleOf(std::move(stream));
}

nb::tuple TraceFile::rowsAt(const std::string& table, const std::vector<std::string>& columns,
                            uint64_t first, uint64_t count) {
  const Rows rows = valueOf(alone(
      trace_->lock, [&] { return trace_->window.at(trace_->open, table, columns, first, count); }));
  nb::list arrays;
  for (const ColumnArray& column : rows.columns) arrays.append(partsOf(column));
  return nb::make_tuple(rows.count, arrays);
}

nb::object TraceFile::query(const std::string& sql) {
  const QueryResult result = valueOf(alone(trace_->lock, [&]() -> Result<QueryResult> {
    TS_TRY(QueryEngine * engine, trace_->open.engine());
    QueryOptions options;
    options.cancelled = isCancelled;
    return engine->run(sql, options);
  }));
  nb::list columns;
  for (const QueryColumn& column : result.columns)
    columns.append(cellOf(Value::ofText(column.name)));
  nb::list rows;
  for (const auto& cells : result.rows) {
    nb::list row;
    for (const QueryResult::Cell& cell : cells) {
      row.append(cellOf({cell.type, cell.integer, cell.real, cell.text}));
    }
    rows.append(nb::tuple(row));
  }
  return nb::make_tuple(columns, rows);
}

nb::object TraceFile::queryArrow(const std::string& sql) {
  auto stream = std::make_unique<ArrowArrayStream>();
  check(alone(trace_->lock, [&]() -> Status {
    TS_TRY(QueryEngine * engine, trace_->open.engine());
    QueryOptions options;
    options.cancelled = [interrupt = std::make_shared<Interrupt>()] {
      const bool raised = (*interrupt)();
      if (raised) PyErr_SetInterrupt();  // pending again, for the caller of the stream's reader
      return raised;
    };
    ArrowArrayStream answer = {};
    TS_CHECK_OK(startArrowStream(*engine, sql, &answer, options));
    *stream =
        guardedStream(answer, [trace = trace_](auto&& call) { return inAnswer(*trace, call); });
    return {};
  }));
  return capsuleOf(std::move(stream));
}

ReportTables TraceFile::analyze(const std::vector<std::string>& parts, uint64_t limit) {
  ReportOptions options;
  options.limit = options.longest = limit;
  for (const std::string& name : parts) {
    size_t i = 0;
    while (i < kAnalysisParts && toString(static_cast<AnalysisPart>(i)) != name) ++i;
    if (i == kAnalysisParts) {
      std::string all;
      for (size_t p = 0; p < kAnalysisParts; ++p) {
        all += (p == 0 ? "" : ", ") + std::string(toString(static_cast<AnalysisPart>(p)));
      }
      raise({ErrorCode::kInvalidArgument, "there is no such part of an analysis; there are " + all,
             name});
    }
    options.parts.push_back(static_cast<AnalysisPart>(i));
  }
  return ReportTables(valueOf(alone(trace_->lock, [&]() -> Result<std::vector<ReportTable>> {
    TS_TRY(const Loaded loaded, trace_->open.tables().needAll());
    // What was communicated does not depend on the clocks of the ranks.
    const bool needs_one_clock =
        options.parts != std::vector<AnalysisPart>{AnalysisPart::kCommunication};
    if (needs_one_clock) TS_CHECK_OK(haveOneClock(loaded->trace));
    auto found = tracesmith::analyze(loaded->trace, options);
    TS_CHECK_OK(checkCancelled());
    return found;
  })));
}

ReportTables TraceFile::operators(const std::string& by, const std::string& sort, uint64_t limit) {
  const OperatorsBy of = valueOf(operatorsByOf(by));
  std::optional<OperatorsSort> sorted;
  if (!sort.empty()) sorted = valueOf(operatorsSortOf(sort));
  ReportOptions options;
  options.limit = limit;
  options.whole_paths = true;
  return ReportTables(valueOf(alone(trace_->lock, [&]() -> Result<std::vector<ReportTable>> {
    TS_TRY(const Loaded loaded, trace_->open.tables().needAll());
    std::vector<ReportTable> found = {operatorTable(loaded->trace, of, sorted, options)};
    TS_CHECK_OK(checkCancelled());
    return found;
  })));
}

ReportTables TraceFile::findings(const std::string& file, bool predict) {
  return ReportTables(valueOf(alone(trace_->lock, [&]() -> Result<std::vector<ReportTable>> {
    TS_TRY(const Loaded loaded, trace_->open.tables().needAll());
    FindingsOptions options;
    options.file = file;
    options.predict = predict;
    RecordingBeside recording(file);
    recording.give(options);
    const Findings found = findingsOf(loaded->trace, options);
    TS_CHECK_OK(checkCancelled());
    return findingsReport(found);
  })));
}

ReportTables TraceFile::stragglers() {
  return ReportTables(valueOf(alone(trace_->lock, [&]() -> Result<std::vector<ReportTable>> {
    TS_TRY(const Loaded loaded, trace_->open.tables().needAll());
    auto found = stragglerReport(findStragglers(loaded->trace));
    TS_CHECK_OK(checkCancelled());
    return found;
  })));
}

nb::list TraceFile::memory() {
  struct Named {
    std::string place;
    MemoryCurve curve;
  };
  std::vector<Named> curves = valueOf(alone(trace_->lock, [&]() -> Result<std::vector<Named>> {
    TS_TRY(const Loaded loaded, trace_->open.tables().needAll());
    TS_CHECK_OK(haveOneClock(loaded->trace));
    std::vector<Named> named;
    for (MemoryCurve& curve : memoryCurves(loaded->trace)) {
      std::string place =
          curve.device == DeviceId::kNone ? "host" : deviceName(loaded->trace, curve.device);
      named.push_back({std::move(place), std::move(curve)});
    }
    TS_CHECK_OK(checkCancelled());
    return named;
  }));
  nb::list all;
  for (Named& of : curves) {
    all.append(nb::make_tuple(of.place, numbersOf(std::move(of.curve.times_ns)),
                              numbersOf(std::move(of.curve.bytes))));
  }
  return all;
}

nb::list TraceFile::streamNames() {
  const auto names = valueOf(alone(trace_->lock, [&]() -> Result<std::vector<std::string>> {
    TS_TRY(const Loaded loaded, trace_->open.tables().needAll());
    return distinctStreamNames(loaded->trace);
  }));
  nb::list all;
  for (const std::string& name : names) all.append(name);
  return all;
}

nb::list TraceFile::tables() {
  const Loaded loaded = alone(trace_->lock, [&] { return trace_->open.tables().loaded(); });
  return listOf(*loaded->catalog);
}

nb::dict TraceFile::about() {
  nb::dict out;
  struct Facts {
    bool complete = false;
    uint64_t bytes = 0;
    uint64_t cut_bytes = 0;
    std::vector<DataLoss> losses;
    std::vector<std::pair<std::string, std::string>> metadata;
  };
  const Facts facts = alone(trace_->lock, [&] {
    const TraceReader& reader = trace_->open.tables().reader();
    Facts found{reader.complete(), reader.fileBytes(), reader.cutBytes(), reader.losses(), {}};
    const Trace& trace = trace_->open.tables().loaded()->trace;
    for (size_t i = 0; i < trace.metadata.size(); ++i) {
      found.metadata.emplace_back(trace.text(trace.metadata.key[i]),
                                  trace.text(trace.metadata.value[i]));
    }
    return found;
  });
  const auto text = [](const std::string& bytes) { return cellOf(Value::ofText(bytes)); };
  nb::dict metadata;
  for (const auto& [key, value] : facts.metadata) metadata[text(key)] = text(value);
  nb::list losses;
  for (const DataLoss& loss : facts.losses) {
    losses.append(nb::make_tuple(loss.offset, loss.bytes, text(loss.reason)));
  }
  out["complete"] = facts.complete;
  out["file_bytes"] = facts.bytes;
  out["cut_bytes"] = facts.cut_bytes;
  out["losses"] = losses;
  out["metadata"] = metadata;
  return out;
}

void bindTraceFile(nb::module_& module) {
  module.def(
      "schema",
      [] {
        const Trace none;
        return listOf(Catalog(none));
      },
      nb::sig("def schema() -> list[tuple[str, str, list[tuple[str, str, str]]]]"),
      "The tables of any trace: name, meaning, and name, type and meaning of each column.");
  nb::class_<TraceFile>(module, "TraceFile")
      .def(
          "__init__",
          [](TraceFile* self, const nb::object& path) { new (self) TraceFile(pathOf(path)); },
          nb::arg("path"))
      .def("rows", &TraceFile::rows, nb::arg("table"))
      .def("load", &TraceFile::load, nb::arg("table"), nb::arg("columns"))
      .def(
          "column",
          [](TraceFile& self, const std::string& table, const std::string& name) {
            return partsOf(self.column(table, name));
          },
          nb::arg("table"), nb::arg("name"),
          nb::sig("def column(self, table: str, name: str) -> "
                  "tuple[typing.Any, bytes | None, list[str] | None]"))
      .def("arrow", &TraceFile::arrow, nb::arg("table"), nb::arg("columns"),
           nb::arg("positions") = nb::none(),
           nb::sig("def arrow(self, table: str, columns: collections.abc.Sequence[str], "
                   "positions: typing.Any = None) -> object"))
      .def("rows_at", &TraceFile::rowsAt, nb::arg("table"), nb::arg("columns"), nb::arg("first"),
           nb::arg("count"),
           nb::sig("def rows_at(self, table: str, columns: collections.abc.Sequence[str], "
                   "first: int, count: int) -> "
                   "tuple[int, list[tuple[typing.Any, bytes | None, list[str] | None]]]"))
      .def("query", &TraceFile::query, nb::arg("sql"),
           nb::sig("def query(self, sql: str) -> "
                   "tuple[list[str], list[tuple[typing.Any, ...]]]"))
      .def("query_arrow", &TraceFile::queryArrow, nb::arg("sql"))
      .def("analyze", &TraceFile::analyze, nb::arg("parts"), nb::arg("limit"))
      .def("operators", &TraceFile::operators, nb::arg("by"), nb::arg("sort"), nb::arg("limit"))
      .def("findings", &TraceFile::findings, nb::arg("file"), nb::arg("predict"))
      .def("stragglers", &TraceFile::stragglers)
      .def("memory", &TraceFile::memory,
           nb::sig("def memory(self) -> list[tuple[str, typing.Any, typing.Any]]"))
      .def("stream_names", &TraceFile::streamNames, nb::sig("def stream_names(self) -> list[str]"))
      .def("tables", &TraceFile::tables,
           nb::sig("def tables(self) -> list[tuple[str, str, list[tuple[str, str, str]]]]"))
      .def("about", &TraceFile::about, nb::sig("def about(self) -> dict[str, typing.Any]"));
}

}  // namespace tracesmith::python
