// SPDX-License-Identifier: Apache-2.0
// Gives a trace that was imported from Chrome's JSON back as the document that it was: every event
// with all its members, in their order and with their spaces; texts and numbers mean the same,
// though "\u00e9" may have become "é" and 1.5 in a time 1.500. The events are not in their old
// order (no reader of the format may rely on one), and the members of the document come before
// them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

/// Whether the trace has what this export takes.
bool hasSourceJson(const TraceReader& reader, const Trace& known);

/// `known` has the trace's strings, dictionaries and metadata (any TraceReader::read() of it has).
/// Block after block: memory does not grow with the trace. What is taken RowFilter says, and
/// LooseEvents of events that are rows of no table. Returns how many events could not be given back
/// because the file does not have their rows.
Result<uint64_t> writeSourceJson(TraceReader& reader, const Trace& known,
                                 const Selection& selection, Output& out,
                                 const RowChoice& choice = {});

/// Single events as they stood in their source, by table and row.
class SourceLookup {
 public:
  /// Both must outlive it; `known` has the trace's strings.
  SourceLookup(TraceReader& reader, const Trace& known);
  ~SourceLookup();
  SourceLookup(const SourceLookup&) = delete;
  SourceLookup& operator=(const SourceLookup&) = delete;

  /// None for a row whose source was not kept. The first call looks through all sources.
  std::optional<std::string> at(TableId table, uint64_t row);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
