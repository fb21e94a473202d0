// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/flame/frame_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/export/slices/device_work.hpp"
#include "tracesmith/export/slices/host_slices.hpp"
#include "tracesmith/model/names/device_names.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

class LaneMaker {
 public:
  LaneMaker(const Trace& trace, const Selection& selection, FrameNames& names)
      : trace_(trace),
        selection_(selection),
        names_(names),
        frame_of_string_(trace.strings.size() + 1, kUnknown) {}

  void host(const std::function<void(const FrameLane&)>& f) {
    const HostTracks tracks(trace_);
    const HostSlices slices(trace_, selection_, tracks);
    std::map<std::pair<uint32_t, uint32_t>, std::vector<FrameSlice>> lanes;
    const auto add = [&](const HostSlice& slice, uint32_t lane) {
      if (slice.source == SliceSource::kInstant) return;
      lanes[{slice.track, lane}].push_back({slice.start_ns, slice.end_ns, frameOf(slice), {}});
    };
    slices.forEach([&](const HostSlice& slice) { add(slice, 0); }, add);
    for (auto& [place, list] : lanes) {
      const auto [track, lane] = place;
      const ProcessId process = tracks.process(trace_, track);
      f({processName(process), trackName(tracks, track), lane, false, std::move(list)});
    }
  }

  void device(const std::function<void(const FrameLane&)>& f) {
    std::vector<std::vector<FrameSlice>> streams(trace_.stream.size() + 1);
    forEachWorkTable(trace_, [&](const auto& table, WorkKind) {
      for (size_t i = 0; i < table.size(); ++i) {
        if (!isWorkSelected(table, i, selection_)) continue;
        if (table.flags[i] & op_flags::kNoDeviceTime) continue;
        const auto stream = static_cast<size_t>(table.stream_id[i]);
        streams[stream < streams.size() ? stream : 0].push_back(
            {table.start_ns[i], endOf(table.start_ns[i], table.duration_ns[i]),
             frameOfWork(table, i), table.call_path_id[i]});
      }
    });
    for (size_t s = 0; s < streams.size(); ++s)
      assignLanes(static_cast<StreamId>(s), streams[s], f);
  }

 private:
  uint32_t frameOf(StringId id, std::string_view otherwise) {
    const auto i = static_cast<size_t>(id);
    if (i == 0 || i >= frame_of_string_.size()) return names_.of(otherwise);
    if (frame_of_string_[i] == kUnknown) frame_of_string_[i] = names_.of(trace_.text(id));
    return frame_of_string_[i];
  }
  uint32_t frameOf(const HostSlice& slice) {
    switch (slice.source) {
      case SliceSource::kHostCall:
        return frameOf(callName(trace_.host_call, slice.row), "call");
      case SliceSource::kBuild:
        return names_.of(eventName(trace_, TableId::kProgramBuild, slice.row));
      case SliceSource::kSync:
        return frameOf(trace_.sync.name[slice.row], eventName(trace_, TableId::kSync, slice.row));
      default:
        return frameOf(trace_.range.name[slice.row], "range");
    }
  }
  template <class Table>
  uint32_t frameOfWork(const Table& table, size_t i) {
    return frameOf(table.name[i], eventName(trace_, Table::kId, i));
  }

  /// Device work does not nest: a slice goes to a lane whose last slice has ended.
  void assignLanes(StreamId stream, std::vector<FrameSlice>& work,
                   const std::function<void(const FrameLane&)>& f) {
    if (work.empty()) return;
    std::stable_sort(work.begin(), work.end(), [](const FrameSlice& a, const FrameSlice& b) {
      return a.start_ns < b.start_ns;
    });
    std::vector<std::vector<FrameSlice>> lanes;
    std::multimap<int64_t, size_t> free_at;  // end of a lane's last slice, lane number
    for (const FrameSlice& slice : work) {
      const auto first = free_at.begin();
      size_t lane = lanes.size();
      if (first != free_at.end() && first->first <= slice.start_ns) {
        lane = first->second;
        free_at.erase(first);
      } else {
        lanes.emplace_back();
      }
      lanes[lane].push_back(slice);
      free_at.emplace(slice.end_ns, lane);
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
      f({deviceName(trace_, trace_.deviceOf(stream)), streamName(trace_, stream),
         static_cast<uint32_t>(i), true, std::move(lanes[i])});
    }
  }

  std::string processName(ProcessId id) const {
    const auto i = static_cast<size_t>(id);
    if (i == 0 || i > trace_.process.size()) return "no process";
    std::string_view name = trace_.text(trace_.process.executable[i - 1]);
    if (name.empty()) {
      name = trace_.text(trace_.process.command_line[i - 1]);
      name = name.substr(0, name.find(' '));
    }
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
    const uint32_t pid = trace_.process.pid[i - 1];
    return name.empty() ? fmt::format("process {}", pid) : fmt::format("{} ({})", name, pid);
  }
  std::string trackName(const HostTracks& tracks, uint32_t track) const {
    const StreamId stream = tracks.stream(track);
    if (stream != StreamId::kNone) return "ranges of " + streamName(trace_, stream);
    const ThreadId thread = tracks.thread(track);
    if (thread == ThreadId::kNone) return "no thread";
    const auto i = static_cast<size_t>(thread) - 1;
    const std::string_view name = trace_.text(trace_.thread.name[i]);
    const uint32_t tid = trace_.thread.tid[i];
    return name.empty() ? fmt::format("thread {}", tid) : fmt::format("{} ({})", name, tid);
  }
  const Trace& trace_;
  const Selection& selection_;
  FrameNames& names_;
  std::vector<uint32_t> frame_of_string_;
};

}  // namespace

void forEachFrameLane(const Trace& trace, const Selection& selection, FrameNames& names,
                      const std::function<void(const FrameLane&)>& f) {
  LaneMaker maker(trace, selection, names);
  maker.host(f);
  maker.device(f);
}

}  // namespace tracesmith
