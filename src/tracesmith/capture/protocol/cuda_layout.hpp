// SPDX-License-Identifier: Apache-2.0
// Layout shared by the CUDA agent and the collector besides the rings: a file of the process,
// mapped by both sides, which outlives the process.
//
//   +------------------+ 0
//   | Header           |
//   +------------------+ kBuffersAt
//   | Buffer [n]       |  the state of each buffer
//   +------------------+ kLogAt
//   | definitions      |  records of cuda_records.hpp (kCudaText, kCudaDevice, kCudaContext), one
//   |                  |  after the other; never removed, so that a collector that takes over from
//   |                  |  a dead one finds all of them
//   +------------------+ kMemoryAt
//   | buffer 0         |  buffers that CUPTI fills with its own records; if the program is killed,
//   | buffer 1         |  the collector reads the records that are there
//   | ...              |
//   +------------------+
//
// The file is sparse: blocks are allocated where it is used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracesmith::cuda_file {

constexpr uint64_t kMagic = 0x3144554353535354;  // "TSSSCUD1"
constexpr uint32_t kVersion = 5;
constexpr const char* kSuffix = ".cuda";

constexpr uint32_t kBuffers = 1024;
// Small, because CUPTI delivers a buffer only when all its records are complete; with a long queue
// some records never are.
constexpr uint64_t kBufferBytes = 64u << 10;
constexpr uint32_t kKinds = 128;

/// Correlation ids of one life of the process (exec starts a new life) are below the next multiple.
constexpr uint64_t kIdsOfLife = uint64_t{1} << 40;

/// A field of CUPTI's record, and its place in the struct that agents/cuda/cupti.hpp declares.
struct Field {
  uint16_t from;
  uint16_t to;
  uint16_t bytes;
};

/// Layout of the records of one kind, which have only the fields that the agent selected. CUPTI
/// reports it when it delivers the first buffer; until then the layout is the documented one.
struct Selection {
  static constexpr uint32_t kMostFields = 28;
  std::atomic<uint32_t> kind;  // 0: not known yet; written last
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
  uint64_t start_ticks;                        // identifies the process, with pid and pid_namespace
  uint64_t pid_namespace;                      // as in the arenas
  uint64_t first_correlation;                  // of this life; a multiple of kIdsOfLife
  uint32_t cupti_version;                      // 0: CUPTI is not used
  std::atomic<uint32_t> record_bytes[kKinds];  // of CUPTI's records; 0: not known
  alignas(64) std::atomic<uint64_t> log_end;   // bytes of definitions
  std::atomic<uint64_t> log_lost;              // definitions lost because the log was full
  std::atomic<uint64_t> refused;               // buffer requests that were refused
  std::atomic<uint32_t> selects;               // 1: records have only the fields in `selections`
  Selection selections[kSelections];
  std::atomic<uint32_t> clock;  // unit of CUPTI's times: a StampClockKind of arena_layout.hpp
  // The newest kClockSamples samples of CUPTI's clock. Sample n is in slot n % kClockSamples. It is
  // being written once `begun` is above n, and complete once `done` is above n.
  std::atomic<uint64_t> clock_samples_begun;
  std::atomic<uint64_t> clock_samples_done;
  ClockSample clock_samples[kClockSamples];
};

enum BufferState : uint32_t {
  kFree = 0,
  kTaken = 1,    // in use by CUPTI
  kPrivate = 2,  // also in use by CUPTI, but in memory of the process: the file was full
};

struct Buffer {
  std::atomic<uint32_t> state;
  uint32_t reserved;
  std::atomic<uint64_t> copied_bytes;  // bytes whose records were copied to a ring
};

/// Extends CUPTI's 32-bit id to the 64-bit number nearest to `near`: ids given at about the same
/// time are close together.
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
