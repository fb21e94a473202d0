// SPDX-License-Identifier: Apache-2.0
// Logs of LLVM's XRay as compiler-rt writes them: a header of 32 bytes, then
//   basic (type 0), versions 1 to 3: records of 32 bytes;
//   FDR ("flight data recorder", type 1), versions 1 to 5: a buffer per thread and time, each a run
//   of metadata records of 16 bytes and function records of 8, whose times are differences.
// All numbers are little-endian. The norm is llvm/lib/XRay and compiler-rt/lib/xray.
//
//   header     u16 version, u16 type, u32 flags (1: constant TSC, 2: nonstop TSC; the other bits
//   are
//              not initialised by the runtime), u64 cycle frequency in Hz, 16 bytes free form
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

/// In the numbers of a function record's kind.
enum class XRayKind : uint8_t {
  kEnter = 0,
  kExit = 1,
  kTailExit = 2,       ///< it left by jumping to the function that is entered next
  kEnterArgument = 3,  ///< with its first argument
  kCustomEvent = 4,
  kTypedEvent = 5,
};

struct XRayHeader {
  static constexpr size_t kBytes = 32;
  uint16_t version = 0;
  XRayMode mode{};
  bool constant_tsc = false;
  bool nonstop_tsc = false;
  uint64_t cycle_frequency = 0;  ///< Hz; 0: not known
  std::array<uint8_t, 16> free_form{};
  uint64_t bufferBytes() const { return loadFixed<uint64_t>(free_form.data()); }
};

/// One event. Its views live until the next one.
struct XRayRecord {
  XRayKind kind{};
  uint16_t cpu = 0;
  uint16_t event_type = 0;  ///< of a typed event
  int32_t function = 0;
  uint64_t tsc = 0;
  uint32_t process = 0;  ///< 0: the version of the log does not say
  uint32_t thread = 0;
  std::span<const uint64_t> arguments;
  std::string_view data;  ///< of custom and typed events
};

/// A buffer of an FDR log, before its records come.
struct XRayBuffer {
  uint32_t process = 0;
  uint32_t thread = 0;
  uint64_t wall_seconds = 0;  ///< CLOCK_MONOTONIC of the machine when it was begun
  uint32_t wall_micros = 0;
  uint64_t first_tsc = 0;
  uint64_t bytes = 0;
};

/// Where the events go, the header first. False ends the reading.
struct XRaySink {
  std::function<void(const XRayHeader&)> header;
  std::function<void(const XRayBuffer&)> buffer;
  std::function<bool(const XRayRecord&)> record;
};

/// nullopt: it is no log of XRay, or one that nobody writes yet.
std::optional<XRayHeader> xrayHeader(ByteView bytes);
/// Whether what follows the header looks like records as well (two small numbers are not much).
bool looksLikeXRay(ByteView head);

/// An FDR log has to be put in order, and so has to fit in memory.
constexpr uint64_t kLongestFdrLog = 2u << 30;

/// Everything: basic logs in their order, which is that of time for each thread; FDR logs by
/// process and thread, the buffers of each in the order of their wall clock, as LLVM reads them.
/// Returns how many bytes it has.
Result<uint64_t> readXRayLog(ByteSource& source, const XRaySink& sink, DamageLog& damage);

}  // namespace tracesmith::import
