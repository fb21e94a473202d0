// SPDX-License-Identifier: Apache-2.0
// TracingSession: a program records its own activity: spans, markers, counters, memory events and
// whole TraceEvents, from any number of threads and from the children it forks.
//
//   TracingSession session;
//   if (Status ok = session.start({.output_file = "run.sbt"}); !ok) ...
//   const SpanName step = session.spanName("step");
//   { TracingSession::Span span(session, step);  ...work... }
//   session.stop();
//
// Each thread writes to its own ring, without locks. A background thread of the session wakes every
// few ms, or when a ring is half full, and appends the records to the trace in blocks. It does so
// at the latest TracingConfig::flush_interval_ms after a block's first event; at most that much is
// lost if the process is killed. session_bench.cpp measures the costs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/session/session_memory.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

struct TracingConfig {
  size_t buffer_size_kb = 1024;  ///< ring of each thread: 4 to 262144, rounded up to a power of two
  uint32_t max_threads = 1024;   ///< rings at one time, including those of forked children
  /// Block: the emitting thread waits until the session's own thread drains, as long as the process
  /// lives.
  OverflowPolicy overflow = OverflowPolicy::Block;
  /// Path of the trace; empty: the trace is kept in memory, compressed. An existing trace with
  /// events at this path is kept until stop(), which replaces it if the new trace has events. Until
  /// then, and if the new trace has none, the new one is OUTPUT-2.sbt (or the next free number).
  std::string output_file;
  uint32_t flush_interval_ms = 200;  ///< longest time an event waits before it is written
  uint64_t duration_ms = 0;          ///< stop automatically after this time; 0: never
  /// Above 0: a flight recorder. The trace keeps at least the events of this time before its end,
  /// and TRACE.summary counts all of them. Needs output_file.
  uint64_t flight_recorder_ms = 0;
  /// Of a flight recorder: the window is saved when a step takes more than this times the median of
  /// the steps before it; 0: never for that.
  double slow_step_factor = 0;
  uint32_t most_saved_windows = 10;  ///< of a flight recorder, before stop()
  // What exportToFile() includes:
  bool enable_gpu_tracks = true;
  bool enable_counter_tracks = true;
  bool enable_flow_events = true;
  bool all_frames = false;  ///< also frames of the interpreter, libffi and the loader
};

/// Ids of interned names. Valid until the session's next start(), in forked children too.
enum class SpanName : uint32_t { kNone = 0 };
enum class CounterTrack : uint32_t { kNone = 0 };

class TracingSession {
 public:
  enum class State { Stopped, Starting, Running, Stopping };
  enum class Mode { InProcess, File };

  struct Statistics {
    uint64_t events_emitted = 0;    ///< passed to the session, without counters
    uint64_t events_dropped = 0;    ///< events and counters that are not in the trace
    uint64_t counters_emitted = 0;  ///< passed to the session
    Timestamp start_time = 0;       ///< 0: never started
    Timestamp stop_time = 0;        ///< 0: still running
    /// Up to now while the session runs.
    double duration_ms() const;  // NOLINT(readability-identifier-naming): the API's name
  };

  TracingSession();
  /// Stops the session. No thread may use it during or after destruction.
  ~TracingSession();
  TracingSession(const TracingSession&) = delete;
  TracingSession& operator=(const TracingSession&) = delete;

  // Only one thread at a time may call the following.

  /// Fails if the session is already running, the file cannot be created, or memory is exhausted.
  Status start(const TracingConfig& config = {});
  /// On return, everything emitted before the call is in the trace. Returns the first write error
  /// of the session. In a forked child it does nothing.
  Status stop();
  /// Writes everything emitted before the call to the trace, so that others can read it.
  Status flush();
  /// Of a flight recorder: saves the events of the last flight_recorder_ms beside the trace, as
  /// OUTPUT.trigger-N.sbt, and returns that path. The session goes on.
  Result<std::string> saveWindow(const std::string& reason = {});
  /// The trace so far, as events sorted by time; of a flight recorder that runs, only its newest
  /// part.
  std::vector<TraceEvent> getEvents();
  std::vector<CounterEvent> getCounters();
  /// Discards the trace. Allowed only for a stopped session that keeps its trace in memory.
  Status clear();
  /// Writes the trace so far. The file extension chooses the format: .sbt, .json (Chrome),
  /// otherwise Perfetto.
  Status exportToFile(const std::string& path);

  // Any thread may call the following.

