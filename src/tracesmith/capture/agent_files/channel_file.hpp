// SPDX-License-Identifier: Apache-2.0
// The collector's side of a channel file: maps it, checks it, and walks its frames. It trusts none
// of them: the program that wrote them may have been killed, or may have overwritten them.
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
  /// Maps `path` to read frames and to write back the read position.
  static Result<ChannelFile> open(const std::string& path, int directory = AT_FDCWD);

  ChannelFile(ChannelFile&& other) noexcept;
  ChannelFile& operator=(ChannelFile&& other) noexcept;
  ~ChannelFile();

  const std::string& path() const { return path_; }
  /// True when the file was truncated or its disk failed. The mapping then reads as zeros.
  bool isDamaged() const;
  std::string name() const { return path_.substr(path_.find_last_of('/') + 1); }
  channel::ChannelHeader& header() const { return *static_cast<channel::ChannelHeader*>(base_); }
  uint64_t ringBytes() const { return ring_bytes_; }
  const uint8_t* ring() const { return static_cast<const uint8_t*>(base_) + channel::kHeaderBytes; }
  std::string commandLine() const;  ///< quoted for a shell
  std::string endReason() const;    ///< "" unless the program ended the channel

 private:
  ChannelFile() = default;
  std::string path_;
  void* base_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t ring_bytes_ = 0;  // checked; the mapped value may change at any time
};

/// Walks the frames of a ring from `position` to `end`. An invalid frame ends the walk and is
/// reported, because no frame after it can be found.
class FrameWalk {
 public:
  struct Frame {
    channel::FrameKind kind = channel::FrameKind::kPad;
    ByteView body;                ///< the command, or the content's bytes
    recording::ContentHash hash;  ///< of the content
  };

  FrameWalk(const uint8_t* ring, uint64_t ring_bytes, uint64_t position, uint64_t end);
  /// False at the end, and when the next frame is invalid.
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
