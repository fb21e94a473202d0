// SPDX-License-Identifier: Apache-2.0
// The collector's side of cuda_layout.hpp: definitions, and what a program that was killed had in
// CUPTI's buffers. Nothing in it is trusted, not even that it stays as long as it was: it is read,
// for a mapped page that the file has no more is a signal.
#pragma once

#include <fcntl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith {

/// What was found in the buffers of a dead program.
struct CudaLeft {
  uint64_t records = 0;
  uint64_t unfinished = 0;  ///< records of work that had not come to its end
  /// Of those, the ones that are no launch of their own: copies, sets, kernels of graphs.
  uint64_t unfinished_others = 0;
  uint64_t unreadable = 0;  ///< buffers that could not be read to their end
};

class CudaFile {
 public:
  static Result<CudaFile> open(const std::string& path, int directory = AT_FDCWD);
  CudaFile(CudaFile&& other) noexcept;
  CudaFile& operator=(CudaFile&& other) noexcept;
  ~CudaFile();

  const std::string& path() const { return path_; }
  std::string name() const;  ///< file name without directories
  uint32_t pid() const { return pid_; }
  uint64_t startTicks() const { return start_ticks_; }
  uint64_t pidNamespace() const { return pid_namespace_; }
  uint64_t firstCorrelation() const { return first_correlation_; }

  /// Gives `take` the definitions that it has not given yet.
  void readDefinitions(const std::function<void(ByteView)>& take);
  /// What the program had counted when readDefinitions() was called last.
  uint64_t definitionsLost() const { return definitions_lost_ + (log_damaged_ ? 1 : 0); }
  uint64_t buffersRefused() const { return buffers_refused_; }

  /// What CUPTI's times are, as the agent had chosen when readDefinitions() was called last.
  arena::StampClockKind clock() const { return clock_; }
  /// Readings of CUPTI's clock that were complete by then and have not been taken before, oldest
  /// first. A reader that comes late misses all but the newest cuda_file::kClockSamples.
  std::vector<cuda_file::ClockSample> takeClockSamples();

  /// Gives `take` what the agent would have put into a ring, had the program lived: a record of
  /// cuda_records.hpp, and whether it is the first one of its buffer. `near` is a correlation id of
  /// the same time.
  CudaLeft readBuffers(uint64_t near, const std::function<void(ByteView, bool first)>& take) const;

 private:
  /// How CUPTI's records lie, by kind; a copy. 0 bytes: not known.
  struct Layouts {
    bool selected = false;  ///< they have only `fields`
    std::array<uint32_t, cuda_file::kKinds> bytes{};
    std::array<std::vector<cuda_file::Field>, cuda_file::kKinds> fields;
  };

  /// The header as it was when it was read.
  struct HeaderCopy {
    alignas(cuda_file::Header) std::array<uint8_t, sizeof(cuda_file::Header)> bytes{};
    const cuda_file::Header* operator->() const {
      return reinterpret_cast<const cuda_file::Header*>(bytes.data());
    }
  };

  CudaFile() = default;
  /// False: the file has not so many bytes (any more).
  bool readAt(uint64_t at, std::span<uint8_t> bytes) const;
  static Layouts layoutsOf(const HeaderCopy& header);
  void readClock(const HeaderCopy& header);
  void readBuffer(uint32_t index, const cuda_file::Buffer& state, const Layouts& layouts,
                  uint64_t near, const std::function<void(ByteView, bool)>& take,
                  CudaLeft& left) const;

  std::string path_;
  int fd_ = -1;
  uint64_t log_read_ = 0;
  bool log_damaged_ = false;
  uint64_t definitions_lost_ = 0;
  uint64_t buffers_refused_ = 0;
  arena::StampClockKind clock_ = arena::StampClockKind::kMonotonicNs;
  uint64_t clock_samples_read_ = 0;
  std::vector<cuda_file::ClockSample> clock_samples_;
  uint32_t pid_ = 0;
  uint64_t start_ticks_ = 0;
  uint64_t pid_namespace_ = 0;
  uint64_t first_correlation_ = 0;
};

}  // namespace tracesmith
