// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agent_files/channel_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/base/linux/private_directory.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/recording/command.hpp"

namespace tracesmith {

using channel::ChannelHeader;
using channel::ContentFrame;
using channel::FrameHeader;
using channel::FrameKind;

Result<ChannelFile> ChannelFile::open(const std::string& path, int directory) {
  const int fd = openWithin(directory, path, O_RDWR);
  if (fd < 0) return failErrno(errno, "cannot open the channel", path);
  struct stat s {};
  const bool regular = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
  const auto bytes = regular ? static_cast<uint64_t>(s.st_size) : 0;
  if (bytes < channel::kHeaderBytes + channel::kMinRingBytes) {
    close(fd);
    return fail(ErrorCode::kDamaged, "not a channel, or cut", path);
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int mmap_errno = errno;
  close(fd);
  if (base == MAP_FAILED) return failErrno(mmap_errno, "cannot map the channel", path);
  ChannelFile file;
  file.path_ = path;
  file.base_ = base;
  file.bytes_ = bytes;
  mappings::guard(base, bytes);
  const ChannelHeader& h = file.header();
  if (h.magic != channel::kMagic) return fail(ErrorCode::kDamaged, "not a channel", path);
  if (h.version != channel::kVersion) {
    return fail(ErrorCode::kTooNew, "the channel was written by another version of the agent",
                path);
  }
  file.ring_bytes_ = h.ring_bytes;
  if (!std::has_single_bit(file.ring_bytes_) || file.ring_bytes_ < channel::kMinRingBytes ||
      file.ring_bytes_ > channel::kMaxRingBytes ||
      channel::kHeaderBytes + file.ring_bytes_ > bytes) {
    return fail(ErrorCode::kDamaged, "the channel's header is invalid", path);
  }
  return file;
}

ChannelFile::ChannelFile(ChannelFile&& other) noexcept { *this = std::move(other); }

ChannelFile& ChannelFile::operator=(ChannelFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(ring_bytes_, other.ring_bytes_);
  return *this;
}

ChannelFile::~ChannelFile() {
  if (base_ == nullptr) return;
  mappings::release(base_);
  munmap(base_, bytes_);
}

bool ChannelFile::isDamaged() const { return mappings::isDamaged(base_); }

std::string ChannelFile::commandLine() const {
  const ChannelHeader& h = header();
  const size_t n = std::min<size_t>(h.command_line_bytes, sizeof h.command_line);
  return quoteCommandLine({h.command_line, n}, n == sizeof h.command_line);
}

std::string ChannelFile::endReason() const {
  const ChannelHeader& h = header();
  if (h.ended.load(std::memory_order_acquire) == 0) return {};
  return {h.end_reason, strnlen(h.end_reason, sizeof h.end_reason)};
}

FrameWalk::FrameWalk(const uint8_t* ring, uint64_t ring_bytes, uint64_t position, uint64_t end)
    : ring_(ring), ring_bytes_(ring_bytes), position_(position), end_(end) {
  // A ring holds at most ring_bytes; a head beyond that, or before the tail, is invalid.
  damaged_ = end_ < position_ || end_ - position_ > ring_bytes_ || ((position_ | end_) & 7) != 0;
}

bool FrameWalk::next(Frame& frame) {
  while (!damaged_ && position_ < end_) {
    const uint64_t at = position_ & (ring_bytes_ - 1);
    const auto head = loadFixed<FrameHeader>(ring_ + at);
    const uint64_t bytes = head.bytes;
    damaged_ = bytes < sizeof head || bytes % 8 != 0 || bytes > ring_bytes_ - at ||
               bytes > end_ - position_;
    if (damaged_) return false;
    const ByteView body(ring_ + at + sizeof head, bytes - sizeof head);
    position_ += bytes;
    frame.kind = head.kind;
    if (head.kind == FrameKind::kPad) continue;
    if (head.kind == FrameKind::kCommand && body.size() >= sizeof(recording::CommandHeader)) {
      frame.body = body;
      return true;
    }
    if (head.kind == FrameKind::kContent && bytes >= sizeof(ContentFrame)) {
      const auto content = loadFixed<ContentFrame>(ring_ + at);
      frame.hash = {content.low, content.high};
      if (content.bytes > 0 && content.bytes <= recording::kChunkBytes &&
          content.bytes <= bytes - sizeof content) {
        frame.body = {ring_ + at + sizeof content, content.bytes};
        return true;
      }
    }
    damaged_ = true;
    position_ -= bytes;
  }
  return false;
}

}  // namespace tracesmith
