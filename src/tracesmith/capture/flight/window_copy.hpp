// SPDX-License-Identifier: Apache-2.0
// The window of a flight recorder at one moment, to be written to a file of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class WindowCopy {
 public:
  /// `definitions`: KeptDefinitions::rows() at this moment.
  explicit WindowCopy(Trace definitions) : definitions_(std::move(definitions)) {}
  /// Adds the events of a part that lie before the byte `until`; oldest part first. The file may be
  /// renamed or removed afterwards.
  Status addPart(const std::string& path, uint64_t until);
  void setMetadata(std::string_view key, std::string_view value) {
    definitions_.setMetadata(key, value);
  }

  /// Writes a complete trace to `path`, replacing a file that is there. Damaged blocks are left
  /// out; a row of `loss` says so.
  Status write(const std::string& path);

 private:
  struct Part {
    sbt::BlockLog log;
    uint64_t until = 0;
  };
  Trace definitions_;
  std::vector<Part> parts_;
  std::vector<DataLoss> losses_;
};

}  // namespace tracesmith
