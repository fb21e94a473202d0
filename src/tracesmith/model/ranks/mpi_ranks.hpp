// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI job that one trace has, as `profile -- mpirun ...` records them: processes
// with MPI_COMM_WORLD.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct MpiRank {
  ProcessId process{};
  uint32_t number = 0;
  uint32_t world_size = 0;
  uint64_t job = 0;  ///< equal for the ranks of a job; 0: unknown
};

/// Ordered by number. Empty also for a trace of two jobs: where two processes have one number, or
/// differ in the key or the size of MPI_COMM_WORLD. Jobs of one process do not count.
std::vector<MpiRank> mpiRanks(const Trace& trace);

/// Whether mpiRanks() has none because there are several jobs.
bool hasSeveralMpiJobs(const Trace& trace);

/// Calls take(part) with the part of each rank of mpiRanks(), in their order: a trace as if that
/// rank alone had been recorded, without ranks of its own. Stops when take() fails.
/// - A process that is no rank goes with the rank from which it descends, else with the first one.
///   So do losses and events of no process.
/// - Devices, clocks, topology and metadata are in each part.
/// - What other hosts' clocks were compared with is in the first part alone.
Status forEachMpiRank(Trace trace, const std::function<Status(Trace)>& take);

}  // namespace tracesmith
