// SPDX-License-Identifier: Apache-2.0
// Traces of random device work, with the host calls that launched some of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::test {

struct RandomWork {
  uint64_t seed = 1;
  size_t rows = 3000;
  bool repeats_ids = false;
  bool is_shuffled = false;  // rows come in no order
};

/// A call of a collective, with its work or without, and a step.
inline void addOthers(Trace& trace, std::mt19937_64& random, int64_t start, ProcessId process,
                      uint64_t id) {
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  trace.comm.push(
      {.start_ns = start,
       .duration_ns = below(300),
       .function = trace.strings.intern(below(2) == 0 ? "ncclAllReduce" : "MPI_Barrier"),
       .process_id = process,
       .send_bytes = static_cast<uint64_t>(below(1000)),
       .receive_bytes = static_cast<uint64_t>(below(10)),
       .correlation_id = id});
  if (below(2) == 0) {
    trace.comm_work.push({.start_ns = start + 5,
                          .duration_ns = below(5000),
                          .process_id = process,
                          .correlation_id = id});
  }
  trace.range.push({.start_ns = start,
                    .duration_ns = 1,
                    .name = trace.strings.intern("step " + std::to_string(trace.range.size())),
                    .process_id = process,
                    .thread_id = ThreadId{1}});
}

/// Kernels, copies and fills of some streams on some devices, one of which has a clock of its own.
inline Trace randomWork(const RandomWork& plan) {
  std::mt19937_64 random(plan.seed);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  Trace trace;
  const StringId names[] = {trace.strings.intern("gemm"), trace.strings.intern("add"),
                            trace.strings.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL")};
  trace.clock_domain.push({.id = ClockDomainId{1}, .tick_numerator = 2, .tick_denominator = 1});
  trace.clock_snapshot.push({.domain_id = ClockDomainId{1}, .host_ns = 0, .clock_value = 500});
  trace.clock_snapshot.push(
      {.domain_id = ClockDomainId{1}, .host_ns = 3'000'000, .clock_value = 1'600'000});
  const int64_t devices = 1 + below(3), streams = 1 + below(6);
  for (uint32_t d = 0; d < devices; ++d) {
    trace.device.push({.id = idAt<DeviceId>(d),
                       .clock_domain_id = d == 1 ? ClockDomainId{1} : ClockDomainId::kNone});
  }
  for (uint32_t s = 0; s < streams; ++s) {
    trace.stream.push(
        {.id = idAt<StreamId>(s),
         .process_id = ProcessId{1},
         .device_id = idAt<DeviceId>(static_cast<size_t>(below(static_cast<uint64_t>(devices))))});
  }
  uint64_t id = 1;
  int64_t now = 1000;
  for (size_t i = 0; i < plan.rows; ++i) {
    now += below(3) == 0 ? 0 : below(2000);
    const int64_t start = plan.is_shuffled ? below(2'000'000) : now;
    const StreamId stream{static_cast<uint32_t>(below(static_cast<uint64_t>(streams + 2)))};
    const DeviceId device = trace.deviceOf(stream);
    const int64_t duration = below(5) == 0 ? 0 : below(4000);
    uint32_t flags = below(50) == 0 ? op_flags::kNoDeviceTime : 0;
    if (device == DeviceId{2}) flags |= op_flags::kDeviceClock;
    const ProcessId process{static_cast<uint32_t>(1 + below(2))};
    if (below(4) != 0) {
      trace.host_call.push({.start_ns = start - 3000 + below(4000),
                            .duration_ns = 10,
                            .process_id = process,
                            .correlation_id = plan.repeats_ids && below(20) == 0 ? id - 1 : id});
    }
    const auto fill = [&](auto row) {
      row.start_ns = (flags & op_flags::kDeviceClock) != 0 ? start / 2 + 500 : start;
      row.duration_ns = duration;
      row.process_id = process;
      row.stream_id = stream;
      row.correlation_id = id;
      row.flags = flags;
      return row;
    };
    switch (below(6)) {
      case 0:
        trace.copy.push(fill(CopyRow{.kind = CopyKind::kHostToDevice, .bytes = 100}));
        break;
      case 1:
        trace.fill.push(fill(FillRow{.bytes = 7}));
        break;
      default:
        trace.kernel.push(fill(KernelRow{.name = names[below(3)]}));
    }
    if (below(8) == 0) addOthers(trace, random, start, process, id);
    id += static_cast<uint64_t>(1 + below(3));
  }
  return trace;
}

}  // namespace tracesmith::test
