// SPDX-License-Identifier: Apache-2.0
// The rows of `comm` that move data, each with the time that it took, wherever the trace has it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/communication/job_communicators.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/model/names/collective_names.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What says when an operation moved its data.
enum class CommTiming : uint8_t {
  kCall,       ///< the call, which returned when it was done
  kRequest,    ///< the call that started it, and the one that completed it
  kWork,       ///< the table comm_work
  kKernel,     ///< the kernel of a collective library that the call launched
  kEnqueuing,  ///< nothing: the call only enqueued it. The times are those of the call
};

enum class CommProgress : uint8_t {
  kUnknown,
  kCompleted,
  kUnfinished,  ///< others of its process have times of their work, or a snapshot says so
};

/// The S of its bandwidth is in comm_bandwidth.hpp.
struct CommOperation {
  static constexpr uint32_t kNone = ~uint32_t{0};
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t bytes = 0;          ///< S; 0: unknown, or it moves none
  uint64_t receive_bytes = 0;  ///< received by this rank, also in the row of its completion
  StringId function{};
  uint32_t row = 0;               ///< in `comm`
  uint32_t completion = kNone;    ///< of a request: the row in `comm` of its completion
  uint32_t member = kNone;        ///< in JobCommunicators::members
  uint32_t communicator = kNone;  ///< in JobCommunicators::all
  /// begin_ns is right within ± this and the error of its host's clock; kStartUnknown: it is the
  /// latest possible start.
  uint32_t error_ns = 0;
  static constexpr uint32_t kStartUnknown = ~uint32_t{0};
  int32_t peer = -1;  ///< rank in the communicator, where known by now
  int32_t tag = -1;
  DeviceId device{};  ///< on which it ran; kNone: on no device, or on an unknown one
  CollectiveOp op{};
  CommTiming timing{};
  CommProgress progress{};
  CommKind kind{};             ///< of a request that is used again: kSend or kReceive
  bool shares_kernel = false;  ///< the kernel does other operations of its group as well
  bool holds_thread = false;   ///< the calling thread waited for it

  bool isMessage() const {
    return kind == CommKind::kSend || kind == CommKind::kReceive || kind == CommKind::kExchange;
  }
  /// Whether bytes / time is its bandwidth.
  bool hasOwnTime() const { return timing != CommTiming::kEnqueuing && !shares_kernel; }
};

/// Whether calls of this name return when they have done their work: those of MPI.
bool holdsThread(std::string_view function);

/// In the order of the rows.
/// - Not in it: rows that create or complete something, probes, and messages to nobody. A request
/// ends with its
///   completion; without one it was done when its call returned, or the trace does not say.
/// - If several rows of comm_work belong to one call, which a graph runs again, the first counts.
/// - `ops` are of the same trace.
std::vector<CommOperation> commOperations(const Trace& trace, const JobCommunicators& communicators,
                                          const DeviceOps& ops);

}  // namespace tracesmith
