// SPDX-License-Identifier: Apache-2.0
// Rows of `comm`, `comm_work` and `communicator` from what Kineto says about collectives: the
// operator record_param_comms is the call, and kernels with the same "External id" are its work.
// Both have "Collective name", "Process Group Ranks" and so on among their arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/import/chrome/chrome_tracks.hpp"
#include "tracesmith/import/common/rank_list.hpp"
#include "tracesmith/import/json/event_shapes.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class ChromeCollectives {
 public:
  /// `delta` and `tracks` must outlive this object.
  ChromeCollectives(Trace& delta, ChromeTracks& tracks) : delta_(delta), tracks_(tracks) {}

  /// Whether an event that became a row of `table` is such an operator or kernel.
  static bool isAbout(const ChromeEvent& event, TableId table) {
    return event[EventField::kArgCollective] &&
           (table == TableId::kKernel || event[EventField::kName].raw == "record_param_comms");
  }
  /// Takes the member "distributedInfo", which has the rank and all groups.
  void member(std::string_view name, std::string_view raw);
  /// Takes an event of which isAbout() is true.
  void event(const ChromeEvent& event, TableId table, int64_t start_ns, int64_t duration_ns);
  /// Adds the rows. Needs all events, because kernels may come before their operator. Returns how
  /// many calls there were.
  size_t finish();

 private:
  /// What an operator or a kernel says about a collective.
  struct Collective {
    StringId name{};  // PyTorch's, as "allreduce"
    StringId group{}, description{}, ranks{};
    StringId data_type{};
    uint64_t in = 0, out = 0;  // elements
    int64_t group_size = 0;
    int64_t rank = -1;      // the root or the other one, of an operator
    uint64_t sequence = 0;  // 0: unknown
    int64_t start_ns = 0, duration_ns = 0;
    ProcessId process{};
    ThreadId thread{};
    uint64_t correlation = 0;
  };
  struct Work {
    int64_t start_ns = 0, end_ns = 0;
    uint64_t correlation = 0;
  };
  struct Call {
    Collective of;
    std::optional<Work> work;
  };

  StringId text(const ChromeEvent& event, EventField field);
  void callOf(int64_t external, const Collective& of, bool is_kernel);
  const RankList* groupRanks(const Collective& of);
  CommunicatorId communicator(const Collective& of, std::string_view library, int64_t created_ns);
  void push(const Call& call);

  Trace& delta_;
  ChromeTracks& tracks_;
  std::string room_;
  std::vector<Call> calls_;
  std::unordered_map<int64_t, size_t> by_external_id_;
  std::optional<int64_t> rank_;  // of this process in the job
  std::string backend_;
  std::map<std::string, RankList, std::less<>> described_;  // groups in distributedInfo
  std::map<StringId, std::optional<RankList>> read_;        // by text
  std::map<std::pair<StringId, StringId>, CommunicatorId> communicators_;
};

}  // namespace tracesmith::import
