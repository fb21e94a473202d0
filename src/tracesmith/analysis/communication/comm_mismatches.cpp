// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_mismatches.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/communication/call_order.hpp"
#include "tracesmith/analysis/communication/comm_bandwidth.hpp"
#include "tracesmith/base/human_units.hpp"

namespace tracesmith {
namespace {

class MismatchFinder {
 public:
  MismatchFinder(const Trace& trace, const std::vector<CommOperation>& operations,
                 const JobCommunicators& communicators, const CollectiveSets& sets)
      : trace_(trace), operations_(operations), communicators_(communicators), sets_(sets) {}

  std::vector<CommMismatch> find() {
    forEachFunction(sets_, [&](std::span<const CollectiveSet> of) {
      for (const CollectiveSet& set : of) compare(sets_.of(set));
      addMissing(of);
    });
    for (OrderMismatch& each : orderMismatches(trace_, operations_, communicators_, sets_)) {
      add(
          each.kind, each.communicator, each.function, each.sequence,
          [&] { return std::move(each.example); }, each.count);
    }
    addOneSided();
    std::vector<CommMismatch> all;
    for (auto& [key, mismatch] : found_) all.push_back(std::move(mismatch));
    return all;
  }

 private:
  /// Sets that a rank completed and that wait for all, as indices among those of a function.
  using CompletedSets = std::vector<uint64_t>;

  template <class Example>
  void add(CommMismatchKind kind, uint32_t communicator, StringId function, uint64_t sequence,
           Example example, uint64_t count = 1) {
    const auto [known, is_new] = found_.try_emplace({communicator, function, kind});
    CommMismatch& mismatch = known->second;
    if (is_new) mismatch = {kind, communicator, function, 0, sequence, example()};
    mismatch.count += count;
  }

  const std::string& labelOf(const CollectiveCall& call) const {
    return communicators_.labelOf(communicators_.members[call.member]);
  }

  /// The first call that differs from the first one whose value is known.
  template <class Value, class IsKnown>
  std::pair<const CollectiveCall*, const CollectiveCall*> different(
      std::span<const CollectiveCall> calls, Value value_of, IsKnown is_known) const {
    const CollectiveCall* first = nullptr;
    for (const CollectiveCall& call : calls) {
      const auto value = value_of(call);
      if (!is_known(value)) continue;
      if (first == nullptr) first = &call;
      if (value != value_of(*first)) return {first, &call};
    }
    return {};
  }

  template <class Value, class IsKnown, class TextOf>
  void compareValue(CommMismatchKind kind, std::span<const CollectiveCall> calls, Value value_of,
                    IsKnown is_known, TextOf text_of) {
    const auto [a, b] = different(calls, value_of, is_known);
    if (a == nullptr) return;
    add(kind, a->communicator, a->function, a->sequence, [&, a = a, b = b] {
      return "rank " + labelOf(*a) + ": " + text_of(value_of(*a)) + ", rank " + labelOf(*b) + ": " +
             text_of(value_of(*b));
    });
  }

  void compare(std::span<const CollectiveCall> calls) {
    const CommTable& comm = trace_.comm;
    const CollectiveCall& any = calls.front();
    const CollectiveOp op = operations_[any.operation].op;
    const bool between_groups = communicators_.all[any.communicator].other != CommOperation::kNone;
    const auto row_of = [&](const CollectiveCall& call) { return operations_[call.operation].row; };
    const auto text_of = [&](StringId id) { return std::string(trace_.text(id)); };
    const auto is_text = [](StringId id) { return id != StringId::kNone; };
    const bool is_comparable =
        op != CollectiveOp::kOther && op != CollectiveOp::kBarrier && !between_groups &&
        (!hasUnequalParts(trace_.text(any.function)) || op == CollectiveOp::kAllGather);
    if (is_comparable) {
      compareValue(
          CommMismatchKind::kSize, calls,
          [&](const CollectiveCall& call) { return operations_[call.operation].bytes; },
          [](uint64_t bytes) { return bytes > 0; },
          [](uint64_t bytes) { return formatCount(bytes) + " bytes"; });
    }
    compareValue(
        CommMismatchKind::kDataType, calls,
        [&](const CollectiveCall& call) { return comm.data_type[row_of(call)]; }, is_text, text_of);
    compareValue(
        CommMismatchKind::kReduction, calls,
        [&](const CollectiveCall& call) { return comm.reduction[row_of(call)]; }, is_text, text_of);
    if (hasRoot(op) && !between_groups) {
      compareValue(
          CommMismatchKind::kRoot, calls,
          [&](const CollectiveCall& call) { return comm.peer[row_of(call)]; },
          [](int64_t peer) { return peer >= 0; },
          [](int64_t peer) { return "root " + std::to_string(peer); });
    }
  }

