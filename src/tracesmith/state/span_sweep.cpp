// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/span_sweep.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tracesmith {
namespace {

constexpr size_t kEdgesOfPiece = 8192;  // on average
constexpr int kDigit = 11;              // bits of a pass of the sort
constexpr size_t kDigits = 1u << kDigit;

/// An edge within a piece: its time since the piece began, then whether it begins a span (ends come
/// first), whether of a kernel, then the device.
constexpr int kKernelBit = 16;
constexpr int kBeginBit = 17;
constexpr int kTimeShift = 18;
constexpr uint64_t kDeviceMask = 0xffff;

/// By time and kind; two spans of the same moment need no order among themselves.
void sortEdges(std::vector<uint64_t>& edges, std::vector<uint64_t>& room, uint64_t largest) {
  room.resize(edges.size());
  const int top = 64 - std::countl_zero(largest | 1);
  for (int shift = kBeginBit; shift < top; shift += kDigit) {
    std::array<uint32_t, kDigits> count{};
    for (const uint64_t e : edges) ++count[(e >> shift) & (kDigits - 1)];
    uint32_t sum = 0;
    for (uint32_t& c : count) {
      const uint32_t here = c;
      c = sum;
      sum += here;
    }
    for (const uint64_t e : edges) room[count[(e >> shift) & (kDigits - 1)]++] = e;
    edges.swap(room);
  }
}

}  // namespace

SpanSweep SpanSweep::of(const TimelineSpans& spans) {
  SpanSweep out;
  if (spans.empty()) return out;
  std::vector<size_t> starts;
  std::vector<uint64_t> device_of;  // of each stream
  bool first = true;
  for (const TimelineSpans::Stream& s : spans.streams()) {
    if (out.devices.empty() || out.devices.back().device_id != s.device_id) {
      // More than 65536 devices would need wider edges; the last one stands for the rest.
      if (out.devices.size() <= kDeviceMask) {
        out.devices.push_back(
            {.device_id = s.device_id, .begin_ns = INT64_MAX, .end_ns = INT64_MIN});
      }
    }
    device_of.push_back(out.devices.size() - 1);
    starts.push_back(s.begin);
    Device& device = out.devices.back();
    const int64_t begin = spans.startNs(s.begin);
    int64_t end = INT64_MIN;
    for (size_t i = s.begin; i < s.end; ++i) end = std::max(end, spans.endNs(i));
    device.begin_ns = std::min(device.begin_ns, begin);
    device.end_ns = std::max(device.end_ns, end);
    out.begin_ns = first ? begin : std::min(out.begin_ns, begin);
    out.end_ns = first ? end : std::max(out.end_ns, end);
    first = false;
  }
  struct Open {
    uint32_t all = 0, kernels = 0;
    int64_t all_since = 0, kernels_since = 0;
  };
  std::vector<Open> open(out.devices.size());
  struct Later {
    int64_t end_ns;
    uint64_t kind;
  };
  std::vector<Later> still_open;
  std::vector<uint64_t> edges, room;
  out.time_at.assign(2, 0);
  uint32_t running = 0;
  int64_t last = out.begin_ns;
  const auto whole = static_cast<uint64_t>(out.end_ns) - static_cast<uint64_t>(out.begin_ns);
  const uint64_t pieces = std::max<uint64_t>(1, spans.size() * 2 / kEdgesOfPiece);
  // Time within a piece has to fit above the other bits.
  const uint64_t width = std::min(whole / pieces + 1, uint64_t{1} << (63 - kTimeShift));
  for (uint64_t offset = 0;; offset += width) {
    const int64_t from = static_cast<int64_t>(static_cast<uint64_t>(out.begin_ns) + offset);
    const bool final = whole - offset < width;
    const int64_t to =
        final ? INT64_MAX : static_cast<int64_t>(static_cast<uint64_t>(from) + width);
    const auto inside = [&](int64_t t) { return final || t < to; };
    edges.clear();
    uint64_t largest = 0;
    const auto add = [&](int64_t t, uint64_t kind) {
      const uint64_t edge =
          (static_cast<uint64_t>(t) - static_cast<uint64_t>(from)) << kTimeShift | kind;
      largest = std::max(largest, edge);
      edges.push_back(edge);
    };
    // What was open when the piece began.
    size_t kept = 0;
    for (const Later& later : still_open) {
      if (inside(later.end_ns)) {
        add(later.end_ns, later.kind);
      } else {
        still_open[kept++] = later;
      }
    }
    still_open.resize(kept);
    for (size_t s = 0; s < spans.streams().size(); ++s) {
      const size_t end = spans.streams()[s].end;
      size_t next = starts[s];
      for (; next < end && inside(spans.startNs(next)); ++next) {
        const int64_t duration = spans.durationNs(next);
        if (duration == 0) continue;  // it takes no time, and its end would come first
        const uint64_t kernel = spans.type(next) == EventType::KernelComplete ? 1 : 0;
        const uint64_t kind = kernel << kKernelBit | device_of[s];
        const int64_t begin = spans.startNs(next);
        add(begin, kind | uint64_t{1} << kBeginBit);
        if (inside(begin + duration)) {
          add(begin + duration, kind);
        } else {
          still_open.push_back({begin + duration, kind});
        }
      }
      starts[s] = next;
    }
    sortEdges(edges, room, largest);
    for (const uint64_t edge : edges) {
      const int64_t t = static_cast<int64_t>(static_cast<uint64_t>(from) + (edge >> kTimeShift));
      out.time_at[running] += t - last;
      last = t;
      Open& o = open[edge & kDeviceMask];
      Device& device = out.devices[edge & kDeviceMask];
      const bool kernel = (edge >> kKernelBit & 1) != 0;
      if ((edge >> kBeginBit & 1) != 0) {
        if (o.all++ == 0) o.all_since = t;
        if (kernel && o.kernels++ == 0) o.kernels_since = t;
        device.most_concurrent = std::max(device.most_concurrent, o.all);
        out.most_concurrent = std::max(out.most_concurrent, ++running);
        if (running >= out.time_at.size()) out.time_at.resize(2 * size_t{running}, 0);
      } else {
        if (--o.all == 0) device.busy_ns += t - o.all_since;
        if (kernel && --o.kernels == 0) device.kernel_ns += t - o.kernels_since;
        --running;
      }
    }
    if (final) break;
  }
  out.time_at.resize(size_t{out.most_concurrent} + 1);
  return out;
}

}  // namespace tracesmith
