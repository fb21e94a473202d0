// SPDX-License-Identifier: Apache-2.0
// Makes rows of `range` from what a process reports with NVTX: ranges of threads and of the
// process, and marks. Start and end are separate records. Only the records of one thread arrive in
// order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/protocol/nvtx_records.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SharedRows;

struct NvtxTotals {
  uint64_t rows = 0;           // ranges and marks written
  uint64_t begun = 0;          // ranges started
  uint64_t without_start = 0;  // ends whose start was not recorded
  uint64_t open = 0;           // not ended before their thread or the program ended
  uint64_t unnamed = 0;        // ranges whose name was lost
};

class RecordedNvtx {
 public:
  static constexpr const char* kCategory = "NVTX";  ///< of the default domain
  static constexpr uint32_t kPendingKind = 0x4e565458;

  RecordedNvtx(SharedRows& shared, ProcessId process, std::function<int64_t(int64_t)> host_ns)
      : shared_(shared), process_(process), host_ns_(std::move(host_ns)) {}

  /// True for a definition to be passed to define().
  static bool defines(ByteView record);
  /// Names, domains and categories of the life that starts with this correlation id. False when the
  /// record is invalid, as for join().
  bool define(ByteView record, uint64_t first_correlation);
  /// `name_thread` is called with the name that the program gives a thread.
  bool join(ByteView record, ThreadId thread,
            const std::function<void(uint32_t tid, std::string_view)>& name_thread);
  /// A new thread has this id: ranges that its previous owner left open stay open.
  void threadBegins(ThreadId thread);
  /// Makes rows of open ranges. Call it last.
  void finish();

  /// Writes rows for ranges that are open and not yet in the `pending` table; another collector
  /// restores them. Call restoreRange() after all restoreOpen().
  void writeOpen();
  void restoreOpen(const PendingRow& row);
  void restoreRange(const RangeRow& row);
  void restored();

  bool any() const { return any_; }
  const NvtxTotals& totals() const { return totals_; }

 private:
  struct Open {
    StringId name{};
    uint32_t place = 0;  // life << 16 | domain
    uint32_t level = 0;
    int64_t start_ns = 0;
    ThreadId thread{};
    arena::NvtxAttributes attributes{};
    bool is_written = false;  // written by writeOpen()
  };
  struct End {
    int64_t end_ns = 0;
    ThreadId thread{};
  };
  struct Thread {
    std::vector<Open> ranges;  // outermost first, of one domain
  };
  using ThreadKey = std::pair<ThreadId, uint32_t>;  // thread, place
  using RangeId = std::pair<uint16_t, uint64_t>;    // life, number

  void push(Open range);
  void pop(const arena::NvtxRecord& r, ThreadId thread);
  void start(RangeId id, Open range);
  void end(RangeId id, const End& end);
  void row(const Open& range, RangeKind kind, int64_t end_ns, ThreadId end_thread);
  void leaveOpen(const Open& range);
  void attribute(std::string_view key, std::string_view value);
  StringId nameOf(uint16_t life, uint32_t number);
  StringId categoryOf(uint32_t place);

  SharedRows& shared_;
  ProcessId process_;
  std::function<int64_t(int64_t)> host_ns_;
  bool any_ = false;
  NvtxTotals totals_;
  std::unordered_map<uint64_t, StringId> names_;                  // by life and number
  std::unordered_map<uint32_t, StringId> domains_;                // by place
  std::map<std::pair<uint32_t, uint32_t>, StringId> categories_;  // by place and number
  std::map<ThreadKey, Thread> threads_;
  std::map<RangeId, Open> started_;
  std::map<RangeId, End> early_;  // ends that were read before their start
  std::deque<RangeId> early_order_;
  // While a session is restored:
  std::map<std::tuple<ThreadId, int64_t, StringId>, std::pair<uint64_t, Open>> restoring_;
};

}  // namespace tracesmith