  bool isActive() const { return getState() == State::Running; }
  State getState() const;
  Mode getMode() const;
  const TracingConfig& config() const;  ///< of the last start()
  /// Path of the trace, readable also while the session runs; "" before the first start(). start()
  /// and stop() may change it.
  const std::string& tracePath() const;
  Statistics getStatistics() const;
  /// Number of records in the rings that have not been drained yet.
  size_t eventBufferSize() const;
  /// Number of spans that fit into one thread's ring.
  size_t eventBufferCapacity() const;
  uint64_t eventsDropped() const { return getStatistics().events_dropped; }

  /// Interns a name. Returns kNone if the session is not running; calls with kNone record nothing.
  /// After 16 MiB of names, all new names become "(no room for more names)".
  SpanName spanName(std::string_view name);
  CounterTrack counterTrack(std::string_view name, std::string_view unit = {});

  // The following return false if the event was dropped or the session is not running. An event
  // emitted by a signal handler that interrupted another emission is dropped. [any thread, hot]

  bool marker(SpanName name);
  bool counter(CounterTrack track, double value);
  /// Records an allocation or a release by the allocator `name`.
  bool memory(SpanName name, uint64_t address, uint64_t bytes, bool is_allocation);
  /// Records a span between two values of stamp(). stamp() returns 0 if nothing can be recorded; a
  /// span with a 0 is not recorded.
  bool span(SpanName name, int64_t begin, int64_t end);
  int64_t stamp();

  /// Records a whole event of at most half a ring and at most 512 KiB. A thread_id of 0 becomes the
  /// calling thread's id.
  bool emit(const TraceEvent& event);
  bool emitCounter(std::string_view name, double value, std::string_view unit = {});

  /// Adds a row to the trace's losses, for events that come from elsewhere and did not all arrive:
  /// so far `emitted` events happened, and `dropped` of them are not in the trace. The last call
  /// for a `source` counts. Does nothing in a forked child, or when the session is not running.
  /// [any thread]
  void noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                std::string_view reason);

  /// A span from construction to the end of the scope.
  class Span {
   public:
    Span(TracingSession& session, SpanName name);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    const session::Writer* writer_;
    SpanName name_;
    int64_t begin_;
  };

 private:
  struct Impl;
  /// Caches the session that a thread used last, and its writer.
  struct Slot {
    uint64_t key = 0;  // key of the session; 0: none
    const session::Writer* writer = nullptr;
  };
  static constinit thread_local Slot t_slot __attribute__((tls_model("initial-exec")));

  /// nullptr if nothing can be recorded; if that is a loss, it has been counted.
  const session::Writer* writer() {
    const Slot& slot = t_slot;
    if (__builtin_expect(slot.key == key_.load(std::memory_order_relaxed) && slot.key != 0, 1)) {
      return slot.writer;
    }
    return findWriter();
  }
  const session::Writer* findWriter();

  // Key of the running session, unique within this process; 0 when it is not running.
  std::atomic<uint64_t> key_{0};
  std::unique_ptr<Impl> impl_;
};

inline TracingSession::Span::Span(TracingSession& session, SpanName name)
    : writer_(name == SpanName::kNone ? nullptr : session.writer()), name_(name), begin_(0) {
  if (writer_ == nullptr) return;
  ++writer_->open_spans;
  begin_ = writer_->stamp();
}

inline TracingSession::Span::~Span() {
  if (writer_ == nullptr) return;
  writer_->write<3>(session::RecordKind::kSpan, static_cast<uint32_t>(name_), [&](uint64_t* words) {
    words[0] = static_cast<uint64_t>(begin_);
    words[1] = static_cast<uint64_t>(writer_->stamp());
  });
  --writer_->open_spans;
}

inline bool TracingSession::span(SpanName name, int64_t begin, int64_t end) {
  const session::Writer* w = name == SpanName::kNone ? nullptr : writer();
  return w != nullptr && begin != 0 && end != 0 &&
         w->write<3>(session::RecordKind::kSpan, static_cast<uint32_t>(name), [&](uint64_t* words) {
           words[0] = static_cast<uint64_t>(begin);
           words[1] = static_cast<uint64_t>(end);
         });
}

inline bool TracingSession::marker(SpanName name) {
  const session::Writer* w = name == SpanName::kNone ? nullptr : writer();
  return w != nullptr &&
         w->write<2>(session::RecordKind::kMarker, static_cast<uint32_t>(name),
                     [&](uint64_t* words) { words[0] = static_cast<uint64_t>(w->stamp()); });
}

}  // namespace tracesmith
