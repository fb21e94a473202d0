// SPDX-License-Identifier: Apache-2.0
// Sweeps the trace from its end to its start. When the sweep reaches the end of an op, it has
// already passed the starts of all ops that waited for it, so their latest starts are known.
#include "tracesmith/analysis/timing/latest_ends.hpp"

#include <algorithm>
#include <tuple>

namespace tracesmith {
namespace {

enum class Kind : uint8_t { kDeadline, kBegin, kEnd };  // order of events at the same time

struct Moment {
  int64_t time_ns = 0;
  Kind kind{};
  uint32_t number = 0;  // index of the op or of the deadline
};

class LatestEnds {
 public:
  LatestEnds(const DeviceOps& ops, const std::vector<Deadline>& deadlines,
             const std::vector<EventWait>& event_waits, int64_t end_ns)
      : ops_(ops), deadlines_(deadlines), end_ns_(end_ns), latest_(ops.ops.size(), end_ns) {
    stream_of_.resize(ops.ops.size());
    for (uint32_t s = 0; s < ops.streams.size(); ++s) {
      for (uint32_t i = ops.streams[s].begin; i < ops.streams[s].end; ++i) stream_of_[i] = s;
    }
    waits_of_.assign(event_waits.begin(), event_waits.end());
    std::sort(waits_of_.begin(), waits_of_.end(),
              [](const EventWait& a, const EventWait& b) { return a.from < b.from; });
    for (const Deadline& d : deadlines) {
      if (d.op != DeviceOp::kNone) latest_[d.op] = std::min(latest_[d.op], d.by_ns);
    }
    listMoments();
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

  void listMoments() {
    for (uint32_t i = 0; i < ops_.ops.size(); ++i) {
      if (!isWait(i)) moments_.push_back({ops_.ops[i].begin_ns, Kind::kBegin, i});
      // Work without a duration has a single moment, at which its end is handled first.
      if (isWait(i) || length(i) > 0) moments_.push_back({ops_.ops[i].end_ns, Kind::kEnd, i});
    }
    for (uint32_t i = 0; i < deadlines_.size(); ++i) {
      if (deadlines_[i].stream != DeviceOp::kNone) {
        moments_.push_back({deadlines_[i].by_ns, Kind::kDeadline, i});
      }
    }
    std::sort(moments_.begin(), moments_.end(), [](const Moment& a, const Moment& b) {
      return std::tuple(-a.time_ns, a.kind, ~a.number) < std::tuple(-b.time_ns, b.kind, ~b.number);
    });
  }

  /// Returns true if a latest end changed.
  bool sweep() {
    bool changed = false;
    // By stream: the latest start over all ops that start from here on, and deadlines from here on.
    std::vector<int64_t> bound(ops_.streams.size(), end_ns_);
    for (const Moment& m : moments_) {
      if (m.kind == Kind::kDeadline) {
        int64_t& of = bound[deadlines_[m.number].stream];
        of = std::min(of, deadlines_[m.number].by_ns);
        continue;
      }
      if (m.kind == Kind::kEnd || length(m.number) == 0) {
        changed = settle(m.number, bound[stream_of_[m.number]]) || changed;
      }
      if (m.kind == Kind::kBegin) {
        int64_t& of = bound[stream_of_[m.number]];
        of = std::min(of, latest_[m.number] - length(m.number));
      }
    }
    return changed;
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
  const std::vector<Deadline>& deadlines_;
  const int64_t end_ns_;
  std::vector<int64_t> latest_;
  std::vector<uint32_t> stream_of_;
  std::vector<EventWait> waits_of_;  // by `from`
  std::vector<Moment> moments_;
};

}  // namespace

std::vector<int64_t> latestEnds(const DeviceOps& ops, const std::vector<Deadline>& deadlines,
                                const std::vector<EventWait>& event_waits, int64_t end_ns) {
  return LatestEnds(ops, deadlines, event_waits, end_ns).run();
}

}  // namespace tracesmith
