// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_arrivals.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tracesmith/analysis/communication/comm_bandwidth.hpp"

namespace tracesmith {
namespace {

class ArrivalFinder {
 public:
  ArrivalFinder(const Trace& trace, const std::vector<CommOperation>& operations,
                const JobCommunicators& communicators, const CollectiveSets& sets)
      : operations_(operations), communicators_(communicators), sets_(sets), clocks_(trace) {}

  CommArrivals find() {
    out_.are_comparable = clocks_.areComparable();
    forEachFunction(sets_, [&](std::span<const CollectiveSet> of) { addFunction(of); });
    return std::move(out_);
  }

 private:
  const CommOperation& operationOf(const CollectiveCall& call) const {
    return operations_[call.operation];
  }
  int64_t timeOf(const CollectiveCall& call) const { return operationOf(call).begin_ns; }

  uint64_t apart(const CollectiveCall& a, const CollectiveCall& b) const {
    if (&a == &b) return 0;
    const auto rank_of = [&](const CollectiveCall& call) {
      return communicators_.ranks()[communicators_.members[call.member].who].rank_id;
    };
    return sumOfErrors(clocks_.apart(rank_of(a), rank_of(b)),
                       uint64_t{operationOf(a).error_ns} + operationOf(b).error_ns);
  }

  void addFunction(std::span<const CollectiveSet> of) {
    const CollectiveCall& any = sets_.calls[of.front().first];
    const JobCommunicator& communicator = communicators_.all[any.communicator];
    FunctionArrivals function{
        .communicator = any.communicator, .function = any.function, .op = operationOf(any).op};
    ranks_.assign(communicator.members, {});
    first_member_ = communicator.first_member;
    std::vector<double> spreads;
    for (const CollectiveSet& set : of) {
      ++function.collectives;
      if (set.count == communicator.ranks) ++function.whole;
      if (set.count < 2) continue;
      for (const CollectiveCall& call : sets_.of(set)) ++rankOf(call).calls;
      if (!out_.are_comparable || !haveStarts(set)) continue;
      const CollectiveArrival arrival = arrivalOf(set);
      spreads.push_back(static_cast<double>(arrival.spread_ns));
      if (arrival.isResolved()) ++function.compared;
      function.waited_ns = endOf(function.waited_ns, arrival.waited_ns);
      out_.collectives.push_back(arrival);
    }
    function.spread_ns = distributionOf(spreads);
    out_.functions.push_back(function);
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].member = first_member_ + i;
      ranks_[i].function = any.function;
      if (ranks_[i].calls > 0) out_.ranks.push_back(ranks_[i]);
    }
  }

  bool haveStarts(const CollectiveSet& set) const {
    const auto calls = sets_.of(set);
    return std::none_of(calls.begin(), calls.end(), [&](const CollectiveCall& call) {
      return operationOf(call).error_ns == CommOperation::kStartUnknown;
    });
  }

  RankArrivals& rankOf(const CollectiveCall& call) { return ranks_[call.member - first_member_]; }

  CollectiveArrival arrivalOf(const CollectiveSet& set) {
    const std::span<const CollectiveCall> calls = sets_.of(set);
    const auto earlier = [&](const CollectiveCall& a, const CollectiveCall& b) {
      return timeOf(a) < timeOf(b);
    };
    const auto [first, last] = std::minmax_element(calls.begin(), calls.end(), earlier);
    CollectiveArrival arrival{.set = static_cast<uint32_t>(&set - sets_.sets.data()),
                              .first_ns = timeOf(*first),
                              .spread_ns = lengthOf(timeOf(*first), timeOf(*last)),
                              .apart_ns = apart(*first, *last)};
    int64_t before = std::numeric_limits<int64_t>::min();
    bool is_certain = true;
    for (const CollectiveCall& call : calls) {
      if (&call == &*last) continue;
      before = std::max(before, timeOf(call));
      const int64_t later_by = lengthOf(timeOf(call), timeOf(*last));
      is_certain =
          is_certain && later_by > 0 && static_cast<uint64_t>(later_by) > apart(call, *last);
    }
    if (is_certain) {
      arrival.last = static_cast<uint32_t>(&*last - sets_.calls.data());
      RankArrivals& rank = rankOf(*last);
      const int64_t late = lengthOf(before, timeOf(*last));
      ++rank.times_last;
      rank.late_ns = endOf(rank.late_ns, late);
      rank.latest_ns = std::max(rank.latest_ns, late);
    }
    arrival.waited_ns = addWaits(calls, *last);
    return arrival;
  }

  /// Returns the sum of what the calls of one collective waited for each other.
  int64_t addWaits(std::span<const CollectiveCall> calls, const CollectiveCall& last) {
    const CollectiveOp op = operationOf(calls.front()).op;
    if (waitsForAll(op)) return addWaitsFor(calls, last);
    if (!hasRoot(op)) return 0;
    const CollectiveCall* root = nullptr;
    for (const CollectiveCall& call : calls) {
      const int64_t rank = communicators_.members[call.member].rank;
      if (rank >= 0 && rank == operationOf(call).peer) root = &call;
    }
    if (root == nullptr) return 0;
    const bool comes_from_root = op == CollectiveOp::kBroadcast || op == CollectiveOp::kScatter;
    return comes_from_root ? addWaitsFor(calls, *root) : addWait(*root, last);
  }
  int64_t addWaitsFor(std::span<const CollectiveCall> calls, const CollectiveCall& other) {
    int64_t sum = 0;
    for (const CollectiveCall& call : calls) sum = endOf(sum, addWait(call, other));
    return sum;
  }
  int64_t addWait(const CollectiveCall& waiting, const CollectiveCall& other) {
    const CommOperation& operation = operationOf(waiting);
    const int64_t later_by = lengthOf(timeOf(waiting), timeOf(other));
    if (later_by <= 0 || static_cast<uint64_t>(later_by) <= apart(waiting, other)) return 0;
    const int64_t waited = operation.timing == CommTiming::kEnqueuing
                               ? 0
                               : std::min(later_by, lengthOf(operation.begin_ns, operation.end_ns));
    rankOf(waiting).waited_ns = endOf(rankOf(waiting).waited_ns, waited);
    rankOf(other).caused_ns = endOf(rankOf(other).caused_ns, waited);
    return waited;
  }

  const std::vector<CommOperation>& operations_;
  const JobCommunicators& communicators_;
  const CollectiveSets& sets_;
  const CommClocks clocks_;
  std::vector<RankArrivals> ranks_;  // of the function and communicator at hand, by member
  uint32_t first_member_ = 0;
  CommArrivals out_;
};

}  // namespace

CommArrivals commArrivals(const Trace& trace, const std::vector<CommOperation>& operations,
                          const JobCommunicators& communicators, const CollectiveSets& sets) {
  return ArrivalFinder(trace, operations, communicators, sets).find();
}

}  // namespace tracesmith
