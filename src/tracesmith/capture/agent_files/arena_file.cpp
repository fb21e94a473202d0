// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agent_files/arena_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <utility>

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/base/linux/private_directory.hpp"

namespace tracesmith {

Result<ArenaFile> ArenaFile::open(const std::string& path, int directory) {
  const int fd = openWithin(directory, path, O_RDWR);
  if (fd < 0) return failErrno(errno, "cannot open the arena", path);
  struct stat s {};
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
    close(fd);
    return fail(ErrorCode::kDamaged, "not a regular file", path);
  }
  const auto bytes = static_cast<uint64_t>(s.st_size);
  if (bytes < arena::kHeaderBytes) {
    close(fd);
    return fail(ErrorCode::kDamaged, "too short to be an arena", path);
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int mmap_errno = errno;
  close(fd);
  if (base == MAP_FAILED) return failErrno(mmap_errno, "cannot map the arena", path);

  ArenaFile file;
  file.path_ = path;
  file.base_ = base;
  file.bytes_ = bytes;
  mappings::guard(base, bytes);
  const arena::ArenaHeader& h = file.header();
  file.ring_count_ = h.ring_count;
  file.ring_bytes_ = h.ring_bytes;
  file.data_offset_ = h.data_offset;
  if (h.magic != arena::kMagic) return fail(ErrorCode::kDamaged, "not an arena", path);
  if (h.version != arena::kVersion) {
    return fail(ErrorCode::kTooNew, "the arena was written by another version of the agent", path);
  }
  const bool sane =
      file.ring_count_ > 0 && file.ring_count_ <= 1024 && std::has_single_bit(file.ring_bytes_) &&
      file.ring_bytes_ >= arena::kMinRingBytes && file.ring_bytes_ <= arena::kMaxRingBytes &&
      file.data_offset_ == arena::dataOffset(file.ring_count_) &&
      file.data_offset_ + file.ring_count_ * file.ring_bytes_ <= bytes;
  if (!sane) return fail(ErrorCode::kDamaged, "the arena's header is invalid", path);
  return file;
}

ArenaFile::ArenaFile(ArenaFile&& other) noexcept { *this = std::move(other); }

ArenaFile& ArenaFile::operator=(ArenaFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(ring_count_, other.ring_count_);
  std::swap(ring_bytes_, other.ring_bytes_);
  std::swap(data_offset_, other.data_offset_);
  return *this;
}

ArenaFile::~ArenaFile() {
  if (base_ == nullptr) return;
  mappings::release(base_);
  munmap(base_, bytes_);
}

bool ArenaFile::isDamaged() const { return mappings::isDamaged(base_); }

std::string ArenaFile::name() const { return path_.substr(path_.find_last_of('/') + 1); }

arena::RingHeader& ArenaFile::ring(uint32_t i) const {
  auto* rings =
      reinterpret_cast<arena::RingHeader*>(static_cast<uint8_t*>(base_) + arena::kHeaderBytes);
  return rings[i];
}

const uint8_t* ArenaFile::ringData(uint32_t i) const {
  return static_cast<const uint8_t*>(base_) + data_offset_ + i * ring_bytes_;
}

ByteView RecordWalk::next() {
  while (!damaged_ && position_ < end_) {
    const uint64_t at = position_ & (ring_bytes_ - 1);
    const auto first = loadFixed<uint64_t>(data_ + at);
    const uint64_t bytes = ring::recordBytes(first);
    if (bytes == 0 || bytes > ring_bytes_ - at || bytes > end_ - position_) {
      damaged_ = true;
      break;
    }
    position_ += bytes;
    if (!ring::isPad(first)) return {data_ + at, bytes};
  }
  return {};
}

}  // namespace tracesmith
