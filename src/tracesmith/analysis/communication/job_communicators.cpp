// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/job_communicators.hpp"

#include <algorithm>
#include <string_view>

namespace tracesmith {

/// A row of `communicator` and the one that it belongs to.
struct JobCommunicators::Row {
  uint32_t row = 0;
  uint64_t key = 0;
  StringId library{};
  StringId members{};
  int64_t rank = -1;
  ProcessId process{};

  /// Rows of one communicator come together; one of an unknown key is alone. The members of two
  /// groups have one key.
  auto place() const { return std::tuple(library, key, key == 0 ? row : 0, members); }
};

namespace {

bool isProcess(const Trace& trace, ProcessId id) {
  return id != ProcessId::kNone && indexOf(id) < trace.process.size();
}

}  // namespace

JobCommunicators::JobCommunicators(const Trace& trace) {
  std::vector<Row> rows = rowsOf(trace);
  join(trace, rows);
  pairGroups();
  labelCommunicators(trace);
  nameRanks(trace, rows);
  labelRanks(trace);
}

std::vector<JobCommunicators::Row> JobCommunicators::rowsOf(const Trace& trace) const {
  const CommunicatorTable& table = trace.communicator;
  std::vector<Row> rows;
  rows.reserve(table.size());
  for (uint32_t i = 0; i < table.size(); ++i) {
    rows.push_back({i, table.key[i], table.library[i], table.members[i],
                    table.rank[i] < 0 ? -1 : table.rank[i], table.process_id[i]});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.place(), a.rank, a.row) < std::tuple(b.place(), b.rank, b.row);
  });
  return rows;
}

/// Rows with one rank are one member: a process that was recorded several times has a row for each.
void JobCommunicators::join(const Trace& trace, std::vector<Row>& rows) {
  const CommunicatorTable& table = trace.communicator;
  member_of_row_.assign(table.size(), kNone);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const bool is_new = i == 0 || rows[i - 1].place() != row.place();
    if (is_new) {
      all.push_back({.key = row.key,
                     .library = row.library,
                     .first_member = static_cast<uint32_t>(members.size())});
    }
    JobCommunicator& of = all.back();
    of.ranks = std::max<uint64_t>(of.ranks, table.ranks[row.row]);
    of.nodes = std::max(of.nodes, table.nodes[row.row]);
    if (!of.numbers.at(0)) of.numbers = MemberNumbers(trace.text(table.members[row.row]));
    if (of.label.empty()) of.label = trace.text(table.name[row.row]);
    if (is_new || row.rank < 0 || members.back().rank != row.rank) {
      members.push_back({static_cast<uint32_t>(all.size() - 1), row.rank, 0, row.process});
      ++of.members;
    }
    member_of_row_[row.row] = static_cast<uint32_t>(members.size() - 1);
  }
}

void JobCommunicators::pairGroups() {
  for (uint32_t i = 1; i < all.size(); ++i) {
    JobCommunicator &a = all[i - 1], &b = all[i];
    if (a.key == 0 || a.key != b.key || a.library != b.library || a.other != kNone) continue;
    a.other = i;
    b.other = i - 1;
    // A row says how many ranks the other group has.
    for (JobCommunicator* const each : {&a, &b}) {
      if (each->numbers.count() > 0) each->ranks = each->numbers.count();
    }
  }
}

/// Programs name few of their communicators, and give many one name.
void JobCommunicators::labelCommunicators(const Trace& trace) {
  std::map<std::string, uint32_t> count;
  for (JobCommunicator& each : all) {
    if (each.label.empty()) {
      const std::string_view library = trace.text(each.library);
      each.label = (library.empty() ? "communicator" : std::string(library)) + " of " +
                   std::to_string(each.ranks) + (each.ranks == 1 ? " rank" : " ranks");
    }
    ++count[each.label];
  }
  std::map<std::string, uint32_t> numbers;
  for (JobCommunicator& each : all) {
    if (count[each.label] < 2) continue;
    const uint32_t number = ++numbers[each.label];
    each.label += " #" + std::to_string(number);
  }
}

