// SPDX-License-Identifier: Apache-2.0
// Where an export goes: a file, a descriptor, a string or a function, behind one block buffer.
//
// A file gets its name when finish() finds it whole (base/target_file.hpp), so that a reader never
// sees half of it and a failure leaves what was there before. A target that is not a regular file
// (a terminal, a pipe, /dev/null) is written directly; "-" is standard output.
//
// Errors stick: after the first one everything is discarded and finish() returns it, so encoders
// need not check each write; long loops may ask failed() now and then to stop early.
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

/// One thread at a time.
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
  ~Output();  ///< without a successful finish() a file is as it was before

  /// Room for `n` bytes, valid until the next call of any other method but commit().
  uint8_t* reserve(size_t n) {
    if (capacity_ - used_ < n) makeRoom(n);
    return buffer_.get() + used_;
  }
  /// `end` is where the bytes written into reserve()'s room end.
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
  /// Bytes that were written so far, buffered ones included.
  uint64_t bytesWritten() const { return flushed_ + used_; }
  /// Hands the buffered bytes on without ending the output.
  Status flush();
  /// Flushes, closes and puts a file in its place. Returns the first error that was met.
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
  Sink sink_;  // set: bytes go there, else to fd_
  int fd_ = -1;
  bool owns_fd_ = false;
  std::string name_;                    // for messages: the path the user gave
  std::unique_ptr<TargetFile> target_;  // none when the target is written directly
};

}  // namespace tracesmith
