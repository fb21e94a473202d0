// SPDX-License-Identifier: Apache-2.0
// Finds the recording of a CUDA event that a wait was for. The result is an exact edge between two
// streams, or none.
//
// From CUDA 13 on CUPTI gives each recording a number, and the wait names it. Earlier versions name
// only the event. The wait is then for the event's last recording whose call had ended when the
// wait started. That recording is only certain when no other recording of the event can have come
// in between. To decide that, all calls that record events are tracked.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class CudaEvents {
 public:
  CudaEvents(Trace& delta, ProcessId process) : delta_(delta), process_(process) {}

  /// An event in one life of the process: ids start again with each exec.
  struct Event {
    uint32_t life = 0;
    uint32_t context = 0;
    uint32_t number = 0;
    auto operator<=>(const Event&) const = default;
  };
  struct Use {
    uint64_t correlation = 0;
    Event event;
    uint64_t event_sync = 0;  ///< arena::kNoEventSync: this CUPTI has no such number
  };

  /// Whether a function of this name records events.
  static bool recordsEvent(std::string_view function);
  /// Adds a successful call of such a function.
  void addCall(uint64_t correlation, int64_t start_ns, int64_t end_ns);
  /// Adds CUPTI's record of it, before or after addCall().
  void addRecording(const Use& use, StreamId stream);
  /// Adds a wait of a stream or of the host.
  void addWait(const Use& use, int64_t start_ns, int64_t end_ns);
  /// Makes the edges of waits whose recording is known by now.
  void endPass();
  /// Gives up the remaining waits.
  void finish();

  /// Waits without a recording, or without a certain one.
  uint64_t unmatched() const { return unmatched_; }

  /// For `recover`: writes waits that have no edge yet as rows of `pending`.
  static constexpr uint32_t kPendingKind = 0x54564543;  // "CEVT"
  void writeWaiting();
  void restoreRecorded(const ObjectRow& row);
  void restoreWait(const PendingRow& row);
  /// The file already has the edge of this wait. Call it before the waits are restored.
  void restoreEdge(uint64_t to_correlation) { restored_edges_.insert(to_correlation); }

 private:
  struct Recording {
    uint64_t correlation = 0;
    Event event;
    uint64_t event_sync = 0;
    StreamId stream{};
    // Times of its call. Until they are known, it may have run at any time.
    int64_t start_ns = INT64_MIN;
    int64_t end_ns = INT64_MAX;
  };
  struct Wait {
    Use use;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    bool is_written = false;  // written by writeWaiting()
    uint32_t tries = 0;       // number of passes in which it was, or could have been, examined
  };
  enum class Answer { kEdge, kNothing, kLater };

  /// The recordings of one event, and the time up to which some may have been forgotten.
  struct Recordings {
    std::set<uint64_t> numbers;
    std::set<std::pair<int64_t, uint64_t>> by_start;  // those with known call: start, number
    int64_t forgotten_until_ns = INT64_MIN;
  };

  void matchWaits(bool at_all);
  void keep(const Recording& recording);
  void noteTimes(uint64_t number, const Recording& recording);
  void forgetOldest();
  void erase(uint64_t number);
  Answer resolveWait(const Wait& wait, const Recording*& found) const;
  const Recording* matchBySync(const Use& use) const;
  Answer matchByOrder(const Wait& wait, const Recording*& found) const;
  bool mayBeAnother(const Wait& wait, int64_t since_ns) const;

  Trace& delta_;
  ProcessId process_;
  uint64_t unmatched_ = 0;
  uint64_t next_ = 0;                                        // number of the next recording
  std::map<uint64_t, Recording> recordings_;                 // by number: oldest first
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> syncs_;  // life and id: number
  std::map<Event, Recordings> events_;
  std::unordered_multimap<uint64_t, uint64_t> by_call_;  // correlation id: number
  // Calls that record and that CUPTI has not reported yet, by start and correlation id.
  std::map<std::pair<int64_t, uint64_t>, int64_t> unmatched_calls_;  // end
  std::unordered_map<uint64_t, int64_t> unmatched_starts_;           // correlation id: start
  int64_t longest_call_ns_ = 0;                                      // of all calls that recorded
  int64_t unknown_until_ns_ = INT64_MIN;  // calls up to here may have been forgotten
  std::vector<Wait> waits_;
  bool changed_ = false;                         // since the last endPass()
  std::unordered_set<uint64_t> restored_edges_;  // correlation ids of the waits
};

}  // namespace tracesmith
