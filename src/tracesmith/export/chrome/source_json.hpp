// SPDX-License-Identifier: Apache-2.0
// Restores the document from which a trace was imported (Chrome's JSON). Every event has all its
// members, in their original order and with their spaces. Texts and numbers keep their meaning,
// although "\u00e9" may have become "é", and 1.5 in a time 1.500. Events are not in their original
// order (no reader of the format may rely on it), and the other members of the document precede
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

/// Whether the trace contains the sources that this export needs.
bool hasSourceJson(const TraceReader& reader, const Trace& known);

/// Works block by block, so memory does not grow with the trace. `known` must have the trace's
/// strings, dictionaries and metadata (the result of any TraceReader::read() has). RowFilter
/// selects rows, and DocumentEvents selects events that are in no table. Returns how many events
/// could not be restored because the file does not contain their rows.
Result<uint64_t> writeSourceJson(TraceReader& reader, const Trace& known,
                                 const Selection& selection, Output& out,
                                 const RowChoice& choice = {});

/// Restores single events of the source, by table and row.
class SourceLookup {
 public:
  /// Both must outlive this object. `known` must have the trace's strings.
  SourceLookup(TraceReader& reader, const Trace& known);
  ~SourceLookup();
  SourceLookup(const SourceLookup&) = delete;
  SourceLookup& operator=(const SourceLookup&) = delete;

  /// nullopt if the row's source was not kept. The first call scans all sources.
  std::optional<std::string> at(TableId table, uint64_t row);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
