// SPDX-License-Identifier: Apache-2.0
// The first of two passes over a Perfetto trace; it collects what is needed to read the events.
// Packets come in the order in which buffers were copied. The description of a track or a clock may
// therefore come long after the first event that needs it.
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

/// Number of parent tracks to follow at most; bounds the work if parents form a cycle.
constexpr int kDeepestTrack = 64;

struct PerfettoTrack {
  uint64_t parent = 0;
  bool process = false;
  bool thread = false;
  bool counter = false;
  bool separate = false;  ///< belongs to a thread, but is separate from the thread's other tracks
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
  uint64_t first = 0;  ///< event id of the call's first work: correlation id of all its work
  uint64_t track = 0;
};

/// Names that a source of GpuRenderStageEvents lists once and refers to by position (the form
/// before interned data).
struct PerfettoSpecifications {
  std::vector<std::string> queues, stages;
  std::map<uint64_t, int64_t> pids;  ///< by graphics context
};

/// Track id that stands for a thread, independent of the tracks described for it.
uint64_t trackOfThread(int64_t pid, int64_t tid);

class PerfettoFirstPass {
 public:
  void readPacket(std::string_view bytes);
  /// Call after the last packet.
  void finish();

  std::unordered_map<uint64_t, PerfettoTrack> tracks;
  std::vector<uint64_t> track_order;  ///< in order of their first description
  /// The track that represents `uuid`: several tracks of one thread are merged into one.
  uint64_t sameTrack(uint64_t uuid) const;
  /// Tracks (as returned by sameTrack()) whose events are not in time order in the file, because
  /// they come on several sequences or have their own times.
  std::unordered_set<uint64_t> unordered_tracks;
  bool unordered_gpu_counters = false;  ///< the same for GpuCounterEvents
  PerfettoSpecifications specifications;
  PerfettoClocks clocks;
  std::unordered_map<uint64_t, PerfettoSubmission> submissions;  ///< by event id
  std::vector<PerfettoGpu> gpus;
  std::vector<std::pair<std::string, std::string>> attributes;
  /// From ProcessTree and ProcessDescriptor: command line and parent, by pid.
  std::map<int64_t, std::pair<std::string, int64_t>> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;  ///< names
  bool ours = false;                                           ///< written by `tracesmith export`
  uint64_t packets = 0;

 private:
  /// The state of a sequence that the first pass needs.
  struct Sequence {
    uint64_t track = 0;
    uint32_t clock = 0;
    PerfettoThread thread;
  };
  /// For one track: the sequence that its events come on, and their latest time.
  struct Order {
    uint64_t sequence = 0;
    uint64_t time = 0;
  };

  void setDefaults(Sequence& known, std::string_view bytes);
  void describe(Sequence& known, uint32_t kind, std::string_view payload);
  void readTrack(std::string_view bytes);
  /// `time`: not in an incremental clock.
  void readEvent(uint64_t sequence, const Sequence& known, std::optional<uint64_t> time,
                 std::string_view bytes);
  void readGpuCounters(uint64_t sequence, uint32_t clock, std::optional<uint64_t> time);
  void readStage(std::string_view bytes);
  void readProcessTree(std::string_view bytes);
  void readGpu(std::string_view bytes);
  void readAttribute(std::string_view bytes);

  std::unordered_map<uint64_t, Sequence> sequences_;
  std::unordered_map<uint64_t, Order> orders_;                    // by track
  std::optional<std::pair<uint64_t, uint32_t>> gpu_counters_in_;  // sequence and clock
  uint64_t gpu_counters_until_ = 0;
};

}  // namespace tracesmith::import
