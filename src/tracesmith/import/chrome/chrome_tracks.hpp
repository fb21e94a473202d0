// SPDX-License-Identifier: Apache-2.0
// What the "pid", "tid" and arguments of events stand for: processes and threads, devices, contexts
// and streams, launch shapes; and which thread launched a piece of device work.
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

class ChromePlaces {
 public:
  /// Rows go to `delta` as things are met.
  ChromePlaces(Trace& delta, ChromeDialect dialect);

  ProcessId process(const JsonToken& pid);
  ThreadId thread(ProcessId process, const JsonToken& tid);
  /// None where no number stands there, or -1.
  DeviceId device(const JsonToken& number);
  /// An event that names or labels a process or thread.
  void name(const ChromeEvent& event);
  /// A member of the document: what it says of the platform and of devices.
  void member(std::string_view name, std::string_view raw);

  /// A call with this correlation id (0: none) was made there.
  void launched(uint64_t correlation, ProcessId process, ThreadId thread);
  /// Something else happened on a thread of that process.
  void happened(ProcessId process, const JsonToken& pid) {
    if (likely_process_ == ProcessId::kNone && pid.type == JsonType::kInteger) {
      likely_process_ = process;
    }
  }
  /// Of a piece of device work.
  struct Work {
    StreamId stream{};
    ProcessId process{};
    ThreadId thread{};
    uint64_t correlation = 0;
  };
  Work workOf(const ChromeEvent& event);
  /// The stream whose work a wait for an event was for; none where the arguments do not tell.
  StreamId waitedStream(const ChromeEvent& event, ProcessId owner);
  /// The launch shape that the arguments tell; none where they tell of no grid.
  ShapeId launchShape(const ChromeEvent& event);

  /// Work of the delta that stands before its launch in the document: whose it is is known by now.
  void findLateLaunches();
  /// What was only known in the end.
  void settle();
  /// Correlation ids that calls of several processes have.
  uint64_t ambiguous() const { return ambiguous_; }
  /// Work that had been written when its launch was met.
  uint64_t late() const { return late_; }

 private:
  /// Numbers that are made up go down from here.
  static constexpr int64_t kFirstNamed = INT64_MIN / 2;
  /// Whether a device or stream may have it for its own.
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
  ProcessId main_process_{};              // the first one that made a call
  ProcessId likely_process_{};            // until then
  std::unordered_set<uint64_t> written_;  // correlation ids of work whose launch was not yet met
  uint64_t late_ = 0;
  uint64_t ambiguous_ = 0;
  static constexpr size_t kCacheSlots = 256;
  std::map<std::string, int64_t, std::less<>> npus_;  // by pid: devices of Ascend's timelines
  std::set<int64_t> known_npus_;
  int64_t next_npu_ = 0;
  PlaceOrdinals device_ordinals_;
  PlaceOrdinals stream_ordinals_;
  std::map<std::string, int64_t, std::less<>> made_up_;  // numbers of devices and streams
  std::vector<std::string> made_up_names_;
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
  std::vector<ProcessId> process_of_;  // of threads, by their place
  std::map<int64_t, DeviceRow> devices_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t>, ContextRow> contexts_;
  struct StreamSlot {
    int64_t device = 0, number = 0;
    ProcessId process{};
    StreamId id{};
  };
  std::array<StreamSlot, kCacheSlots> stream_slots_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t>, StreamRow> streams_;
  StringTable launch_shapes_;                           // their ids are those of the shapes
  std::unordered_map<uint64_t, ThreadId> launched_by_;  // correlation id to thread
};

uint64_t correlationOf(const ChromeEvent& event);

}  // namespace tracesmith::import
