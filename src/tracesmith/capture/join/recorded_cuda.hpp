// SPDX-License-Identifier: Apache-2.0
// Makes rows of a trace from the records of the CUDA agent in one process: host calls and device
// work. CUPTI delivers device work later, on threads of its own. Correlation ids join the two; a
// graph launch has many kernels with one id.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/agent_files/cuda_file.hpp"
#include "tracesmith/capture/join/cuda_events.hpp"
#include "tracesmith/capture/join/cuda_id_scope.hpp"
#include "tracesmith/capture/join/recorded_stacks.hpp"
#include "tracesmith/capture/join/virtual_memory.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"
#include "tracesmith/model/clock_map.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What CUPTI could not deliver, and what is incomplete.
struct CudaTotals {
  uint64_t dropped = 0;       // records dropped by CUPTI itself
  uint64_t untimed = 0;       // records without times: the device had no space for them
  uint64_t other_clock = 0;   // records whose times are not of CUPTI's configured clock
  uint64_t without_call = 0;  // device work whose host call was not recorded
  uint64_t never_came = 0;    // launches without a kernel record
  uint64_t undefined = 0;     // names and devices that did not fit in the agent's file
  uint64_t refused = 0;       // buffers that CUPTI could not get
  uint64_t unfinished = 0;    // copies, fills and graph kernels cut short by a kill
  uint64_t unreadable = 0;    // buffers of a killed program that could not be read to their end
  uint64_t interrupted = 0;   // device work held by a collector when it was killed
  uint64_t unmatched = 0;     // event waits without a known recording
  // Calls of the virtual memory API that name unknown memory.
  uint64_t unmatched_memory = 0;
};

class RecordedCuda {
 public:
  RecordedCuda(SharedRows& shared, RecordedStacks& stacks, ProcessId process,
               std::function<int64_t(int64_t)> host_ns);

  /// True for a record to be passed to join().
  static bool isOne(arena::RecordKind kind) {
    return (kind >= arena::RecordKind::kCudaText && kind <= arena::RecordKind::kCudaUnified) ||
           (kind >= arena::RecordKind::kCudaEvent && kind <= arena::RecordKind::kCudaVirtualMemory);
  }
  /// Names, devices and contexts of the life that starts with this correlation id. False when the
  /// record is invalid.
  bool define(ByteView record, uint64_t first_correlation);
  /// False when the record is invalid.
  bool join(ByteView record, ThreadId thread);
  /// Makes the rows of device work whose call has been seen by now.
  void endPass();
  /// Takes the kind of CUPTI's clock, and its samples paired with the host's clock.
  void noteClock(CudaFile& file);
  /// Gives the samples to the devices that this process has used by now.
  void giveClockSnapshots();
  /// Takes a file's loss counts and, with `dead`, the records left in its buffers.
  void noteFile(const CudaFile& file, bool dead);
  /// Makes the rows of the remaining work. Call it last.
  void finish();

  /// What becomes a row of `loss`.
  struct Losses {
    uint64_t lost = 0;   ///< records of device work
    std::string reason;  ///< "": no row is needed
  };
  Losses losses() const;

  /// Marks `pending` rows of launches that have no row in the file and expect no more records: they
  /// were captured into a graph, or their kernel had no times.
  static constexpr uint32_t kPendingNoDeviceWork = 0x4355444e;
  /// Marks `pending` rows of virtual memory calls. The file has all of them, so that another
  /// collector knows which memory is alive. The lowest byte is the arena::VirtualMemoryCall.
  static constexpr uint32_t kPendingVirtualMemory = 0x564d4d00;  // "VMM"
  static constexpr bool isVirtualMemory(uint32_t sub_kind) {
    return (sub_kind & ~0xffu) == kPendingVirtualMemory;
  }

  /// Restores the state that another collector left in the file.
  void restoreLosses(std::string_view reason);
  void restoreNoDeviceWork(uint64_t correlation);
  void restoreCall(const HostCallRow& row);
  void restoreContext(const ContextRow& row);
  void restoreStream(const StreamRow& row);
  void restoreGraphNode(const ObjectRow& row);
  void restoreVirtualMemory(const PendingRow& row);
  void restoreMemoryEvent(const MemoryEventRow& row);
  CudaEvents& events() { return events_; }
  void restoreWaiting(uint64_t correlation);
  void forgetWaiting(uint64_t correlation);
  /// Writes device work that is in no row yet, for restoreWaiting().
  void writeWaiting();

  bool any() const { return any_; }
  const CudaTotals& totals() const { return totals_; }
  /// Why nothing, or less, was captured; "" when there was no problem.
  const std::string& problem() const { return problem_; }
  /// True when because of problem() nothing was captured.
  bool capturesNothing() const { return captures_nothing_; }

