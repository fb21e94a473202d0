// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_exposure.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/timing/covered_time.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {
namespace {

/// An interval of a function in a communicator, at one place: a device, or a thread of a process.
struct PlacedInterval {
  StringId function{};
  uint32_t communicator = 0;
  bool on_device = false;
  uint64_t place = 0;       // a DeviceId, or process and thread
  bool is_exposed = false;  // in a thread: that of a call
  Interval time;

  auto group() const { return std::tuple(function, communicator, on_device); }
  auto key() const { return std::tuple(group(), place); }
};

class ExposureFinder {
 public:
  ExposureFinder(const Trace& trace, const DeviceOps& ops)
      : trace_(trace), compute_(computeTimes(ops)) {}

  CommExposures find(const std::vector<CommOperation>& operations) {
    for (const CommOperation& operation : operations) add(operation);
    std::sort(intervals_.begin(), intervals_.end(),
              [](const PlacedInterval& a, const PlacedInterval& b) { return a.key() < b.key(); });
    for (size_t begin = 0, end = 0; begin < intervals_.size(); begin = end) {
      while (end < intervals_.size() && intervals_[end].key() == intervals_[begin].key()) ++end;
      addPlace(begin, end);
    }
    return std::move(out_);
  }

 private:
  void add(const CommOperation& operation) {
    const CommTable& comm = trace_.comm;
    PlacedInterval placed{.function = operation.function,
                          .communicator = operation.communicator,
                          .time = {operation.begin_ns, operation.end_ns}};
    if (operation.timing == CommTiming::kCall || operation.timing == CommTiming::kRequest) {
      placed.place = uint64_t{static_cast<uint32_t>(comm.process_id[operation.row])} << 32 |
                     static_cast<uint32_t>(comm.thread_id[operation.row]);
      intervals_.push_back(placed);
      placed.is_exposed = true;
      for (const uint32_t row : {operation.row, operation.completion}) {
        if (row == CommOperation::kNone) continue;
        placed.time = {comm.start_ns[row], endOf(comm.start_ns[row], comm.duration_ns[row])};
        intervals_.push_back(placed);
      }
    } else if (operation.timing == CommTiming::kEnqueuing || operation.device == DeviceId::kNone) {
      ++out_.untimed;
    } else if (!compute_.contains(operation.device)) {
      ++out_.without_compute;
    } else {
      placed.on_device = true;
      placed.place = static_cast<uint32_t>(operation.device);
      intervals_.push_back(placed);
    }
  }

  void addPlace(size_t begin, size_t end) {
    const PlacedInterval& first = intervals_[begin];
    std::vector<Interval> times, exposed;
    for (size_t i = begin; i < end; ++i) {
      (intervals_[i].is_exposed ? exposed : times).push_back(intervals_[i].time);
    }
    const std::vector<Interval> all = unionOf(std::move(times));
    int64_t exposed_ns = 0;
    const int64_t time_ns = totalNs(all);
    if (first.on_device) {
      const CoveredTime& compute =
          compute_.at(static_cast<DeviceId>(static_cast<uint32_t>(first.place)));
      exposed_ns = time_ns;
      for (const Interval& i : all) exposed_ns -= compute.within(i.begin_ns, i.end_ns);
    } else {
      exposed_ns = std::min(time_ns, totalNs(unionOf(std::move(exposed))));
    }
    const bool is_new =
        out_.rows.empty() || begin == 0 || intervals_[begin - 1].group() != first.group();
    if (is_new) out_.rows.push_back({first.function, first.communicator, first.on_device, 0, 0});
    CommExposure& row = out_.rows.back();
    row.time_ns = endOf(row.time_ns, time_ns);
    row.exposed_ns = endOf(row.exposed_ns, exposed_ns);
  }

  const Trace& trace_;
  const std::map<DeviceId, CoveredTime> compute_;
  std::vector<PlacedInterval> intervals_;
  CommExposures out_;
};

}  // namespace

CommExposures commExposures(const Trace& trace, const std::vector<CommOperation>& operations,
                            const DeviceOps& ops) {
  return ExposureFinder(trace, ops).find(operations);
}

}  // namespace tracesmith
