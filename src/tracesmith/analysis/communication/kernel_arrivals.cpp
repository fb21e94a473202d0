// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/kernel_arrivals.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "tracesmith/analysis/communication/comm_clocks.hpp"
#include "tracesmith/model/names/collective_names.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

/// The kernels of one name on one device, by start.
struct Lane {
  DeviceId device{};
  RankId rank{};
  std::vector<const DeviceOp*> kernels;
  size_t next = 0;
};

bool isMessage(CollectiveOp op) {
  return op == CollectiveOp::kSend || op == CollectiveOp::kRecv || op == CollectiveOp::kSendRecv;
}

class KernelMatcher {
 public:
  KernelMatcher(const Trace& trace, const DeviceOps& ops) : trace_(trace), clocks_(trace) {
    const RankLookup ranks(trace);
    std::map<StringId, std::map<DeviceId, Lane>> lanes;
    for (const DeviceOp& op : ops.ops) {
      if (op.work != WorkClass::kCommunication || op.table != TableId::kKernel) continue;
      const DeviceId device = trace.deviceOf(op.stream);
      Lane& lane = lanes[op.name][device];
      lane.device = device;
      lane.rank = ranks.of(trace.kernel, op.row);
      lane.kernels.push_back(&op);
    }
    for (auto& [name, by_device] : lanes) {
      if (by_device.size() < 2) continue;
      std::vector<Lane>& of = lanes_[name];
      for (auto& [device, lane] : by_device) {
        std::sort(lane.kernels.begin(), lane.kernels.end(),
                  [](const DeviceOp* a, const DeviceOp* b) { return a->begin_ns < b->begin_ns; });
        of.push_back(std::move(lane));
      }
    }
  }

  AllKernelArrivals find() {
    out_.are_comparable = clocks_.areComparable();
    for (auto& [name, lanes] : lanes_) {
      const bool has_known_group =
          out_.are_comparable && (lanes.size() == 2 || !isMessage(collectiveOf(trace_.text(name))));
      if (!has_known_group || !match(name, lanes)) ++out_.unknown_groups;
    }
    std::stable_sort(out_.kernels.begin(), out_.kernels.end(),
                     [](const KernelArrivals& a, const KernelArrivals& b) {
                       return a.spread_ns.sum > b.spread_ns.sum;
                     });
    return std::move(out_);
  }

 private:
  /// Times of two devices are in the order of their events if they are further apart.
  uint64_t apart(const Lane& a, const Lane& b) const {
    return sumOfErrors(clocks_.apart(a.rank, b.rank),
                       sumOfErrors(clocks_.deviceError(a.rank), clocks_.deviceError(b.rank)));
  }

  /// False: too many kernels have no partners.
  bool match(StringId name, std::vector<Lane>& lanes) {
    KernelArrivals arrivals{.kernel = name};
    for (const Lane& lane : lanes) arrivals.devices.push_back({.device = lane.device});
    std::vector<double> spreads;
    const auto has_more = [](const Lane& lane) { return lane.next < lane.kernels.size(); };
    while (std::all_of(lanes.begin(), lanes.end(), has_more)) {
      size_t last = 0, ended = 0;
      for (size_t i = 1; i < lanes.size(); ++i) {
        if (at(lanes[i]).begin_ns > at(lanes[last]).begin_ns) last = i;
        if (at(lanes[i]).end_ns < at(lanes[ended]).end_ns) ended = i;
      }
      const int64_t early = lengthOf(at(lanes[ended]).end_ns, at(lanes[last]).begin_ns);
      if (early > 0 && static_cast<uint64_t>(early) > apart(lanes[ended], lanes[last])) {
        ++arrivals.unmatched;  // it had ended before another one came
        ++lanes[ended].next;
        continue;
      }
      add(lanes, last, arrivals, spreads);
      for (Lane& lane : lanes) ++lane.next;
    }
    for (const Lane& lane : lanes) arrivals.unmatched += lane.kernels.size() - lane.next;
    constexpr uint64_t kMatchedOfUnmatched = 9;
    const uint64_t matched = arrivals.collectives * lanes.size();
    if (matched == 0 || matched < kMatchedOfUnmatched * arrivals.unmatched) return false;
    arrivals.spread_ns = distributionOf(spreads);
    out_.kernels.push_back(std::move(arrivals));
    return true;
  }

  static const DeviceOp& at(const Lane& lane) { return *lane.kernels[lane.next]; }

  void add(const std::vector<Lane>& lanes, size_t last, KernelArrivals& arrivals,
           std::vector<double>& spreads) const {
    const int64_t end = at(lanes[last]).begin_ns;
    int64_t first = end, before = std::numeric_limits<int64_t>::min(), waited = 0;
    bool is_certain = true;
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (i == last) continue;
      const int64_t begin = at(lanes[i]).begin_ns;
      const int64_t wait = lengthOf(begin, end);
      first = std::min(first, begin);
      before = std::max(before, begin);
      if (wait <= 0 || static_cast<uint64_t>(wait) <= apart(lanes[i], lanes[last])) {
        is_certain = false;
        continue;
      }
      arrivals.devices[i].waited_ns = endOf(arrivals.devices[i].waited_ns, wait);
      waited = endOf(waited, wait);
    }
    ++arrivals.collectives;
    spreads.push_back(static_cast<double>(lengthOf(first, end)));
    if (!is_certain) return;
    ++arrivals.compared;
    DeviceArrivals& device = arrivals.devices[last];
    ++device.times_last;
    device.late_ns = endOf(device.late_ns, lengthOf(before, end));
    device.caused_ns = endOf(device.caused_ns, waited);
  }

  const Trace& trace_;
  const CommClocks clocks_;
  std::map<StringId, std::vector<Lane>> lanes_;
  AllKernelArrivals out_;
};

}  // namespace

AllKernelArrivals kernelArrivals(const Trace& trace, const DeviceOps& ops) {
  return KernelMatcher(trace, ops).find();
}

}  // namespace tracesmith
