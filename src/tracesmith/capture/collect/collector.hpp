// SPDX-License-Identifier: Apache-2.0
// Drains the arenas of a session into a trace file, while the programs run and after they died.
//
// A pass reads all rings in an order that ensures that every handle can be resolved:
//   1. note all heads (H1)
//   2. look for new arenas
//   3. note all heads again (H2) and take the definitions up to H2
//   4. join the records up to H1
// Whatever a record before H1 refers to was committed before it, in some ring, so it lies before
// H2.
//
// A commit writes the rows of the passes since the last commit, then a block with the committed
// position of every ring. Only then it frees that space in the rings. So everything that is not in
// the file is still in the rings, and `resume` knows where to continue.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/linux/directory_changes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/agent_files/cuda_file.hpp"
#include "tracesmith/capture/clocks/peer_clocks.hpp"
#include "tracesmith/capture/devices/topology_reading.hpp"
#include "tracesmith/capture/flight/flight_window.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/capture/session_directory/session_output.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {

class RecordedSystem;
class SystemRecorder;
struct SampledProcess;

struct CollectorOptions {
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;  ///< XRay calls shorter than this make no rows
  int64_t commit_interval_ns = 1'000'000'000;
  FlightOptions flight = {};  ///< window_ns 0: keeps everything
};

/// Totals over all processes.
struct CollectorTotals {
  uint64_t emitted = 0;  ///< records that agents wrote or tried to write
  uint64_t written = 0;  ///< records that became rows (or parts of rows)
  uint64_t dropped = 0;
  uint64_t cut = 0;        ///< part of `dropped`: half written when their process was killed
  uint64_t reentrant = 0;  ///< part of `dropped`: from a signal handler while a record was written
  uint64_t without_ring = 0;  ///< part of `dropped`: from threads that could get no ring
  uint64_t damaged = 0;       ///< part of `dropped`: lay in a file that was truncated
  uint64_t unresolved = 0;    ///< commands without completion, completions without command
  uint64_t blocked_ns = 0;    ///< time that program threads waited for space in a ring
  /// Enqueued command buffers (cl_khr_command_buffer); not counted in any other field.
  uint64_t command_buffers = 0;
};

class Collector {
 public:
  /// Creates the trace in the session directory, with the session's id.
  static Result<std::unique_ptr<Collector>> create(SessionDir dir, CollectorOptions options);
  /// Continues the session of a collector that died, from the last commit in the trace. Keeps that
  /// collector's options about which rows to leave out. If its finish() fails, the session is
  /// unchanged and can be resumed again.
  static Result<std::unique_ptr<Collector>> resume(SessionDir dir);
  ~Collector();

  /// Runs one pass, and a commit when one is due. Returns the number of records read. After a write
  /// error it continues to drain (and to count), so that no program waits for the collector.
  uint64_t poll();

  /// Adds or updates a process row, identified by pid and start_ticks. The agent's own report only
  /// fills gaps.
  void noteProcess(const ProcessRow& row, std::string_view command_line,
                   std::string_view executable, std::string_view boot_id, std::string_view seen_by);
  /// Enables or disables the capture of events in every process of the session.
  void setCapturing(bool on);
  /// Commits now, so that a reader of the file sees everything up to here.
  Status commitNow();
  /// The window of a flight recorder; null: everything is kept.
  const FlightWindow* window() const { return window_.get(); }
  /// Of a flight recorder: saves the window now. Returns the number of the saved window; 0: it was
  /// saved too often already, or rows cannot be written.
  uint32_t saveWindow(std::string reason);
  /// Of a flight recorder: saves the window at the next commit, because the program crashed and
  /// others go on.
  void wantWindow(std::string reason) {
    if (window_) window_->want(std::move(reason));
  }
  /// Why the recording ends, if not because the program is done.
  void endWindow(std::string reason) {
    if (window_) window_->end(std::move(reason));
  }
  /// The process whose end is told by wantWindow() or endWindow().
  void noteRoot(uint32_t pid) { root_pid_ = pid; }
  void noteMetadata(std::string_view key, std::string_view value);
  /// Reads the host's topology on another thread and adds it when it is there; finish() waits for
  /// it.
  void readTopology(const TopologyProbe& probe = kBriefTopologyProbe);
  /// Adds what peers say of their clocks, until finish(). `peers` outlives this object.
  void followPeers(PeerClocks& peers) { peers_ = &peers; }
  /// Adds what the recorder sees, until finish(). `recorder` outlives this object.
  void followSystem(SystemRecorder& recorder);
  void noteLoss(std::string_view source, uint64_t emitted, uint64_t dropped,
                std::string_view reason);

