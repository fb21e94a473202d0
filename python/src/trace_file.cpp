// SPDX-License-Identifier: Apache-2.0
#include "trace_file.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>

#include "errors.hpp"
#include "tracesmith/analysis/report.hpp"
#include "tracesmith/export/source_json.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/query/arrow_stream.hpp"
#include "tracesmith/query/arrow_table.hpp"
#include "tracesmith/query/query_engine.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

using Loaded = std::shared_ptr<const TraceTables::Loaded>;

/// Runs `f` without the GIL and alone, and gives what it gives.
template <class F>
auto alone(std::mutex& mutex, F&& f) {
  const nb::gil_scoped_release release;
  const std::lock_guard lock(mutex);
  return f();
}

/// Asks Python from time to time whether Ctrl-C was pressed. Called without the GIL.
class Interrupt {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (raised_ || now < next_) return raised_;
    next_ = now + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire acquire;
    raised_ = PyErr_CheckSignals() != 0;
    if (raised_) error_ = std::make_unique<nb::python_error>();
    return raised_;
  }
  /// Throws what was raised. Needs the GIL.
  void rethrow() {
    if (!raised_) return;
    error_->restore();
    throw nb::python_error();
  }

 private:
  std::chrono::steady_clock::time_point next_;
  bool raised_ = false;
  std::unique_ptr<nb::python_error> error_;
};

/// A stream of Arrow batches as PyCapsule:
/// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
nb::object capsuleOf(std::unique_ptr<ArrowArrayStream> stream) {
  PyObject* const capsule = PyCapsule_New(stream.get(), "arrow_array_stream", [](PyObject* object) {
    auto* const held =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(object, "arrow_array_stream"));
    if (held->release != nullptr) held->release(held);  // nobody took it
    delete held;
  });
  if (capsule == nullptr) {
    stream->release(stream.get());
    throw nb::python_error();
  }
  stream.release();
  return nb::steal(capsule);
}

/// An answer that comes while it is read, by whomever, maybe with the GIL, maybe without.
struct Answer {
  std::shared_ptr<OpenTrace> trace;
  ArrowArrayStream stream = {};
};

