// SPDX-License-Identifier: Apache-2.0
// Lays out host activity as nested slices on tracks and lanes: host calls, program builds, host
// waits without a call, ranges and instants.
//
// A viewer draws the slices of a track as a stack, so two that overlap without one containing the
// other cannot share it. Such a slice goes to the next lane of its track. A slice is only cut if
// more than kMaxLanes overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/export/slices/device_work.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class SliceSource : uint8_t { kHostCall = 0, kBuild = 1, kSync = 2, kRange = 3, kInstant = 4 };

struct HostSlice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;  ///< as drawn; equals start_ns for an instant
  uint32_t row = 0;    ///< row number in the table for `source`
  uint32_t track = 0;
  SliceSource source = SliceSource::kHostCall;
  bool unfinished = false;  ///< a range whose end is not in the trace
  bool stray_end = false;   ///< an end whose range is not in the trace
  bool cut = false;         ///< drawn shorter, because no lane was free
  int64_t true_end_ns = 0;  ///< actual end of a cut slice
};

/// The tracks of host slices: one per thread, one per process (for rows without a thread), and one
/// per stream (for ranges of a stream).
class HostTracks {
 public:
  explicit HostTracks(const Trace& trace)
      : threads_(static_cast<uint32_t>(trace.thread.size())),
        processes_(static_cast<uint32_t>(trace.process.size())),
        streams_(static_cast<uint32_t>(trace.stream.size())) {}

  uint32_t of(ThreadId thread, ProcessId process) const {
    const auto t = static_cast<uint32_t>(thread);
    if (t != 0 && t <= threads_) return t - 1;
    const auto p = static_cast<uint32_t>(process);
    return threads_ + (p <= processes_ ? p : 0);
  }
  uint32_t of(StreamId stream, ThreadId thread, ProcessId process) const {
    const auto s = static_cast<uint32_t>(stream);
    return s != 0 && s <= streams_ ? threads_ + processes_ + s : of(thread, process);
  }
  uint32_t size() const { return threads_ + 1 + processes_ + streams_; }

  ThreadId thread(uint32_t track) const {
    return track < threads_ ? idAt<ThreadId>(track) : ThreadId::kNone;
  }
  StreamId stream(uint32_t track) const {
    return track > threads_ + processes_ ? StreamId(track - threads_ - processes_)
                                         : StreamId::kNone;
  }
  ProcessId process(const Trace& trace, uint32_t track) const;

 private:
  uint32_t threads_;
  uint32_t processes_;
  uint32_t streams_;
};

/// Display name of a host call: its function, or its subject if that is unknown.
inline StringId callName(const HostCallTable& calls, size_t row) {
  return calls.name[row] != StringId::kNone ? calls.name[row] : calls.subject[row];
}

/// The call stack of a slice, if it has one. For a build, that of its host call.
CallPathId callPathOf(const Trace& trace, const HostSlice& slice);

constexpr uint32_t kMaxLanes = 64;

/// Lays out the selected slices. On most threads calls simply follow each other; their rows are
/// passed on directly from the columns. Only the others are collected and sorted.
class HostSlices {
 public:
  HostSlices(const Trace& trace, const Selection& selection, const HostTracks& tracks);

  /// Calls simple(slice) for slices of simple tracks: in order of start per track, and never
  /// overlapping. Then calls nested(slice, lane) for the others: grouped by track, parents before
  /// children. Starts are in ascending order per track and lane. Stops early on cancellation
  /// (base/cancellation.hpp), like Output.
  template <class Simple, class Nested>
  void forEach(Simple&& simple, Nested&& nested) const {
    const HostCallTable& calls = trace_.host_call;
    for (size_t i = 0; i < calls.size() && !isCancelledAt(i); ++i) {
      if (!isCallSelected(i)) continue;
      const uint32_t track = tracks_.of(calls.thread_id[i], calls.process_id[i]);
      if (!simple_[track]) continue;
      HostSlice slice;
      slice.start_ns = calls.start_ns[i];
      slice.end_ns = endOf(calls.start_ns[i], calls.duration_ns[i]);
      slice.row = static_cast<uint32_t>(i);
      slice.track = track;
      simple(slice);
    }
    assignLanes(std::forward<Nested>(nested));
  }

 private:
  bool isCallSelected(size_t i) const {
    const HostCallTable& t = trace_.host_call;
    return selection_.everything() ||
           (selection_.span(t.start_ns[i], t.duration_ns[i]) && selection_.stream(t.stream_id[i]));
  }
  void findSimpleTracks();
  uint32_t trackOfRange(size_t i) const {
    const RangeTable& t = trace_.range;
    return tracks_.of(t.stream_id[i], t.thread_id[i], t.process_id[i]);
  }
  HostSlice& add(SliceSource source, size_t row, uint32_t track, int64_t start_ns, int64_t end_ns);
  void collectOthers();
  void collectBuilds();
  void collectWaits();
  void collectRanges();
  void pairHalves(std::vector<uint32_t>& halves);
  void addPaired(uint32_t begin, int64_t end_ns, bool unfinished);
  void assignLanes(const std::function<void(const HostSlice&, uint32_t lane)>& emit) const;

  const Trace& trace_;
  const Selection& selection_;
  const HostTracks& tracks_;
  std::vector<bool> simple_;          // by track
  std::vector<HostSlice> collected_;  // slices of the other tracks, in drawing order
};

}  // namespace tracesmith
