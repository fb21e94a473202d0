// SPDX-License-Identifier: Apache-2.0
// Converts GPU packets of a Perfetto trace to rows: render stages (device work), memory, frequency,
// and Vulkan submissions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"
#include "tracesmith/import/perfetto/perfetto_slices.hpp"
#include "tracesmith/import/perfetto/perfetto_stage_event.hpp"

namespace tracesmith::import {

class PerfettoStages {
 public:
  PerfettoStages(TraceBuilder& builder, KeptEvents& kept, const PerfettoFirstPass& first_pass,
                 PerfettoSlices& slices, SpansOfSource& spans)
      : builder_(builder), kept_(kept), first_pass_(first_pass), slices_(slices), spans_(spans) {}

  void describeGpus();
  PerfettoOutcome stage(const PerfettoSequence& sequence, std::optional<int64_t> time,
                        std::string_view bytes);
  /// Whether a VulkanApiEvent has a queue submission; others name objects.
  static bool hasSubmission(std::string_view vulkan_event);
  /// Each returns false if nothing of the packet could be used.
  bool vulkan(int64_t time_ns, std::string_view bytes);
  bool memory(int64_t time_ns, std::string_view bytes);
  bool frequency(int64_t time_ns, std::string_view bytes);

 private:
  struct Work;

  void lookUp(const PerfettoSequence& sequence, Work& work);
  void keepValues(Work& work);
  void describeDevice(const Work& work);
  void place(Work& work);
  TableId pushRow(const Work& work);
  template <class Row>
  Row makeRow(const Work& work);
  ShapeId launchShape(const Work& work);
  void pushWaits(const Work& work);
  std::string_view extraText(const PerfettoStageEvent& event, std::string_view key) const;
  StreamId stream(int64_t pid, int64_t gpu, int64_t context, int64_t number,
                  std::string_view queue);
  StringId nameAt(const std::vector<std::string>& names, uint64_t position,
                  std::string_view otherwise);
  void value(CounterTrackId track, int64_t time_ns, double value);

  TraceBuilder& builder_;
  KeptEvents& kept_;
  const PerfettoFirstPass& first_pass_;
  PerfettoSlices& slices_;
  SpansOfSource& spans_;
  std::map<std::tuple<int64_t, int64_t, int64_t, std::string>, StreamId> queues_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> queues_of_context_;
};

}  // namespace tracesmith::import
