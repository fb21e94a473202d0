// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/sbt/joined_events.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <type_traits>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/export/sbt/sbt_export.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/model/event_appender.hpp"

namespace tracesmith {
namespace {

/// A file next to another one; removed with this object.
struct TemporaryImport {
  explicit TemporaryImport(const std::string& of)
      : path(of + ".importing-" + std::to_string(getpid())) {}
  ~TemporaryImport() {
    std::error_code ec;
    std::filesystem::remove(path, ec);
  }
  TemporaryImport(const TemporaryImport&) = delete;
  TemporaryImport& operator=(const TemporaryImport&) = delete;
  std::string path;
};

/// Offset to add to Unix time to get trace time.
Result<int64_t> traceMinusUnix(const Trace& trace, const std::string& source) {
  for (size_t i = 0; i < trace.clock_snapshot.size(); ++i) {
    const ClockSnapshotRow at = trace.clock_snapshot.row(i);
    const auto domain = static_cast<size_t>(at.domain_id);
    if (domain == 0 || domain > trace.clock_domain.size()) continue;
    if (trace.clock_domain.kind[domain - 1] == ClockKind::kHostRealtime) {
      return at.host_ns - static_cast<int64_t>(at.clock_value);
    }
  }
  return fail(ErrorCode::kUnsupported, "does not relate the times of its events to Unix time",
              source);
}

ProcessId processOf(Trace& trace, uint32_t pid) {
  for (size_t i = 0; i < trace.process.size(); ++i) {
    if (trace.process.pid[i] == pid) return trace.process.id[i];
  }
  const auto id = static_cast<ProcessId>(trace.process.size() + 1);
  trace.process.push({.id = id, .pid = pid});
  return id;
}

}  // namespace

Status joinEvents(const std::string& source, const RecordedMeanwhile& meanwhile,
                  const std::string& output) {
  const TemporaryImport imported(output);
  TS_TRY(const import::ImportReport report, import::importTrace(source, imported.path));
  (void)report;
  TS_TRY(TraceReader reader, TraceReader::open(imported.path));
  TS_TRY(Trace trace, reader.read());
  TS_TRY(const int64_t shift, traceMinusUnix(trace, source));
  const int64_t later = shift + meanwhile.unix_minus_monotonic_ns;

  uint64_t most = 0;  // highest correlation id in use
  std::map<TableId, size_t> before;
  forEachTable(trace, [&](const auto& table) {
    before[std::decay_t<decltype(table)>::kId] = table.size();
    if constexpr (requires { table.correlation_id; }) {
      for (const uint64_t id : table.correlation_id) most = std::max(most, id);
    }
  });
  const ProcessId process = processOf(trace, meanwhile.pid);
  {
    EventAppender appender(trace);
    size_t step = 0;
    for (TraceEvent event : meanwhile.events) {
      if (isCancelledAt(step++)) break;
      event.timestamp = static_cast<uint64_t>(static_cast<int64_t>(event.timestamp) + later);
      if (event.correlation_id != 0) event.correlation_id += most;
      appender.append(event);
    }
    for (CounterEvent event : meanwhile.counters) {
      event.timestamp = static_cast<uint64_t>(static_cast<int64_t>(event.timestamp) + later);
      appender.append(event);
    }
  }
  TS_CHECK_OK(checkCancelled());
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (requires { table.process_id; } && !std::is_same_v<Table, ProcessTable>) {
      for (size_t i = before[Table::kId]; i < table.size(); ++i) {
        if (table.process_id[i] == ProcessId::kNone) table.process_id[i] = process;
      }
    }
  });
  TS_TRY(const SbtExport exported,
         exportSbt(reader, trace, Selection(trace, {}, {}, {}), RowChoice{}, output));
  (void)exported;
  return {};
}

}  // namespace tracesmith
