// SPDX-License-Identifier: Apache-2.0
// Makes function calls from their entries and exits, as XRay's agent records them. The calls are
// rows of the `range` table.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/join/traced_programs.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct CallTotals {
  uint64_t calls = 0;
  uint64_t kept = 0;           // calls that became rows
  uint64_t too_short = 0;      // left out because of shortest_ns
  uint64_t with_caller = 0;    // exit missing; ended with their caller
  uint64_t open = 0;           // still running when the program ended
  uint64_t without_start = 0;  // exits without an entry
};

/// For one process. The records of each thread must come in order.
class RecordedCalls {
 public:
  static constexpr const char* kCategory = "XRay function";

  /// Calls shorter than `shortest_ns` make no row. `programs` names the functions.
  RecordedCalls(Trace& delta, TracedPrograms& programs, ProcessId process, int64_t shortest_ns)
      : delta_(delta), programs_(programs), process_(process), shortest_ns_(shortest_ns) {}

  /// False when the record is invalid.
  bool addProgram(ByteView record);
  void add(const arena::FunctionRecord& record, int64_t time_ns, uint32_t tid, ThreadId thread);
  /// Ends the calls that are still open, because the program has ended.
  void finish();

  /// Restores the state that another collector left in the file.
  void restoreProgram(const ObjectRow& row) { nameBy(std::string(delta_.strings.at(row.name))); }

  /// Whether a traceable program was seen.
  bool any() const { return program_seen_; }
  const CallTotals& totals() const { return totals_; }
  /// Why there are no calls, or no names; "" when there are.
  const std::string& problem() const { return problem_; }

 private:
  struct Frame {
    uint32_t function = 0;
    int64_t begin_ns = 0;
  };
  struct Thread {
    ThreadId id{};
    std::vector<Frame> frames;  // outermost first
    int64_t last_ns = 0;
  };
  void nameBy(const std::string& path);
  void leaveAll(Thread& thread);
  void pop(Thread& thread, int64_t end_ns);
  StringId nameOf(uint32_t function);

  Trace& delta_;
  TracedPrograms& programs_;
  ProcessId process_;
  int64_t shortest_ns_;
  bool program_seen_ = false;
  std::string problem_;
  const XRaySymbols* symbols_ = nullptr;  // owned by programs_
  std::vector<StringId> names_;           // by function
  StringId category_{};
  std::unordered_map<uint32_t, Thread> threads_;
  uint32_t last_tid_ = 0;
  Thread* last_ = nullptr;
  CallTotals totals_;
};

}  // namespace tracesmith
