// SPDX-License-Identifier: Apache-2.0
// Copies a recording into another file, usually a trace: one file then holds both the events and
// the commands needed to replay them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/format/block_appender.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

struct RecordingCopy {
  std::string path;              ///< path of the source file
  uint64_t commands = 0;         ///< commands copied
  bool complete = false;         ///< the writer had finished the recording
  std::vector<DataLoss> losses;  ///< what could not be copied, by position in the source file

  bool whole() const { return complete && losses.empty(); }
};

/// Appends the blocks of the recording of `path` (see RecordingReader::open()) to a file without a
/// recording. Columns keep their stored form; blocks that fail verification are skipped and
/// reported. If commands of a process are missing, an End states it, because nothing else would in
/// a complete file. Takes memory for two blocks.
Result<RecordingCopy> copyRecording(const std::string& path, sbt::BlockAppender& to);

}  // namespace tracesmith
