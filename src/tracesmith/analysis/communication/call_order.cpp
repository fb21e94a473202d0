// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/call_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/communication/comm_mismatches.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kNowhere = ~uint32_t{0};

/// A call and its set.
struct OrderedCall {
  uint32_t call = 0;  // in CollectiveSets::calls
  uint32_t set = 0;
};

class OrderFinder {
 public:
  OrderFinder(const Trace& trace, const std::vector<CommOperation>& operations,
              const JobCommunicators& communicators, const CollectiveSets& sets)
      : trace_(trace), communicators_(communicators), sets_(sets) {
    position_.assign(sets.sets.size(), kNowhere);
    order_.reserve(sets.calls.size());
    for (uint32_t set = 0; set < sets.sets.size(); ++set) {
      for (uint32_t i = 0; i < sets.sets[set].count; ++i) {
        order_.push_back({sets.sets[set].first + i, set});
      }
    }
    const auto place_of = [&](const OrderedCall& each) {
      const CollectiveCall& call = sets.calls[each.call];
      const uint32_t row = operations[call.operation].row;
      return std::tuple(call.communicator, call.member, trace.comm.start_ns[row], row);
    };
    std::sort(order_.begin(), order_.end(), [&](const OrderedCall& a, const OrderedCall& b) {
      return place_of(a) < place_of(b);
    });
  }

  std::vector<OrderMismatch> find() {
    for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
      while (end < order_.size() &&
             callOf(order_[end]).communicator == callOf(order_[begin]).communicator) {
        ++end;
      }
      compareRanks({order_.data() + begin, end - begin});
    }
    return std::move(out_);
  }

 private:
  using Calls = std::span<const OrderedCall>;

  const CollectiveCall& callOf(const OrderedCall& each) const { return sets_.calls[each.call]; }
  const std::string& labelOf(const CollectiveCall& call) const {
    return communicators_.labelOf(communicators_.members[call.member]);
  }
  /// "MPI_Bcast #3"
  std::string nameOf(const OrderedCall& each) const {
    const CollectiveCall& call = callOf(each);
    return std::string(trace_.text(call.function)) + " " + call.numberText();
  }

  void compareRanks(Calls all) {
    std::vector<Calls> ranks;
    for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      while (end < all.size() && callOf(all[end]).member == callOf(all[begin]).member) ++end;
      ranks.push_back(all.subspan(begin, end - begin));
    }
    const Calls reference = *std::max_element(ranks.begin(), ranks.end(),
                                              [](Calls a, Calls b) { return a.size() < b.size(); });
    for (uint32_t i = 0; i < reference.size(); ++i) position_[reference[i].set] = i;
    for (const Calls of_rank : ranks) {
      checkNumbers(of_rank);
      if (of_rank.data() != reference.data()) compare(of_rank, reference);
    }
  }

  void compare(Calls of_rank, Calls reference) {
    const OrderedCall* before = nullptr;
    const OrderedCall* other = nullptr;  // the first that the reference did not make
    for (const OrderedCall& each : of_rank) {
      const uint32_t at = position_[each.set];
      if (at == kNowhere) {
        if (other == nullptr) other = &each;
        continue;
      }
      if (before != nullptr && at < position_[before->set]) {
        add(CommMismatchKind::kOrder, each, [&] {
          return "rank " + labelOf(callOf(each)) + " called " + nameOf(*before) + " before " +
                 nameOf(each) + ", rank " + labelOf(callOf(reference.front())) + " after it";
        });
        return;
      }
      if (other != nullptr && differs(before, *other, reference)) return;
      before = &each;
      other = nullptr;
    }
    if (other != nullptr) differs(before, *other, reference);
  }

  /// Whether the reference made another call than `other` after the common one `before`, which this
  /// rank did not make. If only one of the two has calls that the other lacks, rows are missing.
  bool differs(const OrderedCall* before, const OrderedCall& other, Calls reference) {
    const uint32_t next = before == nullptr ? 0 : position_[before->set] + 1;
    if (next >= reference.size() || isCalledBy(reference[next], callOf(other).member)) return false;
    add(CommMismatchKind::kOrder, other, [&] {
      return (before == nullptr ? "first " : "after " + nameOf(*before) + " ") + "rank " +
             labelOf(callOf(other)) + " called " + nameOf(other) + ", rank " +
             labelOf(callOf(reference.front())) + " called " + nameOf(reference[next]);
    });
    return true;
  }

  bool isCalledBy(const OrderedCall& each, uint32_t member) const {
    const auto calls = sets_.of(sets_.sets[each.set]);
    const auto at = std::lower_bound(
        calls.begin(), calls.end(), member,
        [](const CollectiveCall& call, uint32_t wanted) { return call.member < wanted; });
    return at != calls.end() && at->member == member;
  }

  /// Numbers of one function, in the order of the calls.
  void checkNumbers(Calls of_rank) {
    std::map<std::pair<StringId, bool>, uint64_t> last;
    for (const OrderedCall& each : of_rank) {
      const CollectiveCall& call = callOf(each);
      if (call.sequence == 0) continue;  // its source has none
      const auto [known, is_new] =
          last.try_emplace({call.function, call.uses_copy_engines}, call.sequence);
      const uint64_t before = std::exchange(known->second, call.sequence);
      if (is_new || call.sequence > before) continue;
      const bool is_same = call.sequence == before;
      add(is_same ? CommMismatchKind::kRepeated : CommMismatchKind::kRestarted, each, [&] {
        return "rank " + labelOf(call) + ": after " + std::to_string(before) + " comes " +
               std::to_string(call.sequence) + "; equal numbers count in the order of the calls";
      });
    }
  }

  template <class Example>
  void add(CommMismatchKind kind, const OrderedCall& each, Example example) {
    const CollectiveCall& call = callOf(each);
    const auto [known, is_new] =
        known_.try_emplace(std::tuple(call.communicator, call.function, kind), out_.size());
    if (is_new) {
      out_.push_back({kind, call.communicator, call.function, call.sequence, 0, example()});
    }
    ++out_[known->second].count;
  }

  const Trace& trace_;
  const JobCommunicators& communicators_;
  const CollectiveSets& sets_;
  std::vector<OrderedCall> order_;  // by communicator, member and time
  std::vector<uint32_t> position_;  // of each set among the calls of the reference
  std::map<std::tuple<uint32_t, StringId, CommMismatchKind>, size_t> known_;
  std::vector<OrderMismatch> out_;
};

}  // namespace

std::vector<OrderMismatch> orderMismatches(const Trace& trace,
                                           const std::vector<CommOperation>& operations,
                                           const JobCommunicators& communicators,
                                           const CollectiveSets& sets) {
  return OrderFinder(trace, operations, communicators, sets).find();
}

}  // namespace tracesmith
