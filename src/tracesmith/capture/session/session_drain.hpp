// SPDX-License-Identifier: Apache-2.0
// The reading side of a session. It turns the records in the rings into rows and writes them to a
// trace file in blocks. So a killed process leaves a trace up to the last flush.
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
#include "tracesmith/capture/flight/flight_window.hpp"
#include "tracesmith/capture/session/session_memory.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/event_appender.hpp"

namespace tracesmith::session {

/// Sums over all threads and processes of a session.
struct Totals {
  uint64_t emitted = 0;    ///< records that threads tried to write, counters included
  uint64_t counters = 0;   ///< part of `emitted`: counters
  uint64_t dropped = 0;    ///< part of `emitted`: lost
  uint64_t delivered = 0;  ///< part of `emitted`: drained
  uint64_t blocked_ns = 0;
  uint64_t waiting() const { return emitted - std::min(emitted, dropped + delivered); }
};
/// The current totals. [any thread]
Totals totalsOf(const SessionMemory& memory);

/// The longest pause between two passes; a half-full ring ends it early.
constexpr int64_t kDrainIntervalNs = 5'000'000;

class SessionDrain {
 public:
  /// Creates the trace at `path`. `memory` must outlive this object.
  static Result<std::unique_ptr<SessionDrain>> create(const SessionMemory& memory,
                                                      const std::string& path,
                                                      int64_t flush_interval_ns,
                                                      const FlightOptions& flight = {},
                                                      const std::string& saved_base = {});

  /// Drains the rings, and writes when there are enough rows or they have waited long enough.
  /// Returns the number of records. After a write error it continues to drain, so that no thread
  /// waits; lost rows are counted.
  uint64_t pass();
  /// Writes the drained rows to the file.
  Status flush();
  /// The window of a flight recorder; null: everything is kept.
  const FlightWindow* window() const { return window_.get(); }
  /// Of a flight recorder: drains, and saves the window. Returns the number of the saved window;
  /// 0: it was saved too often already, or rows cannot be written.
  uint32_t saveWindow(std::string reason);
  /// Adds a loss of another source than the session itself to the next flush. [any thread]
  void noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                std::string_view reason);
  /// In a forked child: closes the child's copy of the file, because only the parent writes it.
  void closeInChild() { writer_->closeInChild(); }
  /// Drains and writes the rest, totals, index and end marker.
  Status finish();

  uint64_t fileBytes() const { return writer_->bytesWritten(); }
  /// Rows that were invalid or could not be written. [any thread]
  uint64_t lostRows() const { return lost_rows_.load(std::memory_order_relaxed); }

 private:
  explicit SessionDrain(const SessionMemory& memory);
  struct Source {  // owner of a ring's records
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
  void turnWindow();

  const SessionMemory& memory_;
  Trace delta_;
  EventAppender appender_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<FlightWindow> window_;  // of a flight recorder
  Status write_status_;
  int64_t flush_after_ns_ = 0;
  int64_t oldest_unwritten_ns_ = 0;  // host time; 0: nothing is waiting
  int64_t looked_for_dead_ns_ = 0;
  uint64_t rows_ = 0;                   // number of rows in delta_
  std::atomic<uint64_t> lost_rows_{0};  // could not be written
  StampClock stamps_;
  // The interval between the last two samples, in which nearly all stamps lie.
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
