// SPDX-License-Identifier: Apache-2.0
// The bytes of a foreign trace file from begin to end, whatever it is packed in. What it is packed
// in is recognised by its first bytes, never by its name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith::import {

class ByteSource {
 public:
  /// Error: the file is missing, empty, no regular file, or cannot be read.
  static Result<std::unique_ptr<ByteSource>> open(const std::string& path) {
    return open(path, path);
  }
  /// The same for the file at `place`, which errors call `path`.
  static Result<std::unique_ptr<ByteSource>> open(const std::string& place,
                                                  const std::string& path);
  virtual ~ByteSource() = default;

  /// Fills `out` as far as the content goes; 0 bytes: its end. Error: the system's, or packed data
  /// that is damaged; what had been unpacked before it was given, so that behind fewer bytes than
  /// were asked for there may be an error yet.
  virtual Result<size_t> read(std::span<uint8_t> out) = 0;

  /// Of the file, packed as it is: its size, and how much has been read.
  uint64_t fileBytes() const { return file_bytes_; }
  uint64_t consumedBytes() const { return consumed_bytes_; }

 protected:
  uint64_t file_bytes_ = 0;
  uint64_t consumed_bytes_ = 0;
};

/// Bytes in memory, as they are; they have to live as long.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(ByteView bytes) : bytes_(bytes) { file_bytes_ = bytes.size(); }
  Result<size_t> read(std::span<uint8_t> out) override {
    TS_CHECK_OK(checkCancelled());
    const size_t n = std::min<size_t>(out.size(), bytes_.size() - consumed_bytes_);
    std::copy_n(bytes_.data() + consumed_bytes_, n, out.data());
    consumed_bytes_ += n;
    return n;
  }

 private:
  ByteView bytes_;
};

}  // namespace tracesmith::import
