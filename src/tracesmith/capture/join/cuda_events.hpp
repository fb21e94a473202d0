// SPDX-License-Identifier: Apache-2.0
// Which recording of a CUDA event a wait was for: an exact edge between two streams, or none.
//
// From CUDA 13 on CUPTI says it by a number of each recording. Before, a wait names the event
// alone, and is for its last recording whose call had ended when the wait began; that is only known
// when no other recording of it may have come in between, which all calls that record events tell.
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

  /// In one life of the process: its ids begin anew with another program.
  struct Event {
    uint32_t life = 0;
    uint32_t context = 0;
    uint32_t number = 0;
    auto operator<=>(const Event&) const = default;
  };
  struct Use {
    uint64_t correlation = 0;
    Event event;
    uint64_t event_sync = 0;  ///< arena::kNoEventSync: this CUPTI has none
  };

  /// A call that records events, known by its name.
  static bool recordsEvent(std::string_view function);
  /// Such a call, which succeeded.
  void called(uint64_t correlation, int64_t start_ns, int64_t end_ns);
  /// What CUPTI tells of it, before or after.
  void recorded(const Use& use, StreamId stream);
  /// A wait of a stream or of the host between these times.
  void waited(const Use& use, int64_t start_ns, int64_t end_ns);
  /// Waits whose recording is known by now make their edges.
  void endPass();
  /// The others are given up.
  void finish();

  /// Waits for which no recording was found, or not the one.
  uint64_t unmatched() const { return unmatched_; }

  /// For `recover`: waits that have no edge yet, as rows of `pending`.
  static constexpr uint32_t kPendingKind = 0x54564543;  // "CEVT"
  void writeWaiting();
  void restoreRecorded(const ObjectRow& row);
  void restoreWait(const PendingRow& row);
  /// The file has its edge; before the waits are restored.
  void restoreEdge(uint64_t to_correlation) { restored_edges_.insert(to_correlation); }

 private:
  struct Recording {
    uint64_t correlation = 0;
    Event event;
    uint64_t event_sync = 0;
    StreamId stream{};
    // Of its call; before that is known anything may have been.
    int64_t start_ns = INT64_MIN;
    int64_t end_ns = INT64_MAX;
  };
  struct Wait {
    Use use;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    bool told = false;   // by writeWaiting()
    uint32_t tries = 0;  // passes in which it was looked at, or could have been
  };
  enum class Answer { kEdge, kNothing, kLater };

  /// Those of an event, and up to when some of it may have been forgotten.
  struct Recordings {
    std::set<uint64_t> numbers;
    std::set<std::pair<int64_t, uint64_t>> by_start;  // those whose call is known; with number
    int64_t forgotten_until_ns = INT64_MIN;
  };

  void look(bool at_all);
  void keep(const Recording& recording);
  void noteTimes(uint64_t number, const Recording& recording);
  void forgetOldest();
  void erase(uint64_t number);
  Answer answer(const Wait& wait, const Recording*& found) const;
  const Recording* bySync(const Use& use) const;
  Answer byOrder(const Wait& wait, const Recording*& found) const;
  bool mayBeAnother(const Wait& wait, int64_t since_ns) const;

  Trace& delta_;
  ProcessId process_;
  uint64_t unmatched_ = 0;
  uint64_t next_ = 0;                                        // number of a recording
  std::map<uint64_t, Recording> recordings_;                 // by number: the oldest first
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> syncs_;  // life and id: number
  std::map<Event, Recordings> events_;
  std::unordered_multimap<uint64_t, uint64_t> by_call_;  // correlation id: number
  // Calls that record, and of which CUPTI has not told yet: by start and correlation id.
  std::map<std::pair<int64_t, uint64_t>, int64_t> untold_;  // end
  std::unordered_map<uint64_t, int64_t> untold_starts_;     // correlation id: start
  int64_t longest_call_ns_ = 0;                             // of all that recorded
  int64_t unknown_until_ns_ = INT64_MIN;  // calls up to here may have been forgotten
  std::vector<Wait> waits_;
  bool changed_ = false;                         // since the last endPass()
  std::unordered_set<uint64_t> restored_edges_;  // correlation ids of their waits
};

}  // namespace tracesmith
