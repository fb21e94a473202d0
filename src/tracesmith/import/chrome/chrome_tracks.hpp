// SPDX-License-Identifier: Apache-2.0
// Maps the "pid", "tid" and arguments of events to processes, threads, devices, contexts, streams
// and launch shapes. Also finds the thread that launched a piece of device work.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/common/ordinal_map.hpp"
#include "tracesmith/import/json/event_shapes.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class ChromeTracks {
 public:
  /// Adds rows to `delta` when something first appears.
  ChromeTracks(Trace& delta, ChromeDialect dialect);

  ProcessId process(const JsonToken& pid);
  ThreadId thread(ProcessId process, const JsonToken& tid);
  /// kNone if `number` is not a number, or is -1.
  DeviceId device(const JsonToken& number);
  /// Handles an event that names or labels a process or thread.
  void name(const ChromeEvent& event);
  /// Handles a member of the document that describes the platform or the devices.
  void member(std::string_view name, std::string_view raw);

  /// Records that this thread made the call with that correlation id (0: none).
  void noteLaunch(uint64_t correlation, ProcessId process, ThreadId thread);
  /// Records that another host event happened in that process.
  void noteHostEvent(ProcessId process, const JsonToken& pid) {
    if (likely_process_ == ProcessId::kNone && pid.type == JsonType::kInteger) {
      likely_process_ = process;
    }
  }
  /// The process that work belongs to if nothing else tells.
  ProcessId mainProcess() const {
    return main_process_ == ProcessId::kNone ? likely_process_ : main_process_;
  }
  /// Where a piece of device work ran, and which thread launched it.
  struct Work {
    StreamId stream{};
    ProcessId process{};
    ThreadId thread{};
    uint64_t correlation = 0;
  };
  Work workOf(const ChromeEvent& event);
  /// The stream on which the awaited event was recorded; kNone if the arguments do not say.
  StreamId waitedStream(const ChromeEvent& event, ProcessId owner);
  /// The launch shape given by the arguments; kNone if they give no grid.
  ShapeId launchShape(const ChromeEvent& event);

  /// Fills in the launching thread for work in the delta that precedes its launch in the document.
  void findLateLaunches();
  /// Writes rows whose content is only complete at the end of the document.
  void settle();
  /// Number of correlation ids used by calls of several processes.
  uint64_t ambiguous() const { return ambiguous_; }
  /// Number of work rows that were already written when their launch appeared.
  uint64_t late() const { return late_; }

 private:
  /// Generated numbers count down from here.
  static constexpr int64_t kFirstNamed = INT64_MIN / 2;
  /// Whether `number` may be used as the number of a device or stream.
  static bool isNumber(int64_t number) { return number >= INT32_MIN && number <= INT64_MAX / 2; }
  int64_t numberOf(const JsonToken& token, int64_t missing);
  DeviceId device(int64_t ordinal);
  void groupOfTracks(ProcessId id);
  std::string_view nameOf(int64_t number) const;
  StreamId stream(ProcessId owner, int64_t device_ordinal, int64_t context, int64_t number);
  StringId text(const JsonToken& token) { return delta_.strings.intern(textOf(token, room_)); }

  Trace& delta_;
  ChromeDialect dialect_;
  std::string room_;
  PlatformType platform_ = PlatformType::Unknown;
  ProcessId main_process_{};              // the first process that made a call
  ProcessId likely_process_{};            // used until main_process_ is known
  std::unordered_set<uint64_t> written_;  // correlation ids of work written before its launch
  uint64_t late_ = 0;
  uint64_t ambiguous_ = 0;
  static constexpr size_t kCacheSlots = 256;
  std::map<std::string, int64_t, std::less<>> npus_;  // by pid: devices of Ascend's timelines
  std::set<int64_t> known_npus_;
  int64_t next_npu_ = 0;
  PlaceOrdinals device_ordinals_;
  PlaceOrdinals stream_ordinals_;
  std::map<std::string, int64_t, std::less<>> generated_;  // generated numbers, by name
  std::vector<std::string> generated_names_;
  std::map<std::string, ProcessId, std::less<>> processes_;
  std::vector<ProcessRow> process_rows_;  // as they were last written
  std::string last_pid_;
  ProcessId last_process_{};
  struct ThreadSlot {
    ProcessId process{};
    int64_t tid = 0;
    ThreadId id{};
  };
  std::array<ThreadSlot, kCacheSlots> thread_slots_;
  std::map<std::pair<ProcessId, std::string>, ThreadId> threads_;
  std::vector<ProcessId> process_of_;  // by index of the thread
  std::map<int64_t, DeviceRow> devices_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t>, ContextRow> contexts_;
  struct StreamSlot {
    int64_t device = 0, number = 0;
    ProcessId process{};
    StreamId id{};
  };
  std::array<StreamSlot, kCacheSlots> stream_slots_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t>, StreamRow> streams_;
  StringTable launch_shapes_;                           // string ids are the shape ids
  std::unordered_map<uint64_t, ThreadId> launched_by_;  // correlation id to thread
};

uint64_t correlationOf(const ChromeEvent& event);

}  // namespace tracesmith::import
