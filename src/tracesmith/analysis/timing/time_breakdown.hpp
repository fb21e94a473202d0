// SPDX-License-Identifier: Apache-2.0
// Breakdown of a device's time: by what ran concurrently, and by the reason for idling.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// For one device, or for all ops of a trace together (device kNone). `span_ns` is from the first
/// start to the last end.
struct TimeBreakdown {
  DeviceId device{};
  int64_t begin_ns = 0;
  int64_t span_ns = 0;
  int64_t busy_ns = 0;     ///< union of all ops
  int64_t idle_ns = 0;     ///< span - busy
  int64_t compute_ns = 0;  ///< union of compute
  int64_t communication_ns = 0;
  int64_t memory_ns = 0;
  int64_t non_compute_ns = 0;  ///< span - idle - compute
  int64_t kernel_ns = 0;       ///< union of kernels of any class
  /// Time in which exactly these classes ran: bit 0 compute, bit 1 communication, bit 2 memory.
  std::array<int64_t, 8> together_ns{};
  /// Share of communication time overlapped by compute (union with union); none: no communication.
  std::optional<double> overlap;

  /// Share of the span in which kernels ran; 0 for an empty span.
  double kernelUtilization() const;
};

/// For all ops together, on any device: their union.
TimeBreakdown breakdownOf(const DeviceOps& ops);
/// Sum of the times of all devices (device kNone).
TimeBreakdown sumOverDevices(const DeviceOps& ops);
TimeBreakdown sumOf(const std::vector<TimeBreakdown>& devices);
/// For each device with ops, in their order.
std::vector<TimeBreakdown> breakdownByDevice(const DeviceOps& ops);

/// Reasons why a stream was idle between two of its ops:
///   host wait    the later op was launched after the earlier one had ended: the host was late
///   kernel wait  it was launched in time; the gap is below AnalysisOptions::kernel_wait_ns
///   other        it was launched in time but waited longer (another stream, an event), or its
///                launch is not in the trace
enum class IdleReason : uint8_t { kHostWait, kKernelWait, kOther };
/// The reason of one gap of a stream. `launch_ns`: when the later op was launched, if known.
IdleReason idleReasonOf(int64_t gap_begin_ns, int64_t gap_ns, std::optional<int64_t> launch_ns,
                        const AnalysisOptions& options = {});

/// The time between two ops of a stream.
struct IdleGap {
  StreamId stream{};
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  IdleReason reason{};
  uint32_t op = DeviceOp::kNone;  ///< index in DeviceOps::ops: the later op
};
/// By stream, then by time.
std::vector<IdleGap> idleGaps(const DeviceOps& ops, const AnalysisOptions& options = {});

/// Idle time of a stream, by reason.
struct IdleTime {
  StreamId stream{};
  DeviceId device{};
  ProcessId process{};
  int64_t host_wait_ns = 0;
  int64_t kernel_wait_ns = 0;
  int64_t other_ns = 0;
  uint64_t gaps = 0;
  int64_t total() const { return host_wait_ns + kernel_wait_ns + other_ns; }
};
std::vector<IdleTime> idleTimes(const DeviceOps& ops, const AnalysisOptions& options = {});

}  // namespace tracesmith
