// SPDX-License-Identifier: Apache-2.0
// A file to import that may be a stream: "-" (standard input), a pipe or a socket. Importers read a
// file more than once, and some from its middle; a stream is therefore first copied to a file in
// $TMPDIR.
#pragma once

#include <memory>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/temporary_file.hpp"

namespace tracesmith::import {

class StreamInput {
 public:
  /// Reads a stream to its end. Anything else is left alone: whoever opens it says what is wrong.
  static Result<StreamInput> open(const std::string& path);

  /// What people call it: the path that was given, or "standard input".
  const std::string& name() const { return name_; }
  /// Where its bytes lie while this object lives.
  const std::string& place() const { return place_; }
  /// An error of whoever read it there, in terms of its name.
  Error named(Error error) const;

 private:
  std::string name_;
  std::string place_;
  std::unique_ptr<TemporaryFile> copy_;  // of a stream
};

}  // namespace tracesmith::import
