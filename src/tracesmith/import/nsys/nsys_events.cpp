// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_events.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tracesmith::import {

void NsysEvents::record(const Row& row) {
  if (row.correlation != 0 && row.stream != StreamId::kNone) records_.push_back(row);
}

void NsysEvents::wait(const Row& row) {
  if (row.correlation != 0) waits_.push_back(row);
}

void NsysEvents::writeFlows(FlowTable& flows) {
  const auto byCall = [](const Row& a, const Row& b) {
    return std::tie(a.process, a.event, a.correlation) <
           std::tie(b.process, b.event, b.correlation);
  };
  std::stable_sort(records_.begin(), records_.end(), byCall);
  std::map<std::pair<ProcessId, int64_t>, const Row*> by_sync_id;
  for (const Row& r : records_) {
    if (r.sync_id != kNoSyncId) by_sync_id.try_emplace({r.process, r.sync_id}, &r);
  }
  for (const Row& w : waits_) {
    const Row* from = nullptr;
    if (w.sync_id != kNoSyncId) {
      const auto it = by_sync_id.find({w.process, w.sync_id});
      if (it != by_sync_id.end()) from = it->second;
    } else {
      const auto after = std::upper_bound(records_.begin(), records_.end(), w, byCall);
      if (after != records_.begin()) from = &*std::prev(after);
      if (from != nullptr && (from->process != w.process || from->event != w.event)) from = nullptr;
    }
    if (from == nullptr) continue;
    flows.push({.process_id = w.process,
                .from_correlation_id = from->correlation,
                .to_correlation_id = w.correlation,
                .kind = FlowKind::kWait,
                .from_stream_id = from->stream});
  }
}

}  // namespace tracesmith::import
