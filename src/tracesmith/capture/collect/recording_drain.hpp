// SPDX-License-Identifier: Apache-2.0
// Brings what the recording agents write to their channels into the recording beside the trace. A
// thread of its own: programs wait for it when their rings are full. A second one only says that we
// live, so that a slow disk is not taken for our death.
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

#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

struct RecordingTotals {
  std::string path;
  uint32_t processes = 0;
  uint64_t commands = 0;
  uint64_t launches = 0;           ///< that succeeded, recorded or not
  uint64_t recorded_launches = 0;  ///< of them, those in the recording: with a range not all
  uint64_t payload_bytes = 0;      ///< that programs gave or were shown
  uint64_t distinct_bytes = 0;     ///< kept
  uint64_t file_bytes = 0;
  uint64_t stall_ns = 0;           ///< that programs waited for us
  std::vector<std::string> ended;  ///< why a recording ended before its program did
};

/// One thread at a time, but for what is said to be otherwise.
class RecordingDrain {
 public:
  /// Writes to the session directory; Collector::finish() puts the recording beside the trace. The
  /// file comes with the first channel.
  static Result<std::unique_ptr<RecordingDrain>> create(const SessionDir& dir);
  /// Goes on where a drain has died: what its file has is not written again.
  static Result<std::unique_ptr<RecordingDrain>> resume(const SessionDir& dir);
  ~RecordingDrain();

  /// Begins to drain in a thread. Not before the program is started: fork knows no threads.
  Status start();
  /// noteEnd() will tell how this process ended; until then its recording is not ended. Before
  /// start().
  void expectEnd(uint32_t pid);
  /// Why the process of this number ended; empty: by itself. Any thread.
  void noteEnd(uint32_t pid, const std::string& reason);
  /// Drains what is there, ends all streams and finishes the file.
  Status finish();
  RecordingTotals totals() const;

  /// Drains once; true when something was there. For tests, and for resume().
  Result<bool> poll();

 private:
  struct Channel {
    explicit Channel(ChannelFile f)
        : file(std::move(f)),
          pid(file.header().pid),
          start_ticks(file.header().start_ticks),
          pid_namespace(file.header().pid_namespace) {}
    ChannelFile file;
    // Its process; a file that is cut short does not say so any more.
    uint32_t pid;
    uint64_t start_ticks;
    uint64_t pid_namespace;
    uint32_t number = 0;
    uint64_t consumed = 0;       // position up to which frames are with the writer
    uint64_t next_sequence = 0;  // what is before it is in the file already
    bool damaged = false;
    bool closed = false;
    bool noted = false;  // its counters are in totals_
  };
  explicit RecordingDrain(SessionDir dir) : dir_(std::move(dir)) {}
  Status discover();
  Status open(const std::string& path);
  Result<bool> drain(Channel& channel);
  Status close(Channel& channel, bool process_gone);
  Status flush();
  void noteTotals(Channel& channel);
  /// Of a channel that cannot be read further.
  void noteDamage(Channel& channel);
  /// Tells the programs that nothing of theirs can be written any more, and why.
  void endChannels(const std::string& reason);
  /// At the end of the session also what can only be guessed counts.
  bool processGone(const Channel& channel, bool at_end = false) const;
  /// Of a process that is gone: there is nothing to come about why.
  bool knowsEnd(const Channel& channel) const;
  void run();
  void beat();
  void stopThreads();

  SessionDir dir_;
  std::string path_;
  std::optional<RecordingWriter> writer_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::map<std::string, bool> seen_;
  /// Of a resumed file: commands that it has, by process and channel.
  struct Before {
    uint32_t number = 0;
    uint64_t next_sequence = 0;
    bool ended = false;
  };
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Before>> before_;
  uint32_t next_number_ = 1;
  uint64_t unflushed_ = 0;
  bool behind_ = false;  // there was much to drain
  int64_t last_flush_ns_ = 0;
  int64_t last_discovery_ns_ = 0;
  RecordingTotals totals_;
  Status status_;

  std::thread drainer_;
  std::thread heart_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;  // of what follows
  std::map<uint32_t, std::string> end_reasons_;
  std::set<uint32_t> unknown_ends_;  // processes of which noteEnd() is to come
  std::vector<channel::ChannelHeader*> beating_;
};

}  // namespace tracesmith
