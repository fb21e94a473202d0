// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xray/xray_calls.hpp"

#include <algorithm>
#include <utility>

namespace tracesmith::import {

void XRayCalls::pop(Stack& stack, uint64_t exit_tsc, uint16_t exit_cpu, XRayKind kind,
                    XRayEnd end) {
  const Frame& frame = stack.frames.back();
  const size_t first = stack.arguments.size() - frame.arguments;
  ++counts_[static_cast<size_t>(end)];
  call_({.function = frame.function,
         .process = stack.process,
         .thread = stack.thread,
         .enter_tsc = frame.tsc,
         .exit_tsc = exit_tsc,
         .enter_cpu = frame.cpu,
         .exit_cpu = exit_cpu,
         .enter_kind = frame.kind,
         .exit_kind = kind,
         .end = end,
         .arguments = std::span<const uint64_t>(stack.arguments).subspan(first)});
  stack.arguments.resize(first);
  const auto it = stack.on_stack.find(frame.function);
  if (--it->second == 0) stack.on_stack.erase(it);
  stack.frames.pop_back();
}

void XRayCalls::add(const XRayRecord& record) {
  last_tsc_ = std::max(last_tsc_, record.tsc);
  if (record.kind > XRayKind::kEnterArgument) return;
  Stack& stack = stacks_[uint64_t{record.process} << 32 | record.thread];
  stack.process = record.process;
  stack.thread = record.thread;
  if (record.kind == XRayKind::kEnter || record.kind == XRayKind::kEnterArgument) {
    stack.frames.push_back({record.tsc, record.function, record.cpu, record.kind,
                            static_cast<uint32_t>(record.arguments.size())});
    stack.arguments.insert(stack.arguments.end(), record.arguments.begin(), record.arguments.end());
    ++stack.on_stack[record.function];
    return;
  }
  if (!stack.on_stack.contains(record.function)) {
    ++counts_[static_cast<size_t>(XRayEnd::kNotStarted)];
    call_({.function = record.function,
           .process = record.process,
           .thread = record.thread,
           .enter_tsc = record.tsc,
           .exit_tsc = record.tsc,
           .enter_cpu = record.cpu,
           .exit_cpu = record.cpu,
           .enter_kind = record.kind,
           .exit_kind = record.kind,
           .end = XRayEnd::kNotStarted,
           .arguments = {}});
    return;
  }
  while (stack.frames.back().function != record.function) {
    pop(stack, record.tsc, record.cpu, record.kind, XRayEnd::kWithCaller);
  }
  pop(stack, record.tsc, record.cpu, record.kind,
      record.kind == XRayKind::kTailExit ? XRayEnd::kTailCalled : XRayEnd::kReturned);
}

void XRayCalls::finish() {
  // In order of thread ids, so that the result is deterministic.
  std::vector<uint64_t> keys;
  for (const auto& [key, stack] : stacks_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (const uint64_t key : keys) {
    Stack& stack = stacks_[key];
    while (!stack.frames.empty()) {
      const Frame& frame = stack.frames.back();
      pop(stack, std::max(last_tsc_, frame.tsc), frame.cpu, frame.kind, XRayEnd::kLogEnded);
    }
  }
}

}  // namespace tracesmith::import
