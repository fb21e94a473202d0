// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/mpi_ranks.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kMostRanks = 10'000'000;

/// The processes that ran with each pid, in the order of their starts.
using ByPid = std::map<uint32_t, std::vector<size_t>>;

ByPid processesByPid(const ProcessTable& processes) {
  ByPid by_pid;
  for (size_t i = 0; i < processes.size(); ++i) by_pid[processes.pid[i]].push_back(i);
  for (auto& [pid, rows] : by_pid) {
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return processes.start_ns[a] < processes.start_ns[b];
    });
  }
  return by_pid;
}

/// The parent: of the processes with its pid, the last that had started.
size_t parentOf(const ProcessTable& processes, const ByPid& by_pid, size_t child) {
  const auto found = by_pid.find(processes.parent_pid[child]);
  if (processes.parent_pid[child] == 0 || found == by_pid.end()) return processes.size();
  size_t parent = found->second.front();
  for (const size_t row : found->second) {
    if (processes.start_ns[row] <= processes.start_ns[child]) parent = row;
  }
  return parent == child ? processes.size() : parent;
}

void assignProcesses(ProcessTable& processes, const std::vector<MpiRank>& ranks) {
  constexpr auto kFirst = idAt<RankId>(0);
  std::map<size_t, RankId> known;
  for (size_t i = 0; i < ranks.size(); ++i) known[indexOf(ranks[i].process)] = idAt<RankId>(i);
  const ByPid by_pid = processesByPid(processes);
  for (size_t i = 0; i < processes.size(); ++i) {
    RankId rank = kFirst;
    size_t at = i;
    for (size_t steps = 0; at < processes.size() && steps < processes.size(); ++steps) {
      const auto found = known.find(at);
      if (found != known.end()) {
        rank = found->second;
        break;
      }
      at = parentOf(processes, by_pid, at);
    }
    processes.rank_id[i] = rank;
  }
}

/// Whether the communicator is its process's MPI_COMM_WORLD, which a program may rename: the first
/// one, with all ranks of the job.
bool isWorld(const Trace& trace, size_t row) {
  const CommunicatorTable& rows = trace.communicator;
  return trace.text(rows.name[row]) == "MPI_COMM_WORLD" ||
         (rows.ordinal[row] == 1 &&
          trace.text(rows.members[row]) == "0-" + std::to_string(rows.ranks[row] - 1));
}

/// Ordered by number; empty if a number is none, which is damage. A process that is a job of its
/// own says nothing about ranks: it may just have loaded a library that starts MPI.
std::vector<MpiRank> processesOfWorlds(const Trace& trace) {
  std::vector<MpiRank> ranks;
  const CommunicatorTable& rows = trace.communicator;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows.ranks[i] < 2 || !isWorld(trace, i)) continue;
    if (rows.rank[i] < 0 || rows.rank[i] >= kMostRanks) return {};
    ranks.push_back(
        {rows.process_id[i], static_cast<uint32_t>(rows.rank[i]), rows.ranks[i], rows.key[i]});
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const MpiRank& a, const MpiRank& b) { return a.number < b.number; });
  return ranks;
}

bool areOfOneJob(const std::vector<MpiRank>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end(), [](const MpiRank& a, const MpiRank& b) {
           return a.number == b.number || a.world_size != b.world_size || a.job != b.job;
         }) == ranks.end();
}

template <class Table>
void setRank(Table& table, RankId rank) {
  for (RankId& of_row : table.rank_id) of_row = rank;
}

}  // namespace

std::vector<MpiRank> mpiRanks(const Trace& trace) {
  std::vector<MpiRank> ranks = processesOfWorlds(trace);
  return areOfOneJob(ranks) ? ranks : std::vector<MpiRank>();
}

bool hasSeveralMpiJobs(const Trace& trace) { return !areOfOneJob(processesOfWorlds(trace)); }

Status forEachMpiRank(Trace trace, const std::function<Status(Trace)>& take) {
  const std::vector<MpiRank> ranks = mpiRanks(trace);
  assignProcesses(trace.process, ranks);
  giveProcessOf(trace, idAt<RankId>(0));
  for (size_t i = 0; i < trace.loss.size(); ++i) {
    const bool has_process = indexOf(trace.loss.process_id[i]) < trace.process.size();
    if (!has_process) trace.loss.rank_id[i] = idAt<RankId>(0);
  }
  trace.rank.clear();
  for (size_t i = 0; i < ranks.size(); ++i) {
    trace.rank.push({.id = idAt<RankId>(i), .number = ranks[i].number});
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto rank = idAt<RankId>(i);
    setRank(trace.device, rank);
    setRank(trace.clock_domain, rank);
    setRank(trace.topology_node, rank);
    setRank(trace.topology_link, rank);
    setRank(trace.clock_offset, idAt<RankId>(0));
    Trace part = partOfRank(trace, rank);
    part.metadata = trace.metadata;
    TS_CHECK_OK(take(std::move(part)));
  }
  return {};
}

}  // namespace tracesmith
