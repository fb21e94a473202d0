// SPDX-License-Identifier: Apache-2.0
// Pairs function entries and exits to calls. Records of one thread must come in time order; those
// of different threads may come in any order.
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
  kTailCalled,  ///< the function left by a jump to another one
  kWithCaller,  ///< no exit, but a function below it on the stack was left
  kLogEnded,    ///< still on the stack at the end of the log
  kNotStarted,  ///< an exit without an entry; enter and exit times are equal
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

  /// Adds an entry or exit. Other records only advance the time of the log.
  void add(const XRayRecord& record);
  /// Ends calls that are still open, at the last time of the log.
  void finish();
  uint64_t count(XRayEnd end) const { return counts_[static_cast<size_t>(end)]; }

 private:
  struct Frame {
    uint64_t tsc = 0;
    int32_t function = 0;
    uint16_t cpu = 0;
    XRayKind kind{};
    uint32_t arguments = 0;  // number of arguments in Stack::arguments
  };
  struct Stack {
    uint32_t process = 0;
    uint32_t thread = 0;
    std::vector<Frame> frames;
    std::vector<uint64_t> arguments;                 // arguments of all frames
    std::unordered_map<int32_t, uint32_t> on_stack;  // number of frames per function
  };
  void pop(Stack& stack, uint64_t exit_tsc, uint16_t exit_cpu, XRayKind kind, XRayEnd end);

  std::function<void(const XRayCall&)> call_;
  std::unordered_map<uint64_t, Stack> stacks_;
  uint64_t last_tsc_ = 0;
  uint64_t counts_[5] = {};
};

}  // namespace tracesmith::import
