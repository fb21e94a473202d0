// SPDX-License-Identifier: Apache-2.0
// Entries and exits of functions, put together to calls. Sees one thread's records in the order of
// their times; those of different threads may come in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/xray/xray_log.hpp"

namespace tracesmith::import {

enum class XRayEnd : uint8_t {
  kReturned,
  kTailCalled,  ///< left by jumping to another function
  kWithCaller,  ///< its exit is missing; a function below it on the stack was left
  kLogEnded,    ///< it was not left before the log ends
  kNeverBegun,  ///< an exit without an entry; enter and exit are the same
};

struct XRayCall {
  int32_t function = 0;
  uint32_t process = 0;
  uint32_t thread = 0;
  uint64_t enter_tsc = 0;
  uint64_t exit_tsc = 0;
  uint16_t enter_cpu = 0;
  uint16_t exit_cpu = 0;
  XRayKind enter_kind{};
  XRayKind exit_kind{};
  XRayEnd end{};
  std::span<const uint64_t> arguments;
};

class XRayCalls {
 public:
  explicit XRayCalls(std::function<void(const XRayCall&)> call) : call_(std::move(call)) {}

  /// Entries and exits; other records say no more than that the log has come so far.
  void add(const XRayRecord& record);
  /// Ends what is still open, at the last time of the log.
  void finish();
  uint64_t count(XRayEnd end) const { return counts_[static_cast<size_t>(end)]; }

 private:
  struct Frame {
    uint64_t tsc = 0;
    int32_t function = 0;
    uint16_t cpu = 0;
    XRayKind kind{};
    uint32_t arguments = 0;  // how many of the thread's
  };
  struct Stack {
    uint32_t process = 0;
    uint32_t thread = 0;
    std::vector<Frame> frames;
    std::vector<uint64_t> arguments;                 // of all frames
    std::unordered_map<int32_t, uint32_t> on_stack;  // how often each function is
  };
  void pop(Stack& stack, uint64_t exit_tsc, uint16_t exit_cpu, XRayKind kind, XRayEnd end);

  std::function<void(const XRayCall&)> call_;
  std::unordered_map<uint64_t, Stack> stacks_;
  uint64_t last_tsc_ = 0;
  uint64_t counts_[5] = {};
};

}  // namespace tracesmith::import
