// SPDX-License-Identifier: Apache-2.0
// Finds the host call that launched device work, by correlation id. Ids are per process.
//
// Some traces use an id several times: tools that number each rank or each part of a run from 0,
// whose files were then joined. Work then belongs to one of several calls, which are told apart by
// stream and time (see launchesOf()).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class LaunchIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  explicit LaunchIndex(const Trace& trace);
  /// Whether several calls have the same id: then launchesOf() needs whole tables.
  bool hasRepeatedIds() const { return has_repeated_ids_; }

  /// The row of host_call that launched each row of a table of operations (kernel, copy, fill,
  /// sync); kNone: the trace has none. If several calls have the id,
  /// - of calls that contain each other, the outermost counts;
  /// - calls that name another stream do not count, if one names the work's stream;
  /// - the work of one stream is divided over the calls in order, if each call has equally much and
  ///   starts before it. Otherwise each row belongs to the last call that started before it.
  template <class Table>
  std::vector<uint32_t> launchesOf(const Table& table) const {
    std::vector<uint32_t> out(table.size(), kNone);
    std::vector<Work> repeated;
    for (uint32_t i = 0; i < out.size(); ++i) {
      const std::span<const Key> calls = find(table.process_id[i], table.correlation_id[i], out[i]);
      if (calls.empty()) continue;
      repeated.push_back({calls, table.stream_id[i], table.start_ns[i], i});
    }
    if (!repeated.empty()) divide(repeated, out);
    return out;
  }

 private:
  struct Key {
    uint64_t correlation_id = 0;
    ProcessId process{};
    uint32_t row = 0;
  };
  /// An operation whose id several calls have.
  struct Work {
    std::span<const Key> calls;  // by start
    StreamId stream{};
    int64_t start_ns = 0;
    uint32_t row = 0;
  };

  void addAll();
  void sortRepeated();
  /// Sets `row` if one call has the id, and returns the calls if several have it.
  std::span<const Key> find(ProcessId process, uint64_t correlation_id, uint32_t& row) const;
  void divide(std::vector<Work>& repeated, std::vector<uint32_t>& out) const;

  const HostCallTable& calls_;
  std::vector<Key> keys_;       // by id and process; equal ones by start
  std::vector<uint32_t> rows_;  // by id, if one process has all, and they are dense and distinct
  uint64_t first_ = 0;
  ProcessId process_{};
  bool has_repeated_ids_ = false;
};

}  // namespace tracesmith
