// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/span_sweep.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith {
namespace {

constexpr size_t kEdgesOfPiece = 8192;  // on average
constexpr int kDigit = 11;              // bits per pass of the sort
constexpr size_t kDigits = 1u << kDigit;

/// An edge within a piece, from the highest bits: time since the start of the piece, whether it
/// starts a span (ends come first), whether it is of a kernel, and the device.
constexpr int kKernelBit = 16;
constexpr int kBeginBit = 17;
constexpr int kTimeShift = 18;
constexpr uint64_t kDeviceMask = 0xffff;

/// The edges of a piece, radix sorted from the lowest digit to the highest. The two lowest digits
/// are counted while edges are added; few pieces need more.
class PieceEdges {
 public:
  void clear() {
    edges_.clear();
    largest_ = 0;
    for (auto& counts : counts_) counts.fill(0);
  }
  void add(uint64_t edge) {
    largest_ |= edge;
    ++counts_[0][digit(edge, 0)];
    ++counts_[1][digit(edge, 1)];
    edges_.push_back(edge);
  }
  /// Sorted by time and kind; two spans of the same moment need no order.
  const std::vector<uint64_t>& sorted() {
    room_.resize(edges_.size());
    const int top = 64 - std::countl_zero(largest_ | 1);
    for (int i = 0; kBeginBit + i * kDigit < top; ++i) {
      Counts& counts = counts_[static_cast<size_t>(std::min(i, 1))];
      if (i > 1) {
        counts.fill(0);
        for (const uint64_t e : edges_) ++counts[digit(e, i)];
      }
      uint32_t sum = 0;
      for (uint32_t& c : counts) {
        const uint32_t here = c;
        c = sum;
        sum += here;
      }
      for (const uint64_t e : edges_) room_[counts[digit(e, i)]++] = e;
      edges_.swap(room_);
    }
    return edges_;
  }

 private:
  using Counts = std::array<uint32_t, kDigits>;
  static size_t digit(uint64_t edge, int i) {
    return (edge >> (kBeginBit + i * kDigit)) & (kDigits - 1);
  }
  std::vector<uint64_t> edges_, room_;
  std::array<Counts, 2> counts_;
  uint64_t largest_ = 0;
};

/// Open spans of a device during the sweep.
struct OpenSpans {
  uint32_t all = 0, kernels = 0, most = 0;
  int64_t all_since = 0, kernels_since = 0;
  int64_t busy_ns = 0, kernel_ns = 0;

  /// `by`: 1 for the start of a span, -1 for the end.
  void step(int64_t t, int32_t by, bool kernel) {
    const uint32_t before = all;
    all += static_cast<uint32_t>(by);
    most = std::max(most, all);
    if (before == 0) all_since = t;
    if (all == 0) busy_ns += t - all_since;
    const uint32_t kernels_before = kernels;
    kernels += kernel ? static_cast<uint32_t>(by) : 0;
    if (kernels == kernels_before) return;
    if (kernels_before == 0) kernels_since = t;
    if (kernels == 0) kernel_ns += t - kernels_since;
  }
};

class Sweeper {
 public:
  explicit Sweeper(const TimelineSpans& spans) : spans_(spans) {}

  SpanSweep run() {
    findDevices();
    const auto whole = static_cast<uint64_t>(out_.end_ns) - static_cast<uint64_t>(out_.begin_ns);
    const uint64_t pieces = std::max<uint64_t>(1, spans_.size() * 2 / kEdgesOfPiece);
    // The time within a piece must fit above the other bits.
    const uint64_t width = std::min(whole / pieces + 1, uint64_t{1} << (63 - kTimeShift));
    for (uint64_t offset = 0;; offset += width) {
      from_ = static_cast<int64_t>(static_cast<uint64_t>(out_.begin_ns) + offset);
      final_ = whole - offset < width;
      to_ = final_ ? INT64_MAX : static_cast<int64_t>(static_cast<uint64_t>(from_) + width);
      edges_.clear();
      collectOpen();
      for (size_t s = 0; s < starts_.size(); ++s) collect(s);
      sweepPiece();
      if (final_ || isCancelled()) break;
    }
    for (size_t i = 0; i < open_.size(); ++i) {
      out_.devices[i].busy_ns = open_[i].busy_ns;
      out_.devices[i].kernel_ns = open_[i].kernel_ns;
      out_.devices[i].most_concurrent = open_[i].most;
    }
    out_.time_at.resize(size_t{out_.most_concurrent} + 1);
    return std::move(out_);
  }