  /// True while a process that has an arena is alive, as far as can be determined.
  bool agentsAlive() const;
  /// pid and start_ticks of every process that has (had) an arena and is visible in /proc.
  std::vector<std::pair<uint32_t, uint64_t>> agents() const;

  /// Drains the rest, writes totals, index and end marker, publishes trace and recording
  /// (publish()) and removes the session directory. A recording must be finished before.
  Status finish();
  /// Paths of the published files; valid after finish().
  const Published& published() const { return published_; }
  /// Path of the trace while it is being written.
  std::string tracePath() const { return dir_.tracePath(); }

  const SharedRows& rows() const { return shared_; }
  CollectorTotals totals() const;
  /// Number of rows for functions traced by XRay.
  uint64_t functionCalls() const;
  /// Number of rows of `cpu_sample`, and of records of processors that were lost.
  uint64_t cpuSamples() const;
  uint64_t systemLost() const { return system_lost_; }
  /// Number of rows for NVTX ranges and marks.
  uint64_t annotations() const;
  /// What agents could not do, without duplicates. With `whole`, only the reasons why an agent
  /// captures nothing.
  std::vector<std::string> agentProblems(bool whole = false) const;
  bool sawTraceableProgram() const;
  uint64_t fileBytes() const;
  uint32_t agentProcesses() const { return static_cast<uint32_t>(processes_.size()); }

 private:
  struct Ring {
    uint64_t h1 = 0;
    uint64_t position = 0;   // joined up to here
    uint64_t defined = 0;    // definitions taken up to here
    uint64_t committed = 0;  // written to the file up to here
    uint64_t records = 0;    // joined records of the kinds that agents count
    uint64_t committed_records = 0;
    uint64_t emitted = 0;  // last value seen: a truncated file reads as 0
    uint64_t dropped = 0;
    uint32_t tid = 0;
    bool damaged = false;
  };
  // pid, start_ticks; for a process not visible in /proc also the pid namespace, else 0.
  using ProcessKey = std::tuple<uint32_t, uint64_t, uint64_t>;
  struct Process;
  struct Share;
  struct Arena {
    ArenaFile file;
    Process* process = nullptr;
    Share* share = nullptr;  // of `process`
    std::vector<Ring> rings;
  };
  /// Counts of one agent of a process.
  struct Share {
    LossId loss{};
    LossId command_buffer_loss{};
    CollectorTotals closed;  // of arenas that have been closed
  };
  /// A file of the CUDA agent, for one life of a process.
  struct CudaFileState {
    CudaFile file;
    bool seen_dead = false;
    bool left_read = false;  // the dead program's buffers have been read into rows
    bool committed = false;  // and those rows are in the trace file
  };
  /// One process that has arenas.
  struct Process {
    Process(SharedRows& shared, ProcessId id, arena::StampClockKind clock)
        : joiner(shared, id, clock) {}
    RecordJoiner joiner;
    ProcessKey key;
    // As the process itself reports them.
    uint32_t own_pid = 0;
    uint64_t pid_namespace = 0;
    bool in_sight = true;  // visible in /proc; otherwise its lifetime is unknown
    bool alive = true;
    std::map<std::string, Share> shares;              // by loss source: sourceOf()
    std::map<std::string, CudaFileState> cuda_files;  // by path
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
  static constexpr std::string_view kMpiRecords = "MPI calls";
  static constexpr std::string_view kNcclRecords = "NCCL events";
  static constexpr std::string_view kCudaRecords = "CUDA records";
  static constexpr std::string_view kCudaActivity = "CUDA activity";

