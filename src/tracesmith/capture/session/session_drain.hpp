// SPDX-License-Identifier: Apache-2.0
// The reading side of a session: makes rows of what is in the rings, and brings them into a trace
// file in blocks, so that a process that is killed leaves its trace up to the last flush.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/clocks/stamp_clock.hpp"
#include "tracesmith/capture/session/session_memory.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/event_appender.hpp"

namespace tracesmith::session {

/// Over all threads and processes of a session.
struct Totals {
  uint64_t emitted = 0;    ///< records that were to be written, counters among them
  uint64_t counters = 0;   ///< of those, counters
  uint64_t dropped = 0;    ///< of those, lost
  uint64_t delivered = 0;  ///< of those, drained
  uint64_t blocked_ns = 0;
  uint64_t waiting() const { return emitted - std::min(emitted, dropped + delivered); }
};
/// As of now. [any thread]
Totals totalsOf(const SessionMemory& memory);

/// The longest pause between two passes; a ring that is half full ends it.
constexpr int64_t kDrainIntervalNs = 5'000'000;

class SessionDrain {
 public:
  /// Creates the trace at `path`. `memory` outlives this.
  static Result<std::unique_ptr<SessionDrain>> create(const SessionMemory& memory,
                                                      const std::string& path,
                                                      int64_t flush_interval_ns);

  /// Takes what is in the rings, and writes when enough is there or it has waited long enough.
  /// Returns the number of records. After a write error it goes on draining, so that nobody waits;
  /// what is then lost is counted.
  uint64_t pass();
  /// Brings what has been taken into the file.
  Status flush();
  /// Of another source than the session itself, for the next flush. [any thread]
  void noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                std::string_view reason);
  /// In a forked child: gives up its copy of the file, which is the parent's to write.
  void closeInChild() { writer_->closeInChild(); }
  /// Takes and writes what is left, totals, index and end.
  Status finish();

  uint64_t fileBytes() const { return writer_->bytesWritten(); }
  /// Rows that could not be written, or made no sense. [any thread]
  uint64_t lostRows() const { return lost_rows_.load(std::memory_order_relaxed); }

 private:
  explicit SessionDrain(const SessionMemory& memory);
  struct Source {  // what a ring's records belong to
    uint32_t life = 0;
    uint32_t tid = 0;
    ProcessId process{};
    ThreadId thread{};
  };
  uint64_t drainRing(uint32_t index);
  void take(const uint64_t* record, uint64_t bytes, const Source& source);
  void takeEvent(const uint64_t* record, uint64_t bytes, const Source& source);
  void identify(const SessionRing& ring, Source& source);
  ProcessId process(uint32_t pid);
  StringId name(uint32_t id);
  CounterTrackId track(uint32_t id);
  void freeRingsOfTheDead();
  void levelRanges();
  void writeLosses();
  void writeNotedLosses();
  void writeClock(bool finish);
  int64_t toNs(int64_t stamp) const;

  const SessionMemory& memory_;
  Trace delta_;
  EventAppender appender_;
  std::unique_ptr<TraceWriter> writer_;
  Status write_status_;
  int64_t flush_after_ns_ = 0;
  int64_t oldest_unwritten_ns_ = 0;  // host time; 0: nothing is waiting
  int64_t looked_for_dead_ns_ = 0;
  uint64_t rows_ = 0;                   // in delta_
  std::atomic<uint64_t> lost_rows_{0};  // that could not be written
  StampClock stamps_;
  // The stretch of time between the last two samples, in which nearly all stamps lie.
  StampClock::Sample from_, to_;
  double ns_per_tick_ = 0;
  int64_t written_clock_ns_ = 0;
  std::vector<Source> sources_;
  std::vector<StringId> names_;
  std::vector<CounterTrackId> tracks_;
  std::map<uint32_t, ProcessId> processes_;
  std::map<std::pair<uint32_t, uint32_t>, ThreadId> threads_;  // pid, tid
  std::vector<uint64_t> scratch_;                              // for DropOldest
  Totals written_totals_;
  struct NotedLoss {
    LossId id{};
    uint64_t emitted = 0;
    uint64_t dropped = 0;
    std::string reason;
    bool fresh = false;  // not yet written
  };
  std::mutex noted_mutex_;
  std::map<std::string, NotedLoss, std::less<>> noted_;  // by source
};

}  // namespace tracesmith::session