 private:
  /// First pass: finds all devices and the periods in which each and all of them work.
  void findDevices() {
    bool first = true;
    for (const TimelineSpans::Stream& s : spans_.streams()) {
      if (out_.devices.empty() || out_.devices.back().device_id != s.device_id) {
        // More than 65536 devices would need wider edges; the last one collects the rest.
        if (out_.devices.size() <= kDeviceMask) {
          out_.devices.push_back(
              {.device_id = s.device_id, .begin_ns = INT64_MAX, .end_ns = INT64_MIN});
        }
      }
      device_of_.push_back(out_.devices.size() - 1);
      starts_.push_back(s.begin);
      SpanSweep::Device& device = out_.devices.back();
      const int64_t begin = spans_.startNs(s.begin);
      int64_t end = INT64_MIN;
      for (size_t i = s.begin; i < s.end; ++i) end = std::max(end, spans_.endNs(i));
      device.begin_ns = std::min(device.begin_ns, begin);
      device.end_ns = std::max(device.end_ns, end);
      out_.begin_ns = first ? begin : std::min(out_.begin_ns, begin);
      out_.end_ns = first ? end : std::max(out_.end_ns, end);
      first = false;
    }
    open_.resize(out_.devices.size());
    last_ = out_.begin_ns;
  }

  bool inside(int64_t t) const { return final_ || t < to_; }
  void add(int64_t t, uint64_t kind) {
    edges_.add((static_cast<uint64_t>(t) - static_cast<uint64_t>(from_)) << kTimeShift | kind);
  }

  /// Adds the ends of spans that were open at the start of the piece.
  void collectOpen() {
    size_t kept = 0;
    for (const Later& later : still_open_) {
      if (inside(later.end_ns)) {
        add(later.end_ns, later.kind);
      } else {
        still_open_[kept++] = later;
      }
    }
    still_open_.resize(kept);
  }

  /// Adds the spans of stream `s` that start in the piece.
  void collect(size_t s) {
    const size_t end = spans_.streams()[s].end;
    size_t next = starts_[s];
    for (; next < end && inside(spans_.startNs(next)); ++next) {
      const int64_t duration = spans_.durationNs(next);
      if (duration == 0) continue;  // takes no time, and its end would come first
      const uint64_t kernel = spans_.type(next) == EventType::KernelComplete ? 1 : 0;
      const uint64_t kind = kernel << kKernelBit | device_of_[s];
      const int64_t begin = spans_.startNs(next);
      add(begin, kind | uint64_t{1} << kBeginBit);
      if (inside(begin + duration)) {
        add(begin + duration, kind);
      } else {
        still_open_.push_back({begin + duration, kind});
      }
    }
    starts_[s] = next;
  }

  void sweepPiece() {
    const std::vector<uint64_t>& sorted = edges_.sorted();
    if (out_.time_at.size() <= running_ + sorted.size()) {
      out_.time_at.resize(running_ + sorted.size() + 1);
    }
    // Local copies can stay in registers.
    int64_t* const time_at = out_.time_at.data();
    int64_t last = last_;
    uint32_t running = running_;
    uint32_t most = out_.most_concurrent;
    const auto step = [&](uint64_t edge, OpenSpans& open) {
      const int64_t t = static_cast<int64_t>(static_cast<uint64_t>(from_) + (edge >> kTimeShift));
      time_at[running] += t - last;
      last = t;
      const int32_t by = static_cast<int32_t>(edge >> kBeginBit & 1) * 2 - 1;
      running += static_cast<uint32_t>(by);
      most = std::max(most, running);
      open.step(t, by, (edge >> kKernelBit & 1) != 0);
    };
    if (open_.size() == 1) {
      OpenSpans only = open_[0];
      for (const uint64_t edge : sorted) step(edge, only);
      open_[0] = only;
    } else {
      for (const uint64_t edge : sorted) step(edge, open_[edge & kDeviceMask]);
    }
    last_ = last;
    running_ = running;
    out_.most_concurrent = most;
  }

  struct Later {
    int64_t end_ns;
    uint64_t kind;
  };
  const TimelineSpans& spans_;
  SpanSweep out_;
  std::vector<size_t> starts_;       // by stream: first span not yet started
  std::vector<uint64_t> device_of_;  // by stream
  std::vector<OpenSpans> open_;      // by device
  std::vector<Later> still_open_;
  PieceEdges edges_;
  uint32_t running_ = 0;
  int64_t last_ = 0;           // time of the last edge
  int64_t from_ = 0, to_ = 0;  // the piece
  bool final_ = false;
};

}  // namespace

SpanSweep SpanSweep::of(const TimelineSpans& spans) {
  return spans.empty() ? SpanSweep{} : Sweeper(spans).run();
}

}  // namespace tracesmith
