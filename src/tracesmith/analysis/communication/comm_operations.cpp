// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_operations.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

#include "tracesmith/analysis/communication/comm_bandwidth.hpp"
#include "tracesmith/analysis/communication/comm_clocks.hpp"
#include "tracesmith/analysis/communication/comm_kernels.hpp"
#include "tracesmith/model/names/data_type_names.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

/// A call of a process, by its correlation id.
struct CallKey {
  ProcessId process{};
  uint64_t correlation_id = 0;
  uint32_t index = 0;  // of what has it

  auto id() const { return std::tuple(process, correlation_id); }
  friend bool operator<(const CallKey& a, const CallKey& b) {
    return std::tuple(a.id(), a.index) < std::tuple(b.id(), b.index);
  }
};

class CallIndex {
 public:
  void add(ProcessId process, uint64_t correlation_id, uint32_t index) {
    if (correlation_id != 0) keys_.push_back({process, correlation_id, index});
  }
  void sort() { std::sort(keys_.begin(), keys_.end()); }
  /// In the order of `index`.
  std::span<const CallKey> find(ProcessId process, uint64_t correlation_id) const {
    if (correlation_id == 0) return {};
    const CallKey before{process, correlation_id, 0}, last{process, correlation_id, UINT32_MAX};
    return {std::lower_bound(keys_.begin(), keys_.end(), before),
            std::upper_bound(keys_.begin(), keys_.end(), last)};
  }
  size_t placeOf(std::span<const CallKey> found) const {
    return static_cast<size_t>(found.data() - keys_.data());
  }
  size_t size() const { return keys_.size(); }

 private:
  std::vector<CallKey> keys_;
};

int32_t limited(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}
uint32_t limitedError(int64_t error_ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(error_ns, 0, UINT32_MAX));
}

class OperationFinder {
 public:
  OperationFinder(const Trace& trace, const JobCommunicators& communicators)
      : trace_(trace), communicators_(communicators) {}

  std::vector<CommOperation> find(const DeviceOps& ops) {
    addRows();
    complete();
    addWork();
    findDevices();
    addKernelTimes(trace_, ops, found_);
    addKernelErrors();
    addProgress();
    addBytes();
    return std::move(found_);
  }

 private:
  struct Function {
    CollectiveOp op{};
    bool holds_thread = false;
    bool starts_requests = false;  // that were made earlier, and are used again
  };

  const Function& functionOf(StringId name) {
    const auto [known, is_new] = functions_.try_emplace(name);
    if (is_new) {
      const std::string_view text = trace_.text(name);
      known->second = {collectiveOf(text), holdsThread(text),
                       text == "MPI_Start" || text == "MPI_Startall"};
    }
    return known->second;
  }

  void addRows() {
    const CommTable& comm = trace_.comm;
    for (uint32_t i = 0; i < comm.size(); ++i) {
      const Function& function = functionOf(comm.function[i]);
      CommKind kind = comm.kind[i];
      if (kind == CommKind::kOther && function.starts_requests) {
        kind = comm.send_bytes[i] > 0 ? CommKind::kSend : CommKind::kReceive;
      }
      CommOperation operation{
          .begin_ns = comm.start_ns[i],
          .end_ns = endOf(comm.start_ns[i], comm.duration_ns[i]),
          .receive_bytes = comm.receive_bytes[i],
          .function = comm.function[i],
          .row = i,
          .member = communicators_.memberOf(comm.communicator_id[i]),
          .peer = limited(comm.peer[i]),
          .tag = limited(comm.tag[i]),
          .timing = function.holds_thread ? CommTiming::kCall : CommTiming::kEnqueuing,
          .kind = kind,
          .holds_thread = function.holds_thread};
      if (kind == CommKind::kCollective) {
        operation.op = function.op == CollectiveOp::kNone ? CollectiveOp::kOther : function.op;
      } else if (operation.isMessage()) {
        operation.op = kind == CommKind::kSend      ? CollectiveOp::kSend
                       : kind == CommKind::kReceive ? CollectiveOp::kRecv
                                                    : CollectiveOp::kSendRecv;
      } else {
        continue;
      }
      const bool is_to_nobody = operation.isMessage() && operation.peer == -1 &&
                                comm.send_bytes[i] == 0 && comm.receive_bytes[i] == 0;
      if (is_to_nobody) continue;  // MPI_PROC_NULL
      if (operation.member != CommOperation::kNone) {
        operation.communicator = communicators_.members[operation.member].communicator;
      }
      found_.push_back(operation);
    }
  }

