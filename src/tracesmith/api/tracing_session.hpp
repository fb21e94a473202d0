// SPDX-License-Identifier: Apache-2.0
// TracingSession: a program records what it does itself: spans, markers, counters, memory, and
// whole TraceEvents, from any number of threads and from the children it forks.
//
//   TracingSession session;
//   if (Status ok = session.start({.output_file = "run.sbt"}); !ok) ...
//   const SpanName step = session.spanName("step");
//   { TracingSession::Span span(session, step);  ...work... }
//   session.stop();
//
// Each thread writes to a ring of its own, without locks. A thread of the session sleeps, wakes
// every few ms or when a ring is half full, and appends to the trace in blocks, at the latest
// TracingConfig::flush_interval_ms after the first event in it: that much is lost when the process
// is killed. Costs are measured by session_bench.cpp.
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
  uint32_t max_threads = 1024;   ///< at once, those of forked children among them
  /// Block waits for the session's own thread, which drains as long as the process lives.
  OverflowPolicy overflow = OverflowPolicy::Block;
  /// The trace; empty: it is kept, compressed, in memory. A trace with events that lies there stays
  /// until stop(), which replaces it if this one has events; until then, and otherwise, this one is
  /// OUTPUT-2.sbt (or the next free number).
  std::string output_file;
  uint32_t flush_interval_ms = 200;
  uint64_t duration_ms = 0;  ///< stop by itself after so long; 0: never
  // What exportToFile() leaves out:
  bool enable_gpu_tracks = true;
  bool enable_counter_tracks = true;
  bool enable_flow_events = true;
  bool all_frames = false;  ///< true: in stacks also frames of interpreter, libffi and loader
};

/// Names that a session has interned. Valid until its next start(), in forked children too.
enum class SpanName : uint32_t { kNone = 0 };
enum class CounterTrack : uint32_t { kNone = 0 };

class TracingSession {
 public:
  enum class State { Stopped, Starting, Running, Stopping };
  enum class Mode { InProcess, File };

  struct Statistics {
    uint64_t events_emitted = 0;    ///< handed in, counters not among them
    uint64_t events_dropped = 0;    ///< of events and counters, those that are not in the trace
    uint64_t counters_emitted = 0;  ///< handed in
    Timestamp start_time = 0;       ///< 0: never started
    Timestamp stop_time = 0;        ///< 0: running
    /// Up to now, while it runs.
    double duration_ms() const;  // NOLINT(readability-identifier-naming): the API's name
  };

  TracingSession();
  /// Stops. No thread may use the session meanwhile, or afterwards.
  ~TracingSession();
  TracingSession(const TracingSession&) = delete;
  TracingSession& operator=(const TracingSession&) = delete;

  // Of these, one thread at a time.

  /// Error: it runs already, the file cannot be created, the system has no room.
  Status start(const TracingConfig& config = {});
  /// Everything that was emitted before is in the trace when it returns. Error: the first write
  /// that failed. In a forked child it does nothing.
  Status stop();
  /// Brings what was emitted before into the trace, for others to read.
  Status flush();
  /// The trace so far, as events, by time.
  std::vector<TraceEvent> getEvents();
  std::vector<CounterEvent> getCounters();
  /// Forgets what was recorded; only of a stopped session that keeps its trace in memory.
  Status clear();
  /// Writes the trace so far; the format is told by the name's end (.sbt, .json, else Perfetto's).
  Status exportToFile(const std::string& path);

  // Any thread may call these.

  bool isActive() const { return getState() == State::Running; }
  State getState() const;
  Mode getMode() const;
  const TracingConfig& config() const;  ///< of the last start()
  /// Where the trace can be read, also while the session runs; "" before the first start(). start()
  /// and stop() may change it.
  const std::string& tracePath() const;
  Statistics getStatistics() const;
  /// Records in the rings that have not been drained yet.
  size_t eventBufferSize() const;
  /// Spans that fit into the ring of one thread.
  size_t eventBufferCapacity() const;
  uint64_t eventsDropped() const { return getStatistics().events_dropped; }

  /// Interns. kNone, with which nothing is recorded, when the session does not run. After 16 MiB of
  /// names all new ones are "(no room for more names)".
  SpanName spanName(std::string_view name);
  CounterTrack counterTrack(std::string_view name, std::string_view unit = {});

  // These return false when the event was dropped, or the session does not run. An emission from
  // a signal handler that has interrupted another one is dropped. [any thread, hot]

  bool marker(SpanName name);
  bool counter(CounterTrack track, double value);
  /// An allocation or a release by the allocator `name`.
  bool memory(SpanName name, uint64_t address, uint64_t bytes, bool is_allocation);
  /// A span from `begin` to `end`, as stamp() gave them; not where that could not, which gives 0.
  bool span(SpanName name, int64_t begin, int64_t end);
  int64_t stamp();

  /// A whole event. A thread_id of 0 becomes the calling thread's. At most half a ring, and 512
  /// KiB.
  bool emit(const TraceEvent& event);
  bool emitCounter(std::string_view name, double value, std::string_view unit = {});

  /// A row of the trace's losses, for events that come from elsewhere and did not all arrive:
  /// `emitted` of them happened so far, of which `dropped` are not in the trace. The last one of a
  /// `source` counts. Nothing in a forked child, or when the session does not run. [any thread]
  void noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                std::string_view reason);

  /// A span from here to the end of the scope.
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
  /// A thread's way to the session it used last.
  struct Slot {
    uint64_t key = 0;  // of the session; 0: none
    const session::Writer* writer = nullptr;
  };
  static constinit thread_local Slot t_slot __attribute__((tls_model("initial-exec")));

  /// nullptr when nothing can be recorded; that has been counted if it had to be.
  const session::Writer* writer() {
    const Slot& slot = t_slot;
    if (__builtin_expect(slot.key == key_.load(std::memory_order_relaxed) && slot.key != 0, 1)) {
      return slot.writer;
    }
    return findWriter();
  }
  const session::Writer* findWriter();

  // Of the running session, unique in this process; 0 when it does not run.
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
