// SPDX-License-Identifier: Apache-2.0
// Makes rows of the MPI calls of one process.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/join/handle_history.hpp"
#include "tracesmith/capture/join/recorded_stacks.hpp"
#include "tracesmith/capture/protocol/mpi_records.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SharedRows;

class RecordedMpi {
 public:
  RecordedMpi(SharedRows& shared, RecordedStacks& stacks, ProcessId process,
              std::function<int64_t(int64_t)> host_ns)
      : shared_(shared), stacks_(stacks), process_(process), host_ns_(std::move(host_ns)) {}

  static bool isOne(arena::RecordKind kind) {
    return kind == arena::RecordKind::kMpiCall || kind == arena::RecordKind::kMpiCommunicator;
  }
  /// First pass: takes communicators and the requests that calls return. Repeating it for a record
  /// has no effect. False when the record is invalid.
  bool define(ByteView record);
  /// Makes the rows of a call. False when the record is invalid.
  bool join(ByteView record, ThreadId thread);
  void endPass() { requests_.endPass(); }

  /// Another collector's communicator.
  void restoreCommunicator(const CommunicatorRow& row);

 private:
  /// What a call has started.
  struct Request {
    uint64_t correlation = 0;
    CommunicatorId communicator{};
    int32_t peer = -1;
    int32_t tag = -1;
    uint64_t send_bytes = 0;
    uint64_t receive_bytes = 0;
    bool receives = false;
    bool is_persistent = false;
  };

  bool defineCommunicator(ByteView record);
  bool defineRequests(ByteView record);
  CommunicatorId communicator(uint64_t number) const;

  SharedRows& shared_;
  RecordedStacks& stacks_;
  ProcessId process_;
  std::function<int64_t(int64_t)> host_ns_;
  std::unordered_map<uint32_t, CommunicatorRow> communicators_;  // by number
  HandleHistory<Request> requests_;
};

}  // namespace tracesmith