/// Runs f(stream) alone. Who held the GIL while it waits would keep out who is to be waited for.
template <class F>
auto withAnswer(ArrowArrayStream* of, F&& f) {
  auto& answer = *static_cast<Answer*>(of->private_data);
  PyThreadState* const held = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
  const auto result = [&] {
    const std::lock_guard lock(answer.trace->mutex);
    return f(answer.stream);
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

}  // namespace

Result<QueryEngine*> OpenTrace::ask() {
  TS_TRY(const Loaded loaded, tables.needAll());
  if (engine == nullptr) {
    sources = std::make_unique<SourceLookup>(tables.reader(), loaded->trace);
    TS_TRY(QueryEngine made, QueryEngine::open(loaded->trace, [this](TableId table, uint64_t row) {
             return sources->at(table, row);
           }));
    engine = std::make_unique<QueryEngine>(std::move(made));
  }
  return engine.get();
}

TraceFile::TraceFile(const std::string& path) {
  Result<TraceTables> tables = [&]() -> Result<TraceTables> {
    const nb::gil_scoped_release release;
    import::ImportCounts counts;
    TS_TRY(TraceReader reader, import::openTrace(path, counts));
    return TraceTables::open(std::move(reader));
  }();
  trace_ = std::make_shared<OpenTrace>(valueOf(std::move(tables)));
}

uint64_t TraceFile::rows(const std::string& table) {
  return valueOf(alone(trace_->mutex, [&]() -> Result<uint64_t> {
    const std::vector<std::string> none;
    TS_TRY(const Loaded loaded, trace_->tables.need(table, none));
    return rowsThere(*loaded->catalog->find(table));
  }));
}

std::shared_ptr<const TraceTables::Loaded> TraceFile::whole() {
  return valueOf(alone(trace_->mutex, [&] { return trace_->tables.needAll(); }));
}

ColumnArray TraceFile::column(const std::string& table, const std::string& name) {
  return valueOf(alone(trace_->mutex, [&]() -> Result<ColumnArray> {
    const std::vector<std::string> columns = {name};
    TS_TRY(const Loaded loaded, trace_->tables.need(table, columns));
    const SqlTable& rows = *loaded->catalog->find(table);
    for (const auto& column : rows.columns()) {
      if (column->name() == name) return columnArray(loaded, rows, *column);
    }
    return fail(ErrorCode::kInternal, "a column went away", name);
  }));
}

nb::object TraceFile::arrow(const std::string& table, const std::vector<std::string>& columns) {
  auto stream = std::make_unique<ArrowArrayStream>();
  check(alone(trace_->mutex, [&]() -> Status {
    TS_TRY(const Loaded loaded, trace_->tables.need(table, columns));
    const SqlTable& rows = *loaded->catalog->find(table);
    std::vector<std::pair<std::string, ColumnArray>> arrays;
    for (const std::string& name : columns) {
      for (const auto& column : rows.columns()) {
        if (column->name() == name) arrays.emplace_back(name, columnArray(loaded, rows, *column));
      }
    }
    startArrowTable(rowsThere(rows), std::move(arrays), stream.get());
    return {};
  }));
  return capsuleOf(std::move(stream));
}

nb::object TraceFile::query(const std::string& sql) {
  Interrupt interrupt;
  nb::list columns;
  nb::list rows;
  const Status status = alone(trace_->mutex, [&]() -> Status {
    TS_TRY(QueryEngine * engine, trace_->ask());
    QueryOptions options;
    options.cancelled = [&] { return interrupt(); };
    QuerySink sink;
    sink.columns = [&](std::span<const QueryColumn> of) {
      const nb::gil_scoped_acquire acquire;
      for (const QueryColumn& column : of) columns.append(nb::str(column.name.c_str()));
    };
    sink.row = [&](std::span<const Value> values) {
      const nb::gil_scoped_acquire acquire;
      nb::list row;
      for (const Value& value : values) row.append(cellOf(value));
      rows.append(nb::tuple(row));
      return true;
    };
    TS_TRY(const uint64_t given, engine->run(sql, sink, options));
    (void)given;
    return {};
  });
  interrupt.rethrow();
  check(status);
  return nb::make_tuple(columns, rows);
}

nb::object TraceFile::queryArrow(const std::string& sql) {
  auto stream = std::make_unique<ArrowArrayStream>();
  check(alone(trace_->mutex, [&]() -> Status {
    auto answer = std::make_unique<Answer>();
    answer->trace = trace_;
    TS_TRY(QueryEngine * engine, trace_->ask());
    TS_CHECK_OK(startArrowStream(*engine, sql, &answer->stream));
    *stream = {};
    stream->get_schema = [](ArrowArrayStream* s, ArrowSchema* out) {
      return withAnswer(s, [&](ArrowArrayStream& inner) { return inner.get_schema(&inner, out); });
    };
    stream->get_next = [](ArrowArrayStream* s, ArrowArray* out) {
      return withAnswer(s, [&](ArrowArrayStream& inner) { return inner.get_next(&inner, out); });
    };
    stream->get_last_error = [](ArrowArrayStream* s) {
      return withAnswer(s, [&](ArrowArrayStream& inner) { return inner.get_last_error(&inner); });
    };
    stream->release = [](ArrowArrayStream* s) {
      withAnswer(s, [&](ArrowArrayStream& inner) {
        inner.release(&inner);
        return 0;
      });
      delete static_cast<Answer*>(s->private_data);
      s->release = nullptr;
    };
    stream->private_data = answer.release();
    return {};
  }));
  return capsuleOf(std::move(stream));
}

nb::list TraceFile::analyze(const std::vector<std::string>& parts, uint64_t limit) {
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
  const std::vector<ReportTable> tables =
      valueOf(alone(trace_->mutex, [&]() -> Result<std::vector<ReportTable>> {
        TS_TRY(const Loaded loaded, trace_->tables.needAll());
        return tracesmith::analyze(loaded->trace, options);
      }));
  nb::list all;
  for (const ReportTable& table : tables) {
    nb::list columns;
    for (const ReportColumn& column : table.columns) {
      columns.append(nb::make_tuple(column.key, column.header));
    }
    nb::list rows;
    for (const auto& row : table.rows) {
      nb::list cells;
      for (const ReportValue& value : row) {
        if (const auto* text = std::get_if<std::string>(&value)) {
          cells.append(cellOf(Value::ofText(*text)));
        } else if (const auto* integer = std::get_if<int64_t>(&value)) {
          cells.append(cellOf(Value::ofInteger(*integer)));
        } else if (const auto* real = std::get_if<double>(&value)) {
          cells.append(cellOf(Value::ofReal(*real)));
        } else {
          cells.append(nb::none());
        }
      }
      rows.append(nb::tuple(cells));
    }
    all.append(nb::make_tuple(table.key, table.title, table.note, columns, rows));
  }
  return all;
}

nb::list TraceFile::tables() {
  const Loaded loaded = alone(trace_->mutex, [&] { return trace_->tables.loaded(); });
  nb::list all;
  for (const auto& table : loaded->catalog->tables()) {
    nb::list columns;
    for (const auto& column : table->columns()) {
      if (column->hidden()) continue;
      columns.append(nb::make_tuple(column->name(), column->type(), column->meaning()));
    }
    all.append(nb::make_tuple(table->name(), table->meaning(), columns));
  }
  return all;
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
  const Facts facts = alone(trace_->mutex, [&] {
    const TraceReader& reader = trace_->tables.reader();
    Facts found{reader.complete(), reader.fileBytes(), reader.cutBytes(), reader.losses(), {}};
    const Trace& trace = trace_->tables.loaded()->trace;
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
  nb::class_<TraceFile>(module, "TraceFile")
      .def(
          "__init__",
          [](TraceFile* self, const nb::bytes& path) {
            new (self) TraceFile(std::string(path.c_str(), path.size()));
          },
          nb::arg("path"))
      .def("rows", &TraceFile::rows, nb::arg("table"))
      .def(
          "column",
          [](TraceFile& self, const std::string& table, const std::string& name) {
            const ColumnArray column = self.column(table, name);
            return nb::make_tuple(arrayOf(column), validOf(column), textsOf(column));
          },
          nb::arg("table"), nb::arg("name"),
          nb::sig("def column(self, table: str, name: str) -> "
                  "tuple[typing.Any, bytes | None, list[str] | None]"))
      .def("arrow", &TraceFile::arrow, nb::arg("table"), nb::arg("columns"))
      .def("query", &TraceFile::query, nb::arg("sql"),
           nb::sig("def query(self, sql: str) -> "
                   "tuple[list[str], list[tuple[typing.Any, ...]]]"))
      .def("query_arrow", &TraceFile::queryArrow, nb::arg("sql"))
      .def("analyze", &TraceFile::analyze, nb::arg("parts"), nb::arg("limit"),
           nb::sig("def analyze(self, parts: collections.abc.Sequence[str], limit: int) -> "
                   "list[tuple[str, str, str, list[tuple[str, str]], "
                   "list[tuple[typing.Any, ...]]]]"))
      .def("tables", &TraceFile::tables,
           nb::sig("def tables(self) -> list[tuple[str, str, list[tuple[str, str, str]]]]"))
      .def("about", &TraceFile::about, nb::sig("def about(self) -> dict[str, typing.Any]"));
}

}  // namespace tracesmith::python
