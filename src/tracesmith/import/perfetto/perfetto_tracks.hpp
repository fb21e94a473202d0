// SPDX-License-Identifier: Apache-2.0
// Maps tracks of a Perfetto trace to processes and threads. A track that is not a thread becomes a
// thread row with the track's name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"
#include "tracesmith/import/perfetto/perfetto_track_event.hpp"

namespace tracesmith::import {

class PerfettoTracks {
 public:
  static constexpr int64_t kNoThread = -1;
  struct Place {
    int64_t pid = 0;
    ProcessId process{};
    ThreadId thread{};
    int64_t tid = kNoThread;
  };
  struct Track {
    uint64_t key = 0;  ///< equal for all events on the same track
    Place place;
    bool unordered = false;  ///< its events are not in time order
  };

  PerfettoTracks(TraceBuilder& builder, const PerfettoFirstPass& first_pass)
      : builder_(builder), first_pass_(first_pass) {}

  /// Writes the names of all processes and threads that the trace describes.
  void describe();

  /// Returned references stay valid.
  const Track& ofTrack(uint64_t uuid);
  const Track& ofThread(int64_t pid, int64_t tid);
  /// For events with neither track nor thread.
  const Track& ofSequence(uint64_t sequence);
  /// The track of an asynchronous event written by the thread of `by`. The name of its first event
  /// becomes the track's name.
  const Track& ofAsync(const PerfettoAsyncId& id, const Place& by, StringId name);

  uint64_t unknownTracks() const { return unknown_tracks_; }

 private:
  Place placeOf(uint64_t uuid);
  ThreadId namedTrack(int64_t pid, std::string_view name);

  TraceBuilder& builder_;
  const PerfettoFirstPass& first_pass_;
  std::unordered_map<uint64_t, Track> tracks_;  // by uuid
  std::unordered_map<uint64_t, Track> others_;  // by key
  std::map<std::pair<int64_t, std::string>, ThreadId> named_tracks_;
  uint64_t unknown_tracks_ = 0;
};

}  // namespace tracesmith::import
