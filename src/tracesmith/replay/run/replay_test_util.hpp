// SPDX-License-Identifier: Apache-2.0
// For tests: replays synthetic recordings on any OpenCL device of this machine.
#pragma once

#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/replay/run/replay_child.hpp"

namespace tracesmith::test {

inline constexpr const char* kSource = R"(
kernel void add(global const int* a, global const int* b, global int* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void scale(global int* a, int by) { a[get_global_id(0)] *= by; }
kernel void forever(global int* a) { while (a[0] == 0) a[1] += 1; }
kernel void crash(global int* a) { global int* p = (global int*)(a[0] * 8L); *p = 1; }
)";

inline ChildOutcome replayed(RecordingBuilder& recording, ChildSettings settings = {}) {
  if (!kRunsDrivers) {
    ChildOutcome none;
    none.error = {ErrorCode::kNotFound, "no driver is run with sanitizers", ""};
    return none;
  }
  RecordingReader reader = recording.reader();
  auto commands = reader.commands(1);
  EXPECT_TRUE(commands);
  auto plan = ReplayPlan::make(std::move(*commands));
  EXPECT_TRUE(plan);
  return runInChild(*plan, reader, settings);
}

#define SKIP_WITHOUT_DEVICE(outcome)                                                      \
  if ((outcome).end == ChildEnd::kFailed && (outcome).error.code == ErrorCode::kNotFound) \
  GTEST_SKIP() << (outcome).error.toString()

inline constexpr ReplayOrder kAllOrders[] = {ReplayOrder::kRecorded, ReplayOrder::kSerial,
                                             ReplayOrder::kRandom};

}  // namespace tracesmith::test
