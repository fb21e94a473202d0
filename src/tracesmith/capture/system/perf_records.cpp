// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/perf_records.hpp"

#include <linux/perf_event.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstring>
#include <utility>

namespace tracesmith {
namespace {

using stacks::kRegisters;

#if defined(__x86_64__)
/// DWARF's number of the kernel's registers 0 to 8 and 16 to 23 (asm/perf_regs.h): ax bx cx dx si
/// di bp sp ip, r8 to r15.
constexpr std::array<std::pair<uint8_t, uint8_t>, 17> kNumbers = {{{0, 0},
                                                                   {1, 3},
                                                                   {2, 2},
                                                                   {3, 1},
                                                                   {4, 4},
                                                                   {5, 5},
                                                                   {6, 6},
                                                                   {7, 7},
                                                                   {8, 16},
                                                                   {16, 8},
                                                                   {17, 9},
                                                                   {18, 10},
                                                                   {19, 11},
                                                                   {20, 12},
                                                                   {21, 13},
                                                                   {22, 14},
                                                                   {23, 15}}};
#elif defined(__aarch64__)
/// x0 to x30, sp and pc have the same numbers.
constexpr auto kNumbers = [] {
  std::array<std::pair<uint8_t, uint8_t>, 33> all{};
  for (uint8_t i = 0; i < all.size(); ++i) all[i] = {i, i};
  return all;
}();
#else
constexpr std::array<std::pair<uint8_t, uint8_t>, 0> kNumbers = {};
#endif

class RecordBytes {
 public:
  explicit RecordBytes(std::span<const uint8_t> bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  size_t left() const { return left_.size(); }
  template <class T>
  T take() {
    T value{};
    const std::span<const uint8_t> bytes = skip(sizeof value);
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const uint8_t> skip(uint64_t bytes) {
    if (bytes > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::span<const uint8_t> out = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return out;
  }
  void removeEnd(size_t bytes) {
    if (bytes > left_.size()) {
      ok_ = false;
    } else {
      left_ = left_.first(left_.size() - bytes);
    }
  }
  /// Text up to a zero, which may be missing.
  std::string_view text() {
    const auto* const begin = reinterpret_cast<const char*>(left_.data());
    return {begin, strnlen(begin, left_.size())};
  }

 private:
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

struct PlaceFields {
  uint32_t pid, tid;
  uint64_t time, event;
  uint32_t cpu, reserved;
};
static_assert(sizeof(PlaceFields) == 32);

PerfPlace placeOf(RecordBytes& in) {
  const auto fields = in.take<PlaceFields>();
  return {static_cast<int64_t>(fields.time), fields.pid, fields.tid, fields.cpu, fields.event};
}

/// Records other than samples end with the place.
PerfPlace placeAtEnd(std::span<const uint8_t> bytes) {
  RecordBytes in(bytes.last(std::min(bytes.size(), sizeof(PlaceFields))));
  return placeOf(in);
}

/// Value and losses of each event of the group, of which the first one is the clock.
bool readCounters(RecordBytes& in, PerfSample& out) {
  const auto events = in.take<uint64_t>();
  if (events == 0 || events - 1 > out.counters.size()) return false;
  in.skip(16);
  out.counter_count = events - 1;
  for (size_t i = 0; i < out.counter_count; ++i) {
    out.counters[i] = in.take<uint64_t>();
    in.skip(8);
  }
  return in.ok();
}

bool readSample(RecordBytes& in, const PerfSampleLayout& layout, PerfSample& out) {
  if (layout.has_counters && !readCounters(in, out)) return false;
  if (layout.has_kernel_stacks) {
    const auto count = in.take<uint64_t>();
    if (count > in.left() / 8) return false;
    const std::span<const uint8_t> words = in.skip(count * 8);
    const auto* const begin = reinterpret_cast<const uint64_t*>(words.data());
    out.kernel = {begin, count};
    // The first word says whose addresses follow.
    if (!out.kernel.empty() && out.kernel[0] >= PERF_CONTEXT_MAX) {
      out.kernel = out.kernel.subspan(1);
    }
  }
  const auto abi = in.take<uint64_t>();
  if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
    for (const auto& [number, dwarf] : kNumbers) out.registers.value[dwarf] = in.take<uint64_t>();
    if constexpr (stacks::kUnwinds) {
#if defined(__aarch64__)
      out.registers.pc = out.registers.value[kRegisters - 1];
#else
      out.registers.pc = out.registers.value[stacks::kReturnAddress];
#endif
    }
    out.has_user_registers = abi == PERF_SAMPLE_REGS_ABI_64;
  }
  const auto stack_bytes = in.take<uint64_t>();
  if (stack_bytes > 0) {
    out.stack = in.skip(stack_bytes);
    const auto copied = in.take<uint64_t>();
    if (copied > out.stack.size()) return false;
    out.stack = out.stack.first(copied);
  }
  return in.ok();
}

bool readMapping(RecordBytes& in, PerfMapping& out) {
  in.skip(8);  // pid, tid: those of the place
  const auto begin = in.take<uint64_t>();
  const auto bytes = in.take<uint64_t>();
  out.mapping.begin = begin;
  out.mapping.end = begin + bytes;
  out.mapping.file_offset = in.take<uint64_t>();
  const auto major = in.take<uint32_t>();
  const auto minor = in.take<uint32_t>();
  out.mapping.device = makedev(major, minor);
  out.mapping.inode = in.take<uint64_t>();
  in.skip(16);  // generation of the inode, protection, flags
  if (!in.ok() || out.mapping.end < begin) return false;
  const std::string_view path = in.text();
  if (!path.starts_with("//anon")) out.mapping.path = path;
  return true;
}

PerfFork readFork(RecordBytes& in) {
  PerfFork fork;
  fork.pid = in.take<uint32_t>();
  fork.parent_pid = in.take<uint32_t>();
  fork.tid = in.take<uint32_t>();
  fork.parent_tid = in.take<uint32_t>();
  return fork;
}

PerfName readName(RecordBytes& in, uint16_t misc) {
  PerfName name;
  name.pid = in.take<uint32_t>();
  name.tid = in.take<uint32_t>();
  name.name = in.text();
  name.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  return name;
}

PerfLost readLost(RecordBytes& in) {
  in.skip(8);  // which event
  return {.records = in.take<uint64_t>()};
}

}  // namespace

uint64_t perfRegisters() {
  uint64_t mask = 0;
  for (const auto& [number, dwarf] : kNumbers) mask |= uint64_t{1} << number;
  return mask;
}

int64_t timeOfPerfRecord(std::span<const uint8_t> bytes) {
  RecordBytes in(bytes);
  const auto header = in.take<perf_event_header>();
  const PerfPlace place = header.type == PERF_RECORD_SAMPLE ? placeOf(in) : placeAtEnd(bytes);
  return in.ok() && bytes.size() >= sizeof header + sizeof(PlaceFields) ? place.time_ns : INT64_MIN;
}

bool readPerfRecord(std::span<const uint8_t> bytes, const PerfSampleLayout& layout,
                    PerfRecord& out) {
  RecordBytes in(bytes);
  const auto header = in.take<perf_event_header>();
  if (!in.ok() || bytes.size() < sizeof header + sizeof(PlaceFields)) return false;
  if (header.type == PERF_RECORD_SAMPLE) {
    out.place = placeOf(in);
    PerfSample sample;
    sample.is_in_kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (!readSample(in, layout, sample)) return false;
    out.what = sample;
    return true;
  }
  out.place = placeAtEnd(bytes);
  in.removeEnd(sizeof(PlaceFields));
  switch (header.type) {
    case PERF_RECORD_SWITCH:
      out.what = PerfSwitch{(header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
                            (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
      break;
    case PERF_RECORD_MMAP2: {
      PerfMapping mapping;
      if (!readMapping(in, mapping)) return false;
      out.what = std::move(mapping);
      break;
    }
    case PERF_RECORD_FORK:
      out.what = readFork(in);
      break;
    case PERF_RECORD_EXIT: {
      const PerfFork ended = readFork(in);  // has the same fields
      out.what = PerfExit{ended.pid, ended.tid};
      break;
    }
    case PERF_RECORD_COMM:
      out.what = readName(in, header.misc);
      break;
    case PERF_RECORD_LOST:
      out.what = readLost(in);
      break;
    case PERF_RECORD_THROTTLE:
      out.what = PerfLost{.records = 1, .only_samples = true};
      break;
    default:
      out.what = PerfOther();
      break;
  }
  return in.ok();
}

}  // namespace tracesmith
