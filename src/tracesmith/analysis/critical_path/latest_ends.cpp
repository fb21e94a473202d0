// SPDX-License-Identifier: Apache-2.0
// Sweeps the trace from its end to its start. When the sweep reaches the end of an op, it has
// already passed the starts of all ops that waited for it, so their latest starts are known.
#include "tracesmith/analysis/critical_path/latest_ends.hpp"

#include <algorithm>

#include "tracesmith/base/huge_pages.hpp"

namespace tracesmith {
namespace {

class LatestEnds {
 public:
  LatestEnds(const DeviceOps& ops, const OpOrders& orders, const std::vector<Deadline>& deadlines,
             const std::vector<EventWait>& event_waits, int64_t end_ns)
      : ops_(ops), end_ns_(end_ns), by_begin_(orders.by_begin), by_end_(orders.by_end) {
    reserveInLargePages(latest_, ops.ops.size());
    latest_.assign(ops.ops.size(), end_ns);
    waits_of_.assign(event_waits.begin(), event_waits.end());
    std::sort(waits_of_.begin(), waits_of_.end(),
              [](const EventWait& a, const EventWait& b) { return a.from < b.from; });
    for (const Deadline& d : deadlines) {
      if (d.op != DeviceOp::kNone) latest_[d.op] = std::min(latest_[d.op], d.by_ns);
      if (d.stream != DeviceOp::kNone) deadlines_.push_back(d);
    }
    std::sort(deadlines_.begin(), deadlines_.end(),
              [](const Deadline& a, const Deadline& b) { return a.by_ns < b.by_ns; });
  }

  std::vector<int64_t> run() {
    // A second pass changes something only if ops without a duration wait for each other at the
    // same time.
    constexpr int kMostPasses = 16;
    for (int pass = 0; pass < kMostPasses && sweep(); ++pass) {
    }
    return std::move(latest_);
  }

 private:
  bool isWait(uint32_t op) const { return ops_.ops[op].table == TableId::kSync; }
  int64_t length(uint32_t op) const {
    if (isWait(op)) return 0;
    return std::max<int64_t>(ops_.ops[op].end_ns - ops_.ops[op].begin_ns, 0);
  }

  /// Visits all moments from the last to the first: at the same time first deadlines, then starts,
  /// then ends. Returns true if a latest end changed and another pass may change more.
  bool sweep() {
    bool changed = false;
    bool any_empty = false;
    // By stream: the latest start over all ops that start from here on, and deadlines from here on.
    std::vector<int64_t> bound(ops_.streams.size(), end_ns_);
    size_t deadlines = deadlines_.size(), begins = by_begin_.size();
    const auto passDeadlines = [&](int64_t down_to) {
      for (; deadlines > 0 && deadlines_[deadlines - 1].by_ns >= down_to; --deadlines) {
        int64_t& of = bound[deadlines_[deadlines - 1].stream];
        of = std::min(of, deadlines_[deadlines - 1].by_ns);
      }
    };
    const auto passBegins = [&](int64_t down_to) {
      for (; begins > 0 && ops_.ops[by_begin_[begins - 1]].begin_ns >= down_to; --begins) {
        const uint32_t op = by_begin_[begins - 1];
        if (isWait(op)) continue;
        passDeadlines(ops_.ops[op].begin_ns);
        int64_t& of = bound[ops_.streamIndexOf(op)];
        // Work without a duration has a single moment, at which its end is handled first.
        if (length(op) == 0) {
          changed = settle(op, of) || changed;
          any_empty = true;
        }
        of = std::min(of, latest_[op] - length(op));
      }
    };
    for (size_t i = by_end_.size(); i-- > 0;) {
      const uint32_t op = by_end_[i];
      if (isWait(op)) {
        any_empty = true;
      } else if (length(op) == 0) {
        continue;
      }
      const int64_t end = ops_.ops[op].end_ns;
      passBegins(end);
      passDeadlines(end);
      changed = settle(op, bound[ops_.streamIndexOf(op)]) || changed;
    }
    passBegins(INT64_MIN);
    return changed && any_empty;
  }

  bool settle(uint32_t op, int64_t bound) {
    int64_t latest = std::min(latest_[op], bound);
    const auto first =
        std::lower_bound(waits_of_.begin(), waits_of_.end(), op,
                         [](const EventWait& wait, uint32_t from) { return wait.from < from; });
    for (auto it = first; it != waits_of_.end() && it->from == op; ++it) {
      latest = std::min(latest, latest_[it->to] - length(it->to));
    }
    const bool changed = latest != latest_[op];
    latest_[op] = latest;
    return changed;
  }

  const DeviceOps& ops_;
  const int64_t end_ns_;
  std::vector<int64_t> latest_;
  const std::vector<uint32_t>& by_begin_;
  const std::vector<uint32_t>& by_end_;
  std::vector<Deadline> deadlines_;  // of streams, by time
  std::vector<EventWait> waits_of_;  // by `from`
};

}  // namespace

std::vector<int64_t> latestEnds(const DeviceOps& ops, const OpOrders& orders,
                                const std::vector<Deadline>& deadlines,
                                const std::vector<EventWait>& event_waits, int64_t end_ns) {
  return LatestEnds(ops, orders, deadlines, event_waits, end_ns).run();
}

}  // namespace tracesmith
