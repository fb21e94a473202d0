// SPDX-License-Identifier: Apache-2.0
// A value that says of one trace, or of very many together, where the time went. Adding two is
// associative and commutative exactly: the parts are sums, extremes and sums by name, all integers.
// So summaries can be computed on any number of machines and added in any order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tracesmith/fleet/value_sums.hpp"

namespace tracesmith {

/// Adds up by the larger one.
struct Largest {
  uint64_t value = 0;
  bool operator==(const Largest&) const = default;
};

struct ClassTimes {
  uint64_t devices = 0;
  WideSum span_ns;           ///< from the first start to the last end of device work
  WideSum busy_ns;           ///< something ran
  WideSum compute_ns;        ///< kernels ran, other than those of collectives
  WideSum communication_ns;  ///< kernels of collectives ran
  WideSum memory_ns;         ///< copies or fills ran
  WideSum overlapped_ns;     ///< communication, while something was computed
  WideSum kernel_ns;         ///< kernels of any class ran
  ValueSums utilization;     ///< of each device: kernel_ns / span_ns, in millionths

  bool operator==(const ClassTimes&) const = default;
};

struct TransferSums {
  ValueSums time_ns;
  WideSum bytes;
  bool operator==(const TransferSums&) const = default;
};

/// Calls of one function of a communication library.
struct CommSums {
  ValueSums call_ns;  ///< how long the calls took; of NCCL, until they were enqueued
  ValueSums work_ns;  ///< of those whose work was timed: how long it took
  WideSum sent_bytes, received_bytes;
  bool operator==(const CommSums&) const = default;
};

/// Names from files are cut to this, with a hash of the rest.
constexpr size_t kLongestSummaryName = 8192;
/// The key under which what is left out of a map is added up.
constexpr const char* kOtherNames = "(other)";

struct FleetSummary {
  uint64_t traces = 0;
  uint64_t incomplete_traces = 0;  ///< cut off, or still being written
  uint64_t damaged_traces = 0;
  uint64_t ranks = 0;                        ///< of merged traces; other traces count as one
  uint64_t file_bytes = 0;                   ///< of the traces
  Largest longest_ns;                        ///< the longest trace
  std::map<std::string, uint64_t> versions;  ///< traces by the version of their format
  std::map<std::string, uint64_t> sources;   ///< traces by the program that made them
  std::map<std::string, uint64_t> events;    ///< rows by table

  std::map<std::string, ValueSums> kernels;   ///< durations by full name
  std::map<std::string, ValueSums> families;  ///< durations of all kernels, by family
  /// Durations of kernels that are not in `kernels`, by family: a summary has a limited size.
  std::map<std::string, ValueSums> other_kernels;
  std::map<std::string, TransferSums> copies;  ///< by direction, and "fill"
  std::map<std::string, CommSums> comm;        ///< by function
  std::map<std::string, ClassTimes> devices;   ///< by name of the device
  /// Gaps between two pieces of work of a stream, by reason (IdleReason).
  std::map<std::string, ValueSums> gaps;
  ValueSums steps_ns;  ///< durations of steps that the trace names

  uint64_t dropped = 0;         ///< events lost while recording
  uint64_t unresolved = 0;      ///< events whose other half is missing
  uint64_t damaged_bytes = 0;   ///< parts of files that could not be read
  uint64_t without_launch = 0;  ///< device work whose launch is not in the trace
  Largest clock_error_ns;       ///< largest bound of a device's clock against its host's

  void add(const FleetSummary& other);
  bool operator==(const FleetSummary&) const = default;
};

/// The fields of each struct with their numbers, which are those on disk: append, never renumber.
template <class Summary, class F>
requires std::is_same_v<std::remove_const_t<Summary>, FleetSummary>
void visitFields(Summary& s, F&& f) {
  f(1, s.traces);
  f(2, s.incomplete_traces);
  f(3, s.damaged_traces);
  f(4, s.ranks);
  f(5, s.file_bytes);
  f(6, s.longest_ns);
  f(7, s.versions);
  f(8, s.sources);
  f(9, s.events);
  f(10, s.kernels);
  f(11, s.families);
  f(12, s.other_kernels);
  f(13, s.copies);
  f(14, s.comm);
  f(15, s.devices);
  f(16, s.gaps);
  f(17, s.steps_ns);
  f(18, s.dropped);
  f(19, s.unresolved);
  f(20, s.damaged_bytes);
  f(21, s.without_launch);
  f(22, s.clock_error_ns);
}
template <class Sums, class F>
requires std::is_same_v<std::remove_const_t<Sums>, ClassTimes>
void visitFields(Sums& s, F&& f) {
  f(1, s.devices);
  f(2, s.span_ns);
  f(3, s.busy_ns);
  f(4, s.compute_ns);
  f(5, s.communication_ns);
  f(6, s.memory_ns);
  f(7, s.overlapped_ns);
  f(8, s.kernel_ns);
  f(9, s.utilization);
}
template <class Sums, class F>
requires std::is_same_v<std::remove_const_t<Sums>, TransferSums>
void visitFields(Sums& s, F&& f) {
  f(1, s.time_ns);
  f(2, s.bytes);
}
template <class Sums, class F>
requires std::is_same_v<std::remove_const_t<Sums>, CommSums>
void visitFields(Sums& s, F&& f) {
  f(1, s.call_ns);
  f(2, s.work_ns);
  f(3, s.sent_bytes);
  f(4, s.received_bytes);
}

}  // namespace tracesmith
