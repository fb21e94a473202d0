// SPDX-License-Identifier: Apache-2.0
// Makes rows of a trace from the records of one process: gives handles their meaning, brings host
// calls and device completions together by correlation id, and counts what never finds its half.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/clocks/device_clock.hpp"
#include "tracesmith/capture/clocks/stamp_clock.hpp"
#include "tracesmith/capture/join/handle_history.hpp"
#include "tracesmith/capture/join/recorded_calls.hpp"
#include "tracesmith/capture/join/recorded_cuda.hpp"
#include "tracesmith/capture/join/recorded_nvtx.hpp"
#include "tracesmith/capture/join/recorded_stacks.hpp"
#include "tracesmith/capture/join/traced_programs.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Dictionaries that the processes of one session share. `delta` collects new rows until the next
/// commit; its strings are kept for the whole session.
struct SharedRows {
  Trace delta;
  uint32_t processes = 0;  // ids given so far
  uint32_t threads = 0;
  uint32_t contexts = 0;
  uint32_t streams = 0;
  uint32_t losses = 0;
  std::map<std::vector<uint64_t>, ShapeId> shapes;
  SharedStacks stacks;
  TracedPrograms programs;
  struct DeviceState {
    DeviceRow row;
    DeviceClock clock;
    /// Of a clock that the vendor's library converts from (CUPTI's), to be written.
    std::vector<ClockCurve::Snapshot> vendor_snapshots;
  };
  std::vector<DeviceState> devices;  // by id - 1
  HostClocks host_clocks;
  StampClock stamps;
  bool is_live = true;  // the programs run now; else another collector's session is finished
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;  // of the functions that XRay traces
  // Rows made so far, for progress and the summary.
  uint64_t kernels = 0;
  uint64_t copies = 0;
  uint64_t host_calls = 0;
  uint64_t events = 0;
  uint64_t ranges_written = 0;  // rows of `range` that are in the file

  /// Number of the row of `range` that is pushed next, over the whole trace.
  uint64_t nextRange() const { return ranges_written + delta.range.size(); }
  std::unordered_map<std::string, CounterTrackId> counter_tracks;  // by process and name

  ShapeId shape(const LaunchShapeRow& row);
  /// Id of the track, which is made where it is new.
  CounterTrackId counterTrack(const CounterTrackRow& row);
  /// Id of the device that `row` describes (backend, platform, name and ordinal tell).
  DeviceId device(const DeviceRow& row);
};

class RecordJoiner {
 public:
  RecordJoiner(SharedRows& shared, ProcessId process, arena::StampClockKind stamp_clock)
      : shared_(shared),
        process_(process),
        stamp_clock_(stamp_clock),
        stacks_(shared.stacks, shared.delta, process),
        calls_(shared.delta, shared.programs, process, shared.shortest_call_ns),
        cuda_(shared, stacks_, process, [this](int64_t stamp) { return hostNs(stamp); }),
        nvtx_(shared, process, [this](int64_t stamp) { return hostNs(stamp); }) {}
  RecordJoiner(const RecordJoiner&) = delete;
  RecordJoiner& operator=(const RecordJoiner&) = delete;

  /// First look at a record: takes what later records need to be understood (objects, the events of
  /// commands). Seeing a record again does nothing.
  void define(ByteView record);

  /// Makes its rows. `tid` wrote it. Every use of a handle in it must have been define()d before.
  void join(ByteView record, uint32_t tid);

  /// Ends a pass over all rings: what was define()d by then and is not yet joined will be joined in
  /// the next pass.
  void endPass();

  /// Makes the rows of what still waits for more: functions that have not returned, device work
  /// whose call was not seen, ranges that have not ended.
  void finish() {
    calls_.finish();
    cuda_.finish();
    nvtx_.finish();
  }

  /// Rows for commands that are still under way and not yet in the `pending` table.
  void writePending();

  /// What another collector left behind in the file: objects, commands under way.
  void restoreObject(const ObjectRow& row);
  void restorePending(const PendingRow& row);
  void restoreThread(uint32_t tid, ThreadId id, StringId name) {
    threads_[tid] = id;
    thread_names_[tid] = name;
  }
  void restoreStream(StreamId id, DeviceId device) { stream_devices_[id] = device; }
  void restoreCall(const HostCallRow& row) { cuda_.restoreCall(row); }
  /// Before restorePending().
  void restoreWaitFlow(uint64_t to_correlation) { cuda_.events().restoreEdge(to_correlation); }
  void restoreCudaLosses(std::string_view reason) { cuda_.restoreLosses(reason); }
  void restoreCudaContext(const ContextRow& row) { cuda_.restoreContext(row); }
  void restoreCudaStream(const StreamRow& row) { cuda_.restoreStream(row); }
  void restoreCudaMemory(const MemoryEventRow& row) { cuda_.restoreMemoryEvent(row); }
  /// After all restorePending(), and at last restored().
  void restoreRange(const RangeRow& row) { nvtx_.restoreRange(row); }
  void restored() { nvtx_.restored(); }
  void restoreModule(const ModuleRow& row) { stacks_.restoreModule(row); }
  /// A row of the file shows that this command was completed.
  void forgetPending(uint64_t correlation) {
    pending_.erase(correlation);
    forgetCudaWaiting(correlation);
  }
  void forgetCudaWaiting(uint64_t correlation) { cuda_.forgetWaiting(correlation); }

