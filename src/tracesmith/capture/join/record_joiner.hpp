// SPDX-License-Identifier: Apache-2.0
// Turns the records of one process into rows of a trace. It resolves handles, joins host calls with
// device completions by correlation id, and counts the halves that stay unmatched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/clocks/device_clock.hpp"
#include "tracesmith/capture/clocks/stamp_clock.hpp"
#include "tracesmith/capture/join/handle_history.hpp"
#include "tracesmith/capture/join/recorded_calls.hpp"
#include "tracesmith/capture/join/recorded_cuda.hpp"
#include "tracesmith/capture/join/recorded_mpi.hpp"
#include "tracesmith/capture/join/recorded_nccl.hpp"
#include "tracesmith/capture/join/recorded_nvtx.hpp"
#include "tracesmith/capture/join/recorded_stacks.hpp"
#include "tracesmith/capture/join/thread_rows.hpp"
#include "tracesmith/capture/join/traced_programs.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Dictionaries shared by the processes of one session. `delta` collects new rows until the next
/// commit; its strings are kept for the whole session.
struct SharedRows {
  Trace delta;
  uint32_t processes = 0;  // ids assigned so far
  ThreadRows threads{delta};
  uint32_t contexts = 0;
  uint32_t streams = 0;
  uint32_t losses = 0;
  uint32_t communicators = 0;
  uint32_t communicator_clocks = 0;  // clocks of their devices
  std::map<std::vector<uint64_t>, ShapeId> shapes;
  SharedStacks stacks;
  TracedPrograms programs;
  struct DeviceState {
    DeviceRow row;
    DeviceClock clock;
    /// Snapshots of a clock that the vendor's library converts from (CUPTI's), not yet written.
    std::vector<ClockCurve::Snapshot> vendor_snapshots;
  };
  std::vector<DeviceState> devices;  // by id - 1
  std::map<std::string, std::string, std::less<>> address_by_uuid;
  HostClocks host_clocks;
  StampClock stamps;
  bool is_live = true;  // programs still run; false: resumed session
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;  // of the functions that XRay traces
  // Rows created so far, for progress and the summary.
  uint64_t kernels = 0;
  uint64_t copies = 0;
  uint64_t host_calls = 0;
  uint64_t events = 0;
  uint64_t ranges_written = 0;  // rows of `range` in the file

  /// Number that the next row of `range` gets, counted over the whole trace.
  uint64_t nextRange() const { return ranges_written + delta.range.size(); }
  std::unordered_map<std::string, CounterTrackId> counter_tracks;  // by process and name

  ShapeId shape(const LaunchShapeRow& row);
  /// Id of the track; creates it when it is new.
  CounterTrackId counterTrack(const CounterTrackRow& row);
  /// Clocks 1 to 3 are the other clocks of the host, 4 is the time stamp counter. The others take
  /// turns: one of each device, one of each communicator's device.
  static ClockDomainId deviceClock(size_t device) {
    return idAt<ClockDomainId>(HostClocks::kKinds.size() + 1 + 2 * device);
  }
  ClockDomainId nextCommunicatorClock() {
    return idAt<ClockDomainId>(HostClocks::kKinds.size() + 2 + 2 * communicator_clocks++);
  }
  /// Id of the device that `row` describes, identified by backend, platform, name and
  /// UUID; where a UUID is unknown, by the ordinal. A process that sees some devices alone counts
  /// them from 0.
  DeviceId device(const DeviceRow& row);
  /// The PCI address of the device with this UUID, for devices that are known or come later.
  void noteAddress(const std::string& uuid, const std::string& pci_address);
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
        nvtx_(shared, process, [this](int64_t stamp) { return hostNs(stamp); }),
        mpi_(shared, stacks_, process, [this](int64_t stamp) { return hostNs(stamp); }),
        nccl_(shared, stacks_, process, [this](int64_t stamp) { return hostNs(stamp); }) {}
  RecordJoiner(const RecordJoiner&) = delete;
  RecordJoiner& operator=(const RecordJoiner&) = delete;

  /// First pass over a record: takes the definitions that later records need (objects, the events
  /// of commands). Repeating it for a record has no effect.
  void define(ByteView record);

  /// Makes the record's rows. `tid` wrote it. Every handle it uses must have been define()d before.
  void join(ByteView record, uint32_t tid);

  /// Ends a pass over all rings. Records that were define()d but not yet joined must be joined in
  /// the next pass.
  void endPass();

  /// Makes the rows of what is incomplete: functions that have not returned, device work whose call
  /// was not seen, ranges that have not ended. The process was recorded until `end_ns` of the host.
  void finish(int64_t end_ns) {
    calls_.finish();
    cuda_.finish();
    nvtx_.finish();
    nccl_.finish(end_ns);
  }

  /// Writes rows for commands that are under way and not yet in the `pending` table.
  void writePending();

