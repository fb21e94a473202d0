// SPDX-License-Identifier: Apache-2.0
// The threads of a session's processes: agents and the system tell of the same ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Who named a thread. A name that the program gives takes precedence over the system's.
enum class NamedBy : uint8_t { kSystem, kProgram };

class ThreadRows {
 public:
  explicit ThreadRows(Trace& delta) : delta_(delta) {}
  ThreadRows(const ThreadRows&) = delete;
  ThreadRows& operator=(const ThreadRows&) = delete;

  /// Its id. Its row is written when it is new or has another name.
  ThreadId thread(ProcessId process, uint32_t tid, std::string_view name = {},
                  NamedBy named_by = NamedBy::kSystem);
  /// Restores a row that the trace has already.
  void restore(const ThreadRow& row);

 private:
  struct Known {
    ThreadId id{};
    StringId name{};
    NamedBy named_by = NamedBy::kSystem;
  };
  static uint64_t keyOf(ProcessId process, uint32_t tid) {
    return static_cast<uint64_t>(process) << 32 | tid;
  }

  Trace& delta_;
  std::unordered_map<uint64_t, Known> known_;
  uint32_t ids_ = 0;  // assigned so far
};

}  // namespace tracesmith
