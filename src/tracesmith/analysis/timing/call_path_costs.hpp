// SPDX-License-Identifier: Apache-2.0
// Costs of the program's call stacks: host time, device time launched from there, and memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Cost of all calls with one stack.
struct CallPathCost {
  CallPathId path{};
  uint64_t calls = 0;
  int64_t host_ns = 0;    ///< in the calls themselves
  int64_t device_ns = 0;  ///< kernels, copies and fills they launched, each counted separately
  uint64_t bytes = 0;     ///< bytes allocated
};

/// Collects costs from the rows of tables, or of parts of them.
class CallPathCosts {
 public:
  explicit CallPathCosts(size_t paths) : costs_(paths + 1) {}
  void addCalls(const HostCallTable& calls);
  /// Of kernels, copies or fills. Work without its own stack uses that of its host call: for each
  /// row of `work`, `launches` has a row of `calls` or LaunchIndex::kNone.
  template <class Table>
  void addWork(const Table& work, std::span<const uint32_t> launches, const HostCallTable& calls);
  void addAllocations(const MemoryEventTable& events);
  void add(const CallPathCosts& others);
  /// Costs of every path that has a call, work or an allocation, by number.
  std::vector<CallPathCost> all() const;

 private:
  CallPathCost* at(CallPathId path) {
    const auto i = static_cast<size_t>(path);
    return i == 0 || i >= costs_.size() ? nullptr : &costs_[i];
  }
  std::vector<CallPathCost> costs_;  // by path
};

/// Of a trace in memory.
std::vector<CallPathCost> callPathCosts(const Trace& trace);

/// The frames of a path, outermost first. Terminates even if a damaged trace has a cyclic path.
std::vector<FrameId> framesOf(const CallPathTable& paths, CallPathId path);
inline std::vector<FrameId> framesOf(const Trace& trace, CallPathId path) {
  return framesOf(trace.call_path, path);
}

/// Cost of a function anywhere on a stack, inlined or not; counted once per call.
struct FunctionCost {
  std::string name;
  uint64_t calls = 0;
  int64_t host_ns = 0;
  int64_t device_ns = 0;
  uint64_t bytes = 0;
};
std::vector<FunctionCost> functionCosts(const CallPathTable& paths,
                                        const std::vector<CallPathCost>& of_paths,
                                        const FrameSymbols& symbols);

}  // namespace tracesmith
