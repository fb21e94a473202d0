// SPDX-License-Identifier: Apache-2.0
// Which rank of a distributed job a trace is of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/rank_in_name.hpp"
#include "tracesmith/model/ranks/mpi_ranks.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

struct JobRank {
  uint32_t number = 0;
  RankSource from{};
  uint32_t world_size = 0;  ///< 0: unknown
  uint64_t job = 0;         ///< equal for the MPI ranks of a job; 0: unknown
  /// Not 0: `number` is the one in the communicator with this key, which may have only some of the
  /// job's ranks.
  uint64_t communicator = 0;
};

JobRank jobRankOf(const MpiRank& rank);

/// The rank that the trace itself says: MPI's, PyTorch's `distributedInfo`, or the one in the
/// largest communicator of NCCL.
std::optional<JobRank> rankInTrace(const Trace& trace);

/// The ranks of the files of one job, in their order: what the trace says (`in_traces`), else what
/// the name says, else the lowest number that no other file has, by position. Ranks in
/// communicators count only if all files are of the same one.
std::vector<JobRank> ranksOfFiles(std::span<const std::string> paths,
                                  std::span<const std::optional<JobRank>> in_traces);

/// Sentences for people about ranks that are missing from their job, about jobs of different sizes,
/// and about numbers that no trace said.
std::vector<std::string> describeRanks(std::span<const std::string> paths,
                                       std::span<const JobRank> ranks);

/// Fails if two files are of the same rank, or of two MPI jobs.
Status areRanksOfOneJob(std::span<const std::string> paths, std::span<const JobRank> ranks);

}  // namespace tracesmith::import
