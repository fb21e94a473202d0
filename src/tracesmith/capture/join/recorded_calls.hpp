// SPDX-License-Identifier: Apache-2.0
// Makes calls of functions from their entries and exits, as XRay's agent records them: rows of the
// table `range`.
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
  uint64_t kept = 0;         // of those: rows
  uint64_t too_short = 0;    // left out, as was asked for
  uint64_t with_caller = 0;  // their exit is missing; they end with the function that called them
  uint64_t open = 0;         // not left when the program ended
  uint64_t never_begun = 0;  // exits whose entry is missing
};

/// Of one process. The records of a thread come in their order.
class RecordedCalls {
 public:
  static constexpr const char* kCategory = "XRay function";

  /// Calls shorter than `shortest_ns` make no row. `programs` names the functions.
  RecordedCalls(Trace& delta, TracedPrograms& programs, ProcessId process, int64_t shortest_ns)
      : delta_(delta), programs_(programs), process_(process), shortest_ns_(shortest_ns) {}

  /// False when the record makes no sense.
  bool addProgram(ByteView record);
  void add(const arena::FunctionRecord& record, int64_t time_ns, uint32_t tid, ThreadId thread);
  /// The program has ended, and with it what is still open.
  void finish();

  /// What another collector left behind in the file.
  void restoreProgram(const ObjectRow& row) { nameBy(std::string(delta_.strings.at(row.name))); }

  /// A program that can be traced was seen.
  bool any() const { return program_seen_; }
  const CallTotals& totals() const { return totals_; }
  /// Why there are no calls, or none with names; "" where there are.
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
  const XRaySymbols* symbols_ = nullptr;  // of programs_
  std::vector<StringId> names_;           // by function
  StringId category_{};
  std::unordered_map<uint32_t, Thread> threads_;
  uint32_t last_tid_ = 0;
  Thread* last_ = nullptr;
  CallTotals totals_;
};

}  // namespace tracesmith
