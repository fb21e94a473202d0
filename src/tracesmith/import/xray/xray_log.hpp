// SPDX-License-Identifier: Apache-2.0
// Reads logs of LLVM's XRay as compiler-rt writes them: a header of 32 bytes, then
//   basic (type 0), versions 1 to 3: records of 32 bytes;
//   FDR ("flight data recorder", type 1), versions 1 to 5: buffers of one thread each, which hold
//   metadata records of 16 bytes and function records of 8 bytes with time differences.
// All numbers are little-endian. Source of the format: llvm/lib/XRay and compiler-rt/lib/xray.
//
//   header     u16 version, u16 type, u32 flags (1: constant TSC, 2: nonstop TSC; the runtime
//              does not initialise the other bits), u64 cycle frequency in Hz, 16 bytes free form
//              (FDR: u64 bytes of a buffer)
//   basic 0    u16 0, u8 CPU, u8 kind, i32 function, u64 TSC, u32 thread, u32 process, 8 bytes
//   basic 1    u16 1, u16 -, i32 function, u32 thread, u32 process, u64 argument, 8 bytes
//   FDR        first byte: 1 | kind << 1 for metadata, 15 bytes of it follow;
//              else u32 (kind << 1 | function << 4), u32 TSC difference
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/damage_log.hpp"

namespace tracesmith::import {

enum class XRayMode : uint16_t { kBasic = 0, kFdr = 1 };

/// Values as in the kind of a function record.
enum class XRayKind : uint8_t {
  kEnter = 0,
  kExit = 1,
  kTailExit = 2,       ///< left by a jump to the function entered next
  kEnterArgument = 3,  ///< entry with its first argument
  kCustomEvent = 4,
  kTypedEvent = 5,
};

struct XRayHeader {
  static constexpr size_t kBytes = 32;
  uint16_t version = 0;
  XRayMode mode{};
  bool constant_tsc = false;
  bool nonstop_tsc = false;
  uint64_t cycle_frequency = 0;  ///< Hz; 0: unknown
  std::array<uint8_t, 16> free_form{};
  uint64_t bufferBytes() const { return loadFixed<uint64_t>(free_form.data()); }
};

/// One event. Its views are valid until the next one.
struct XRayRecord {
  XRayKind kind{};
  uint16_t cpu = 0;
  uint16_t event_type = 0;  ///< for typed events
  int32_t function = 0;
  uint64_t tsc = 0;
  uint32_t process = 0;  ///< 0: not contained in this version of the log
  uint32_t thread = 0;
  std::span<const uint64_t> arguments;
  std::string_view data;  ///< payload of custom and typed events
};

/// A buffer of an FDR log; reported before its records.
struct XRayBuffer {
  uint32_t process = 0;
  uint32_t thread = 0;
  uint64_t wall_seconds = 0;  ///< CLOCK_MONOTONIC when the buffer was started
  uint32_t wall_micros = 0;
  uint64_t first_tsc = 0;
  uint64_t bytes = 0;
};

/// Receives the content of a log, the header first. `record` returns false to stop.
struct XRaySink {
  std::function<void(const XRayHeader&)> header;
  std::function<void(const XRayBuffer&)> buffer;
  std::function<bool(const XRayRecord&)> record;
};

/// nullopt: not an XRay log, or of an unknown version.
std::optional<XRayHeader> xrayHeader(ByteView bytes);
/// Whether the bytes after the header look like records too. The header alone is weak evidence: it
/// is recognised by two small numbers.
bool looksLikeXRay(ByteView head);

/// Limit for FDR logs, which must fit in memory to be sorted.
constexpr uint64_t kLongestFdrLog = 2u << 30;

/// Reads the whole log and returns its size in bytes. Basic logs are delivered in file order, which
/// is time order for each thread. FDR logs are delivered by process and thread, with the buffers of
/// each in order of their wall clock, as LLVM reads them.
Result<uint64_t> readXRayLog(ByteSource& source, const XRaySink& sink, DamageLog& damage);

}  // namespace tracesmith::import
