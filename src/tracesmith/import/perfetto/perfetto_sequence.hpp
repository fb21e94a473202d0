// SPDX-License-Identifier: Apache-2.0
// What the packets of one writer of a Perfetto trace refer back to: names that were introduced once
// and go by number, and defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

/// An argument of a launch, or of a kernel.
struct PerfettoArgument {
  StringId name{};
  bool is_text = false;
  bool is_real = false;
  StringId text{};
  int64_t integer = 0;
  double real = 0;
};

/// Which thread a sequence's events are on that name no track, and from where their times count
/// that are differences: of what Chrome wrote before there were tracks and clocks.
struct PerfettoThread {
  bool known = false;
  int64_t pid = 0;
  int64_t tid = 0;
};
struct PerfettoReferences {
  bool known = false;
  int64_t time_ns = 0;
  int64_t thread_time_ns = 0;
  int64_t instructions = 0;
};

/// The thread that an event without a track is on. An event may say so itself (`pid`, `tid`); with
/// a process alone it is on no thread that anyone else names: -1.
std::optional<std::pair<int64_t, int64_t>> threadOfEvent(const PerfettoThread& of_sequence,
                                                         bool says_no_track,
                                                         std::optional<int64_t> pid,
                                                         std::optional<int64_t> tid);

class PerfettoSequence {
 public:
  using Names = std::unordered_map<uint64_t, StringId>;
  /// Of a profile, most of which no event names.
  using Texts = std::unordered_map<uint64_t, std::string>;
  struct Specification {
    StringId name{};
    uint64_t category = 0;
  };
  struct Context {
    int64_t pid = 0;
    uint64_t api = 0;
  };
  struct Kernel {
    StringId name{};
    std::vector<PerfettoArgument> arguments;
  };
  struct CounterDescriptor {
    int64_t gpu = 0;
    std::string bytes;
  };

  struct Frame {
    uint64_t function = 0, mapping = 0, relative_pc = 0, file = 0, kind = 0;
    uint32_t line = 0;
  };
  struct Mapping {
    uint64_t build_id = 0;
    std::vector<uint64_t> path;  ///< its parts
  };
  struct Callstack {
    std::vector<uint64_t> frames;  ///< outermost first
    CallPathId path{};             ///< kNone: not asked for yet
  };

  /// Forgets all but the thread, which its writer need not repeat.
  void clear();
  /// Packets of it were lost: what follows cannot be told until it is cleared.
  void lose();
  void setDefaults(std::string_view bytes);
  /// A ThreadDescriptor, or the part of a TrackDescriptor.
  void setThread(std::string_view bytes);
  void intern(std::string_view bytes, TraceBuilder& builder);
  PerfettoArgument argument(std::string_view bytes, TraceBuilder& builder) const;

  bool valid = false;  ///< its state was cleared, and is therefore known
  std::optional<uint32_t> clock;
  uint64_t track = 0;
  PerfettoThread thread;
  PerfettoReferences references;
  std::vector<uint64_t> extra_tracks, extra_double_tracks;
  Names categories, event_names, annotation_names, texts, argument_names;
  Texts function_names, source_paths, mapping_paths, build_ids;
  std::unordered_map<uint64_t, Frame> frames;
  std::unordered_map<uint64_t, Mapping> mappings;
  std::unordered_map<uint64_t, Callstack> callstacks;
  std::unordered_map<uint64_t, Specification> specifications;
  std::unordered_map<uint64_t, Context> contexts;
  std::unordered_map<uint64_t, Kernel> kernels;
  std::unordered_map<uint64_t, CounterDescriptor> counter_descriptors;
  std::unordered_map<uint64_t, double> sums;  ///< of incremental counters, by track

 private:
  void internEntry(const proto::Field& field, TraceBuilder& builder);
  void internArguments(std::string_view kernel, TraceBuilder& builder);
};

/// Varints that are packed into one field, or the one that is not.
std::vector<uint64_t> packedVarints(uint32_t wire_type, uint64_t value, std::string_view bytes);

}  // namespace tracesmith::import
