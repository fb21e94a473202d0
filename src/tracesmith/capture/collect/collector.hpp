// SPDX-License-Identifier: Apache-2.0
// Drains the arenas of a session into a trace file, while the programs run and after they died.
//
// A pass reads every ring in an order that makes every use of a handle findable:
//   1. note all heads (H1);  2. look for new arenas;  3. note all heads again (H2) and take the
//   definitions up to H2;  4. join the records up to H1.
// What a record before H1 refers to was committed before it, in whatever ring, so it lies before
// H2.
//
// A commit writes the rows of the passes since the last one, then a block that says how far every
// ring is in the file, and only then gives the room back to the rings. So the rings always hold
// what the file does not, and `resume` knows where to go on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/agent_files/cuda_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {

struct CollectorOptions {
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;  ///< XRay's calls that are shorter make no rows
  int64_t commit_interval_ns = 1'000'000'000;
};

/// Totals over all processes.
struct CollectorTotals {
  uint64_t emitted = 0;  ///< records that agents made or tried to make
  uint64_t written = 0;  ///< records that are rows (or parts of rows) now
  uint64_t dropped = 0;
  uint64_t cut = 0;  ///< of those dropped: half written when their process was killed
  uint64_t reentrant =
      0;  ///< of those dropped: made by a signal handler while a record was written
  uint64_t without_ring = 0;  ///< of those dropped: made by threads that could get no ring
  uint64_t damaged = 0;       ///< of those dropped: lay in a file that was cut short
  uint64_t unresolved = 0;    ///< commands without completion, completions without command
  uint64_t blocked_ns = 0;    ///< time that program threads waited for room
  /// Of cl_khr_command_buffer, that were enqueued; beside all others.
  uint64_t command_buffers = 0;
};

class Collector {
 public:
  /// Makes the trace in the session directory, with the session's id.
  static Result<std::unique_ptr<Collector>> create(SessionDir dir, CollectorOptions options);
  /// Continues the session of a collector that died, from what the trace says it had committed.
  /// It leaves out what that was asked to leave out. When its finish() fails, all is left as it
  /// was, to be resumed again.
  static Result<std::unique_ptr<Collector>> resume(SessionDir dir);
  ~Collector();

  /// One pass, and a commit when one is due. Returns the number of records it met. After a write
  /// error it goes on draining (and counting), so that no program waits for us.
  uint64_t poll();

