// SPDX-License-Identifier: Apache-2.0
// The collector's side of a channel file: maps it, checks it, and walks frames without trusting
// them (the program that wrote them may have been killed, or may have written over them).
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"
#include "tracesmith/recording/content.hpp"

namespace tracesmith {

class ChannelFile {
 public:
  /// Maps `path` for reading frames and writing back how far they have been read.
  static Result<ChannelFile> open(const std::string& path, int directory = AT_FDCWD);

  ChannelFile(ChannelFile&& other) noexcept;
  ChannelFile& operator=(ChannelFile&& other) noexcept;
  ~ChannelFile();

  const std::string& path() const { return path_; }
  /// Its file was cut short or its disk failed; what is read here is zeros.
  bool isDamaged() const;
  std::string name() const { return path_.substr(path_.find_last_of('/') + 1); }
  channel::ChannelHeader& header() const { return *static_cast<channel::ChannelHeader*>(base_); }
  uint64_t ringBytes() const { return ring_bytes_; }
  const uint8_t* ring() const { return static_cast<const uint8_t*>(base_) + channel::kHeaderBytes; }
  std::string commandLine() const;  ///< as a shell would have it
  std::string endReason() const;    ///< "" while the program has not ended it

 private:
  ChannelFile() = default;
  std::string path_;
  void* base_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t ring_bytes_ = 0;  // checked; the mapped one may change under us
};

/// Frames of a ring from `position` up to `end`. A frame that makes no sense ends the walk and is
/// reported: nothing behind it can be found.
class FrameWalk {
 public:
  struct Frame {
    channel::FrameKind kind = channel::FrameKind::kPad;
    ByteView body;                ///< the command, or the content's bytes
    recording::ContentHash hash;  ///< of content
  };

  FrameWalk(const uint8_t* ring, uint64_t ring_bytes, uint64_t position, uint64_t end);
  /// False at the end, and when the next frame makes no sense.
  bool next(Frame& frame);
  uint64_t position() const { return position_; }
  bool damaged() const { return damaged_; }

 private:
  const uint8_t* ring_;
  uint64_t ring_bytes_;
  uint64_t position_;
  uint64_t end_;
  bool damaged_ = false;
};

}  // namespace tracesmith
