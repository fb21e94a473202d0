// SPDX-License-Identifier: Apache-2.0
// Builds traces of jobs with known calls of communication libraries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::test {

/// Ranks 0 to n - 1, each a process with a thread.
class CommTrace {
 public:
  explicit CommTrace(uint32_t ranks) {
    for (uint32_t i = 0; i < ranks; ++i) {
      trace.process.push({.id = idAt<ProcessId>(i), .pid = 100 + i});
      trace.thread.push(
          {.id = idAt<ThreadId>(i), .process_id = idAt<ProcessId>(i), .tid = 100 + i});
    }
  }

  StringId text(std::string_view name) { return trace.strings.intern(name); }

  /// A communicator as one rank of the job sees it. `ranks`: how many it says that it has.
  CommunicatorId communicator(uint32_t of, uint64_t key, int64_t rank, uint32_t ranks,
                              std::string_view members = {}, std::string_view name = "world",
                              std::string_view library = "MPI") {
    const auto id = idAt<CommunicatorId>(trace.communicator.size());
    trace.communicator.push({.id = id,
                             .process_id = idAt<ProcessId>(of),
                             .name = text(name),
                             .key = key,
                             .ranks = ranks,
                             .rank = rank,
                             .members = text(members),
                             .library = text(library)});
    return id;
  }
  /// One with all ranks, who have their numbers in it.
  std::vector<CommunicatorId> world(std::string_view library = "MPI") {
    const auto ranks = static_cast<uint32_t>(trace.process.size());
    const std::string members = "0-" + std::to_string(ranks - 1);
    std::vector<CommunicatorId> ids;
    for (uint32_t i = 0; i < ranks; ++i) {
      ids.push_back(
          communicator(i, 7, i, ranks, library == "MPI" ? members : "", "world", library));
    }
    return ids;
  }

  /// A row of a rank's call; its correlation id is unique.
  CommRow& call(uint32_t of, CommunicatorId communicator, std::string_view function, CommKind kind,
                int64_t start, int64_t duration) {
    next_ = {.start_ns = start,
             .duration_ns = duration,
             .function = text(function),
             .process_id = idAt<ProcessId>(of),
             .thread_id = idAt<ThreadId>(of),
             .communicator_id = communicator,
             .kind = kind,
             .peer = -1,
             .tag = -1,
             .correlation_id = ++last_id_};
    return next_;
  }
  /// Adds what call() returned, after changes.
  uint64_t add() {
    trace.comm.push(next_);
    return next_.correlation_id;
  }
  void collective(uint32_t of, CommunicatorId communicator, std::string_view function,
                  uint64_t sequence, int64_t start, int64_t duration, uint64_t bytes = 0) {
    CommRow& row = call(of, communicator, function, CommKind::kCollective, start, duration);
    row.sequence = sequence;
    row.send_bytes = row.receive_bytes = bytes;
    add();
  }
  void message(uint32_t of, CommunicatorId communicator, bool sends, int64_t peer, int64_t start,
               int64_t duration, uint64_t bytes, int64_t tag = 0) {
    CommRow& row = call(of, communicator, sends ? "MPI_Send" : "MPI_Recv",
                        sends ? CommKind::kSend : CommKind::kReceive, start, duration);
    row.peer = peer;
    row.tag = tag;
    (sends ? row.send_bytes : row.receive_bytes) = bytes;
    add();
  }
  void work(uint32_t of, uint64_t correlation_id, int64_t start, int64_t duration) {
    trace.comm_work.push({.start_ns = start,
                          .duration_ns = duration,
                          .process_id = idAt<ProcessId>(of),
                          .correlation_id = correlation_id,
                          .kind = CommWorkKind::kOperation,
                          .timing_source = TimingSource::kDevice});
  }
  /// Makes the processes ranks of a merged trace, all with clocks that are at most this far off.
  void merge(const std::vector<uint64_t>& errors_ns, bool has_one_clock = true) {
    for (uint32_t i = 0; i < errors_ns.size(); ++i) {
      trace.rank.push({.id = idAt<RankId>(i),
                       .number = i,
                       .clock_rank_id = has_one_clock ? idAt<RankId>(0) : idAt<RankId>(i),
                       .clock_error_ns = errors_ns[i]});
      trace.process.rank_id[i] = idAt<RankId>(i);
      trace.setMetadata(rankMetadataPrefix(i) + "clock_id", "clock " + std::to_string(i));
    }
  }

  DeviceOps deviceOps() const { return DeviceOps::of(trace); }

  Trace trace;

 private:
  CommRow next_;
  uint64_t last_id_ = 0;
};

}  // namespace tracesmith::test
