// SPDX-License-Identifier: Apache-2.0
// Writes part of a trace as a separate trace, including the sources of the selected events.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/recording/recording_copy.hpp"

namespace tracesmith {

/// Result of the export.
struct SbtExport {
  bool without_sources =
      /// Sources omitted: events were lost in reading, so sources cannot be matched with rows.
      false;
  std::optional<RecordingCopy> recording;  ///< the recording copied into the file
};

/// `trace` must have been read from `reader` in host time; it is modified. Times of the new trace
/// are host times; ids are those of the old one. The following are left out: texts that are no
/// longer referenced, and data that `recover` needs (marks of a recording still in progress). If
/// `recording` names a file, that file's recording is copied completely; it must be of the same
/// processes as the trace.
Result<SbtExport> exportSbt(TraceReader& reader, Trace& trace, const Selection& selection,
                            const RowChoice& choice, const std::string& path,
                            const std::optional<std::string>& recording = std::nullopt);

}  // namespace tracesmith
