// SPDX-License-Identifier: Apache-2.0
// Keeps the last seconds of a recording on disk, and saves them when there is a reason.
//
// The events are written to parts: files that each are a trace of their own, with everything that
// their events refer to. The newest part is at the path of the trace. rotate() begins another one:
// the part before stays as PATH.past-N until its events have left the window, which ends at the
// newest event and not now: events are written some time after they happened, and later on a busy
// machine. A part without events is replaced: if nothing happens, the window does not move, so that
// of a program that hangs its last events remain.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/flight/flight_options.hpp"
#include "tracesmith/capture/flight/kept_definitions.hpp"
#include "tracesmith/capture/flight/window_copy.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {

/// Metadata of every part: the length of the window ("30 s"), a random number of the recording, and
/// of a saved window why it was saved.
constexpr const char* kWindowKey = "flight_recorder.window";
constexpr const char* kIdKey = "flight_recorder.id";
constexpr const char* kReasonKey = "flight_recorder.reason";

/// Completes the trace of a flight recorder that died without a session directory: of a
/// TracingSession. kInvalidArgument: it is none.
Status recoverWindow(const std::string& path);
/// For a recording that is to be written to `path`: if the recorder of the trace there died,
/// completes it and moves it to the first free SAVED_BASE.trigger-N.sbt.
Status keepDeadWindow(const std::string& path, const std::string& saved_base);

/// Parts per window. One more is kept, and up to twice as many while events are written later and
/// later, or have wrong times.
constexpr int64_t kPartsOfWindow = 8;

class FlightWindow {
 public:
  /// `path`: of the trace that is being written. `saved_base`: windows are saved as
  /// SAVED_BASE.trigger-N.sbt.
  FlightWindow(std::string path, std::string saved_base, const FlightOptions& options);
  ~FlightWindow();
  FlightWindow(const FlightWindow&) = delete;
  FlightWindow& operator=(const FlightWindow&) = delete;

  /// Adds to the rows of the first write what makes this recording's parts known.
  void describe(Trace& delta) const;
  /// Continues after a recorder that died: takes the parts that it left, which have this kIdKey,
  /// and appends their events to `events`, which may be null.
  Status takeParts(std::string_view id, Trace* events);

  /// Call it before each write: gives new ids to names that the file lacks (KeptDefinitions).
  void prepare(Trace& delta) { kept_.renameForgotten(delta); }
  /// Takes the rows of a write: call it after each one.
  void note(const Trace& delta);
  /// The same of rows that an earlier recorder has written.
  void keep(const Trace& newest_part);
  /// Whether it is time to begin another part.
  bool isDue(int64_t now_ns) const { return now_ns - part_begin_ns_ >= part_ns_; }
  /// Begins another part, and removes those that have left the window. Rows are counted from 0
  /// again. If it fails, `writer` is as it was, and the next try is due a second later.
  Status rotate(std::unique_ptr<TraceWriter>& writer, int64_t now_ns);

  /// Why the window is to be saved after the next write; the first reason counts.
  void want(std::string reason) {
    if (wanted_.empty()) wanted_ = std::move(reason);
  }
  /// Why the recording ends; finish() writes that into the trace.
  void end(std::string reason) { wanted_ = std::move(reason); }
  bool isWanted() const { return !wanted_.empty(); }
  /// Saves everything that has been written, on another thread. If the window was saved too often
  /// already, it only counts. Returns the number of the saved window; 0: it is not saved.
  uint32_t save(const TraceWriter& writer);

  /// Waits until the other thread has nothing to do.
  void settle();

  /// Removes the oldest part, to make room. False: there is none that can go.
  bool removeOldest();

  /// Replaces the trace at `path` by a complete one of the whole window.
  Status finish(const TraceWriter& writer);

  /// Windows that have been saved so far, or could not be. [any thread]
  std::vector<SavedWindow> saved() const;
  /// Why parts were longer than they should be, or the window shorter; "": neither.
  std::string problem() const { return problem_; }
  /// Size of the trace that finish() has made.
  uint64_t finishedBytes() const { return finished_bytes_; }
  /// Reasons that were not followed because the window was saved too often.
  uint64_t ignoredReasons() const { return ignored_; }

 private:
  struct Part {
    std::string path;
    int64_t last_event_ns = 0;  // no event of it ended later
    uint64_t number = 0;
  };
  Result<WindowCopy> copyOf(const TraceWriter& writer) const;
  /// Of the files that are being written: names that nobody can foresee.
  std::string newPath() const;
  Status beginPart(std::unique_ptr<TraceWriter>& writer, int64_t now_ns);
  void pass(const Part& part);
  bool hasLeftWindow(const Part& part) const;
  void removeOld();
  void removeParts();
  Status moveToFreeName(const std::string& made, SavedWindow& saved) const;
  void later(std::function<void()> task);
  void runTasks();

  friend Status recoverWindow(const std::string& path);

  std::string path_;
  std::string saved_base_;
  std::string id_;
  FlightOptions options_;
  int64_t part_ns_;
  int64_t part_begin_ns_;
  bool has_events_ = false;      // the newest part
  int64_t last_event_ns_ = 0;    // of the newest part: when an event ended last
  int64_t newest_event_ns_ = 0;  // the same of all parts before
  KeptDefinitions kept_;
  std::deque<Part> past_;
  uint64_t parts_ = 0;
  std::string wanted_;
  uint32_t saves_ = 0;
  uint64_t ignored_ = 0;
  uint64_t finished_bytes_ = 0;
  std::string problem_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<SavedWindow> saved_;
  uint64_t observed_ = 0;  // parts that the observer has seen
  bool is_running_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tracesmith