/// The rank in the process's largest communicator, which most often is that of all ranks.
std::optional<uint32_t> JobCommunicators::numberInLargest(const Trace& trace,
                                                          const Row& row) const {
  const CommunicatorTable& table = trace.communicator;
  const uint32_t process = indexOf(row.process);
  if (has_several_[process] && table.ranks[row.row] != table.ranks[largest_[process]]) {
    return std::nullopt;
  }
  const int64_t rank = has_several_[process] ? row.rank : table.rank[largest_[process]];
  if (rank < 0 || rank > INT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(rank);
}

void JobCommunicators::nameRanks(const Trace& trace, const std::vector<Row>& rows) {
  const CommunicatorTable& table = trace.communicator;
  largest_.assign(trace.process.size(), kNone);
  has_several_.assign(trace.process.size(), false);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!isProcess(trace, rows[i].process)) continue;
    uint32_t& largest = largest_[indexOf(rows[i].process)];
    if (largest == kNone || table.ranks[rows[i].row] > table.ranks[largest]) largest = rows[i].row;
    const bool is_again = i > 0 && rows[i - 1].place() == rows[i].place() &&
                          rows[i - 1].process == rows[i].process &&
                          rows[i - 1].rank != rows[i].rank;
    if (is_again) has_several_[indexOf(rows[i].process)] = true;
  }
  bool are_guessed = false;
  for (const Row& row : rows) {
    const uint32_t index = member_of_row_[row.row];
    CommMember& member = members[index];
    CommRank rank{.process = row.process};
    const bool is_known = isProcess(trace, row.process);
    const uint32_t process = is_known ? indexOf(row.process) : 0;
    if (is_known) {
      rank.rank_id = trace.process.rank_id[process];
      const bool is_ranked = rank.rank_id != RankId::kNone &&
                             indexOf(rank.rank_id) < trace.rank.size() && !has_several_[process];
      rank.number = is_ranked ? std::optional(trace.rank.number[indexOf(rank.rank_id)])
                              : all[member.communicator].numbers.at(row.rank);
      if (!rank.number) {
        rank.number = numberInLargest(trace, row);
        are_guessed = are_guessed || rank.number;
      }
    } else {
      rank.number = all[member.communicator].numbers.at(row.rank);
    }
    if (is_known && rank.number) {
      const std::tuple place(rank.rank_id, trace.process.pid[process], *rank.number);
      const auto [known, is_new] = by_process_.try_emplace(place, 0);
      if (is_new) known->second = addRank(std::move(rank));
      member.who = known->second;
    } else {
      member.who = addRank(std::move(rank));
    }
    if (row.rank >= 0) by_place_.try_emplace({member.communicator, row.rank}, member.who);
  }
  if (are_guessed) {
    numbers_note_ = "ranks have the numbers of the largest communicator of their process";
  }
}

uint32_t JobCommunicators::addRank(CommRank rank) {
  const auto index = static_cast<uint32_t>(ranks_.size());
  if (rank.number) {
    const auto [known, is_new] = by_number_.try_emplace(*rank.number, index);
    if (!is_new) known->second = kNone;
  }
  ranks_.push_back(std::move(rank));
  return index;
}

void JobCommunicators::labelRanks(const Trace& trace) {
  for (const CommMember& member : members) {
    CommRank& rank = ranks_[member.who];
    if (!rank.label.empty()) continue;
    const bool is_known = isProcess(trace, rank.process);
    const std::string pid =
        is_known ? "pid " + std::to_string(trace.process.pid[indexOf(rank.process)]) : "";
    if (rank.number) {
      rank.label = std::to_string(*rank.number);
      if (by_number_[*rank.number] == kNone && is_known) rank.label += " (" + pid + ")";
    } else if (member.rank >= 0) {
      rank.label = "rank " + std::to_string(member.rank) + " of " + all[member.communicator].label;
    } else {
      rank.label = is_known ? pid : "unknown";
    }
  }
}

uint32_t JobCommunicators::memberOf(CommunicatorId id) const {
  const auto i = static_cast<size_t>(id);
  return i == 0 || i > member_of_row_.size() ? kNone : member_of_row_[i - 1];
}

uint32_t JobCommunicators::memberAt(uint32_t communicator, int64_t rank) const {
  if (communicator >= all.size() || rank < 0) return kNone;
  const auto first = members.begin() + all[communicator].first_member;
  const auto last = first + all[communicator].members;
  const auto at = std::lower_bound(first, last, rank, [](const CommMember& member, int64_t wanted) {
    return member.rank < wanted;
  });
  return at == last || at->rank != rank ? kNone : static_cast<uint32_t>(at - members.begin());
}

uint32_t JobCommunicators::whoIs(uint32_t communicator, int64_t rank) {
  if (communicator >= all.size() || rank < 0) return kNone;
  if (all[communicator].other != kNone) communicator = all[communicator].other;
  const auto [place, is_new] = by_place_.try_emplace({communicator, rank}, kNone);
  if (!is_new) return place->second;
  const std::optional<uint32_t> number = all[communicator].numbers.at(rank);
  if (number) {
    const auto known = by_number_.find(*number);
    if (known != by_number_.end() && known->second != kNone) return place->second = known->second;
  }
  CommRank absent{.number = number};
  absent.label = number ? std::to_string(*number)
                        : "rank " + std::to_string(rank) + " of " + all[communicator].label;
  // Of several jobs in one trace: which of those with the number it is, is unknown.
  const bool is_ambiguous = number && by_number_.contains(*number);
  if (is_ambiguous) absent.label += " of " + all[communicator].label;
  return place->second = addRank(std::move(absent));
}

}  // namespace tracesmith
