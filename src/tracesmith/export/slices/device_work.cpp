// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/device_work.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace tracesmith {
namespace {

/// A process gets an array over its ids if that needs at most this many slots per row.
constexpr uint64_t kSlotsPerRow = 16;

}  // namespace

/// Range of correlation ids of a process.
struct DeviceWork::Extent {
  uint64_t min = std::numeric_limits<uint64_t>::max();
  uint64_t max = 0;
  uint64_t rows = 0;
};

Result<DeviceWork> DeviceWork::index(const Trace& trace, const Selection& selection) {
  DeviceWork work;
  forEachWorkTable(trace, [&](const auto& table, WorkKind kind) {
    work.base_[static_cast<size_t>(kind)] = work.rows_;
    work.rows_ += table.size();
  });
  if (work.rows_ > std::numeric_limits<uint32_t>::max() - 1) {
    return fail(ErrorCode::kUnsupported, "more than 4 billion rows of device work in one export");
  }

  const size_t processes = trace.process.size();
  std::vector<Extent> extents(processes + 1);
  forEachWorkTable(trace, [&](const auto& table, WorkKind) {
    for (size_t i = 0; i < table.size(); ++i) {
      const auto p = static_cast<size_t>(table.process_id[i]);
      const uint64_t id = table.correlation_id[i];
      if (id == 0 || p > processes || !isWorkSelected(table, i, selection)) continue;
      Extent& e = extents[p];
      e.min = std::min(e.min, id);
      e.max = std::max(e.max, id);
      ++e.rows;
    }
  });
  work.assignSlots(extents);
  // In reverse order, so that each chain ends up sorted by number.
  work.addRows(trace.sync, WorkKind::kSync, selection);
  work.addRows(trace.fill, WorkKind::kFill, selection);
  work.addRows(trace.copy, WorkKind::kCopy, selection);
  work.addRows(trace.kernel, WorkKind::kKernel, selection);
  work.linkScattered();
  return work;
}

/// Gives each process its part of slots_, or none if its ids are scattered.
void DeviceWork::assignSlots(const std::vector<Extent>& extents) {
  ranges_.resize(extents.size());
  uint64_t slots = 0;
  for (size_t p = 0; p < extents.size(); ++p) {
    const Extent& e = extents[p];
    Range& r = ranges_[p];
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
  slots_.assign(slots, 0);
}

/// Makes `next` the successor of `number` in the chain of their id.
inline void DeviceWork::chain(uint32_t number, uint32_t next) {
  if (next_.empty()) next_.assign(rows_ + 1, 0);
  next_[number] = next;
  ++shared_;
}

template <class Table>
void DeviceWork::addRows(const Table& table, WorkKind kind, const Selection& selection) {
  const size_t processes = ranges_.size() - 1;
  for (size_t i = table.size(); i-- > 0;) {
    const auto p = static_cast<size_t>(table.process_id[i]);
    const uint64_t id = table.correlation_id[i];
    if (id == 0 || p > processes || !isWorkSelected(table, i, selection)) continue;
    const Range& r = ranges_[p];
    const auto row_number = static_cast<uint32_t>(number(kind, i));
    if (r.scattered) {
      scattered_.push_back({static_cast<uint32_t>(p), row_number, id});
      continue;
    }
    uint32_t& head = slots_[r.offset + (id - r.min)];
    if (head != 0) chain(row_number, head);
    head = row_number;
  }
}

void DeviceWork::linkScattered() {
  std::sort(scattered_.begin(), scattered_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.process, a.correlation_id, a.number) <
           std::tie(b.process, b.correlation_id, b.number);
  });
  for (size_t i = scattered_.size(); i-- > 1;) {
    const Entry& a = scattered_[i - 1];
    const Entry& b = scattered_[i];
    if (a.process == b.process && a.correlation_id == b.correlation_id) chain(a.number, b.number);
  }
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
