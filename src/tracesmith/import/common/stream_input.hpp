// SPDX-License-Identifier: Apache-2.0
// A file to import, which may be a stream: "-" (standard input), a pipe or a socket. Importers read
// a file several times, and some need random access. A stream is therefore first copied to a file
// in $TMPDIR.
#pragma once

#include <memory>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/temporary_file.hpp"

namespace tracesmith::import {

class StreamInput {
 public:
  /// Reads a stream to its end. Does not open anything else; errors are reported when it is opened.
  static Result<StreamInput> open(const std::string& path);

  /// Name for messages: the given path, or "standard input".
  const std::string& name() const { return name_; }
  /// Path of the file with the content; valid while this object lives.
  const std::string& place() const { return place_; }
  /// `error` with the name of this input in place of the path of its copy.
  Error named(Error error) const;

 private:
  std::string name_;
  std::string place_;
  std::unique_ptr<TemporaryFile> copy_;  // only for a stream
};

}  // namespace tracesmith::import
