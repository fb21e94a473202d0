// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/api/open_trace.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/c_api/guarded.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/export/text/report_text.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/query/arrow/arrow_stream.hpp"
#include "tracesmith/query/arrow/guarded_stream.hpp"
#include "tracesmith/query/columns/utf8.hpp"

using namespace tracesmith;
using namespace tracesmith::c_api;

namespace {

/// State shared by a trace and its open streams. `mutex` protects everything except `interrupts`.
struct Shared {
  explicit Shared(OpenTrace of) : open(std::move(of)) {}

  std::mutex mutex;
  OpenTrace open;
  std::set<std::string> names;  // handed out; kept because tables may be read again
  std::atomic<uint64_t> interrupts{0};

  const char* name(const std::string& text) { return names.insert(text).first->c_str(); }
};

/// Empties the stream, so that the caller need not release it after an error, but may.
void clear(ArrowArrayStream* stream) {
  if (stream != nullptr) *stream = {};
}

const SqlTable* tableNamed(Shared& shared, const char* name) {
  return shared.open.tables().loaded()->catalog->find(name);
}

Result<std::vector<AnalysisPart>> partsOf(const char* const* names, size_t count) {
  TS_TRY(const std::vector<std::string> wanted, textsOf(names, count));
  std::vector<AnalysisPart> parts;
  for (const std::string& name : wanted) {
    size_t i = 0;
    while (i < kAnalysisParts && toString(static_cast<AnalysisPart>(i)) != name) ++i;
    if (i == kAnalysisParts) {
      return fail(ErrorCode::kInvalidArgument,
                  "there is no such part of an analysis; `tracesmith analyze --help` lists them",
                  name);
    }
    parts.push_back(static_cast<AnalysisPart>(i));
  }
  return parts;
}

}  // namespace

struct tracesmith_trace {
  std::shared_ptr<Shared> shared;
};

struct tracesmith_column {
  ColumnArray array;
};

namespace {

/// Whether the trace has been interrupted since this object was created.
struct Interrupted {
  explicit Interrupted(const Shared& shared) : interrupts(shared.interrupts), begun(interrupts) {}
  bool operator()() const { return interrupts.load(std::memory_order_relaxed) != begun; }

  const std::atomic<uint64_t>& interrupts;
  uint64_t begun;
};

/// Runs f(shared state, interrupted) while no other thread uses the trace.
template <class F>
tracesmith_status inTrace(tracesmith_trace* trace, F&& f) {
  bool ended = false;
  const tracesmith_status status = guarded([&]() -> Status {
    TS_NOT_NULL(trace);
    Shared& shared = *trace->shared;
    // Created first, so that it also covers the wait for the lock.
    const Interrupted interrupted(shared);
    const CancelScope scope([&] { return ended = interrupted(); });
    const std::lock_guard lock(shared.mutex);
    if constexpr (std::is_invocable_v<F, Shared&, const Interrupted&>) {
      Status asked = f(shared, interrupted);
      ended = !asked && interrupted();
      return asked;
    } else {
      return f(shared);
    }
  });
  return status != TRACESMITH_OK && ended ? TRACESMITH_INTERRUPTED : status;
}

}  // namespace

tracesmith_status tracesmith_open(const char* path, tracesmith_trace** trace) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(trace);
    *trace = nullptr;
    TS_NOT_NULL(path);
    TS_TRY(OpenTrace open, OpenTrace::open(path));
    *trace = new tracesmith_trace{std::make_shared<Shared>(std::move(open))};
    return {};
  });
}

void tracesmith_close(tracesmith_trace* trace) { delete trace; }

tracesmith_status tracesmith_trace_get_info(tracesmith_trace* trace, tracesmith_trace_info* info) {
  return inTrace(trace, [&](Shared& shared) {
    const TraceReader& reader = shared.open.tables().reader();
    tracesmith_trace_info known{};
    known.complete = reader.complete() ? 1 : 0;
    known.file_bytes = reader.fileBytes();
    known.cut_bytes = reader.cutBytes();
    known.damaged = reader.losses().size();
    return give(info, known);
  });
}

size_t tracesmith_table_count(tracesmith_trace* trace) {
  size_t count = 0;
  inTrace(trace, [&](Shared& shared) -> Status {
    count = shared.open.tables().loaded()->catalog->tables().size();
    return {};
  });
  return count;
}

tracesmith_status tracesmith_table_at(tracesmith_trace* trace, size_t index,
                                      tracesmith_table_info* info) {
  return inTrace(trace, [&](Shared& shared) -> Status {
    const auto& tables = shared.open.tables().loaded()->catalog->tables();
    if (index >= tables.size()) {
      return fail(ErrorCode::kNotFound, "there are " + std::to_string(tables.size()) + " tables",
                  std::to_string(index));
    }
    const SqlTable& table = *tables[index];
    tracesmith_table_info known{};
    for (const auto& column : table.columns()) known.columns += column->hidden() ? 0 : 1;
    known.name = shared.name(table.name());
    known.meaning = shared.name(table.meaning());
    return give(info, known);
  });
}

tracesmith_status tracesmith_column_at(tracesmith_trace* trace, const char* table, size_t index,
                                       tracesmith_column_info* info) {
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(table);
    const SqlTable* const found = tableNamed(shared, table);
    if (found == nullptr) return fail(ErrorCode::kNotFound, "there is no such table", table);
    size_t place = 0;
    for (const auto& column : found->columns()) {
      if (column->hidden() || place++ != index) continue;
      tracesmith_column_info known{};
      known.name = shared.name(column->name());
      known.type = shared.name(column->type());
      known.meaning = shared.name(column->meaning());
      return give(info, known);
    }
    return fail(ErrorCode::kNotFound, "it has " + std::to_string(place) + " columns", table);
  });
}

