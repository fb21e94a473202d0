// SPDX-License-Identifier: Apache-2.0
// A recording put into another file, a trace above all: one file then has what happened and what is
// needed to do it again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/format/block_appender.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

struct RecordingCopy {
  std::string path;              ///< of the file that held it
  uint64_t commands = 0;         ///< that were copied
  bool complete = false;         ///< its writer had finished it
  std::vector<DataLoss> losses;  ///< what could not be copied, by its place in that file

  bool whole() const { return complete && losses.empty(); }
};

/// Appends the blocks of the recording of `path` (see RecordingReader::open()) to a file that has
/// none yet. Columns stay as they are stored; what does not verify is left out and named. A process
/// whose commands are not all there gets an End that says so: in a file that is whole nothing else
/// would. Takes memory for two blocks.
Result<RecordingCopy> copyRecording(const std::string& path, sbt::BlockAppender& to);

}  // namespace tracesmith