  /// The requests that a call started complete in any order; most often in that of the call.
  void complete() {
    const CommTable& comm = trace_.comm;
    CallIndex calls;
    for (uint32_t i = 0; i < found_.size(); ++i) {
      calls.add(comm.process_id[found_[i].row], comm.correlation_id[found_[i].row], i);
    }
    calls.sort();
    std::vector<uint32_t> first_open(calls.size(), 0);  // of the requests of a call
    for (uint32_t row = 0; row < comm.size(); ++row) {
      if (comm.kind[row] != CommKind::kCompletion || comm.request[row] == 0) continue;
      const auto started = calls.find(comm.process_id[row], comm.request[row]);
      if (started.empty()) continue;
      uint32_t& open = first_open[calls.placeOf(started)];
      while (open < started.size() && isComplete(started[open])) ++open;
      if (open == started.size()) continue;
      finish(found_[started[choose(started, open, row)].index], row);
    }
  }
  bool isComplete(const CallKey& key) const {
    return found_[key.index].completion != CommOperation::kNone;
  }

  /// The request of those of one call that a row completes.
  size_t choose(std::span<const CallKey> started, size_t open, uint32_t row) const {
    constexpr size_t kMostTried = 64;  // so that the time stays linear
    const CommTable& comm = trace_.comm;
    const size_t end = std::min(started.size(), open + kMostTried);
    for (size_t i = open; i < end; ++i) {
      const CommOperation& request = found_[started[i].index];
      if (isComplete(started[i])) continue;
      const bool is_its_direction =
          comm.receive_bytes[row] == 0 || request.kind == CommKind::kReceive;
      const bool is_its_peer = request.peer == -2 || request.peer == comm.peer[row];
      const bool is_its_tag = request.tag == -2 || request.tag == comm.tag[row];
      if (is_its_direction && is_its_peer && is_its_tag) return i;
    }
    return open;
  }

  void finish(CommOperation& request, uint32_t row) {
    const CommTable& comm = trace_.comm;
    request.completion = row;
    request.timing = CommTiming::kRequest;
    request.end_ns = std::max(request.end_ns, endOf(comm.start_ns[row], comm.duration_ns[row]));
    request.receive_bytes += comm.receive_bytes[row];
    if (request.peer == -2) request.peer = limited(comm.peer[row]);
    if (request.tag == -2) request.tag = limited(comm.tag[row]);
  }

  void addWork() {
    const CommWorkTable& work = trace_.comm_work;
    CallIndex index;
    for (uint32_t i = 0; i < work.size(); ++i) {
      if (work.kind[i] == CommWorkKind::kOperation) {
        index.add(work.process_id[i], work.correlation_id[i], i);
      }
    }
    if (index.size() == 0) return;
    index.sort();
    for (CommOperation& operation : found_) {
      const auto rows = index.find(trace_.comm.process_id[operation.row],
                                   trace_.comm.correlation_id[operation.row]);
      if (rows.empty()) continue;
      uint32_t first = rows.front().index;
      for (const CallKey& key : rows) {
        if (work.start_ns[key.index] < work.start_ns[first]) first = key.index;
      }
      operation.begin_ns = work.start_ns[first];
      operation.end_ns = endOf(work.start_ns[first], work.duration_ns[first]);
      operation.error_ns = limitedError(work.error_ns[first]);
      operation.timing = CommTiming::kWork;
      operation.holds_thread = false;
      // Channels of it have started, and not all of them ended.
      const bool none_ended = work.channels[first] == 0 && work.duration_ns[first] == 0;
      const bool some_ended =
          work.channels[first] != 0 && work.channels[first] < trace_.comm.channels[operation.row];
      if (trace_.comm.channels[operation.row] != 0 && (none_ended || some_ended)) {
        operation.progress = CommProgress::kUnfinished;
      }
    }
  }

  /// By the stream of the call; without one, if its process has only one device.
  void findDevices() {
    if (trace_.stream.empty()) return;
    CallIndex streams;
    std::unordered_map<ProcessId, DeviceId> only;  // kNone: several
    for (uint32_t i = 0; i < trace_.stream.size(); ++i) {
      const DeviceId device = trace_.stream.device_id[i];
      streams.add(trace_.stream.process_id[i], trace_.stream.handle[i], i);
      const auto [known, is_new] = only.try_emplace(trace_.stream.process_id[i], device);
      if (!is_new && known->second != device) known->second = DeviceId::kNone;
    }
    streams.sort();
    for (CommOperation& operation : found_) {
      if (operation.holds_thread || operation.timing == CommTiming::kRequest) continue;
      const ProcessId process = trace_.comm.process_id[operation.row];
      const auto rows = streams.find(process, trace_.comm.stream[operation.row]);
      if (!rows.empty()) {
        operation.device = trace_.stream.device_id[rows.back().index];
      } else if (const auto known = only.find(process); known != only.end()) {
        operation.device = known->second;
      }
    }
  }

