// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_hangs.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tracesmith/analysis/communication/comm_bandwidth.hpp"

namespace tracesmith {
namespace {

class HangFinder {
 public:
  HangFinder(const Trace& trace, const std::vector<CommOperation>& operations,
             const JobCommunicators& communicators, const CollectiveSets& sets)
      : trace_(trace), operations_(operations), communicators_(communicators), sets_(sets) {}

  CommHangs find() {
    addLast();
    addCompleted();
    findSilent();
    forEachFunction(sets_, [&](std::span<const CollectiveSet> of) { addFirstOf(of); });
    std::stable_sort(out_.hangs.begin(), out_.hangs.end(),
                     [](const CommHang& a, const CommHang& b) { return a.since_ns < b.since_ns; });
    addCallsWithoutEnd();
    addStacks();
    return std::move(out_);
  }

 private:
  const CommOperation& operationOf(const CollectiveCall& call) const {
    return operations_[call.operation];
  }
  uint32_t whoOf(uint32_t member) const { return communicators_.members[member].who; }

  /// By process: a process that is several ranks has one last call for all of them.
  void addLast() {
    const CommTable& comm = trace_.comm;
    std::unordered_map<ProcessId, LastOperation> by_process;
    std::vector<LastOperation> by_rank(communicators_.ranks().size());
    const auto later = [&](LastOperation& last, uint32_t row) {
      const int64_t end = endOf(comm.start_ns[row], comm.duration_ns[row]);
      if (last.row == CommOperation::kNone || end >= last.end_ns) last = {row, end, {}};
    };
    for (uint32_t row = 0; row < comm.size(); ++row) {
      later(by_process[comm.process_id[row]], row);
      const uint32_t member = communicators_.memberOf(comm.communicator_id[row]);
      if (member != JobCommunicators::kNone) later(by_rank[whoOf(member)], row);
    }
    std::unordered_map<ProcessId, uint32_t> ranks_of;
    for (const CommRank& rank : communicators_.ranks()) ++ranks_of[rank.process];
    for (size_t i = 0; i < by_rank.size(); ++i) {
      const ProcessId process = communicators_.ranks()[i].process;
      const auto known = by_process.find(process);
      const bool is_alone = ranks_of[process] == 1 && known != by_process.end();
      out_.last.push_back(is_alone ? known->second : by_rank[i]);
    }
  }

  /// By member: the start of the last collective that it completed and for which all had to come.
  void addCompleted() {
    completed_.assign(communicators_.members.size(), std::numeric_limits<int64_t>::min());
    for (const CollectiveCall& call : sets_.calls) {
      const CommOperation& operation = operationOf(call);
      if (operation.progress != CommProgress::kCompleted || !waitsForAll(operation.op)) continue;
      int64_t& last = completed_[call.member];
      last = std::max(last, trace_.comm.start_ns[operation.row]);
    }
  }

  /// Members that a snapshot (RAS) did not hear of: what they called is unknown.
  void findSilent() {
    is_silent_.assign(communicators_.members.size(), false);
    const AttributeTable& attributes = trace_.attribute;
    for (size_t i = 0; i < attributes.size(); ++i) {
      if (attributes.table[i] != static_cast<uint32_t>(TableId::kCommunicator) ||
          attributes.row_number[i] >= trace_.communicator.size() ||
          trace_.text(attributes.key[i]) != "answered" ||
          trace_.text(attributes.value[i]) != "false") {
        continue;
      }
      const uint32_t member =
          communicators_.memberOf(trace_.communicator.id[attributes.row_number[i]]);
      if (member != JobCommunicators::kNone) is_silent_[member] = true;
    }
    for (const CollectiveCall& call : sets_.calls) is_silent_[call.member] = false;
  }

  bool isUnfinished(const CollectiveSet& set) const {
    const auto calls = sets_.of(set);
    return std::any_of(calls.begin(), calls.end(), [&](const CollectiveCall& call) {
      return operationOf(call).progress == CommProgress::kUnfinished;
    });
  }

  bool isIncomplete(const CollectiveSet& set, bool all_came) const {
    const auto calls = sets_.of(set);
    // The collectives of a communicator run one after the other: what came later has ended.
    for (const CollectiveCall& call : calls) {
      if (trace_.comm.start_ns[operationOf(call).row] < completed_[call.member]) return false;
    }
    const auto has = [&](CommProgress progress) {
      return std::any_of(calls.begin(), calls.end(), [&](const CollectiveCall& call) {
        return operationOf(call).progress == progress;
      });
    };
    if (all_came) return isUnfinished(set);
    // It cannot have been completed without the missing rank: its rows are what is missing.
    if (has(CommProgress::kCompleted) && waitsForAll(operationOf(calls.front()).op)) return false;
    return isUnfinished(set) || has(CommProgress::kUnknown);
  }

  /// The first collective of a function that hangs.
  void addFirstOf(std::span<const CollectiveSet> of) {
    const CollectiveCall& any = sets_.calls[of.front().first];
    const JobCommunicator& communicator = communicators_.all[any.communicator];
    std::vector<uint64_t> end(communicator.members, 0);  // after the last call of each member
    for (uint32_t i = 0; i < communicator.members; ++i) {
      if (is_silent_[communicator.first_member + i]) end[i] = of.size();
    }
    for (size_t i = 0; i < of.size(); ++i) {
      for (const CollectiveCall& call : sets_.of(of[i])) {
        end[call.member - communicator.first_member] = i + 1;
      }
    }
    const uint64_t first = *std::min_element(end.begin(), end.end());
    for (uint64_t i = 0; i < of.size(); ++i) {
      if (!isIncomplete(of[i], i < first)) continue;
      add(of[i], end, i);
      return;
    }
  }

