// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/job_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracesmith/import/json/json_walker.hpp"
#include "tracesmith/model/ranks/mpi_ranks.hpp"

namespace tracesmith::import {
namespace {

/// "1, 4 to 6 and 9".
std::string listOf(const std::vector<uint32_t>& numbers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    parts.push_back(end - i > 2 ? fmt::format("{} to {}", numbers[i], numbers[end - 1])
                                : fmt::format("{}", numbers[i]));
    i = end - i > 2 ? end : i + 1;
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

}  // namespace

JobRank jobRankOf(const MpiRank& rank) {
  return {rank.number, RankSource::kTrace, rank.world_size, rank.job};
}

namespace {

/// The rank in the largest communicator of NCCL, if the trace is of one process with one rank in
/// each, and no other source says which ranks the communicators have.
std::optional<JobRank> rankInCommunicator(const Trace& trace) {
  const CommunicatorTable& rows = trace.communicator;
  std::optional<size_t> largest;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (trace.text(rows.library[i]) != "NCCL" || rows.key[i] == 0 || rows.ranks[i] < 2 ||
        !isRank(rows.rank[i]) || rows.members[i] != StringId::kNone) {
      continue;
    }
    if (largest && (rows.process_id[*largest] != rows.process_id[i] ||
                    rows.key[*largest] == rows.key[i])) {  // several processes, or several GPUs
      return std::nullopt;
    }
    const auto before = [&](size_t a, size_t b) {
      return std::pair(~rows.ranks[a], rows.key[a]) < std::pair(~rows.ranks[b], rows.key[b]);
    };
    if (!largest || before(i, *largest)) largest = i;
  }
  if (!largest) return std::nullopt;
  return JobRank{static_cast<uint32_t>(rows.rank[*largest]), RankSource::kTrace,
                 rows.ranks[*largest], 0, rows.key[*largest]};
}

}  // namespace

/// MPI's, or {"backend": "nccl", "rank": 3, "world_size": 4, "pg_config": …} of PyTorch. Lists in
/// it contain ranks of their own.
std::optional<JobRank> rankInTrace(const Trace& trace) {
  const std::vector<MpiRank> of_mpi = mpiRanks(trace);
  if (of_mpi.size() == 1) {
    return jobRankOf(of_mpi[0]);
  }
  const std::string_view info = trace.metadataValue("source.distributedInfo");
  std::string text(info);
  text.append(kJsonPadding, '\0');
  JsonWalker walker({text.data(), info.size()});
  std::optional<JobRank> rank;
  uint32_t world_size = 0;
  if (!walker.enter('{')) return rankInCommunicator(trace);
  for (std::string_view key; walker.member(key);) {
    const JsonToken token = walker.value();
    if (token.type != JsonType::kInteger || !isRank(token.integer())) continue;
    const auto number = static_cast<uint32_t>(token.integer());
    if (key == "rank") rank = JobRank{number, RankSource::kTrace, 0, 0};
    if (key == "world_size") world_size = number;
  }
  if (rank) rank->world_size = world_size;
  return rank ? rank : rankInCommunicator(trace);
}

std::vector<JobRank> ranksOfFiles(std::span<const std::string> paths,
                                  std::span<const std::optional<JobRank>> in_traces) {
  std::vector<JobRank> ranks(paths.size());
  std::set<uint32_t> taken;
  const bool have_one_communicator =
      std::all_of(in_traces.begin(), in_traces.end(), [&](const std::optional<JobRank>& rank) {
        return rank && rank->communicator == in_traces[0]->communicator;
      });
  for (size_t i = 0; i < paths.size(); ++i) {
    if (in_traces[i] && (in_traces[i]->communicator == 0 || have_one_communicator)) {
      ranks[i] = *in_traces[i];
    } else if (const std::optional<uint32_t> number = rankInName(paths[i])) {
      ranks[i] = {*number, RankSource::kFileName, 0};
    } else {
      continue;
    }
    taken.insert(ranks[i].number);
  }
  uint32_t next = 0;
  for (JobRank& rank : ranks) {
    if (rank.from != RankSource::kUnknown) continue;
    while (taken.count(next) != 0) ++next;
    rank = {next++, RankSource::kPosition, 0};
  }
  return ranks;
}

std::vector<std::string> describeRanks(std::span<const std::string> paths,
                                       std::span<const JobRank> ranks) {
  std::vector<std::string> sentences;
  std::set<uint32_t> there;
  uint32_t world_size = 0;
  std::vector<size_t> by_position;
  size_t by_name = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    there.insert(ranks[i].number);
    world_size = std::max(world_size, ranks[i].world_size);
    if (ranks[i].from == RankSource::kFileName) ++by_name;
    if (ranks[i].from == RankSource::kPosition) by_position.push_back(i);
  }
  if (by_name > 0) {
    sentences.push_back(fmt::format("{} of {} files do not say their rank: the file's name does",
                                    by_name, ranks.size()));
  }
  if (!by_position.empty()) {
    const size_t first = by_position.front();
    sentences.push_back(fmt::format(
        "{} of {} files say no rank, nor do their names: they are counted by position, as {} is "
        "rank {}",
        by_position.size(), ranks.size(), paths[first], ranks[first].number));
  }
  const auto other = std::find_if(ranks.begin(), ranks.end(), [&](const JobRank& rank) {
    return rank.world_size != 0 && rank.world_size != world_size;
  });
  if (other != ranks.end()) {
    sentences.push_back(fmt::format("{} is of a job of {} ranks, another file of one of {}",
                                    paths[static_cast<size_t>(other - ranks.begin())],
                                    other->world_size, world_size));
  }
  // A job of very many ranks of which few are given needs no list.
  std::vector<uint32_t> missing;
  for (uint32_t number = 0; number < world_size; ++number) {
    if (there.count(number) == 0) missing.push_back(number);
  }
  if (!missing.empty()) {
    sentences.push_back(fmt::format(
        "the job has {} ranks; missing: {}", world_size,
        missing.size() > 16 ? fmt::format("{} of them", missing.size()) : listOf(missing)));
  }
  return sentences;
}

Status areRanksOfOneJob(std::span<const std::string> paths, std::span<const JobRank> ranks) {
  std::map<uint32_t, size_t> file_of;
  std::optional<size_t> of_known_job;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].job != 0) {
      if (!of_known_job) of_known_job = i;
      if (ranks[i].job != ranks[*of_known_job].job) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("is of another MPI job than {}", paths[*of_known_job]), paths[i]);
      }
    }
    const auto [at, fresh] = file_of.try_emplace(ranks[i].number, i);
    if (fresh) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("is of rank {}, as {} is; give one file for each rank", ranks[i].number,
                            paths[at->second]),
                paths[i]);
  }
  return {};
}

}  // namespace tracesmith::import
