// SPDX-License-Identifier: Apache-2.0
// The values of a line of NCCL Inspector that columns are made of. Collectives and messages differ
// in the names of theirs only.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tracesmith::import::inspector_field {

enum : int {
  kCommunicator,
  kCommunicatorName,
  kRank,
  kRanks,
  kNodes,
  kDumped,
  kHost,
  kProcess,
  kFunction,
  kSequence,
  kPeer,
  kBytes,
  kDuration,
  kTimingSource,
  kCallStart,
  kCallStop,
  kChannels,
  kFields,
};

inline int inspectorFieldOf(std::string_view path) {
  constexpr std::pair<std::string_view, int> kPaths[] = {
      {"header.id", kCommunicator},
      {"header.comm_name", kCommunicatorName},
      {"header.rank", kRank},
      {"header.n_ranks", kRanks},
      {"header.nnodes", kNodes},
      {"metadata.dump_timestamp_us", kDumped},
      {"metadata.hostname", kHost},
      {"metadata.pid", kProcess},
      {"coll_perf.coll", kFunction},
      {"coll_perf.coll_sn", kSequence},
      {"coll_perf.coll_msg_size_bytes", kBytes},
      {"coll_perf.coll_exec_time_us", kDuration},
      {"coll_perf.coll_timing_source", kTimingSource},
      {"coll_perf.event_trace_ts.coll_start_ts", kCallStart},
      {"coll_perf.event_trace_ts.coll_stop_ts", kCallStop},
      {"coll_perf.event_trace_ts.kernel_events", kChannels},
      {"p2p_perf.p2p", kFunction},
      {"p2p_perf.p2p_sn", kSequence},
      {"p2p_perf.p2p_peer", kPeer},
      {"p2p_perf.p2p_msg_size_bytes", kBytes},
      {"p2p_perf.p2p_exec_time_us", kDuration},
      {"p2p_perf.p2p_timing_source", kTimingSource},
      {"p2p_perf.event_trace_ts.p2p_start_ts", kCallStart},
      {"p2p_perf.event_trace_ts.p2p_stop_ts", kCallStop},
      {"p2p_perf.event_trace_ts.kernel_events", kChannels},
  };
  for (const auto& [known, field] : kPaths) {
    if (known == path) return field;
  }
  return -1;
}

}  // namespace tracesmith::import::inspector_field
