// SPDX-License-Identifier: Apache-2.0
// What the packets of one writer of a Perfetto trace refer back to: names that were introduced once
// and go by number, and defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/trace_builder.hpp"

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

class PerfettoSequence {
 public:
  using Names = std::unordered_map<uint64_t, StringId>;
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

  void setDefaults(std::string_view bytes);
  void intern(std::string_view bytes, TraceBuilder& builder);
  PerfettoArgument argument(std::string_view bytes, TraceBuilder& builder) const;

  bool valid = false;  ///< its state was cleared, and is therefore known
  std::optional<uint32_t> clock;
  uint64_t track = 0;
  std::vector<uint64_t> extra_tracks, extra_double_tracks;
  Names categories, event_names, annotation_names, texts, argument_names;
  std::unordered_map<uint64_t, Specification> specifications;
  std::unordered_map<uint64_t, Context> contexts;
  std::unordered_map<uint64_t, Kernel> kernels;
  std::unordered_map<uint64_t, CounterDescriptor> counter_descriptors;
  std::unordered_map<uint64_t, double> sums;  ///< of incremental counters, by track
};

/// Varints that are packed into one field, or the one that is not.
std::vector<uint64_t> packedVarints(uint32_t wire_type, uint64_t value, std::string_view bytes);

}  // namespace tracesmith::import