tracesmith_status tracesmith_row_count(tracesmith_trace* trace, const char* table, uint64_t* rows) {
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(table);
    TS_NOT_NULL(rows);
    TS_TRY(*rows, shared.open.rows(table));
    return {};
  });
}

tracesmith_status tracesmith_load(tracesmith_trace* trace, const char* table,
                                  const char* const* columns, size_t count) {
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(table);
    TS_TRY(const std::vector<std::string> names, textsOf(columns, count));
    TS_TRY(const OpenTrace::Loaded loaded, shared.open.tables().need(table, names));
    return {};
  });
}

tracesmith_status tracesmith_column_read(tracesmith_trace* trace, const char* table,
                                         const char* name, tracesmith_column** column) {
  if (column != nullptr) *column = nullptr;
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(column);
    TS_NOT_NULL(table);
    TS_NOT_NULL(name);
    TS_TRY(ColumnArray array, shared.open.column(table, name));
    *column = new tracesmith_column{std::move(array)};
    return {};
  });
}

tracesmith_status tracesmith_column_get(const tracesmith_column* column,
                                        tracesmith_column_view* view) {
  return guarded([&]() -> Status {
    TS_NOT_NULL(column);
    const ColumnArray& array = column->array;
    tracesmith_column_view known{};
    known.rows = array.rows;
    known.values = array.data;
    known.valid = array.valid.empty() ? nullptr : array.valid.data();
    known.nulls = array.nulls;
    switch (array.format) {
      case 'I':
        known.type = TRACESMITH_UINT32;
        break;
      case 'l':
        known.type = TRACESMITH_INT64;
        break;
      case 'L':
        known.type = TRACESMITH_UINT64;
        break;
      case 'g':
        known.type = TRACESMITH_DOUBLE;
        break;
      default:
        known.type = TRACESMITH_TEXT;
        known.texts = array.texts.data();
        known.text_begins = array.text_ends.data();
        known.text_count = array.text_ends.size() - 1;
    }
    return give(view, known);
  });
}

void tracesmith_column_free(tracesmith_column* column) { delete column; }

tracesmith_status tracesmith_arrow(tracesmith_trace* trace, const char* table,
                                   const char* const* columns, size_t count,
                                   struct ArrowArrayStream* stream) {
  clear(stream);
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(stream);
    TS_NOT_NULL(table);
    TS_TRY(const std::vector<std::string> names, textsOf(columns, count));
    return shared.open.arrow(table, names, stream);
  });
}

tracesmith_status tracesmith_query(tracesmith_trace* trace, const char* sql,
                                   struct ArrowArrayStream* stream) {
  clear(stream);
  return inTrace(trace, [&](Shared& shared, const Interrupted& interrupted) -> Status {
    TS_NOT_NULL(stream);
    TS_NOT_NULL(sql);
    TS_TRY(QueryEngine * engine, shared.open.engine());
    QueryOptions options;
    options.cancelled = interrupted;
    ArrowArrayStream answer = {};
    TS_CHECK_OK(startArrowStream(*engine, sql, &answer, options));
    *stream = guardedStream(answer, [held = trace->shared](auto&& call) {
      const std::lock_guard lock(held->mutex);
      return call();
    });
    return {};
  });
}

void tracesmith_interrupt(tracesmith_trace* trace) {
  if (trace != nullptr) trace->shared->interrupts.fetch_add(1, std::memory_order_relaxed);
}

tracesmith_status tracesmith_analyze(tracesmith_trace* trace, const char* const* parts,
                                     size_t count, uint64_t limit, char** json) {
  if (json != nullptr) *json = nullptr;
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(json);
    ReportOptions options;
    options.limit = options.longest = static_cast<size_t>(limit);
    options.whole_paths = true;
    TS_TRY(options.parts, partsOf(parts, count));
    TS_TRY(const OpenTrace::Loaded loaded, shared.open.tables().needAll());
    TS_CHECK_OK(haveOneClock(loaded->trace));
    std::string text;
    Output out = Output::toString(&text);
    writeReportJson(analyze(loaded->trace, options), out);
    TS_CHECK_OK(checkCancelled());
    TS_CHECK_OK(out.finish());
    *json = textFor(text);
    return {};
  });
}

static tracesmith_status exportWith(tracesmith_trace* trace, const char* path,
                                    const PerfettoOptions& options) {
  return inTrace(trace, [&](Shared& shared) -> Status {
    TS_NOT_NULL(path);
    TS_TRY(const OpenTrace::Loaded loaded, shared.open.tables().needAll());
    std::optional<Trace> aligned;
    if (isMerged(loaded->trace)) alignRanks(aligned.emplace(loaded->trace));
    const Trace& shown = aligned ? *aligned : loaded->trace;
    return std::string_view(path).ends_with(".json") ? exportChromeJson(shown, path, options)
                                                     : exportPerfetto(shown, path, options);
  });
}

tracesmith_status tracesmith_export(tracesmith_trace* trace, const char* path) {
  return exportWith(trace, path, {});
}

tracesmith_status tracesmith_export_all_frames(tracesmith_trace* trace, const char* path) {
  return exportWith(trace, path, {.all_frames = true});
}

tracesmith_status tracesmith_trace_get_facts(tracesmith_trace* trace, tracesmith_trace_info* info) {
  return tracesmith_trace_get_info(trace, info);
}
