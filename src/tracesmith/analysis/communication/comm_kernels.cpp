// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

namespace tracesmith {
namespace {

struct LaunchedKernel {
  ProcessId process{};
  ThreadId thread{};
  int64_t launch_ns = 0;
  const DeviceOp* op = nullptr;

  auto place() const { return std::tuple(process, thread, launch_ns); }
};

/// Of collective libraries, by thread and launch.
std::vector<LaunchedKernel> collectiveKernels(const Trace& trace, const DeviceOps& ops) {
  std::vector<LaunchedKernel> kernels;
  for (const DeviceOp& op : ops.ops) {
    if (op.work != WorkClass::kCommunication || op.launch == DeviceOp::kNone) continue;
    kernels.push_back({op.process, trace.host_call.thread_id[op.launch],
                       trace.host_call.start_ns[op.launch], &op});
  }
  std::sort(kernels.begin(), kernels.end(), [](const LaunchedKernel& a, const LaunchedKernel& b) {
    return std::tuple(a.place(), a.op->begin_ns) < std::tuple(b.place(), b.op->begin_ns);
  });
  return kernels;
}

class KernelTimes {
 public:
  KernelTimes(const Trace& trace, const DeviceOps& ops, std::vector<CommOperation>& operations)
      : trace_(trace), operations_(operations), kernels_(collectiveKernels(trace, ops)) {}

  void add() {
    if (kernels_.empty()) return;
    const CommTable& comm = trace_.comm;
    order_.reserve(operations_.size());
    for (uint32_t i = 0; i < operations_.size(); ++i) {
      if (!operations_[i].holds_thread) order_.push_back(i);
    }
    const auto place_of = [&](uint32_t i) {
      const uint32_t row = operations_[i].row;
      return std::tuple(comm.process_id[row], comm.thread_id[row], comm.start_ns[row], row);
    };
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return place_of(a) < place_of(b); });
    for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
      end = begin + 1;
      while (end < order_.size() && isOneGroup(order_[begin], order_[end])) ++end;
      addTo(begin, end);
    }
  }

 private:
  uint32_t rowOf(size_t place) const { return operations_[order_[place]].row; }

  bool isOneThread(uint32_t a, uint32_t b) const {
    return trace_.comm.process_id[a] == trace_.comm.process_id[b] &&
           trace_.comm.thread_id[a] == trace_.comm.thread_id[b];
  }
  bool isOneGroup(uint32_t a, uint32_t b) const {
    const uint32_t row = operations_[a].row, other = operations_[b].row;
    const uint64_t group = trace_.comm.group_id[row];
    return group != 0 && group == trace_.comm.group_id[other] && isOneThread(row, other);
  }

  /// Launched by the thread of a row, in [from, until).
  std::span<const LaunchedKernel> launchedBy(uint32_t row, int64_t from, int64_t until) const {
    const auto at = [&](int64_t time) {
      const LaunchedKernel key{trace_.comm.process_id[row], trace_.comm.thread_id[row], time};
      return std::lower_bound(
          kernels_.begin(), kernels_.end(), key,
          [](const LaunchedKernel& a, const LaunchedKernel& b) { return a.place() < b.place(); });
    };
    const auto first = at(from);
    const auto last = until > from ? at(until) : first;
    return {first, last};
  }

  void addTo(size_t begin, size_t end) {
    const CommTable& comm = trace_.comm;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = rowOf(i);
      const int64_t after = endOf(comm.start_ns[row], std::max<int64_t>(comm.duration_ns[row], 0));
      const int64_t until = after == std::numeric_limits<int64_t>::max() ? after : after + 1;
      give({order_.begin() + static_cast<std::ptrdiff_t>(i), 1},
           launchedBy(row, comm.start_ns[row], until));
    }
    if (comm.group_id[rowOf(begin)] == 0) return;
    const bool has_next = end < order_.size() && isOneThread(rowOf(begin), rowOf(end));
    const int64_t until =
        has_next ? comm.start_ns[rowOf(end)] : std::numeric_limits<int64_t>::max();
    const auto launched = launchedBy(rowOf(begin), comm.start_ns[rowOf(begin)], until);
    if (!launched.empty()) divide(begin, end, launched);
  }

  bool isOn(const LaunchedKernel& kernel, uint64_t handle) const {
    const auto stream = static_cast<size_t>(kernel.op->stream);
    if (handle == 0 || stream == 0 || stream > trace_.stream.size()) return true;
    const uint64_t of_kernel = trace_.stream.handle[stream - 1];
    return of_kernel == 0 || of_kernel == handle;
  }

  /// The kernels of a group belong to those of its operations that are on their stream.
  void divide(size_t begin, size_t end, std::span<const LaunchedKernel> launched) {
    std::vector<uint32_t> waiting;
    for (size_t i = begin; i < end; ++i) {
      if (operations_[order_[i]].timing == CommTiming::kEnqueuing) waiting.push_back(order_[i]);
    }
    const auto stream_of = [&](uint32_t i) { return trace_.comm.stream[operations_[i].row]; };
    std::stable_sort(waiting.begin(), waiting.end(),
                     [&](uint32_t a, uint32_t b) { return stream_of(a) < stream_of(b); });
    for (size_t first = 0, last = 0; first < waiting.size(); first = last) {
      while (last < waiting.size() && stream_of(waiting[last]) == stream_of(waiting[first])) {
        ++last;
      }
      const std::span<const uint32_t> on_stream{waiting.data() + first, last - first};
      std::vector<LaunchedKernel> kernels;
      for (const LaunchedKernel& kernel : launched) {
        if (isOn(kernel, stream_of(waiting[first]))) kernels.push_back(kernel);
      }
      if (kernels.size() != on_stream.size()) {
        give(on_stream, kernels);
        continue;
      }
      for (size_t i = 0; i < kernels.size(); ++i) {
        give(on_stream.subspan(i, 1), std::span<const LaunchedKernel>(kernels).subspan(i, 1));
      }
    }
  }

  void give(std::span<const uint32_t> to, std::span<const LaunchedKernel> kernels) {
    if (kernels.empty()) return;
    int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
    for (const LaunchedKernel& kernel : kernels) {
      begin = std::min(begin, kernel.op->begin_ns);
      end = std::max(end, kernel.op->end_ns);
    }
    for (const uint32_t i : to) {
      CommOperation& operation = operations_[i];
      if (operation.timing != CommTiming::kEnqueuing) continue;
      operation.timing = CommTiming::kKernel;
      operation.begin_ns = begin;
      operation.end_ns = std::max(begin, end);
      operation.device = trace_.deviceOf(kernels.front().op->stream);
      operation.shares_kernel = to.size() > 1;
    }
  }

  const Trace& trace_;
  std::vector<CommOperation>& operations_;
  const std::vector<LaunchedKernel> kernels_;
  std::vector<uint32_t> order_;  // those that enqueue, by thread and time
};

}  // namespace

void addKernelTimes(const Trace& trace, const DeviceOps& ops,
                    std::vector<CommOperation>& operations) {
  KernelTimes(trace, ops, operations).add();
}

}  // namespace tracesmith