  Collector(SessionDir dir, CollectorOptions options);
  void scan();
  void addArena(ArenaFile file);
  void addCudaFile(const std::string& path);
  void readCudaDefinitions();
  void readUnreadCudaRecords();
  void takeTopology(bool wait);
  void takePeerOffsets();
  void takeSystemEvents();
  void noteOomKill(ProcessId process);
  ProcessId sampledProcess(const SampledProcess& process);
  Process& processOf(arena::ArenaHeader& header);
  /// Finds a process by the ids that it reports itself.
  Process* findByOwnIds(uint32_t own_pid, uint64_t start_ticks, uint64_t pid_namespace);
  Process& addProcess(arena::ArenaHeader& header);
  ProcessId processId(const ProcessKey& key);
  void settleStart(const ProcessKey& key);
  void noteProcess(const ProcessKey& key, const ProcessRow& row, std::string_view command_line,
                   std::string_view executable, std::string_view boot_id, std::string_view seen_by);
  uint64_t pass();
  uint64_t joinRing(Arena& arena, uint32_t index);
  void defineRing(Arena& arena, uint32_t index);
  void ringDamaged(Arena& arena, uint32_t index);
  void updateHeartbeat();
  bool commitDue() const;
  void commit();
  Status writeRows();
  void turnWindow();
  Status finishFile();
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
  static std::string unwrappedLoadersOf(const Process& process);
  void checkLiveness();
  void closeDeadArenas();

  class ProcessIndex;
  Status restore(class TraceReader& reader, size_t block_count);
  void restoreProcesses(const Trace& file);
  /// Threads, contexts and streams.
  void restoreIds(const Trace& file, const ProcessIndex& processes);
  void restoreLosses(const Trace& file, const ProcessIndex& processes);
  /// Dictionaries shared by the processes: devices, launch shapes, counter tracks, stacks.
  void restoreDictionaries(const Trace& file);
  /// Rows that later records may refer to.
  static void restoreJoined(const Trace& file, const ProcessIndex& processes);
  static void forgetCompleted(const Trace& file, const ProcessIndex& processes);
  void restoreStampClock(const Trace& file);

  SessionDir dir_;
  CollectorOptions options_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<FlightWindow> window_;  // of a flight recorder
  std::unique_ptr<TopologyReading> topology_;
  PeerClocks* peers_ = nullptr;
  SystemRecorder* system_ = nullptr;
  std::unique_ptr<RecordedSystem> system_rows_;
  uint64_t system_lost_ = 0;
  uint64_t python_stacks_ = 0, python_lost_ = 0;
  Status write_status_;
  SharedRows shared_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  DirectoryChanges directory_;
  std::unordered_map<std::string, bool> known_files_;
  std::map<ProcessKey, std::unique_ptr<Process>> processes_;
  std::map<ProcessKey, ProcessRow> process_rows_;
  // Of these the start is a little uncertain: who says it exactly may mean the same process.
  std::set<ProcessKey> uncertain_starts_;
  std::map<std::string, LossId> losses_;
  // From a resumed session: committed position of each ring of each arena.
  std::map<std::pair<std::string, uint32_t>, CommitRow> resumed_;
  std::vector<ClockKind> written_clock_;  // per device: kind in its last row
  size_t written_samples_ = 0;
  int64_t written_stamps_ns_ = 0;  // host time of the last stamp sample in the file
  int64_t last_commit_ns_ = 0;
  int64_t last_liveness_ns_ = 0;
  uint32_t root_pid_ = 0;
  bool capturing_ = true;
  bool resumed_session_ = false;  // what cannot be written now may be at the next resume
  bool finished_ = false;
  Published published_;
};

/// True when a ring of the session has freed space, that is, when its rows were written to a trace.
bool hasCommittedRows(const SessionDir& dir);
/// Reads a finished file back completely: checksums, values, index and end marker.
Status checkFinished(const std::string& path);

}  // namespace tracesmith