  /// Adds or updates what is known of a process; the agent's own report fills gaps. Rows are told
  /// apart by pid and start_ticks.
  void noteProcess(const ProcessRow& row, std::string_view command_line,
                   std::string_view executable, std::string_view boot_id, std::string_view seen_by);
  /// Switches the capture of events on or off in every process of the session.
  void setCapturing(bool on);
  /// Commits now, so that a reader of the file sees everything up to here.
  Status commitNow();
  void noteMetadata(std::string_view key, std::string_view value);
  void noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                std::string_view reason);

  /// True while a process that has an arena is alive, as far as can be seen.
  bool agentsAlive() const;
  /// pid and start_ticks of every process in sight that has (had) an arena.
  std::vector<std::pair<uint32_t, uint64_t>> agents() const;

  /// Drains what is left, writes totals, index and end marker, puts trace and recording to their
  /// places (publish()) and removes the session directory. A recording has to be finished before.
  Status finish();
  /// Where they are, after finish().
  const Published& published() const { return published_; }
  /// Of the trace while it is written.
  const std::string& tracePath() const { return writer_->path(); }

  const SharedRows& rows() const { return shared_; }
  CollectorTotals totals() const;
  /// Rows of functions that XRay traced.
  uint64_t functionCalls() const;
  /// Rows of ranges and marks that programs made with NVTX.
  uint64_t annotations() const;
  /// What agents could not do, each once; with `whole` only why an agent captures nothing.
  std::vector<std::string> agentProblems(bool whole = false) const;
  bool sawTraceableProgram() const;
  uint64_t fileBytes() const;
  uint32_t agentProcesses() const { return static_cast<uint32_t>(processes_.size()); }

 private:
  struct Ring {
    uint64_t h1 = 0;
    uint64_t position = 0;   // joined up to here
    uint64_t defined = 0;    // definitions taken up to here
    uint64_t committed = 0;  // in the file up to here
    uint64_t records = 0;    // joined, of those that agents count
    uint64_t committed_records = 0;
    uint64_t emitted = 0;  // as last seen: a file that is cut short says 0
    uint64_t dropped = 0;
    uint32_t tid = 0;
    bool damaged = false;
  };
  // pid, start_ticks; and of a process out of sight the namespace in which its pid means something.
  using ProcessKey = std::tuple<uint32_t, uint64_t, uint64_t>;
  struct Process;
  struct Share;
  struct Arena {
    ArenaFile file;
    Process* process = nullptr;
    Share* share = nullptr;  // of the process
    std::vector<Ring> rings;
  };
  /// What one agent of a process has made.
  struct Share {
    LossId loss{};
    LossId command_buffer_loss{};
    CollectorTotals closed;  // of arenas that have been given up
  };
  /// A file of the CUDA agent: of one life of a process.
  struct CudaShare {
    CudaFile file;
    bool seen_dead = false;
    bool left_read = false;  // the program is dead, and what it left is in rows
    bool committed = false;  // and in the trace file
  };
  /// One process that has arenas.
  struct Process {
    Process(SharedRows& shared, ProcessId id, arena::StampClockKind clock)
        : joiner(shared, id, clock) {}
    RecordJoiner joiner;
    ProcessKey key;
    // As it calls itself.
    uint32_t own_pid = 0;
    uint64_t pid_namespace = 0;
    bool in_sight = true;  // /proc shows it; else it is not known how long it lives
    bool alive = true;
    std::map<std::string, Share> shares;          // by what their losses are called: sourceOf()
    std::map<std::string, CudaShare> cuda_files;  // by path
    LossId wait_loss{};
    LossId stack_loss{};
    LossId call_loss{};
    LossId cuda_loss{};
    LossId nvtx_loss{};
    LossId library_loss{};
  };
  static constexpr std::string_view kOpenClRecords = "OpenCL records";
  static constexpr std::string_view kCommandBuffers = "OpenCL command buffers";
  static constexpr std::string_view kOpenClLibraries = "OpenCL libraries";
  static constexpr std::string_view kXRayRecords = "XRay records";
  static constexpr std::string_view kCudaRecords = "CUDA records";
  static constexpr std::string_view kCudaActivity = "CUDA activity";

  Collector(SessionDir dir, CollectorOptions options);
  void scan();
  void addArena(ArenaFile file);
  void addCudaFile(const std::string& path);
  void readCudaDefinitions();
  void readCudaLeft();
  Process& processOf(arena::ArenaHeader& header);
  /// By what it calls itself.
  Process* findOwn(uint32_t own_pid, uint64_t start_ticks, uint64_t pid_namespace);
  Process& addProcess(arena::ArenaHeader& header);
  ProcessId processId(const ProcessKey& key);
  void noteProcess(const ProcessKey& key, const ProcessRow& row, std::string_view command_line,
                   std::string_view executable, std::string_view boot_id, std::string_view seen_by);
  uint64_t pass();
  uint64_t joinRing(Arena& arena, uint32_t index);
  void defineRing(Arena& arena, uint32_t index);
  void ringDamaged(Arena& arena, uint32_t index);
  void beat();
  bool commitDue() const;
  void commit();
  void writeClocks(bool finish);
  static uint64_t unresolvedOf(const Process& process);
  static void addRings(const Arena& arena, CollectorTotals& totals);
  static std::string sourceOf(const arena::ArenaHeader& header);
  CollectorTotals totalsOf(const Process& process, const Share& share) const;
  void pushLoss(LossId& id, std::string_view source, const Process& process, LossRow row,
                std::string_view reason);
  void writeLosses();
  void writeRecordLoss(Process& process, const std::string& source, Share& share);
  void writeStackLoss(Process& process);
  void writeCallLoss(Process& process);
  void writeVendorClock(SharedRows::DeviceState& device, ClockDomainId domain);
  void writeCudaLoss(Process& process);
  void writeNvtxLoss(Process& process);
  static std::string unseenLoadersOf(const Process& process);
  void checkLiveness();
  void closeDeadArenas();

  class ProcessIndex;
  Status restore(class TraceReader& reader, size_t block_count);
  void restoreProcesses(const Trace& file);
  /// Threads, contexts and streams.
  void restoreIds(const Trace& file, const ProcessIndex& processes);
  void restoreLosses(const Trace& file, const ProcessIndex& processes);
  /// What the processes share: devices, launch shapes, counter tracks, stacks.
  void restoreDictionaries(const Trace& file);
  /// What records to come may refer to.
  static void restoreJoined(const Trace& file, const ProcessIndex& processes);
  static void forgetCompleted(const Trace& file, const ProcessIndex& processes);
  void restoreStampClock(const Trace& file);

  SessionDir dir_;
  CollectorOptions options_;
  std::unique_ptr<TraceWriter> writer_;
  Status write_status_;
  SharedRows shared_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::unordered_map<std::string, bool> known_files_;
  std::map<ProcessKey, std::unique_ptr<Process>> processes_;
  std::map<ProcessKey, ProcessRow> process_rows_;
  std::map<std::string, LossId> losses_;
  // From a resumed session: how far each ring of each arena had been committed.
  std::map<std::pair<std::string, uint32_t>, CommitRow> resumed_;
  std::vector<ClockKind> written_clock_;  // per device: kind in its last row
  size_t written_samples_ = 0;
  int64_t written_stamps_ns_ = 0;  // host time of the last stamp sample in the file
  int64_t last_commit_ns_ = 0;
  int64_t last_liveness_ns_ = 0;
  bool capturing_ = true;
  bool resumed_session_ = false;  // what cannot be written now may be, the next time
  bool finished_ = false;
  Published published_;
};

/// A ring of the session has given room back: its rows were written to a trace.
bool hasCommittedRows(const SessionDir& dir);
/// Reads all of a finished file back: checksums, values, index and end marker.
Status checkFinished(const std::string& path);

}  // namespace tracesmith
