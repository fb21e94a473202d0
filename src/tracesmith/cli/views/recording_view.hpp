// SPDX-License-Identifier: Apache-2.0
// Describes the content of a recording (.sbr), for `tracesmith info`.
#pragma once

#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::cli {

/// Writes text for people, or JSON. Reads the recording's streams to their end.
Status describeRecording(RecordingReader& reader, bool json, Output& out);

}  // namespace tracesmith::cli
