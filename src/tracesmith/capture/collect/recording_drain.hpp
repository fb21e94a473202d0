// SPDX-License-Identifier: Apache-2.0
// Copies what the recording agents write to their channels into the recording beside the trace. It
// drains on a thread of its own, because programs wait when their rings are full. A second thread
// only updates the heartbeat, so that a slow disk is not mistaken for a dead collector.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/base/linux/directory_changes.hpp"
#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

struct RecordingTotals {
  std::string path;
  uint32_t processes = 0;
  uint64_t commands = 0;
  uint64_t launches = 0;           ///< successful launches, recorded or not
  uint64_t recorded_launches = 0;  ///< in the recording: fewer with a range
  uint64_t payload_bytes = 0;      ///< bytes that programs passed or received
  uint64_t distinct_bytes = 0;     ///< bytes kept, without duplicates
  uint64_t file_bytes = 0;
  uint64_t stall_ns = 0;           ///< time that programs waited for the drain
  std::vector<std::string> ended;  ///< why a recording ended before its program
};

/// One thread at a time, except where noted.
class RecordingDrain {
 public:
  /// Writes to the session directory; Collector::finish() puts the recording beside the trace. The
  /// file is created with the first channel.
  static Result<std::unique_ptr<RecordingDrain>> create(const SessionDir& dir);
  /// Continues where a drain died: commands that are in its file are not written again.
  static Result<std::unique_ptr<RecordingDrain>> resume(const SessionDir& dir);
  ~RecordingDrain();

  /// Starts to drain on a thread. Call it after the program was started: only the calling thread
  /// survives a fork.
  Status start();
  /// Announces that noteEnd() will say how this process ended; its recording is not ended before
  /// that. Call it before start().
  void expectEnd(uint32_t pid);
  /// Why the process `pid` ended; empty: by itself. Any thread.
  void noteEnd(uint32_t pid, const std::string& reason);
  /// Drains the rest, ends all streams and finishes the file.
  Status finish();
  RecordingTotals totals() const;

  /// Drains once; true when there was something to drain. For tests, and for resume().
  Result<bool> poll();

 private:
  struct Channel {
    explicit Channel(ChannelFile f)
        : file(std::move(f)),
          pid(file.header().pid),
          start_ticks(file.header().start_ticks),
          pid_namespace(file.header().pid_namespace) {}
    ChannelFile file;
    // Of its process, copied: a truncated file loses them.
    uint32_t pid;
    uint64_t start_ticks;
    uint64_t pid_namespace;
    uint32_t number = 0;
    uint64_t consumed = 0;       // frames before this position are with the writer
    uint64_t next_sequence = 0;  // commands before this one are already in the file
    bool damaged = false;
    bool closed = false;
    bool noted = false;  // its counters are included in totals_
  };
  explicit RecordingDrain(SessionDir dir) : dir_(std::move(dir)) {}
  Status discover();
  Status open(const std::string& path);
  Result<bool> drain(Channel& channel);
  Status close(Channel& channel, bool process_gone);
  Status flush();
  void noteTotals(Channel& channel);
  /// Notes the damage of a channel that cannot be read further.
  void noteDamage(Channel& channel);
  /// Tells the programs that their commands can no longer be written, and why.
  void endChannels(const std::string& reason);
  /// With `at_end`, a process of another pid namespace that cannot be found counts as gone.
  bool processGone(const Channel& channel, bool at_end = false) const;
  /// False while noteEnd() is still expected for the channel's process.
  bool knowsEnd(const Channel& channel) const;
  void run();
  void updateHeartbeat();
  void stopThreads();

  SessionDir dir_;
  DirectoryChanges directory_;
  std::string path_;
  std::optional<RecordingWriter> writer_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::map<std::string, bool> seen_;
  /// Of a resumed file: the commands that it contains, by process and channel.
  struct ResumedChannel {
    uint32_t number = 0;
    uint64_t next_sequence = 0;
    bool ended = false;
  };
  std::map<std::pair<uint32_t, uint64_t>, std::vector<ResumedChannel>> before_;
  uint32_t next_number_ = 1;
  uint64_t unflushed_ = 0;
  bool behind_ = false;  // the last pass had much to drain
  int64_t last_flush_ns_ = 0;
  int64_t last_discovery_ns_ = 0;
  RecordingTotals totals_;
  Status status_;

  std::thread drainer_;
  std::thread heart_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;  // protects the members below
  std::map<uint32_t, std::string> end_reasons_;
  std::set<uint32_t> unknown_ends_;  // processes for which noteEnd() is still expected
  std::vector<channel::ChannelHeader*> beating_;
};

}  // namespace tracesmith
