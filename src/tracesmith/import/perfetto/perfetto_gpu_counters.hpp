// SPDX-License-Identifier: Apache-2.0
// GpuCounterEvents of a Perfetto trace as counters. A row of a counter says its value from a time
// on. A GPU's counter says it of the interval that ends where it is read, unless its description
// has `value_direction` FORWARDS_LOOKING (protos/perfetto/common/gpu_counter_descriptor.proto): so
// each value is that of the reading before, as trace_processor has it, and from the last reading on
// the value is 0. What was read first is of a time without a beginning, and has no row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"
#include "tracesmith/import/perfetto/perfetto_slices.hpp"

namespace tracesmith::import {

class PerfettoGpuCounters {
 public:
  PerfettoGpuCounters(TraceBuilder& builder, KeptEvents& kept, const PerfettoSurvey& survey)
      : builder_(builder), kept_(kept), survey_(survey) {}

  PerfettoOutcome event(const PerfettoSequence& sequence, uint64_t sequence_id,
                        std::optional<int64_t> time, std::string_view bytes);
  void finish();
  /// Values that are the first of their counters.
  uint64_t withoutSpan() const { return without_span_; }

 private:
  struct Counter {
    CounterTrackId track{};
    StringId name{};
    bool forwards = false;
  };
  struct Reading {
    CounterTrackId track{};
    StringId name{};
    int64_t time_ns = 0;
    double value = 0;
  };

  void learn(uint64_t set, int64_t gpu, std::string_view descriptor);
  const Counter& known(uint64_t set, uint64_t id, int64_t gpu);
  void read(const Reading& reading);
  void push(CounterTrackId track, int64_t time_ns, double value);

  TraceBuilder& builder_;
  KeptEvents& kept_;
  const PerfettoSurvey& survey_;
  std::map<std::pair<uint64_t, uint64_t>, Counter> counters_;  // by set and counter id
  struct CounterSet {
    uint64_t number = 0;
    std::string descriptor;  // a sequence may give its iid to another one later
  };
  std::map<std::pair<uint64_t, uint64_t>, CounterSet> known_sets_;  // by sequence and iid
  uint64_t next_set_ = uint64_t{1} << 32;
  std::map<CounterTrackId, int64_t> last_ns_;  // of those that look back
  std::vector<Reading> unordered_;
  uint64_t without_span_ = 0;
};

}  // namespace tracesmith::import
