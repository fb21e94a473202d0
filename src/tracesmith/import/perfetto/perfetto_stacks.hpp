// SPDX-License-Identifier: Apache-2.0
// Converts call stacks of track events to call paths, both interned stacks (referred to by number)
// and stacks inside the event itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/call_paths.hpp"
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"

namespace tracesmith::import {

class PerfettoStacks {
 public:
  PerfettoStacks(TraceBuilder& builder, const PerfettoFirstPass& first_pass)
      : builder_(builder), first_pass_(first_pass), paths_(builder) {}

  /// `field`: `callstack` or `callstack_iid` of an event. kNone: it has no frames, or the sequence
  /// has not interned it.
  CallPathId of(PerfettoSequence& sequence, const proto::Field& field);

 private:
  CallPathId introduced(PerfettoSequence& sequence, uint64_t number);
  CallPathId within(std::string_view bytes);
  void undoExportChanges(FrameRow& row, std::string_view& function) const;
  FrameRow frameOf(const PerfettoSequence& sequence, const PerfettoSequence::Frame& frame);
  StringId pathOf(const PerfettoSequence& sequence, const PerfettoSequence::Mapping& mapping);

  TraceBuilder& builder_;
  const PerfettoFirstPass& first_pass_;
  CallPaths paths_;
};

}  // namespace tracesmith::import
