// SPDX-License-Identifier: Apache-2.0
// Utilization and idle times in one pass over device work in the order of time, with the results of
// breakdownOf(), breakdownByDevice(), idleTimes() and streamUses().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/analysis/streaming/device_op_stream.hpp"
#include "tracesmith/analysis/timing/stream_use.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"

namespace tracesmith {

/// One device, or all of them.
class BreakdownSweep {
 public:
  void add(const StreamedOp& op) {
    if (first_) {
      first_ = false;
      out_.begin_ns = at_ = op.begin_ns;
      ends_.fill(op.begin_ns);
      kernel_end_ = op.begin_ns;
    }
    if (at_ < op.begin_ns) moveTo(op.begin_ns);
    int64_t& end = ends_[static_cast<size_t>(op.work)];
    if (op.end_ns > end) end = op.end_ns;
    if (op.table == TableId::kKernel && op.end_ns > kernel_end_) {
      out_.kernel_ns += op.end_ns - (op.begin_ns > kernel_end_ ? op.begin_ns : kernel_end_);
      kernel_end_ = op.end_ns;
    }
  }
  TimeBreakdown finish();

 private:
  void moveTo(int64_t time);

  TimeBreakdown out_;
  std::array<int64_t, 3> ends_{};  // of each class, so far
  int64_t kernel_end_ = 0;
  int64_t at_ = 0;
  bool first_ = true;
};

/// The gaps of one stream.
class IdleSweep {
 public:
  /// Calls f(begin, length, reason) if there is a gap before the op.
  template <class F>
  void add(const StreamedOp& op, const AnalysisOptions& options, F&& f) {
    if (!first_ && op.begin_ns > last_end_) {
      const int64_t length = op.begin_ns - last_end_;
      const auto launch =
          op.launch_ns == LaunchTimes::kNone ? std::nullopt : std::optional(op.launch_ns);
      f(last_end_, length, idleReasonOf(last_end_, length, launch, options));
    }
    last_end_ = first_ || op.end_ns > last_end_ ? op.end_ns : last_end_;
    first_ = false;
  }

 private:
  int64_t last_end_ = 0;
  bool first_ = true;
};

/// Utilization of each device and of all together, and idle times of each stream.
class TimeSweep {
 public:
  /// `tables` has the streams.
  explicit TimeSweep(const Trace& tables, const AnalysisOptions& options = {})
      : tables_(tables), options_(options) {}

  /// Calls onGap(stream, length, reason) for each gap.
  template <class OnGap>
  void add(const StreamedOp& op, OnGap&& on_gap) {
    Stream& stream = streamOf(op);
    all_.add(op);
    stream.device->add(op);
    stream.use.add(op.table, op.begin_ns, op.end_ns);
    stream.gaps.add(op, options_, [&](int64_t, int64_t length, IdleReason reason) {
      ++stream.idle.gaps;
      (reason == IdleReason::kHostWait     ? stream.idle.host_wait_ns
       : reason == IdleReason::kKernelWait ? stream.idle.kernel_wait_ns
                                           : stream.idle.other_ns) += length;
      on_gap(stream.idle.device, length, reason);
    });
  }

  TimeBreakdown all() { return all_.finish(); }
  std::vector<TimeBreakdown> byDevice();
  std::vector<IdleTime> idle() const;
  std::vector<StreamUse> streams() const;

 private:
  struct Stream {
    IdleTime idle;
    StreamUse use;
    IdleSweep gaps;
    BreakdownSweep* device = nullptr;
  };
  Stream& streamOf(const StreamedOp& op) {
    const auto id = static_cast<size_t>(op.stream);
    if (id < known_.size() && known_[id] != nullptr) return *known_[id];
    return newStream(op);
  }
  Stream& newStream(const StreamedOp& op);

  const Trace& tables_;
  AnalysisOptions options_;
  BreakdownSweep all_;
  std::map<DeviceId, BreakdownSweep> devices_;
  std::map<StreamId, Stream> streams_;
  std::vector<Stream*> known_;  // by id, of streams that the trace has
};

}  // namespace tracesmith
