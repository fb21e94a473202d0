// SPDX-License-Identifier: Apache-2.0
// Writes a part of a trace as a trace of its own, with the sources of the events that are left.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/recording/recording_copy.hpp"

namespace tracesmith {

/// What did not make it into the new file.
struct SbtExport {
  bool without_sources =
      false;  ///< events were lost in reading: which source is whose is not known
  std::optional<RecordingCopy> recording;  ///< that was put into the file
};

/// `trace` was read from `reader` in host time; it is changed. Times of the new trace are host
/// times, ids are those of the old one. Texts that nothing refers to any more are left out. What
/// `recover` needs (marks of a recording that still runs) is not written. The whole recording of
/// the file `recording` comes after it; one of other processes than the trace's is refused.
Result<SbtExport> exportSbt(TraceReader& reader, Trace& trace, const Selection& selection,
                            const RowChoice& choice, const std::string& path,
                            const std::optional<std::string>& recording = std::nullopt);

}  // namespace tracesmith