  /// Times of kernels are as far off as their devices' clocks are.
  void addKernelErrors() {
    if (trace_.clock_snapshot.empty()) return;
    const RankLookup ranks(trace_);
    const CommClocks clocks(trace_);
    for (CommOperation& operation : found_) {
      if (operation.timing != CommTiming::kKernel) continue;
      operation.error_ns = static_cast<uint32_t>(
          std::min<uint64_t>(clocks.deviceError(ranks.of(trace_.comm, operation.row)),
                             CommOperation::kStartUnknown - 1));
    }
  }

  void addProgress() {
    const CommTable& comm = trace_.comm;
    std::unordered_map<ProcessId, bool> is_timed;  // whether times of work are recorded at all
    for (const CommOperation& operation : found_) {
      if (operation.timing == CommTiming::kWork || operation.timing == CommTiming::kKernel) {
        is_timed[comm.process_id[operation.row]] = true;
      }
    }
    for (CommOperation& operation : found_) {
      if (operation.progress != CommProgress::kUnknown) continue;
      const CommState state = comm.state[operation.row];
      const bool returned = operation.timing == CommTiming::kCall &&
                            !trace_.text(operation.function).starts_with("MPI_I") &&
                            comm.kind[operation.row] != CommKind::kOther;
      if (state != CommState::kUnknown) {
        operation.progress =
            state == CommState::kCompleted ? CommProgress::kCompleted : CommProgress::kUnfinished;
      } else if (returned || operation.timing == CommTiming::kRequest ||
                 operation.timing == CommTiming::kWork || operation.timing == CommTiming::kKernel) {
        operation.progress = CommProgress::kCompleted;
      } else if (operation.timing == CommTiming::kEnqueuing &&
                 comm.is_captured[operation.row] == 0 && isReported(operation) &&
                 is_timed.contains(comm.process_id[operation.row])) {
        operation.progress = CommProgress::kUnfinished;
      }
    }
  }

  /// Whether the library said more of it than that it was called: of kernels that use symmetric
  /// memory NCCL does not.
  bool isReported(const CommOperation& operation) const {
    return trace_.comm.channels[operation.row] != 0 || trace_.comm.sequence[operation.row] != 0;
  }

  void addBytes() {
    const CommTable& comm = trace_.comm;
    for (CommOperation& operation : found_) {
      const uint64_t ranks = operation.communicator == CommOperation::kNone
                                 ? 0
                                 : communicators_.all[operation.communicator].ranks;
      operation.bytes = operationBytes(operation.op, trace_.text(operation.function), ranks,
                                       comm.send_bytes[operation.row], operation.receive_bytes);
      const bool has_part =
          operation.op == CollectiveOp::kAllGather || operation.op == CollectiveOp::kReduceScatter;
      // Of these NCCL before 2.27 tells a rank's part, and not how many ranks there are.
      if (has_part && ranks == 0) operation.bytes = 0;
      const uint64_t elements = comm.element_count[operation.row];
      if (operation.bytes != 0 || elements == 0) continue;
      const uint64_t one = dataTypeBytes(trace_.text(comm.data_type[operation.row]));
      uint64_t all = 0;
      const bool is_too_much = __builtin_mul_overflow(elements, one, &all) ||
                               __builtin_mul_overflow(all, has_part ? ranks : 1, &all);
      operation.bytes = is_too_much ? 0 : all;
    }
  }

  const Trace& trace_;
  const JobCommunicators& communicators_;
  std::unordered_map<StringId, Function> functions_;
  std::vector<CommOperation> found_;
};

}  // namespace

bool holdsThread(std::string_view function) {
  return function.starts_with("MPI_") || function.starts_with("PMPI_");
}

std::vector<CommOperation> commOperations(const Trace& trace, const JobCommunicators& communicators,
                                          const DeviceOps& ops) {
  return OperationFinder(trace, communicators).find(ops);
}

}  // namespace tracesmith
