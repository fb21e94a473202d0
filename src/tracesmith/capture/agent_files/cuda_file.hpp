// SPDX-License-Identifier: Apache-2.0
// The collector's side of cuda_layout.hpp: definitions, and the records that a killed program had
// in CUPTI's buffers. It trusts nothing in the file, not even its size. So it uses read(2):
// touching a mapped page beyond the end of a truncated file raises a signal.
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

/// Counts of what was found in the buffers of a dead program.
struct UnreadCudaRecords {
  uint64_t records = 0;
  uint64_t unfinished = 0;  ///< records of work that had not ended
  /// Part of `unfinished`: records that are not launches themselves (copies, fills, graph kernels).
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

  /// Passes to `take` the definitions added since the last call.
  void readDefinitions(const std::function<void(ByteView)>& take);
  /// The program's own count at the last readDefinitions().
  uint64_t definitionsLost() const { return definitions_lost_ + (log_damaged_ ? 1 : 0); }
  uint64_t buffersRefused() const { return buffers_refused_; }

  /// Clock of CUPTI's times, as the agent had chosen it at the last readDefinitions().
  arena::StampClockKind clock() const { return clock_; }
  /// Samples of CUPTI's clock that were complete at the last readDefinitions() and have not been
  /// taken before, oldest first. A late reader gets only the newest cuda_file::kClockSamples.
  std::vector<cuda_file::ClockSample> takeClockSamples();

  /// Passes to `take` the records that the agent would have written to a ring had the program
  /// lived. `take` gets a record of cuda_records.hpp, and whether it is the first of its buffer.
  /// `near` is a correlation id from about the same time.
  UnreadCudaRecords readBuffers(uint64_t near,
                                const std::function<void(ByteView, bool first)>& take) const;

 private:
  /// A copy of the layouts of CUPTI's records, by kind. 0 bytes: layout unknown.
  struct Layouts {
    bool selected = false;  ///< records hold only `fields`
    std::array<uint32_t, cuda_file::kKinds> bytes{};
    std::array<std::vector<cuda_file::Field>, cuda_file::kKinds> fields;
  };

  /// A copy of the header at the time of reading.
  struct HeaderCopy {
    alignas(cuda_file::Header) std::array<uint8_t, sizeof(cuda_file::Header)> bytes{};
    const cuda_file::Header* operator->() const {
      return reinterpret_cast<const cuda_file::Header*>(bytes.data());
    }
  };

  CudaFile() = default;
  /// False when the file does not have these bytes (any more).
  bool readAt(uint64_t at, std::span<uint8_t> bytes) const;
  static Layouts layoutsOf(const HeaderCopy& header);
  void readClock(const HeaderCopy& header);
  void readBuffer(uint32_t index, const cuda_file::Buffer& state, const Layouts& layouts,
                  uint64_t near, const std::function<void(ByteView, bool)>& take,
                  UnreadCudaRecords& left) const;

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
