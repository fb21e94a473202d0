// SPDX-License-Identifier: Apache-2.0
// What the CUDA agent and the collector agree on beside the rings: a file of the process, mapped by
// both sides, that outlives it.
//
//   +------------------+ 0
//   | Header           |
//   +------------------+ kBuffersAt
//   | Buffer [n]       |  who has each
//   +------------------+ kLogAt
//   | definitions      |  records of cuda_records.hpp (kCudaText, kCudaDevice, kCudaContext), one
//   |                  |  after the other; never taken away, so that a collector that goes on
//   |                  |  where another died finds all of them
//   +------------------+ kMemoryAt
//   | buffer 0         |  CUPTI's, with its own records: what it has written there when the
//   | buffer 1         |  program is killed is read by the collector
//   | ...              |
//   +------------------+
//
// The file is sparse: blocks are taken where they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracesmith::cuda_file {

constexpr uint64_t kMagic = 0x3144554353535354;  // "TSSSCUD1"
constexpr uint32_t kVersion = 4;
constexpr const char* kSuffix = ".cuda";

constexpr uint32_t kBuffers = 1024;
// Small: CUPTI delivers a buffer when all its records are complete, and some of a long queue never
// are.
constexpr uint64_t kBufferBytes = 64u << 10;
constexpr uint32_t kKinds = 128;

/// Correlation ids of a life of the process (what exec begins anew) are below the next multiple.
constexpr uint64_t kIdsOfLife = uint64_t{1} << 40;

/// A field of CUPTI's record, and where it goes in the one that agents/cuda/cupti.hpp declares.
struct Field {
  uint16_t from;
  uint16_t to;
  uint16_t bytes;
};

/// How records of a kind lie that have only the fields that the agent selected: as CUPTI said when
/// it delivered the first buffer, and until then as its documentation says.
struct Selection {
  static constexpr uint32_t kMostFields = 28;
  std::atomic<uint32_t> kind;  // 0: not known; written last
  uint32_t count;
  Field fields[kMostFields];
};
constexpr uint32_t kSelections = 14;

/// One reading of CUPTI's clock between two of CLOCK_MONOTONIC.
struct ClockSample {
  int64_t before_ns;
  int64_t cupti;  // ns or ticks: see Header::clock
  int64_t after_ns;
};
constexpr uint32_t kClockSamples = 64;

struct Header {
  uint64_t magic;
  uint32_t version;
  uint32_t pid;
  uint64_t start_ticks;                        // with pid and its namespace: the process
  uint64_t pid_namespace;                      // as in the arenas
  uint64_t first_correlation;                  // of this life; a multiple of kIdsOfLife
  uint32_t cupti_version;                      // 0: CUPTI is not used
  std::atomic<uint32_t> record_bytes[kKinds];  // of CUPTI's records; 0: not known
  alignas(64) std::atomic<uint64_t> log_end;   // bytes of definitions
  std::atomic<uint64_t> log_lost;              // definitions that found no room
  std::atomic<uint64_t> refused;               // buffers that could not be given
  std::atomic<uint32_t> selects;               // 1: records have only the fields of `selections`
  Selection selections[kSelections];
  std::atomic<uint32_t> clock;  // what CUPTI's times are: a StampClockKind of arena_layout.hpp
  // Samples of CUPTI's clock, the newest kClockSamples of them: number n lies in slot
  // n % kClockSamples, is written once `begun` is above n, and complete once `done` is.
  std::atomic<uint64_t> clock_samples_begun;
  std::atomic<uint64_t> clock_samples_done;
  ClockSample clock_samples[kClockSamples];
};

enum BufferState : uint32_t {
  kFree = 0,
  kTaken = 1,    // CUPTI has it
  kPrivate = 2,  // as well, but it is memory of the process: there was no room in the file
};

struct Buffer {
  std::atomic<uint32_t> state;
  uint32_t reserved;
  std::atomic<uint64_t> told;  // bytes whose records are in a ring
};

/// The number with CUPTI's 32 bits that is nearest to another one: ids of one time lie close
/// together.
constexpr uint64_t widen(uint32_t correlation, uint64_t near) {
  const auto ahead = static_cast<int32_t>(correlation - static_cast<uint32_t>(near));
  return near + static_cast<uint64_t>(int64_t{ahead});
}

constexpr uint64_t kBuffersAt = 8192;
static_assert(sizeof(Header) <= kBuffersAt);
constexpr uint64_t kLogAt = kBuffersAt + kBuffers * sizeof(Buffer);
constexpr uint64_t kLogBytes = 32u << 20;
constexpr uint64_t kMemoryAt = kLogAt + kLogBytes;
constexpr uint64_t kFileBytes = kMemoryAt + kBuffers * kBufferBytes;
static_assert(kLogAt % 4096 == 0 && kMemoryAt % 4096 == 0);

}  // namespace tracesmith::cuda_file