  /// Where the calls of each rank begin, end and have gaps, among the collectives of a function.
  void addMissing(std::span<const CollectiveSet> of) {
    struct Range {
      uint64_t calls = 0, first = 0, last = 0;
    };
    const CollectiveCall& any = sets_.calls[of.front().first];
    const JobCommunicator& communicator = communicators_.all[any.communicator];
    std::vector<Range> ranges(communicator.members);
    const CompletedSets completed = completedSets(of);
    for (size_t i = 0; i < of.size(); ++i) {
      for (const CollectiveCall& call : sets_.of(of[i])) {
        Range& range = ranges[call.member - communicator.first_member];
        if (range.calls++ == 0) range.first = i;
        range.last = i;
      }
    }
    for (uint32_t i = 0; i < ranges.size(); ++i) {
      const Range& range = ranges[i];
      const uint32_t member = communicator.first_member + i;
      if (range.calls == 0) {
        addMissingFrom(of, completed, member, 0);
        continue;
      }
      const auto first_of = [&](uint64_t set) { return sets_.calls[of[set].first]; };
      const auto rank = [&] {
        return "rank " + communicators_.labelOf(communicators_.members[member]);
      };
      if (range.first > 0) {
        add(
            CommMismatchKind::kLaterStart, any.communicator, any.function, first_of(0).sequence,
            [&] { return rank() + " has rows from " + first_of(range.first).numberText() + " on"; },
            range.first);
      }
      const uint64_t gaps = range.last - range.first + 1 - range.calls;
      if (gaps > 0) {
        const uint64_t gap = firstGap(of, member, range.first);
        add(
            CommMismatchKind::kMissing, any.communicator, any.function, first_of(gap).sequence,
            [&] { return rank() + " has no " + first_of(gap).numberText(); }, gaps);
      }
      addMissingFrom(of, completed, member, range.last + 1);
    }
  }

  uint64_t firstGap(std::span<const CollectiveSet> of, uint32_t member, uint64_t from) const {
    while (hasCall(of[from], member)) ++from;
    return from;
  }
  bool hasCall(const CollectiveSet& set, uint32_t member) const {
    const auto calls = sets_.of(set);
    const auto at = std::lower_bound(
        calls.begin(), calls.end(), member,
        [](const CollectiveCall& call, uint32_t wanted) { return call.member < wanted; });
    return at != calls.end() && at->member == member;
  }

  CompletedSets completedSets(std::span<const CollectiveSet> of) const {
    CompletedSets completed;
    for (uint64_t i = 0; i < of.size(); ++i) {
      const auto calls = sets_.of(of[i]);
      const bool is_complete =
          waitsForAll(operations_[calls.front().operation].op) &&
          std::any_of(calls.begin(), calls.end(), [&](const CollectiveCall& call) {
            return operations_[call.operation].progress == CommProgress::kCompleted;
          });
      if (is_complete) completed.push_back(i);
    }
    return completed;
  }

  /// Others completed these, which is only possible if the rank came. Where they did not, see
  /// comm_hangs.hpp.
  void addMissingFrom(std::span<const CollectiveSet> of, const CompletedSets& completed,
                      uint32_t member, uint64_t first) {
    const auto next = std::lower_bound(completed.begin(), completed.end(), first);
    if (next == completed.end()) return;
    const CollectiveCall& any = sets_.calls[of[*next].first];
    add(
        CommMismatchKind::kMissingEnd, any.communicator, any.function, any.sequence,
        [&] {
          return "rank " + communicators_.labelOf(communicators_.members[member]) +
                 " has no row from " + any.numberText() + " on, which rank " + labelOf(any) +
                 " completed";
        },
        static_cast<uint64_t>(completed.end() - next));
  }

  void addOneSided() {
    uint32_t ranks = 0;  // of the job, in the trace
    for (const CommRank& rank : communicators_.ranks()) ranks += rank.process != ProcessId::kNone;
    if (ranks < 2) return;
    for (uint32_t i = 0; i < communicators_.all.size(); ++i) {
      const JobCommunicator& each = communicators_.all[i];
      if (each.members != 1 || each.ranks < 2) continue;
      add(CommMismatchKind::kOneSided, i, StringId::kNone, 0, [&] {
        return "of its " + formatCount(each.ranks) + " ranks only rank " +
               communicators_.labelOf(communicators_.members[each.first_member]) +
               " is in the trace" + (each.key == 0 ? ", or its key is unknown" : "");
      });
    }
  }

  const Trace& trace_;
  const std::vector<CommOperation>& operations_;
  const JobCommunicators& communicators_;
  const CollectiveSets& sets_;
  std::map<std::tuple<uint32_t, StringId, CommMismatchKind>, CommMismatch> found_;
};

}  // namespace

std::string_view toString(CommMismatchKind kind) {
  constexpr std::string_view kNames[] = {
      "size",          "data type",    "reduction",    "root",     "order",
      "missing",       "missing end",  "late start",   "repeated", "restarted",
      "one side only", "message size", "not received", "not sent"};
  const auto i = static_cast<size_t>(kind);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

std::vector<CommMismatch> collectiveMismatches(const Trace& trace,
                                               const std::vector<CommOperation>& operations,
                                               const JobCommunicators& communicators,
                                               const CollectiveSets& sets) {
  return MismatchFinder(trace, operations, communicators, sets).find();
}

}  // namespace tracesmith
