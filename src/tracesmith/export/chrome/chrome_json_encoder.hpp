// SPDX-License-Identifier: Apache-2.0
// Internals of the Chrome JSON exporter; included only by chrome_json*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/chrome/json_event.hpp"
#include "tracesmith/export/slices/device_work.hpp"
#include "tracesmith/export/slices/event_links.hpp"
#include "tracesmith/export/slices/host_slices.hpp"
#include "tracesmith/export/slices/row_attributes.hpp"

namespace tracesmith {

namespace chrome_keys {
constexpr std::string_view kPid = ",\"pid\":";
constexpr std::string_view kTid = ",\"tid\":";
constexpr std::string_view kTs = ",\"ts\":";
constexpr std::string_view kDur = ",\"dur\":";
constexpr std::string_view kName = ",\"name\":";
constexpr std::string_view kCat = ",\"cat\":";
}  // namespace chrome_keys

class ChromeJsonEncoder {
 public:
  ChromeJsonEncoder(const Trace& trace, Output& out, const ChromeJsonOptions& options,
                    const Selection& selection, DeviceWork work);
  void run();

 private:
  struct Place {
    uint64_t pid = 0;
    uint64_t tid = 0;
  };
  /// The device end of a flow between a host slice and device work.
  struct HalfArrow {
    uint64_t id;
    uint32_t work;
    bool starts_at_work;
  };

  uint64_t pidOf(ProcessId process) const {
    const auto p = static_cast<size_t>(process);
    return p == 0 || p > pids_.size() ? 0 : pids_[p - 1];
  }
  uint64_t devicePid(DeviceId device) const {
    const auto d = static_cast<size_t>(device);
    return device_pid_ + (d <= trace_.device.size() ? d : 0);
  }
  size_t streamIndex(StreamId stream, ProcessId process) const {
    const auto s = static_cast<size_t>(stream);
    if (s != 0 && s <= trace_.stream.size()) return s - 1;
    const auto p = static_cast<size_t>(process);
    return trace_.stream.size() + (p <= trace_.process.size() ? p : 0);
  }
  static int64_t duration(int64_t start_ns, int64_t end_ns) {
    return static_cast<int64_t>(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(start_ns));
  }

  void assignTrackIds();
  void writeName(std::string_view what, uint64_t pid, const uint64_t* tid, std::string_view name);
  void writeNames();
  void writeArrow(char phase, std::string_view category, uint64_t id, const Place& place,
                  int64_t ns);
  void writeAttributes(JsonEvent& e, TableId table, uint64_t row);
  void writeCounters();
  void writeOtherData();
  /// Writes the call path of the event, if known. Call before writing arguments.
  void writeStack(JsonEvent& e, CallPathId path);
  /// Writes the frames of these paths as a member of the document, if there are any.
  void writeStackFrames();
  /// The place of a host slice. Writes the name of the thread on first use.
  Place hostPlace(const HostSlice& slice, uint32_t lane);
  void writeHostSlice(const HostSlice& slice, uint32_t lane);
  void describeSlice(JsonEvent& e, const HostSlice& slice);
  void writeArguments(JsonEvent& e, const HostSlice& slice);
  void writeHostSlices();
  Place devicePlace(size_t stream, uint32_t lane) const;
  /// Takes the first lane of the stream that is free at `start_ns`. Writes the name of a new lane.
  uint32_t takeLane(size_t stream, int64_t start_ns, int64_t end_ns);
  template <class Table>
  void writeDeviceArguments(JsonEvent& e, const Table& table, size_t row);
  /// Writes groups per dimension, rounded up; only the global size if the driver chose the group
  /// size.
  void writeShapeArguments(JsonEvent& e, size_t shape);
  template <class Table>
  void writeWork(const Table& table, WorkKind kind, size_t row);
  /// Writes all device work by merging four tables in time order, which takeLane() requires.
  void writeDeviceWork();
  /// Place and start time of a piece of device work.
  std::pair<Place, int64_t> placeOf(uint64_t number) const;
  void writeDeviceArrows();

  static constexpr uint64_t kFirstGeneratedThread = 1'000'000'000;

  const Trace& trace_;
  Output& out_;
  const ChromeJsonOptions& options_;
  const Selection& selection_;
  DeviceWork work_;
  Links links_;
  RowAttributes attributes_;
  HostTracks tracks_;
  QuotedStrings quoted_;
  bool any_ = false;
  uint64_t device_pid_ = 10'000'000;  // pid of the unknown device; the others follow
  std::vector<uint64_t> pids_;        // by process
  std::vector<bool> has_own_tid_;     // by thread; the others get a generated one
  size_t streams_ = 0;
  std::vector<std::vector<int64_t>> lane_ends_;   // per stream, per lane
  std::unordered_map<uint64_t, uint32_t> lanes_;  // by work number; only work not on lane 0
  std::vector<bool> launched_;                    // work with a flow from its launch
  std::unordered_set<uint64_t> named_;            // (lane, track) with a name already written
  std::vector<HalfArrow> half_arrows_;
  const CallPathTable& shownPaths() const {
    return options_.all_frames ? trace_.call_path : shown_paths_;
  }
  CallPathTable shown_paths_;    // without frames of the interpreter, libffi and the loader
  std::vector<bool> path_used_;  // by CallPathId; empty: no event has a call path
  uint64_t arrows_ = 0;
  uint64_t unwritable_ = 0;
  uint64_t unmatched_frees_ = 0;
};

}  // namespace tracesmith
