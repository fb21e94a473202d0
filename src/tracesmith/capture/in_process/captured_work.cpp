// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/captured_work.hpp"

#include <utility>

namespace tracesmith {

void CallWindow::restrict(Trace& part) {
  for (size_t i = 0; i < part.host_call.size(); ++i) {
    const uint64_t id = part.host_call.correlation_id[i];
    if (id == 0) continue;
    const auto [first, fresh] = first_.try_emplace(part.host_call.process_id[i], id);
    if (!fresh && id < first->second) first->second = id;
  }
  const auto restrictTo = [this](auto& table) {
    std::decay_t<decltype(table)> kept;
    for (size_t i = 0; i < table.size(); ++i) {
      // Work whose call was not captured has no thread.
      if (table.thread_id[i] == ThreadId::kNone) continue;
      const auto first = first_.find(table.process_id[i]);
      if (first == first_.end() || table.correlation_id[i] < first->second) continue;
      kept.push(table.row(i));
    }
    if (kept.size() < table.size()) table = std::move(kept);
  };
  // Allocations and compilations may have no recorded call, and CUPTI's own overhead belongs to no
  // call. Select these by time.
  const auto dropBefore = [this](auto& table, const auto& times) {
    std::decay_t<decltype(table)> kept;
    for (size_t i = 0; i < table.size(); ++i) {
      if (times[i] >= begin_ns_) kept.push(table.row(i));
    }
    if (kept.size() < table.size()) table = std::move(kept);
  };
  dropBefore(part.memory_event, part.memory_event.time_ns);
  dropBefore(part.program_build, part.program_build.start_ns);
  dropBefore(part.counter, part.counter.time_ns);
  const size_t ranges = part.range.size();
  dropBefore(part.range, part.range.start_ns);
  // Attributes refer to ranges by index.
  if (part.range.size() < ranges) part.attribute.clear();
  restrictTo(part.kernel);
  restrictTo(part.copy);
  restrictTo(part.fill);
  restrictTo(part.sync);
}

}  // namespace tracesmith
