// SPDX-License-Identifier: Apache-2.0
// The communicators of a job and the ranks in them: what each process says about its own, joined.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tracesmith/analysis/communication/member_numbers.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Somebody who communicates: a rank of the job, or of one communicator if its number in the job is
/// unknown.
struct CommRank {
  ProcessId process{};             ///< kNone: not in the trace
  RankId rank_id{};                ///< of a merged trace
  std::optional<uint32_t> number;  ///< in the job
  std::string label;               ///< for people: "3"
};

/// A rank of a communicator that is in the trace.
struct CommMember {
  uint32_t communicator = 0;  ///< index in JobCommunicators::all
  int64_t rank = -1;          ///< -1: unknown
  uint32_t who = 0;           ///< index in JobCommunicators::ranks()
  ProcessId process{};
};

struct JobCommunicator {
  uint64_t key = 0;  ///< 0: unknown, then it has one member
  StringId library{};
  std::string label;   ///< its name; if several have that, with the ranks, or a number
  uint64_t ranks = 0;  ///< as it says; nothing is allocated for them
  uint32_t nodes = 0;  ///< hosts; 0: unknown
  uint32_t first_member = 0, members = 0;  ///< in JobCommunicators::members, by rank
  /// Between two groups of ranks: the other group, whose ranks are the peers of messages; else
  /// JobCommunicators::kNone.
  uint32_t other = ~uint32_t{0};
  MemberNumbers numbers;

  bool isWhole() const { return members == ranks; }
};

class JobCommunicators {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  explicit JobCommunicators(const Trace& trace);

  std::vector<JobCommunicator> all;
  std::vector<CommMember> members;  ///< by communicator, then rank
  const std::vector<CommRank>& ranks() const { return ranks_; }

  /// Index in `members`; kNone for no communicator, or one that the trace does not have.
  uint32_t memberOf(CommunicatorId id) const;
  /// Who is peer `rank` of a message in a communicator; kNone for a negative one. Adds a CommRank
  /// if it is not in the trace and was not asked for before.
  uint32_t whoIs(uint32_t communicator, int64_t rank);
  /// Index in `members` of a rank of a communicator; kNone: not in the trace.
  uint32_t memberAt(uint32_t communicator, int64_t rank) const;
  const std::string& labelOf(const CommMember& member) const { return ranks_[member.who].label; }
  /// Where the numbers of ranks are from, if neither the trace nor its communicators say them; else
  /// "".
  const std::string& numbersNote() const { return numbers_note_; }

 private:
  struct Row;
  std::vector<Row> rowsOf(const Trace& trace) const;
  void join(const Trace& trace, std::vector<Row>& rows);
  void pairGroups();
  void labelCommunicators(const Trace& trace);
  void nameRanks(const Trace& trace, const std::vector<Row>& rows);
  std::optional<uint32_t> numberInLargest(const Trace& trace, const Row& row) const;
  uint32_t addRank(CommRank rank);
  void labelRanks(const Trace& trace);

  std::vector<uint32_t> member_of_row_;  // by row of `communicator`
  std::vector<uint32_t> largest_;        // by process: row of its largest communicator
  std::vector<bool> has_several_;        // by process: it is several ranks of one communicator
  std::vector<CommRank> ranks_;
  std::map<std::tuple<RankId, uint32_t, uint32_t>, uint32_t> by_process_;  // rank, pid, number
  std::map<uint32_t, uint32_t> by_number_;  // index in ranks_; kNone: several have it
  std::map<std::pair<uint32_t, int64_t>, uint32_t> by_place_;  // communicator and rank
  std::string numbers_note_;
};

}  // namespace tracesmith