 private:
  struct Call {
    ThreadId thread{};
    CallPathId path{};
    StringId kernel{};
    bool awaited = false;  // a launch without device records so far
    bool is_launch = false;
    bool is_virtual_memory = false;
  };
  struct Work {  // a device record that waits for its call
    Bytes record;
    uint64_t correlation = 0;
    int64_t since_ns = 0;
    bool is_written = false;  // written by writeWaiting()
  };
  using WorkKey = std::tuple<arena::RecordKind, uint64_t, int64_t>;  // correlation, start
  CudaLife& life(uint64_t correlation);
  void writeHostCall(const arena::CallRecord& call, ThreadId thread);
  bool joinGraphNode(ByteView record);
  void keepCall(uint64_t correlation, const Call& call);
  void forgetOldestCall();
  Call* callOf(uint64_t correlation);
  bool joinWork(ByteView record, ThreadId thread);
  bool joinUnread(ByteView record, bool first, uint64_t first_correlation);
  void giveUp(uint64_t correlation);
  void noteNoDeviceWork(uint64_t correlation);
  void writeRow(const Work& work, Call* call);
  void writeKernel(const arena::CudaKernelRecord& k, const Call& call);
  void writeCopy(const arena::CudaCopyRecord& c, const Call& call);
  void writeFill(const arena::CudaFillRecord& f, const Call& call);
  void writeGraph(const arena::CudaGraphRecord& g, const Call& call);
  void writeSync(const arena::CudaSyncRecord& s, const Call& call);
  void addEventRecording(const arena::CudaEventRecord& e);
  void writeMemory(const arena::CudaMemoryRecord& m, const Call& call);
  void joinVirtualMemory(const arena::CudaVirtualMemoryRecord& r, ThreadId thread);
  void writeMemoryEvents(const std::vector<VirtualMemory::Event>& events, bool last = false);
  void writeMemoryEvent(const VirtualMemory::Event& event);
  void writePool(const arena::CudaPoolRecord& p, const Call& call);
  void writePoolSizes(int64_t time_ns, DeviceId device, uint64_t address, uint64_t bytes,
                      uint64_t used);
  void writeJit(const arena::CudaJitRecord& j, const Call& call);
  void writeModule(const arena::CudaModuleRecord& m, ThreadId thread);
  void writeOverhead(const arena::CudaOverheadRecord& o, const Call& call);
  void writeUnified(const arena::CudaUnifiedRecord& u);
  void noteLastLaunches();
  void attributeOfRange(std::string_view key, const std::string& value);
  bool timed(int64_t start, int64_t end);
  bool isOfOurClock(int64_t time);
  /// Converts a time of CUPTI's clock to host time (CLOCK_MONOTONIC ns).
  int64_t cuptiNs(int64_t time) const {
    return cupti_clock_ == arena::StampClockKind::kMonotonicNs ? time : host_ns_(time);
  }

  SharedRows& shared_;
  RecordedStacks& stacks_;
  ProcessId process_;
  std::function<int64_t(int64_t)> host_ns_;
  CudaEvents events_;
  arena::StampClockKind cupti_clock_ = arena::StampClockKind::kMonotonicNs;
  std::vector<ClockCurve::Snapshot> clock_snapshots_;  // not yet passed to a device
  int64_t last_clock_ns_ = 0;  // host time of the last reading of CUPTI's clock; 0: never read
  std::string other_tools_;    // other CUPTI tools in the process when its capture ended
  uint64_t last_launches_lost_ = 0;  // launches without a record, with no later records either
  VirtualMemory virtual_memory_;
  std::deque<VirtualMemory::Event> memory_events_;  // of devices not described yet
  int64_t memory_events_since_ns_ = 0;
  bool any_ = false;
  std::string problem_;
  bool captures_nothing_ = false;
  CudaTotals totals_;
  bool finished_ = false;
  std::map<std::string, std::pair<uint64_t, uint64_t>> file_losses_;  // by file: undefined, refused
  std::pair<uint64_t, uint64_t> restored_losses_;  // the same, for files not seen yet
  uint64_t restored_unmatched_ = 0;
  std::map<uint32_t, CudaLife> lives_;
  std::map<ContextId, std::pair<uint32_t, uint32_t>> restored_contexts_;  // life, number
  std::unordered_map<uint64_t, Call> calls_;                              // by correlation id
  std::deque<uint64_t> call_order_;
  std::deque<Work> arrived_;  // in this pass, or their call arrived in it
  std::unordered_map<uint64_t, std::vector<Work>> waiting_;  // by correlation id
  std::deque<std::pair<uint64_t, int64_t>> waiting_order_;   // correlation id, time of arrival
  std::unordered_map<uint64_t, uint64_t> interrupted_;
  std::unordered_map<uint32_t, WorkKey> last_work_;  // by thread
};

}  // namespace tracesmith
