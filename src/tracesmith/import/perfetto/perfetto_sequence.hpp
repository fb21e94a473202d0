// SPDX-License-Identifier: Apache-2.0
// State of one packet sequence (one writer) of a Perfetto trace: interned data, which later packets
// refer to by number, and defaults.
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

/// The thread of events that name no track. Together with PerfettoReferences, which holds the base
/// of incremental times, it serves traces that Chrome wrote before there were tracks and clocks.
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

/// The thread (pid, tid) of an event without a track. The event may name it itself (`pid`, `tid`).
/// If it names only a process, the tid is -1, which no other event names.
std::optional<std::pair<int64_t, int64_t>> threadOfEvent(const PerfettoThread& of_sequence,
                                                         bool has_no_track,
                                                         std::optional<int64_t> pid,
                                                         std::optional<int64_t> tid);

class PerfettoSequence {
 public:
  using Names = std::unordered_map<uint64_t, StringId>;
  /// Texts of a profile; kept as strings because events refer to few of them.
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
    std::vector<uint64_t> path;  ///< path components
  };
  struct Callstack {
    std::vector<uint64_t> frames;  ///< outermost first
    CallPathId path{};             ///< kNone: not created yet
  };

  /// Clears everything except the thread, which the writer need not repeat.
  void clear();
  /// Call when packets were lost: later packets cannot be interpreted until the state is cleared.
  void lose();
  void setDefaults(std::string_view bytes);
  /// `bytes`: a ThreadDescriptor, alone or within a TrackDescriptor.
  void setThread(std::string_view bytes);
  void intern(std::string_view bytes, TraceBuilder& builder);
  PerfettoArgument argument(std::string_view bytes, TraceBuilder& builder) const;

  bool valid = false;  ///< the state was cleared, so it is complete
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

/// The varints of a packed field, or the single one of a field that is not packed.
std::vector<uint64_t> packedVarints(uint32_t wire_type, uint64_t value, std::string_view bytes);

}  // namespace tracesmith::import
