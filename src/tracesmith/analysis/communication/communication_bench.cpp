// SPDX-License-Identifier: Apache-2.0
// `analyze --comm` of a merged trace of 1,000 ranks with 1,000 rows of `comm` each: collectives of
// all ranks and of groups of 8, and a ring of messages. The limit is 5 s of CPU time beyond reading
// the trace.
#include <cstdio>
#include <string>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/base/clock.hpp"

using namespace tracesmith;  // NOLINT: a program of three functions

namespace {

constexpr uint32_t kRanks = 1'000;
constexpr uint32_t kRounds = 250;  // of four rows
constexpr double kLimit_s = 5;

CommRow rowOf(Trace& trace, uint32_t rank, const char* function, CommKind kind, int64_t at,
              CommunicatorId communicator) {
  return {.start_ns = at,
          .duration_ns = 10'000,
          .function = trace.strings.intern(function),
          .process_id = idAt<ProcessId>(rank),
          .thread_id = idAt<ThreadId>(rank),
          .communicator_id = communicator,
          .kind = kind,
          .peer = -1,
          .tag = -1,
          .send_bytes = 4096,
          .receive_bytes = 4096,
          .correlation_id = trace.comm.size() + 1};
}

Trace job() {
  Trace trace;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    trace.rank.push({.id = idAt<RankId>(rank),
                     .number = rank,
                     .clock_rank_id = idAt<RankId>(0),
                     .clock_error_ns = rank / 8 * 10});
    trace.setMetadata("rank." + std::to_string(rank) + ".clock_id",
                      "host " + std::to_string(rank / 8));
    trace.process.push({.id = idAt<ProcessId>(rank), .pid = rank, .rank_id = idAt<RankId>(rank)});
    trace.thread.push({.id = idAt<ThreadId>(rank), .process_id = idAt<ProcessId>(rank)});
    const StringId library = trace.strings.intern("MPI");
    trace.communicator.push({.id = idAt<CommunicatorId>(2 * rank),
                             .process_id = idAt<ProcessId>(rank),
                             .name = trace.strings.intern("world"),
                             .key = 1,
                             .ranks = kRanks,
                             .rank = rank,
                             .library = library});
    trace.communicator.push({.id = idAt<CommunicatorId>(2 * rank + 1),
                             .process_id = idAt<ProcessId>(rank),
                             .name = trace.strings.intern("host"),
                             .key = 2 + rank / 8,
                             .ranks = 8,
                             .rank = rank % 8,
                             .library = library});
  }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const auto world = idAt<CommunicatorId>(2 * rank), host = idAt<CommunicatorId>(2 * rank + 1);
    for (uint32_t round = 0; round < kRounds; ++round) {
      const int64_t at = int64_t{round} * 100'000 + (rank * 7919 + round * 104'729) % 5'000;
      CommRow all = rowOf(trace, rank, "MPI_Allreduce", CommKind::kCollective, at, world);
      CommRow few = rowOf(trace, rank, "MPI_Allgather", CommKind::kCollective, at + 20'000, host);
      all.sequence = few.sequence = round + 1;
      CommRow send = rowOf(trace, rank, "MPI_Send", CommKind::kSend, at + 40'000, world);
      send.peer = (rank + 1) % kRanks;
      CommRow receive = rowOf(trace, rank, "MPI_Recv", CommKind::kReceive, at + 60'000, world);
      receive.peer = (rank + kRanks - 1) % kRanks;
      send.tag = receive.tag = 1;
      for (const CommRow& row : {all, few, send, receive}) trace.comm.push(row);
    }
  }
  return trace;
}

}  // namespace

int main() {
  const Trace trace = job();
  ReportOptions options;
  options.parts = {AnalysisPart::kCommunication};
  const int64_t start = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  const std::vector<ReportTable> tables = analyze(trace, options);
  const double seconds = static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
  size_t messages = 0;
  for (const ReportTable& table : tables) {
    if (table.key == "comm_messages") messages = table.rows.size();
  }
  std::printf("%zu rows of %u ranks: %.2f s (limit %.1f s)\n", trace.comm.size(), kRanks, seconds,
              kLimit_s);
  return messages == 15 && seconds <= kLimit_s ? 0 : 1;
}
