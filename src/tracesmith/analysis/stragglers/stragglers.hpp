// SPDX-License-Identifier: Apache-2.0
// Ranks and connections that make a job longer, with what each costs and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/analysis/stragglers/job_replay.hpp"
#include "tracesmith/analysis/stragglers/job_steps.hpp"
#include "tracesmith/analysis/stragglers/link_times.hpp"
#include "tracesmith/analysis/stragglers/rank_work.hpp"

namespace tracesmith {

enum class StragglerKind : uint8_t {
  kSlowDevice,  ///< its device takes longer for the same kernels
  kMoreWork,    ///< it has more to do
  kLateHost,    ///< its device waits for the host
  kSlowHost,    ///< the trace has no device work: it takes longer, and nothing says why
  kSlowLink,    ///< transfers with it take longer once all have come
};
const char* toString(StragglerKind kind);

struct Straggler {
  StragglerKind kind{};
  std::vector<uint32_t> ranks;  ///< of the timeline; several: those that cannot be told apart
  /// By how much shorter the job would be if this were as in a typical rank, or group of ranks.
  int64_t gain_ns = 0;
  double gain_share = 0;  ///< of the job's length
  /// Of a rank: own work in a step beyond the typical, with 95 % confidence.
  int64_t excess_ns = 0, excess_low_ns = 0, excess_high_ns = 0;
  double excess_share = 0;        ///< of the typical
  double slowness = 1;            ///< of kernels, work or transfers, beside the typical
  uint64_t steps = 0;             ///< the fewest that have nine tenths of the excess
  std::optional<uint32_t> since;  ///< the step from which on
  double p = 1;                   ///< that chance does the same
  std::string evidence;           ///< a sentence or two
};

struct StragglerReport {
  JobTimeline timeline;
  JobSteps steps;
  std::vector<RankWork> work;
  LinkTimes links;
  int64_t length_ns = 0;              ///< of the job, replayed
  int64_t own_ns = 0;                 ///< of that, own work of ranks that others waited for
  int64_t transfer_ns = 0;            ///< and transfers: both together are the length
  std::vector<int64_t> critical_ns;   ///< by rank: own work that the length consists of
  std::vector<Straggler> stragglers;  ///< the costliest first
  std::string problem;                ///< why nothing could be said; "": something could
};

/// `trace`: of one clock or several; only durations count.
StragglerReport findStragglers(const Trace& trace);
StragglerReport findStragglers(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
