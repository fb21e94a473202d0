// SPDX-License-Identifier: Apache-2.0
// What must be known of a Perfetto trace before its events can be read: packets come in the order
// in which buffers were copied, so that a track may be described, and a clock explained, long after
// the first event that needs it. The file is read twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/import/perfetto_clocks.hpp"

namespace tracesmith::import {

struct PerfettoTrack {
  uint64_t parent = 0;
  bool process = false;
  bool thread = false;
  bool counter = false;
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

class PerfettoSurvey {
 public:
  void packet(std::string_view bytes);

  std::unordered_map<uint64_t, PerfettoTrack> tracks;
  std::vector<uint64_t> track_order;  ///< as they were described first
  /// Tracks whose events come on several sequences, whose order in the file is therefore not that
  /// of time.
  std::unordered_set<uint64_t> shared_tracks;
  PerfettoClocks clocks;
  std::unordered_map<uint64_t, PerfettoSubmission> submissions;  ///< by event id
  std::vector<PerfettoGpu> gpus;
  std::vector<std::pair<std::string, std::string>> attributes;
  /// Of ProcessTree and ProcessDescriptor: command line, parent.
  std::map<int64_t, std::pair<std::string, int64_t>> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;  ///< names
  /// Of sequences with a ThreadDescriptor: track events without a track are on it.
  std::unordered_map<uint64_t, std::pair<int64_t, int64_t>> thread_of_sequence;
  bool ours = false;  ///< `tracesmith export` wrote it
  uint64_t packets = 0;

 private:
  void track(std::string_view bytes);
  void event(uint64_t sequence, std::string_view bytes);
  void tree(std::string_view bytes);
  void gpu(std::string_view bytes);
  void attribute(std::string_view bytes);

  std::unordered_map<uint64_t, uint64_t> default_tracks_;     // by sequence
  std::unordered_map<uint64_t, uint64_t> sequence_of_track_;  // the first
};

}  // namespace tracesmith::import