  /// Restores the state that another collector left in the file: objects, commands under way.
  void restoreObject(const ObjectRow& row);
  void restorePending(const PendingRow& row);
  void restoreStream(StreamId id, DeviceId device) { stream_devices_[id] = device; }
  void restoreCall(const HostCallRow& row) { cuda_.restoreCall(row); }
  /// Call it before restorePending().
  void restoreWaitFlow(uint64_t to_correlation) { cuda_.events().restoreEdge(to_correlation); }
  void restoreCudaLosses(std::string_view reason) { cuda_.restoreLosses(reason); }
  void restoreCudaContext(const ContextRow& row) { cuda_.restoreContext(row); }
  void restoreCudaStream(const StreamRow& row) { cuda_.restoreStream(row); }
  void restoreCudaMemory(const MemoryEventRow& row) { cuda_.restoreMemoryEvent(row); }
  /// Call it after all restorePending(); then call restored() once.
  void restoreRange(const RangeRow& row) { nvtx_.restoreRange(row); }
  void restored() { nvtx_.restored(); }
  void restoreCommunicator(const CommunicatorRow& row, std::string_view library) {
    library == "NCCL" ? nccl_.restoreCommunicator(row) : mpi_.restoreCommunicator(row);
  }
  void restoreModule(const ModuleRow& row) { stacks_.restoreModule(row); }
  /// Call it when a row of the file shows that this command has completed.
  void forgetPending(uint64_t correlation) {
    pending_.erase(correlation);
    forgetCudaWaiting(correlation);
  }
  void forgetCudaWaiting(uint64_t correlation) { cuda_.forgetWaiting(correlation); }

  /// Takes definitions of the CUDA agent, which are in a file of their own.
  void defineCuda(ByteView record, uint64_t first_correlation) {
    const bool nvtx = RecordedNvtx::defines(record);
    if (!(nvtx ? nvtx_.define(record, first_correlation)
               : cuda_.define(record, first_correlation))) {
      countDamaged();
    }
  }
  void noteCudaClock(CudaFile& file) { cuda_.noteClock(file); }
  void giveCudaClockSnapshots() { cuda_.giveClockSnapshots(); }
  /// Writes what the clocks of NCCL's devices are known by since the last time.
  void writeNcclClocks(bool finish) { nccl_.writeClocks(finish); }
  void noteCudaFile(const CudaFile& file, bool dead) { cuda_.noteFile(file, dead); }

  ProcessId process() const { return process_; }
  size_t pendingCount() const { return pending_.size(); }
  uint64_t completionsWithoutCommand() const { return early_.size(); }
  uint64_t unknownWaits() const { return unknown_waits_; }
  uint64_t damagedRecords() const { return damaged_records_; }
  /// Libraries that implement OpenCL and whose calls the agent does not see, by path.
  const std::map<std::string, arena::UnwrappedLoader>& unwrappedLoaders() const {
    return unwrapped_loaders_;
  }
  const RecordedStacks& stacks() const { return stacks_; }
  const RecordedCalls& calls() const { return calls_; }
  const RecordedCuda& cuda() const { return cuda_; }
  const RecordedNvtx& nvtx() const { return nvtx_; }
  const RecordedNccl& nccl() const { return nccl_; }

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

  /// Joins a record that starts with a CallRecord.
  void joinCall(ByteView record, uint32_t tid);
  void joinNvtx(ByteView record, uint32_t tid);
  void joinFunction(ByteView record, uint32_t tid);
  void joinUnwrappedLoader(ByteView record);
  void joinThread(ByteView record);
  void joinKernel(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinTransfer(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinSync(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinComplete(ByteView record);
  void joinMemory(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinFree(ByteView record, uint32_t tid);
  void joinBuild(const arena::CallRecord& call, ByteView rest, uint32_t tid);
  void joinArgument(ByteView record);

  void writeHostCall(const arena::CallRecord& call, uint32_t tid);
  void joinWaits(const arena::CallRecord& call, ByteView handles, uint32_t count, bool as_flow);
  void commandStarted(PendingRow row);
  void complete(const PendingRow& row, const Completion& done);
  StringId describeArguments(uint64_t kernel, int64_t stamp);
  bool isFirstLaunch(const PendingRow& row, const Object* kernel, int64_t stamp,
                     const LaunchShapeRow& shape);

  ThreadId thread(uint32_t tid);
  void nameThread(uint32_t tid, std::string_view name);
  StreamId stream(uint64_t handle, int64_t stamp) const;
  ContextId context(uint64_t handle, int64_t stamp) const;
  /// Clamped so that times can be subtracted without overflow, even those of a damaged record.
  int64_t hostNs(int64_t stamp) const {
    constexpr int64_t kFar = INT64_MAX / 4;
    return std::clamp(shared_.stamps.toNs(stamp_clock_, stamp), -kFar, kFar);
  }
  void countDamaged() { ++damaged_records_; }
  void countDamagedUnless(bool joined) { damaged_records_ += joined ? 0 : 1; }

  SharedRows& shared_;
  ProcessId process_;
  arena::StampClockKind stamp_clock_;
  RecordedStacks stacks_;
  RecordedCalls calls_;
  RecordedCuda cuda_;
  RecordedNvtx nvtx_;
  RecordedMpi mpi_;
  RecordedNccl nccl_;
  // Times in these are stamps, not ns: a record's stamp is the same each time it is read, its ns
  // may not be.
  HandleHistory<Object> kernels_, memory_, streams_, contexts_;
  HandleHistory<DeviceId> devices_;
  HandleHistory<uint64_t> command_events_;  // event handle -> correlation id; 0: none
  HandleHistory<uint64_t> builds_;          // program handle -> number of the build
  uint64_t build_count_ = 0;
  std::unordered_map<uint64_t, std::vector<Argument>> arguments_;
  std::unordered_map<uint64_t, Pending> pending_;
  std::unordered_map<uint64_t, Completion> early_;
  std::unordered_map<uint32_t, ThreadId> threads_;
  std::unordered_map<StreamId, DeviceId> stream_devices_;
  std::set<std::tuple<StringId, uint64_t, DeviceId, uint64_t>> launched_;
  std::map<std::string, arena::UnwrappedLoader> unwrapped_loaders_;
  uint32_t contexts_made_ = 0;
  uint32_t streams_made_ = 0;
  uint64_t unknown_waits_ = 0;
  uint64_t damaged_records_ = 0;
};

}  // namespace tracesmith
