// SPDX-License-Identifier: Apache-2.0
// The records of perf events (perf_event_open(2)), in the layout that PerfEvents asks for.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "tracesmith/stacks/sampled/process_code.hpp"
#include "tracesmith/stacks/unwind/machine_registers.hpp"

namespace tracesmith {

/// Where and when a record was written. Times are CLOCK_MONOTONIC.
struct PerfPlace {
  int64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, cpu = 0;
  uint64_t event = 0;  ///< the event that was opened and that the thread has, or has inherited
};

/// So many counters of a thread at most.
constexpr size_t kMostPerfCounters = 8;

/// A thread was interrupted.
struct PerfSample {
  bool is_in_kernel = false;
  bool has_user_registers = false;   ///< false: of a 32-bit program, or none
  stacks::Registers registers;       ///< of the user's code
  std::span<const uint8_t> stack;    ///< its stack, from the stack pointer on
  std::span<const uint64_t> kernel;  ///< return addresses in the kernel, innermost first
  /// What the thread has counted on this processor so far (PerfEvents::counters()).
  std::array<uint64_t, kMostPerfCounters> counters{};
  size_t counter_count = 0;
};
/// A thread got a processor or lost it.
struct PerfSwitch {
  bool is_out = false;
  bool is_preempted = false;  ///< it could have run on
};
struct PerfMapping {
  stacks::CodeMapping mapping;
};
/// A process or a thread began.
struct PerfFork {
  uint32_t pid = 0, tid = 0, parent_pid = 0, parent_tid = 0;
};
struct PerfExit {
  uint32_t pid = 0, tid = 0;
};
/// A thread has a new name.
struct PerfName {
  uint32_t pid = 0, tid = 0;
  std::string_view name;
  bool is_exec = false;  ///< because it executes another program
};
/// The ring was full, or there were more samples than the kernel allows: at least so many records
/// are missing.
struct PerfLost {
  uint64_t records = 0;
  bool only_samples = false;
};
/// Of no interest.
struct PerfOther {};

struct PerfRecord {
  PerfPlace place;
  std::variant<PerfOther, PerfLost, PerfSample, PerfSwitch, PerfMapping, PerfFork, PerfExit,
               PerfName>
      what;
};

/// What records of a sampling event have, in this order, before the fields of the kind.
constexpr uint64_t kPerfSampleFields = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7;  // TID, TIME, ID, CPU
/// Registers of a sample, by the kernel's numbers.
uint64_t perfRegisters();

/// What samples have.
struct PerfSampleLayout {
  bool has_counters = false;
  bool has_kernel_stacks = false;
};
/// Of the values of counters (PERF_SAMPLE_READ): PERF_FORMAT_GROUP, and PERF_FORMAT_LOST, which
/// came with Linux 6.0.
constexpr uint64_t kPerfFormatGroup = 1 << 3, kPerfFormatLost = 1 << 4;

/// Reads one record, of which views lie in `bytes` (its header included). False: it is malformed.
bool readPerfRecord(std::span<const uint8_t> bytes, const PerfSampleLayout& layout,
                    PerfRecord& out);
/// Its time alone; INT64_MIN: malformed.
int64_t timeOfPerfRecord(std::span<const uint8_t> bytes);

}  // namespace tracesmith
