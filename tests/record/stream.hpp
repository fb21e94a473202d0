// SPDX-License-Identifier: Apache-2.0
// A recorded stream as the tests look at it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::test {

/// One command; `bytes` is the whole of it and lives as long as the Stream.
struct Recorded {
  recording::CommandHeader header;
  ByteView fields;
  template <class Command>
  Command as() const {
    Command command;
    EXPECT_TRUE(recording::decode(fields, command));
    return command;
  }
};

struct Stream {
  recording::Process process;
  Bytes bytes;
  std::vector<Recorded> commands;
  std::string end_reason;

  size_t count(recording::CommandKind kind) const;
  /// The Done of a command, or nullptr.
  const Recorded* doneOf(uint64_t sequence) const;
};

/// The streams of a recording, each checked: numbered without gaps, ended once, and every payload
/// whose bytes must be there can be read.
std::vector<Stream> streamsOf(RecordingReader& reader);

/// "what bytes hash" lines: what went in and out by the thread of the process's first command.
std::vector<std::string> traffic(const Stream& stream);

}  // namespace tracesmith::test
