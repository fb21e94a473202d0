// SPDX-License-Identifier: Apache-2.0
// What a recording (.sbr) holds, for `tracesmith info`.
#pragma once

#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::cli {

/// Text for people, or JSON. Its streams are read through.
Status describeRecording(RecordingReader& reader, bool json, Output& out);

}  // namespace tracesmith::cli
