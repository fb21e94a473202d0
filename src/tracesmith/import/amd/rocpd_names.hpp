// SPDX-License-Identifier: Apache-2.0
// The lookup tables of one process in a rocpd database: texts, processes, threads, agents, kernels,
// tracks, times, and the properties shared by all events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tracesmith/import/common/id_index.hpp"
#include "tracesmith/import/sqlite/sqlite_source.hpp"

namespace tracesmith::import {

struct RocpdEvent {
  uint64_t correlation = 0;
  StringId category = StringId::kNone;
  StringId message = StringId::kNone;  ///< only for markers
};

struct RocpdKernel {
  StringId name = StringId::kNone;
  uint32_t group_bytes = 0;
  uint32_t registers = 0;
};

struct RocpdAgent {
  bool gpu = false;
  int64_t ordinal = 0;  ///< counted within its type (GPU or CPU)
  std::string name;
  std::string vendor;
  std::string facts;  ///< JSON
};

/// Where something ran, as row ids of the database; nullopt: not given.
struct RocpdPlace {
  std::optional<int64_t> process, thread, agent, queue, stream, name;
};

class RocpdNames {
 public:
  explicit RocpdNames(TraceBuilder& builder) : builder_(builder) {}

  /// Reads `table` and keeps its rows. `name` is the table's name without the UUID. Returns false
  /// if it is not one of the lookup tables.
  bool read(SqliteFile& file, const SqliteTable& table, std::string_view name, uint64_t& rows);

  StringId text(int64_t id);
  int64_t pid(int64_t id) const;
  int64_t tid(int64_t id);
  const RocpdEvent* event(int64_t id) { return events_.find(id); }
  const RocpdKernel* kernel(int64_t id) { return kernels_.find(id); }
  const RocpdPlace* track(int64_t id) { return tracks_.find(id); }
  const int64_t* time(int64_t id) { return times_.find(id); }
  const RocpdAgent* agent(int64_t id) const;
  /// "" if there is none.
  std::string streamName(int64_t id) const;
  std::string counterName(int64_t id) const;

  void nameProcesses();
  void describeDevices();

 private:
  void readRow(const SqliteTable& table, std::string_view name, const SqliteRow& row);

  TraceBuilder& builder_;
  IdIndex<StringId> texts_;
  IdIndex<StringId> categories_;
  IdIndex<RocpdEvent> events_;
  IdIndex<RocpdKernel> kernels_;
  IdIndex<RocpdPlace> tracks_;
  IdIndex<int64_t> times_;
  IdIndex<int64_t> tids_;
  struct Process {
    int64_t pid, parent;
    int64_t start_ns, end_ns;
    std::string command;
  };
  std::map<int64_t, Process> processes_;
  std::map<int64_t, std::string> thread_names_;
  std::map<int64_t, RocpdAgent> agents_;
  std::map<int64_t, std::string> streams_;
  std::map<int64_t, std::string> counters_;
};

}  // namespace tracesmith::import
