// SPDX-License-Identifier: Apache-2.0
// What must be known of a Perfetto trace before its events can be read: packets come in the order
// in which buffers were copied, so that a track may be described, and a clock explained, long after
// the first event that needs it. The file is read twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/import/perfetto/perfetto_clocks.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"

namespace tracesmith::import {

/// A track may have parents; how far up they are followed, should they lead in a circle.
constexpr int kDeepestTrack = 64;

struct PerfettoTrack {
  uint64_t parent = 0;
  bool process = false;
  bool thread = false;
  bool counter = false;
  bool separate = false;  ///< a thread's, but not the same as others of that thread
  uint64_t counter_type = 0;
  int64_t pid = 0;
  int64_t tid = 0;
  std::string name;
  std::string process_name;
  std::string command_line;
  std::string thread_name;
  std::string unit;
  double multiplier = 1;
  bool incremental = false;
};

struct PerfettoGpu {
  std::string name, vendor, uuid, pci_address;
  std::map<std::string, std::string> more;
};

/// Which call submitted a piece of device work.
struct PerfettoSubmission {
  uint64_t first = 0;  ///< event id of the first work of that call: what joins all of them
  uint64_t track = 0;
};

/// What a source of GpuRenderStageEvents names once by position (the form before interned data).
struct PerfettoSpecifications {
  std::vector<std::string> queues, stages;
  std::map<uint64_t, int64_t> pids;  ///< by graphics context
};

/// Stands for a thread among the tracks, whatever tracks are described for it.
uint64_t trackOfThread(int64_t pid, int64_t tid);

class PerfettoSurvey {
 public:
  void packet(std::string_view bytes);
  /// Behind the last packet.
  void finish();

  std::unordered_map<uint64_t, PerfettoTrack> tracks;
  std::vector<uint64_t> track_order;  ///< as they were described first
  /// What an event on that track is on: several tracks of one thread are one.
  uint64_t sameTrack(uint64_t uuid) const;
  /// Tracks (as sameTrack() has them) whose events are not in order of time in the file: they come
  /// on several sequences, or say times of their own.
  std::unordered_set<uint64_t> unordered_tracks;
  bool unordered_gpu_counters = false;  ///< likewise, of GpuCounterEvents
  PerfettoSpecifications specifications;
  PerfettoClocks clocks;
  std::unordered_map<uint64_t, PerfettoSubmission> submissions;  ///< by event id
  std::vector<PerfettoGpu> gpus;
  std::vector<std::pair<std::string, std::string>> attributes;
  /// Of ProcessTree and ProcessDescriptor: command line, parent.
  std::map<int64_t, std::pair<std::string, int64_t>> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;  ///< names
  bool ours = false;                                           ///< `tracesmith export` wrote it
  uint64_t packets = 0;

 private:
  /// A sequence as far as the first reading needs it.
  struct Sequence {
    uint64_t track = 0;
    uint32_t clock = 0;
    PerfettoThread thread;
  };
  /// Of the events of one track: the sequence that they come on, and the latest time.
  struct Order {
    uint64_t sequence = 0;
    uint64_t time = 0;
  };

  void setDefaults(Sequence& known, std::string_view bytes);
  void describe(Sequence& known, uint32_t kind, std::string_view payload);
  void track(std::string_view bytes);
  /// `time`: in no clock that counts differences.
  void event(uint64_t sequence, const Sequence& known, std::optional<uint64_t> time,
             std::string_view bytes);
  void gpuCounters(uint64_t sequence, uint32_t clock, std::optional<uint64_t> time);
  void stage(std::string_view bytes);
  void tree(std::string_view bytes);
  void gpu(std::string_view bytes);
  void attribute(std::string_view bytes);

  std::unordered_map<uint64_t, Sequence> sequences_;
  std::unordered_map<uint64_t, Order> orders_;                    // by track
  std::optional<std::pair<uint64_t, uint32_t>> gpu_counters_in_;  // sequence and clock
  uint64_t gpu_counters_until_ = 0;
};

}  // namespace tracesmith::import
