// SPDX-License-Identifier: Apache-2.0
// Writes device work as "X" events, all in time order, as the lanes of a stream require.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tracesmith/export/chrome/chrome_json_encoder.hpp"

namespace tracesmith {

using namespace chrome_keys;

namespace {

/// Row numbers of a table in time order; empty if the rows are already in order.
template <class Table>
std::vector<uint32_t> timeOrder(const Table& table) {
  std::vector<uint32_t> order;
  if (std::is_sorted(table.start_ns.begin(), table.start_ns.end())) return order;
  order.resize(table.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return table.start_ns[a] < table.start_ns[b]; });
  return order;
}

}  // namespace

ChromeJsonEncoder::Place ChromeJsonEncoder::devicePlace(size_t stream, uint32_t lane) const {
  Place place;
  place.pid =
      devicePid(stream < trace_.stream.size() ? trace_.stream.device_id[stream] : DeviceId::kNone);
  place.tid = stream + 1 + lane * streams_;
  return place;
}

uint32_t ChromeJsonEncoder::takeLane(size_t stream, int64_t start_ns, int64_t end_ns) {
  std::vector<int64_t>& ends = lane_ends_[stream];
  uint32_t lane = 0;
  while (lane < ends.size() && ends[lane] > start_ns && lane + 1 < kMaxLanes) ++lane;
  if (lane < ends.size()) {
    ends[lane] = std::max(ends[lane], end_ns);
    return lane;
  }
  ends.push_back(end_ns);
  std::string name = "Unknown stream";
  if (stream < trace_.stream.size()) {
    name = fmt::format("Stream #{}", trace_.stream.ordinal[stream]);
    const std::string_view given = trace_.text(trace_.stream.name[stream]);
    if (!given.empty()) name += fmt::format(" {}", given);
    if (trace_.process.size() > 1) {
      name += fmt::format(" ({})", pidOf(trace_.stream.process_id[stream]));
    }
  }
  if (lane != 0) name += " (overlapping)";
  const Place place = devicePlace(stream, lane);
  writeName("\"thread_name\"", place.pid, &place.tid, name);
  return lane;
}

template <class Table>
void ChromeJsonEncoder::writeDeviceArguments(JsonEvent& e, const Table& table, size_t row) {
  e.arg("\"correlation\":", table.correlation_id[row]);
  const StreamId stream = table.stream_id[row];
  const auto s = static_cast<size_t>(stream);
  if (s != 0 && s <= trace_.stream.size()) {
    e.arg("\"device\":", static_cast<uint64_t>(trace_.stream.device_id[s - 1]));
    e.arg("\"context\":", static_cast<uint64_t>(trace_.stream.context_id[s - 1]));
    e.arg("\"stream\":", static_cast<uint64_t>(stream));
  }
  if constexpr (Table::kId == TableId::kKernel) {
    const auto shape = static_cast<size_t>(table.shape_id[row]);
    if (shape != 0 && shape <= trace_.launch_shape.size()) writeShapeArguments(e, shape - 1);
  }
  if constexpr (requires { table.bytes; }) e.arg("\"bytes\":", table.bytes[row]);
  const uint32_t flags = table.flags[row];
  if (flags & op_flags::kFirstLaunch) e.rawArg("\"first_launch\":", "true");
  if (flags & op_flags::kFailed) e.arg("\"status\":", table.status[row]);
  if (flags & op_flags::kNoDeviceTime) e.rawArg("\"device_time\":", "\"none\"");
  if (flags & op_flags::kDeviceClock) e.rawArg("\"clock\":", "\"device, not converted\"");
  if (flags & op_flags::kSynthetic) e.rawArg("\"simulated\":", "true");
  if (!options_.full_args) return;
  if (flags & op_flags::kQueueTimes) {
    e.arg("\"queued_before_ns\":", table.queued_before_ns[row]);
    e.arg("\"submitted_before_ns\":", table.submitted_before_ns[row]);
  }
  if constexpr (requires { table.arguments; }) {
    if (table.arguments[row] != StringId::kNone) {
      e.rawArg("\"arguments\":", quoted_.at(table.arguments[row]));
    }
  }
  writeAttributes(e, Table::kId, row);
}

void ChromeJsonEncoder::writeShapeArguments(JsonEvent& e, size_t shape) {
  const LaunchShapeRow r = trace_.launch_shape.row(shape);
  const auto triple = [&](std::string_view key, uint64_t x, uint64_t y, uint64_t z) {
    char text[72];
    char* p = text;
    *p++ = '[';
    p = putDecimal(p, x);
    *p++ = ',';
    p = putDecimal(p, y);
    *p++ = ',';
    p = putDecimal(p, z);
    *p++ = ']';
    e.rawArg(key, {text, static_cast<size_t>(p - text)});
  };
  const auto one = [](uint64_t n) { return std::max<uint64_t>(n, 1); };
  const uint64_t gy = one(r.global_y);
  const uint64_t gz = one(r.global_z);
  if (r.local_x == 0) {
    triple("\"global\":", r.global_x, gy, gz);
  } else {
    const uint64_t ly = one(r.local_y);
    const uint64_t lz = one(r.local_z);
    const auto groups = [](uint64_t n, uint64_t size) { return n / size + (n % size != 0); };
    triple("\"grid\":", groups(r.global_x, r.local_x), groups(gy, ly), groups(gz, lz));
    triple("\"block\":", r.local_x, ly, lz);
  }
  if (r.registers_per_thread != 0) e.arg("\"registers_per_thread\":", r.registers_per_thread);
  if (r.static_shared_bytes != 0) e.arg("\"shared_mem_static\":", r.static_shared_bytes);
  if (r.dynamic_shared_bytes != 0) e.arg("\"shared_mem_dynamic\":", r.dynamic_shared_bytes);
}

