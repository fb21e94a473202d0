// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/device_work.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace tracesmith {
namespace {

struct Extent {
  uint64_t min = std::numeric_limits<uint64_t>::max();
  uint64_t max = 0;
  uint64_t rows = 0;
};

/// An array over the ids of a process pays as long as it has at most this many slots per row.
constexpr uint64_t kSlotsPerRow = 16;

}  // namespace

Result<DeviceWork> DeviceWork::index(const Trace& trace, const Selection& selection) {
  DeviceWork work;
  uint64_t total = 0;
  uint64_t processes = trace.process.size();
  forEachWorkTable(trace, [&](const auto& table, WorkKind kind) {
    work.base_[static_cast<size_t>(kind)] = total;
    total += table.size();
  });
  if (total > std::numeric_limits<uint32_t>::max() - 1) {
    return fail(ErrorCode::kUnsupported, "more than 4 billion rows of device work in one export");
  }

  std::vector<Extent> extents(processes + 1);
  forEachWorkTable(trace, [&](const auto& table, WorkKind) {
    for (size_t i = 0; i < table.size(); ++i) {
      const auto p = static_cast<size_t>(table.process_id[i]);
      const uint64_t id = table.correlation_id[i];
      if (id == 0 || p > processes || !takesWork(table, i, selection)) continue;
      Extent& e = extents[p];
      e.min = std::min(e.min, id);
      e.max = std::max(e.max, id);
      ++e.rows;
    }
  });

  work.ranges_.resize(extents.size());
  uint64_t slots = 0;
  for (size_t p = 0; p < extents.size(); ++p) {
    const Extent& e = extents[p];
    Range& r = work.ranges_[p];
    if (e.rows == 0) continue;
    if (e.max - e.min >= e.rows * kSlotsPerRow + 4096) {
      r.scattered = true;
      continue;
    }
    r.min = e.min;
    r.slots = e.max - e.min + 1;
    r.offset = slots;
    slots += r.slots;
  }
  work.slots_.assign(slots, 0);

  // Backwards, so that each chain ends up in order of number.
  const auto link = [&](uint32_t& head, uint32_t number) {
    if (head != 0) {
      if (work.next_.empty()) work.next_.assign(total + 1, 0);
      work.next_[number] = head;
      ++work.shared_;
    }
    head = number;
  };
  const auto fill = [&](const auto& table, WorkKind kind) {
    for (size_t i = table.size(); i-- > 0;) {
      const auto p = static_cast<size_t>(table.process_id[i]);
      const uint64_t id = table.correlation_id[i];
      if (id == 0 || p > processes || !takesWork(table, i, selection)) continue;
      const Range& r = work.ranges_[p];
      const auto number = static_cast<uint32_t>(work.number(kind, i));
      if (r.scattered) {
        work.scattered_.push_back({static_cast<uint32_t>(p), number, id});
      } else {
        link(work.slots_[r.offset + (id - r.min)], number);
      }
    }
  };
  fill(trace.sync, WorkKind::kSync);
  fill(trace.fill, WorkKind::kFill);
  fill(trace.copy, WorkKind::kCopy);
  fill(trace.kernel, WorkKind::kKernel);

  auto& entries = work.scattered_;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.process, a.correlation_id, a.number) <
           std::tie(b.process, b.correlation_id, b.number);
  });
  for (size_t i = entries.size(); i-- > 1;) {
    const Entry& a = entries[i - 1];
    const Entry& b = entries[i];
    if (a.process != b.process || a.correlation_id != b.correlation_id) continue;
    if (work.next_.empty()) work.next_.assign(total + 1, 0);
    work.next_[a.number] = b.number;
    ++work.shared_;
  }
  return work;
}

uint32_t DeviceWork::findScattered(ProcessId process, uint64_t correlation_id) const {
  const auto p = static_cast<uint32_t>(process);
  const auto it = std::lower_bound(scattered_.begin(), scattered_.end(), correlation_id,
                                   [p](const Entry& e, uint64_t id) {
                                     return std::tie(e.process, e.correlation_id) < std::tie(p, id);
                                   });
  if (it == scattered_.end() || it->process != p || it->correlation_id != correlation_id) return 0;
  return it->number;
}

}  // namespace tracesmith
