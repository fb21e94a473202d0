// SPDX-License-Identifier: Apache-2.0
// The destination of an export: a file, a descriptor, a string or a function, behind one block
// buffer.
//
// A file gets its name only when finish() succeeds (base/target_file.hpp). Readers never see a
// partial file, and a failure leaves the old file in place. A target that is not a regular file (a
// terminal, a pipe, /dev/null) is written directly; "-" is standard output.
//
// Errors are sticky: after the first one all output is discarded and finish() returns the error.
// Encoders therefore need not check each write. Long loops may poll failed() to stop early.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

class TargetFile;

/// Not thread-safe.
class Output {
 public:
  /// Takes the bytes of one block; an error ends the export.
  using Sink = std::function<Status(std::string_view)>;

  static Result<Output> toFile(const std::string& path);
  /// Writes to `fd`, which stays open and belongs to the caller; `name` is for error messages.
  static Output toDescriptor(int fd, std::string name);
  /// Appends to `*text`, which must outlive the Output.
  static Output toString(std::string* text);
  static Output toSink(Sink sink);

  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();  ///< without a successful finish(), a target file is unchanged

  /// Returns space for `n` bytes, valid until any method other than commit() is called.
  uint8_t* reserve(size_t n) {
    if (capacity_ - used_ < n) makeRoom(n);
    return buffer_.get() + used_;
  }
  /// `end`: end of the bytes written into the space from reserve().
  void commit(const uint8_t* end) { used_ = static_cast<size_t>(end - buffer_.get()); }

  void write(std::string_view text) {
    if (text.empty()) return;  // its data() may be null
    std::memcpy(reserve(text.size()), text.data(), text.size());
    used_ += text.size();
  }
  void put(char c) {
    *reserve(1) = static_cast<uint8_t>(c);
    ++used_;
  }

  bool failed() const { return !status_.has_value(); }
  /// Bytes written so far, including buffered ones.
  uint64_t bytesWritten() const { return flushed_ + used_; }
  /// Passes on the buffered bytes without ending the output.
  Status flush();
  /// Flushes, closes and renames a file to its final name. Returns the first error.
  Status finish();

 private:
  Output() = default;
  void makeRoom(size_t n);
  void flushBuffer();
  Status writeDescriptor(std::string_view bytes) const;

  std::unique_ptr<uint8_t[]> buffer_;
  size_t used_ = 0;
  size_t capacity_ = 0;
  uint64_t flushed_ = 0;
  Status status_;
  Sink sink_;  // if set, receives the bytes; else fd_ does
  int fd_ = -1;
  bool owns_fd_ = false;
  std::string name_;                    // for messages: the path the user gave
  std::unique_ptr<TargetFile> target_;  // null if the target is written directly
};

}  // namespace tracesmith
