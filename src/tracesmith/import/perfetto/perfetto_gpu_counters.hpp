// SPDX-License-Identifier: Apache-2.0
// Imports GpuCounterEvents of a Perfetto trace as counters. A counter row gives the value from its
// time on. By contrast a GPU counter's reading gives the value of the interval that ends at the
// reading, unless its description has `value_direction` FORWARDS_LOOKING
// (protos/perfetto/common/gpu_counter_descriptor.proto). So each value is placed at the previous
// reading's time, as in trace_processor, and the value is 0 from the last reading on. The first
// reading covers an interval with unknown start and gets no row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
  PerfettoGpuCounters(TraceBuilder& builder, KeptEvents& kept, const PerfettoFirstPass& first_pass)
      : builder_(builder), kept_(kept), first_pass_(first_pass) {}

  PerfettoOutcome event(const PerfettoSequence& sequence, uint64_t sequence_id,
                        std::optional<int64_t> time, std::string_view bytes);
  void finish();
  /// Number of values without a row: the first reading of each counter.
  uint64_t withoutSpan() const { return without_span_; }
  /// Number of samples without an id or a value, which have no row.
  uint64_t incomplete() const { return incomplete_; }

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
  const Counter& known(uint64_t set, uint64_t id, std::optional<int64_t> gpu);
  void read(const Reading& reading);
  void push(CounterTrackId track, int64_t time_ns, double value);

  TraceBuilder& builder_;
  KeptEvents& kept_;
  const PerfettoFirstPass& first_pass_;
  std::map<std::pair<uint64_t, uint64_t>, Counter> counters_;  // by set and counter id
  std::map<uint64_t, std::set<uint64_t>> describing_sets_;     // by counter id
  struct CounterSet {
    uint64_t number = 0;
    std::string descriptor;  // a sequence may later reuse the iid for another descriptor
  };
  std::map<std::pair<uint64_t, uint64_t>, CounterSet> known_sets_;  // by sequence and iid
  uint64_t next_set_ = uint64_t{1} << 32;
  std::map<CounterTrackId, int64_t> last_ns_;  // of counters not FORWARDS_LOOKING
  std::vector<Reading> unordered_;
  uint64_t without_span_ = 0;
  uint64_t incomplete_ = 0;
};

}  // namespace tracesmith::import
