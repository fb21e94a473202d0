// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/byte_source.hpp"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/cancellation.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kPackedBytes = 1u << 20;  // bytes per read

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Reads a file without unpacking.
class PlainSource : public ByteSource {
 public:
  PlainSource(Descriptor fd, std::string path, uint64_t bytes)
      : fd_(std::move(fd)), path_(std::move(path)) {
    file_bytes_ = bytes;
  }
  Result<size_t> read(std::span<uint8_t> out) override {
    TS_CHECK_OK(checkCancelled());
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::read(fd_.get(), out.data() + done, out.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failErrno(errno, "cannot read", path_);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    consumed_bytes_ += done;
    return done;
  }
  const std::string& path() const { return path_; }

 private:
  Descriptor fd_;
  std::string path_;
};

/// Reads a file in chunks for an unpacker.
class PackedSource : public ByteSource {
 public:
  explicit PackedSource(std::unique_ptr<PlainSource> file)
      : file_(std::move(file)), packed_(kPackedBytes) {
    file_bytes_ = file_->fileBytes();
  }

 protected:
  /// The next chunk; empty at the end.
  Result<ByteView> next() {
    TS_TRY(const size_t n, file_->read(packed_));
    consumed_bytes_ = file_->consumedBytes();
    return ByteView(packed_).first(n);
  }
  auto damaged(const std::string& why) const {
    return fail(ErrorCode::kDamaged,
                why + " after " + std::to_string(unpacked_bytes_) + " unpacked bytes",
                file_->path());
  }
  /// Result of read(): first the bytes unpacked so far, and at the next call the error.
  Result<size_t> givenOr(size_t done) const {
    if (done == 0 && !problem_.empty()) return damaged(problem_);
    return done;
  }
  uint64_t unpacked_bytes_ = 0;
  std::string problem_;

 private:
  std::unique_ptr<PlainSource> file_;
  Bytes packed_;
};

/// Unpacks RFC 1952: a sequence of members.
class GzipSource : public PackedSource {
 public:
  explicit GzipSource(std::unique_ptr<PlainSource> file) : PackedSource(std::move(file)) {
    begin();
  }

  Result<size_t> read(std::span<uint8_t> out) override {
    size_t done = 0;
    while (done < out.size() && !ended_) {
      if (state_.avail_in == 0) {
        TS_TRY(const ByteView piece, next());
        if (piece.empty()) {
          ended_ = true;
          if (!between_members_) problem_ = "the gzip data ends too early";
          break;
        }
        state_.next_in = const_cast<uint8_t*>(piece.data());
        state_.avail_in = static_cast<uint32_t>(piece.size());
      }
      if (between_members_ && !beginMember()) break;
      const size_t room = std::min<size_t>(out.size() - done, 1u << 30);
      state_.next_out = out.data() + done;
      state_.avail_out = static_cast<uint32_t>(room);
      const int result = isal_inflate(&state_);
      const size_t made = room - state_.avail_out;
      done += made;
      unpacked_bytes_ += made;
      if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT) {
        ended_ = true;
        problem_ = "the gzip data is damaged";
        break;
      }
      if (state_.block_state == ISAL_BLOCK_FINISH) between_members_ = true;
    }
    return givenOr(done);
  }

 private:
  void begin() {
    uint8_t* const in = state_.next_in;
    const uint32_t left = state_.avail_in;
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = in;
    state_.avail_in = left;
  }
  /// Returns false if no member follows. Zero padding may follow (not in RFC 1952, but tapes have
  /// it); anything else counts as lost data.
  bool beginMember() {
    while (state_.avail_in > 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
    if (state_.avail_in == 0) return true;  // continue with the next chunk
    if (*state_.next_in != 0x1f) {
      ended_ = true;
      problem_ = "data other than gzip follows";
      return false;
    }
    begin();
    between_members_ = false;
    return true;
  }

  inflate_state state_{};
  bool between_members_ = false;
  bool ended_ = false;
};

class ZstdSource : public PackedSource {
 public:
  explicit ZstdSource(std::unique_ptr<PlainSource> file)
      : PackedSource(std::move(file)), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  Result<size_t> read(std::span<uint8_t> out) override {
    if (stream_ == nullptr) return damaged("not enough memory to unpack it");
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    while (to.pos < to.size && !ended_) {
      if (from_.pos == from_.size) {
        TS_TRY(const ByteView piece, next());
        if (piece.empty()) {
          ended_ = true;
          if (within_frame_) problem_ = "the zstd data ends too early";
          break;
        }
        from_ = {piece.data(), piece.size(), 0};
      }
      const size_t before = to.pos;
      const size_t result = ZSTD_decompressStream(stream_, &to, &from_);
      unpacked_bytes_ += to.pos - before;
      if (ZSTD_isError(result)) {
        ended_ = true;
        problem_ = "the zstd data is damaged";
        break;
      }
      within_frame_ = result != 0;
    }
    return givenOr(to.pos);
  }

 private:
  ZSTD_DStream* stream_;
  ZSTD_inBuffer from_ = {nullptr, 0, 0};
  bool within_frame_ = false;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::open(const std::string& place,
                                                     const std::string& path) {
  Descriptor fd(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0 && errno != EISDIR) return failErrno(errno, "cannot open", path);
  struct stat info {};
  // Windows opens no directory.
  if (fd.get() >= 0 && ::fstat(fd.get(), &info) != 0)
    return failErrno(errno, "cannot inspect", path);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kNotATrace, "is not a regular file", path);
  if (info.st_size == 0) return fail(ErrorCode::kNotATrace, "is empty", path);
  uint8_t head[4] = {};
  const ssize_t n = ::pread(fd.get(), head, sizeof head, 0);
  if (n < 0) return failErrno(errno, "cannot read", path);
  auto plain =
      std::make_unique<PlainSource>(std::move(fd), path, static_cast<uint64_t>(info.st_size));
  if (head[0] == 0x1f && head[1] == 0x8b) return std::make_unique<GzipSource>(std::move(plain));
  if (loadFixed<uint32_t>(head) == 0xfd2fb528)
    return std::make_unique<ZstdSource>(std::move(plain));
  return plain;
}

}  // namespace tracesmith::import