  void add(const CollectiveSet& set, const std::vector<uint64_t>& end, uint64_t place) {
    const auto calls = sets_.of(set);
    const CollectiveCall& any = calls.front();
    const JobCommunicator& communicator = communicators_.all[any.communicator];
    CommHang hang{.communicator = any.communicator,
                  .function = any.function,
                  .sequence = any.sequence,
                  .since_ns = std::numeric_limits<int64_t>::max(),
                  .is_certain = isUnfinished(set)};
    for (const CollectiveCall& call : calls) {
      const int64_t start = trace_.comm.start_ns[operationOf(call).row];
      hang.since_ns = std::min(hang.since_ns, start);
      hang.waiting.push_back(whoOf(call.member));
    }
    for (uint32_t i = 0; i < end.size(); ++i) {
      if (end[i] <= place) hang.missing.push_back(whoOf(communicator.first_member + i));
      if (is_silent_[communicator.first_member + i]) ++hang.absent;
    }
    if (communicator.ranks > communicator.members) {
      hang.absent += communicator.ranks - communicator.members;
    }
    out_.hangs.push_back(std::move(hang));
  }

  /// Processes with a call of MPI that did not return. A thread can be in one call; more than that
  /// were lost in another way.
  std::unordered_map<ProcessId, bool> processesInCalls() const {
    std::unordered_map<ProcessId, uint64_t> threads;
    for (const ProcessId process : trace_.thread.process_id) ++threads[process];
    std::unordered_map<ProcessId, bool> in_calls;
    const LossTable& losses = trace_.loss;
    for (size_t i = 0; i < losses.size(); ++i) {
      if (!trace_.text(losses.source[i]).starts_with("MPI")) continue;
      const uint64_t lost = losses.dropped[i];
      if (lost > 0 && lost <= std::max<uint64_t>(threads[losses.process_id[i]], 1)) {
        in_calls[losses.process_id[i]] = true;
      }
    }
    return in_calls;
  }

  void addCallsWithoutEnd() {
    const std::unordered_map<ProcessId, bool> in_calls = processesInCalls();
    if (in_calls.empty()) return;
    CommHang hang;
    hang.is_certain = true;
    for (uint32_t i = 0; i < communicators_.ranks().size(); ++i) {
      const ProcessId process = communicators_.ranks()[i].process;
      if (process == ProcessId::kNone) continue;
      if (in_calls.contains(process)) {
        hang.waiting.push_back(i);
        hang.since_ns = std::max(hang.since_ns, out_.last[i].end_ns);
      } else if (!hasFinalized(i)) {
        hang.missing.push_back(i);
      }
    }
    if (hang.waiting.empty()) return;
    hang.after = lastCollectiveOf(hang.waiting);
    out_.hangs.push_back(std::move(hang));
  }

  bool hasFinalized(uint32_t who) const {
    const uint32_t row = out_.last[who].row;
    return row != CommOperation::kNone && trace_.text(trace_.comm.function[row]) == "MPI_Finalize";
  }

  uint32_t lastCollectiveOf(const std::vector<uint32_t>& ranks) const {
    std::vector<bool> is_one(communicators_.ranks().size(), false);
    for (const uint32_t who : ranks) is_one[who] = true;
    uint32_t last = CommOperation::kNone;
    for (uint32_t i = 0; i < operations_.size(); ++i) {
      const CommOperation& operation = operations_[i];
      if (operation.kind != CommKind::kCollective || operation.member == CommOperation::kNone ||
          !is_one[whoOf(operation.member)]) {
        continue;
      }
      if (last == CommOperation::kNone || operation.end_ns > operations_[last].end_ns) last = i;
    }
    return last;
  }

  /// Of the ranks that are missing, or in a call that did not end.
  void addStacks() {
    std::unordered_map<uint64_t, std::vector<uint32_t>> wanted;  // by correlation id: ranks
    std::vector<bool> is_wanted(out_.last.size(), false);
    const auto want = [&](const std::vector<uint32_t>& ranks) {
      for (const uint32_t who : ranks) {
        const uint32_t row = out_.last[who].row;
        if (is_wanted[who] || row == CommOperation::kNone) continue;
        is_wanted[who] = true;
        wanted[trace_.comm.correlation_id[row]].push_back(who);
      }
    };
    for (const CommHang& hang : out_.hangs) {
      want(hang.missing);
      want(hang.waiting);
    }
    if (wanted.empty()) return;
    const HostCallTable& calls = trace_.host_call;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls.correlation_id[i] == 0) continue;
      const auto found = wanted.find(calls.correlation_id[i]);
      if (found == wanted.end()) continue;
      for (const uint32_t who : found->second) {
        if (communicators_.ranks()[who].process != calls.process_id[i]) continue;
        out_.last[who].call_path_id = calls.call_path_id[i];
      }
    }
  }

  const Trace& trace_;
  const std::vector<CommOperation>& operations_;
  const JobCommunicators& communicators_;
  const CollectiveSets& sets_;
  std::vector<int64_t> completed_;
  std::vector<bool> is_silent_;  // by member
  CommHangs out_;
};

}  // namespace

CommHangs commHangs(const Trace& trace, const std::vector<CommOperation>& operations,
                    const JobCommunicators& communicators, const CollectiveSets& sets) {
  return HangFinder(trace, operations, communicators, sets).find();
}

}  // namespace tracesmith
