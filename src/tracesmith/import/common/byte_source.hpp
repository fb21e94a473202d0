// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of a foreign trace file from start to end, unpacking it if necessary. The packing
// is recognised by the first bytes, never by the file name.
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
  /// Error: the file is missing, empty, not a regular file, or cannot be read.
  static Result<std::unique_ptr<ByteSource>> open(const std::string& path) {
    return open(path, path);
  }
  /// The same for the file at `place`; error messages name `path`.
  static Result<std::unique_ptr<ByteSource>> open(const std::string& place,
                                                  const std::string& path);
  virtual ~ByteSource() = default;

  /// Fills `out` as far as the content goes; returns 0 at the end. Error: a system error, or
  /// damaged packed data. Bytes unpacked before the damage are returned first, so after a short
  /// read the next call may still fail.
  virtual Result<size_t> read(std::span<uint8_t> out) = 0;

  /// Size of the (packed) file, and how many of its bytes have been read.
  uint64_t fileBytes() const { return file_bytes_; }
  uint64_t consumedBytes() const { return consumed_bytes_; }

 protected:
  uint64_t file_bytes_ = 0;
  uint64_t consumed_bytes_ = 0;
};

/// Bytes in memory, without unpacking. They must outlive this object.
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
