// SPDX-License-Identifier: Apache-2.0
// Standard output as a stream that knows whether everything arrived.
#pragma once

#include <memory>
#include <ostream>

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

/// Buffers 64 KiB and writes to file number 1. A reader that has gone (`| head`) ends the process
/// quietly by SIGPIPE, as with other commands; see endQuietlyWhenReaderLeaves().
class Output : public std::ostream {
 public:
  Output();
  ~Output() override;

  /// Writes out what is buffered. Fails with the system's reason when anything was lost.
  Status finish();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// Restores SIGPIPE's default. Not for commands that start programs: those inherit what we got.
void endQuietlyWhenReaderLeaves();

/// finish() as the last step of a command: `code`, or 1 with a message when output was lost.
int finishOutput(Output& out, int code);

}  // namespace tracesmith::cli