template <class Table>
void ChromeJsonEncoder::writeWork(const Table& table, WorkKind kind, size_t row) {
  if (!isWorkSelected(table, row, selection_)) return;
  const size_t stream = streamIndex(table.stream_id[row], table.process_id[row]);
  const int64_t start_ns = table.start_ns[row];
  const int64_t end_ns = endOf(start_ns, table.duration_ns[row]);
  const uint32_t lane = takeLane(stream, start_ns, end_ns);
  const Place place = devicePlace(stream, lane);
  const uint64_t number = work_.number(kind, row);
  if (lane != 0 && options_.flows) lanes_[number] = lane;
  {
    JsonEvent e(out_, any_, 'X');
    if constexpr (Table::kId == TableId::kKernel) {
      e.raw(kCat, "\"kernel\"").raw(kName, quoted_.at(table.name[row]));
    } else {
      const char* category = kind == WorkKind::kCopy   ? "\"gpu_memcpy\""  // as in Kineto's traces
                             : kind == WorkKind::kFill ? "\"gpu_memset\""
                                                       : "\"gpu_sync\"";
      e.raw(kCat, category);
      if (table.name[row] != StringId::kNone) {
        e.raw(kName, quoted_.at(table.name[row]));
      } else if constexpr (Table::kId == TableId::kFill) {
        e.raw(kName, "\"fill\"");
      } else {
        e.raw(kName, fmt::format("\"{}{}\"", kind == WorkKind::kCopy ? "copy " : "",
                                 toString(table.kind[row])));
      }
    }
    e.number(kPid, place.pid).number(kTid, place.tid).time(kTs, start_ns);
    e.time(kDur, duration(start_ns, end_ns));
    writeStack(e, table.call_path_id[row]);
    writeDeviceArguments(e, table, row);
  }
  if (options_.flows && launched_[number]) writeArrow('f', "\"ac2g\"", number, place, start_ns);
}

void ChromeJsonEncoder::writeDeviceWork() {
  std::vector<uint32_t> order[kWorkKinds];
  size_t rows[kWorkKinds] = {};
  size_t at[kWorkKinds] = {};
  const int64_t* starts[kWorkKinds] = {};
  forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
    const auto k = static_cast<size_t>(kind);
    order[k] = timeOrder(table);
    rows[k] = table.size();
    starts[k] = table.start_ns.data();
  });
  while (!out_.failed()) {
    size_t next = kWorkKinds;
    int64_t earliest = 0;
    for (size_t k = 0; k < kWorkKinds; ++k) {
      if (at[k] == rows[k]) continue;
      const int64_t start = starts[k][order[k].empty() ? at[k] : order[k][at[k]]];
      if (next == kWorkKinds || start < earliest) {
        next = k;
        earliest = start;
      }
    }
    if (next == kWorkKinds) return;
    const size_t row = order[next].empty() ? at[next] : order[next][at[next]];
    ++at[next];
    switch (static_cast<WorkKind>(next)) {
      case WorkKind::kKernel:
        writeWork(trace_.kernel, WorkKind::kKernel, row);
        break;
      case WorkKind::kCopy:
        writeWork(trace_.copy, WorkKind::kCopy, row);
        break;
      case WorkKind::kFill:
        writeWork(trace_.fill, WorkKind::kFill, row);
        break;
      case WorkKind::kSync:
        writeWork(trace_.sync, WorkKind::kSync, row);
        break;
    }
  }
}

std::pair<ChromeJsonEncoder::Place, int64_t> ChromeJsonEncoder::placeOf(uint64_t number) const {
  std::pair<Place, int64_t> found;
  forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
    const uint64_t first = work_.number(kind, 0);
    if (number < first || number - first >= table.size()) return;
    const size_t row = number - first;
    const auto lane = lanes_.find(number);
    found.first = devicePlace(streamIndex(table.stream_id[row], table.process_id[row]),
                              lane == lanes_.end() ? 0 : lane->second);
    found.second = table.start_ns[row];
  });
  return found;
}

void ChromeJsonEncoder::writeDeviceArrows() {
  if (!options_.flows) return;
  forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
    for (size_t row = 0; row < table.size() && !out_.failed(); ++row) {
      const uint64_t to = work_.number(kind, row);
      for (uint32_t from : links_.waits(to)) {
        const auto [from_place, from_ns] = placeOf(from);
        const auto [to_place, to_ns] = placeOf(to);
        ++arrows_;
        writeArrow('s', "\"wait\"", arrows_, from_place, from_ns);
        writeArrow('f', "\"wait\"", arrows_, to_place, to_ns);
      }
    }
  });
  for (const HalfArrow& half : half_arrows_) {
    const auto [place, ns] = placeOf(half.work);
    writeArrow(half.starts_at_work ? 's' : 'f', "\"wait\"", half.id, place, ns);
  }
}

}  // namespace tracesmith