  /// Definitions of the CUDA agent, which lie in a file of their own.
  void defineCuda(ByteView record, uint64_t first_correlation) {
    const bool nvtx = RecordedNvtx::defines(record);
    if (!(nvtx ? nvtx_.define(record, first_correlation)
               : cuda_.define(record, first_correlation))) {
      damaged();
    }
  }
  void noteCudaClock(CudaFile& file) { cuda_.noteClock(file); }
  void giveCudaClockSnapshots() { cuda_.giveClockSnapshots(); }
  void noteCudaFile(const CudaFile& file, bool dead) { cuda_.noteFile(file, dead); }

  ProcessId process() const { return process_; }
  size_t underWay() const { return pending_.size(); }
  uint64_t completionsWithoutCommand() const { return early_.size(); }
  uint64_t unknownWaits() const { return unknown_waits_; }
  uint64_t damagedRecords() const { return damaged_records_; }
  /// By path, the libraries that implement OpenCL and whose calls the agent does not see.
  const std::map<std::string, arena::UnseenLoader>& unseenLoaders() const {
    return unseen_loaders_;
  }
  const RecordedStacks& stacks() const { return stacks_; }
  const RecordedCalls& calls() const { return calls_; }
  const RecordedCuda& cuda() const { return cuda_; }
  const RecordedNvtx& nvtx() const { return nvtx_; }

 private:
  struct Object {
    StringId name{};
    uint64_t parent = 0;
    uint64_t bytes = 0;
    uint32_t id = 0;  // DeviceId, ContextId or StreamId
  };
  struct Argument {
    uint64_t bytes = 0;
    uint64_t value = 0;
    bool is_local = false;
  };
  struct Pending {
    PendingRow row;
    bool in_file = false;
  };
  struct Completion {
    int32_t status = 0;
    bool has_times = false;
    int64_t queued = 0, submitted = 0, started = 0, ended = 0;
  };

  void defineObject(ByteView record);
  void defineDevice(ByteView record);
  void defineMemory(ByteView record);

  /// Records that begin with a CallRecord.
  void joinCall(ByteView record, uint32_t tid);
  void joinNvtx(ByteView record, uint32_t tid);
  void joinFunction(ByteView record, uint32_t tid);
  void joinUnseenLoader(ByteView record);
  void joinThread(ByteView record);
  void joinKernel(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinTransfer(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinSync(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinComplete(ByteView record);
  void joinMemory(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinFree(ByteView record, uint32_t tid);
  void joinBuild(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinArgument(ByteView record);

  void hostCall(const arena::CallRecord& call, uint32_t tid);
  void waits(const arena::CallRecord& call, ByteView handles, uint32_t count, bool as_flow);
  void commandStarted(PendingRow row);
  void complete(const PendingRow& row, const Completion& done);
  StringId describeArguments(uint64_t kernel, int64_t stamp);
  bool isFirstLaunch(const PendingRow& row, const Object* kernel, int64_t stamp,
                     const LaunchShapeRow& shape);

  ThreadId thread(uint32_t tid, const char* name = nullptr);
  void nameThread(uint32_t tid, std::string_view name);
  StreamId stream(uint64_t handle, int64_t stamp) const;
  ContextId context(uint64_t handle, int64_t stamp) const;
  /// Within bounds in which times can be subtracted, whatever a damaged record says.
  int64_t hostNs(int64_t stamp) const {
    constexpr int64_t kFar = INT64_MAX / 4;
    return std::clamp(shared_.stamps.toNs(stamp_clock_, stamp), -kFar, kFar);
  }
  void damaged() { ++damaged_records_; }
  void damagedUnless(bool joined) { damaged_records_ += joined ? 0 : 1; }

  SharedRows& shared_;
  ProcessId process_;
  arena::StampClockKind stamp_clock_;
  RecordedStacks stacks_;
  RecordedCalls calls_;
  RecordedCuda cuda_;
  RecordedNvtx nvtx_;
  // Times in these are stamps, not ns: a stamp is the same each time a record is read.
  HandleHistory<Object> kernels_, memory_, streams_, contexts_;
  HandleHistory<DeviceId> devices_;
  HandleHistory<uint64_t> command_events_;  // event handle -> correlation id; 0: no command's
  HandleHistory<uint64_t> builds_;          // program handle -> number of the build
  uint64_t build_count_ = 0;
  std::unordered_map<uint64_t, std::vector<Argument>> arguments_;
  std::unordered_map<uint64_t, Pending> pending_;
  std::unordered_map<uint64_t, Completion> early_;
  std::unordered_map<uint32_t, ThreadId> threads_;
  std::unordered_map<uint32_t, StringId> thread_names_;
  std::unordered_set<uint32_t> named_threads_;  // by the program
  std::unordered_map<StreamId, DeviceId> stream_devices_;
  std::set<std::tuple<StringId, uint64_t, DeviceId, uint64_t>> launched_;
  std::map<std::string, arena::UnseenLoader> unseen_loaders_;
  uint32_t contexts_made_ = 0;
  uint32_t streams_made_ = 0;
  uint64_t unknown_waits_ = 0;
  uint64_t damaged_records_ = 0;
};

}  // namespace tracesmith
