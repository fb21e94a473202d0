// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nccl/ras_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/nccl/nccl_names.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kMostNotes = 10;
constexpr size_t kMostRanksInNote = 8;

/// "rank 3", "ranks 1, 2 and 5", "ranks 0, 1, … (200 in all)".
std::string namesOf(const std::vector<int64_t>& ranks) {
  if (ranks.empty()) return "some ranks";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const size_t shown = std::min(ranks.size(), kMostRanksInNote);
  for (size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == ranks.size();
    text += (i == 0 ? "" : is_last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  return shown < ranks.size() ? text + fmt::format(", ... ({} in all)", ranks.size()) : text;
}

}  // namespace

void RasRows::note(std::string text) {
  if (notes_.size() < kMostNotes) {
    notes_.push_back(std::move(text));
  } else {
    ++more_notes_;
  }
}

std::vector<std::string> RasRows::notes() const {
  std::vector<std::string> notes = notes_;
  if (more_notes_ > 0) notes.push_back(fmt::format("{} more such differences", more_notes_));
  return notes;
}

void RasRows::addProcess(std::string_view host, int64_t pid, std::string_view state) {
  processes_.of(host, pid);
  note(fmt::format("process {} on {}: {}", pid, host, state));
}

void RasRows::addRank(const RasCommunicator& communicator, const RasRank& rank,
                      const std::map<std::string, uint64_t>& fewest) {
  ++ranks_;
  const auto id = idAt<CommunicatorId>(ranks_ - 1);
  const bool is_known = !rank.host.empty() || rank.pid >= 0;
  const ProcessId process = is_known ? processes_.of(rank.host, rank.pid) : ProcessId::kNone;
  builder_.rows.communicator.push({.id = id,
                                   .process_id = process,
                                   .key = ncclCommunicatorKey(communicator.hash),
                                   .ranks = small(communicator.ranks),
                                   .rank = rank.rank,
                                   .ordinal = static_cast<uint32_t>(ranks_),
                                   .library = builder_.text("NCCL"),
                                   .nodes = small(communicator.nodes)});
  for (const auto& [key, value] : rank.attributes) {
    builder_.rows.attribute.push({.table = static_cast<uint32_t>(TableId::kCommunicator),
                                  .row_number = ranks_ - 1,
                                  .key = builder_.text(key),
                                  .value = builder_.text(value)});
  }
  for (const auto& [operation, count] : rank.calls) {
    if (count == 0) continue;
    const auto least = fewest.find(operation);
    // A collective that another rank has not called cannot have ended on all of them.
    const bool is_ahead = least != fewest.end() && least->second < count;
    builder_.rows.comm.push({.function = builder_.text(ncclFunction(operation)),
                             .process_id = process,
                             .communicator_id = id,
                             .kind = ncclKind(operation),
                             .sequence = count,
                             .peer = -1,
                             .tag = -1,
                             .correlation_id = ++calls_,
                             .state = is_ahead ? CommState::kScheduled : CommState::kUnknown});
  }
  builder_.added(1 + rank.attributes.size() + rank.calls.size());
}

void RasRows::noteDifferences(const RasCommunicator& communicator) {
  const std::string who = "communicator " + communicator.hash;
  std::map<std::string, std::map<uint64_t, std::vector<int64_t>>> by_count;
  std::vector<int64_t> silent;
  for (const RasRank& rank : communicator.known) {
    if (!rank.answered) silent.push_back(rank.rank);
    for (const auto& [operation, count] : rank.calls)
      by_count[operation][count].push_back(rank.rank);
  }
  for (const auto& [operation, count] : communicator.others) by_count[operation][count];
  if (!silent.empty()) note(fmt::format("{}: {} gave no data", who, namesOf(silent)));
  for (const auto& [operation, counts] : by_count) {
    if (counts.size() < 2) continue;
    const auto& [least, behind] = *counts.begin();
    note(fmt::format("{}: {} launched {} calls of {}, others up to {}", who, namesOf(behind), least,
                     ncclFunction(operation), counts.rbegin()->first));
  }
}

void RasRows::add(const RasCommunicator& communicator) {
  std::map<std::string, uint64_t> fewest;
  const auto compare = [&](const std::vector<std::pair<std::string, uint64_t>>& calls) {
    for (const auto& [operation, count] : calls) {
      const auto [least, fresh] = fewest.try_emplace(operation, count);
      if (!fresh) least->second = std::min(least->second, count);
    }
  };
  compare(communicator.others);
  for (const RasRank& rank : communicator.known) compare(rank.calls);
  for (const RasRank& rank : communicator.known) {
    if (builder_.failed()) return;
    addRank(communicator, rank, fewest);
  }
  noteDifferences(communicator);
}

}  // namespace tracesmith::import
