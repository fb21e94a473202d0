// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_cuda.hpp"

#include <algorithm>
#include <set>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"

namespace tracesmith {
namespace {

using arena::RecordKind;

// CUPTI delivers late, but not later than this many calls.
constexpr size_t kMostCalls = 1u << 20;
constexpr size_t kMostWaiting = 1u << 18;
// The agent reports a call when it has ended and its thread has a ring. The last of a thousand
// threads that start at once waits long for a ring.
constexpr int64_t kLongestWaitNs = 30'000'000'000;
constexpr int64_t kSoonNs = 1'000'000'000;

RecordKind kindOf(ByteView record) { return loadFixed<arena::RecordHeader>(record.data()).kind; }

/// Size of a record of device work; 0: another kind of record.
size_t workBytes(RecordKind kind) {
  switch (kind) {
    case RecordKind::kCudaKernel:
      return sizeof(arena::CudaKernelRecord);
    case RecordKind::kCudaCopy:
      return sizeof(arena::CudaCopyRecord);
    case RecordKind::kCudaFill:
      return sizeof(arena::CudaFillRecord);
    case RecordKind::kCudaGraph:
      return sizeof(arena::CudaGraphRecord);
    case RecordKind::kCudaSync:
      return sizeof(arena::CudaSyncRecord);
    case RecordKind::kCudaEvent:
      return sizeof(arena::CudaEventRecord);
    case RecordKind::kCudaMemory:
      return sizeof(arena::CudaMemoryRecord);
    case RecordKind::kCudaPool:
      return sizeof(arena::CudaPoolRecord);
    case RecordKind::kCudaJit:
      return sizeof(arena::CudaJitRecord);
    case RecordKind::kCudaOverhead:
      return sizeof(arena::CudaOverheadRecord);
    default:
      return 0;
  }
}

bool isWork(RecordKind kind) { return workBytes(kind) != 0; }

/// Identifies a record of device work; 0 for one that is too short.
struct WorkPlace {
  uint64_t correlation = 0;
  int64_t start = 0;
};

WorkPlace placeOf(ByteView record) {
  if (record.size() < workBytes(kindOf(record))) return {};
  // All of them start with these fields.
  static_assert(offsetof(arena::CudaKernelRecord, start) == 16);
  static_assert(offsetof(arena::CudaCopyRecord, start) == 16);
  static_assert(offsetof(arena::CudaFillRecord, start) == 16);
  static_assert(offsetof(arena::CudaGraphRecord, start) == 16);
  static_assert(offsetof(arena::CudaSyncRecord, start) == 16);
  static_assert(offsetof(arena::CudaEventRecord, event_sync) == 16);  // unique as well
  static_assert(offsetof(arena::CudaMemoryRecord, time) == 16);
  static_assert(offsetof(arena::CudaPoolRecord, time) == 16);
  static_assert(offsetof(arena::CudaJitRecord, start) == 16);
  static_assert(offsetof(arena::CudaOverheadRecord, start) == 16);
  return {loadFixed<uint64_t>(record.data() + sizeof(arena::RecordHeader)),
          loadFixed<int64_t>(record.data() + 16)};
}

/// Other kinds may have no recorded call: allocations of libraries, pools that the driver creates
/// by itself, compilations. Events find their calls by themselves.
bool needsCall(RecordKind kind) {
  return kind != RecordKind::kCudaMemory && kind != RecordKind::kCudaPool &&
         kind != RecordKind::kCudaJit && kind != RecordKind::kCudaEvent &&
         kind != RecordKind::kCudaOverhead;
}

}  // namespace

RecordedCuda::RecordedCuda(SharedRows& shared, RecordedStacks& stacks, ProcessId process,
                           std::function<int64_t(int64_t)> host_ns)
    : shared_(shared),
      stacks_(stacks),
      process_(process),
      host_ns_(std::move(host_ns)),
      events_(shared.delta, process) {}

// --- Definitions --------------------------------------------------------------------------------

CudaLife& RecordedCuda::life(uint64_t correlation) {
  const auto number = static_cast<uint32_t>(correlation / cuda_file::kIdsOfLife);
  return lives_.try_emplace(number, shared_, process_, number).first->second;
}

bool RecordedCuda::define(ByteView record, uint64_t first_correlation) {
  any_ = true;
  CudaLife& of = life(first_correlation);
  switch (kindOf(record)) {
    case RecordKind::kCudaText: {
      arena::CudaTextRecord r;
      if (!takePart(record, r) || r.bytes > record.size()) return false;
      return of.defineText(r, asText(record.subspan(0, r.bytes)));
    }
    case RecordKind::kCudaContext:
      return of.defineContext(record);
    case RecordKind::kCudaDevice:
      return of.defineDevice(record);
    default:
      return false;
  }
}

void RecordedCuda::noteClock(CudaFile& file) {
  constexpr int64_t kOtherClockNs = 1'000'000;  // larger than any error of a reading
  cupti_clock_ = file.clock();
  for (const cuda_file::ClockSample& s : file.takeClockSamples()) {
    const int64_t cupti_ns = cuptiNs(s.cupti);
    last_clock_ns_ = std::max(last_clock_ns_, s.after_ns);
    if (cupti_ns < s.before_ns - kOtherClockNs || cupti_ns > s.after_ns + kOtherClockNs) continue;
    const int64_t width = s.after_ns - s.before_ns;
    clock_snapshots_.push_back(
        {.host_ns = s.before_ns + width / 2, .clock_value = cupti_ns, .error_ns = (width + 1) / 2});
  }
}

void RecordedCuda::giveClockSnapshots() {
  std::set<DeviceId> devices;
  for (const auto& [number, of] : lives_) of.addDevices(devices);
  if (devices.empty()) return;
  for (const DeviceId device : devices) {
    auto& to = shared_.devices[indexOf(device)].vendor_snapshots;
    to.insert(to.end(), clock_snapshots_.begin(), clock_snapshots_.end());
  }
  clock_snapshots_.clear();
}

bool RecordedCuda::joinGraphNode(ByteView record) {
  arena::CudaGraphNodeRecord r;
  if (!takePart(record, r)) return false;
  const CallPathId path = stacks_.withoutVendorFrames(stacks_.path(r.header.aux));
  life(r.correlation).defineGraphNode(r.node, r.original, path);
  if (path != CallPathId::kNone || r.original != 0) {
    shared_.delta.object.push({.process_id = process_,
                               .kind = ObjectKind::kGraphNode,
                               .handle = r.node,
                               .parent = r.original,
                               .bytes = r.correlation,
                               .id = static_cast<uint32_t>(path)});
  }
  return true;
}

// --- Calls --------------------------------------------------------------------------------------

void RecordedCuda::keepCall(uint64_t correlation, const Call& call) {
  if (!calls_.try_emplace(correlation, call).second) return;
  call_order_.push_back(correlation);
  if (call_order_.size() > kMostCalls) forgetOldestCall();
}

void RecordedCuda::forgetOldestCall() {
  const auto oldest = calls_.find(call_order_.front());
  call_order_.pop_front();
  if (oldest->second.awaited) ++totals_.never_came;
  calls_.erase(oldest);
}

RecordedCuda::Call* RecordedCuda::callOf(uint64_t correlation) {
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? nullptr : &found->second;
}

void RecordedCuda::writeHostCall(const arena::CallRecord& call, ThreadId thread) {
  CudaLife& of = life(call.correlation);
  of.noteCall(call.correlation);
  const CudaLife::Function function = of.function(call.header.aux);
  const StringId kernel = of.kernelName(static_cast<uint32_t>(call.stream));
  const CallPathId path = stacks_.withoutVendorFrames(stacks_.pathOfCall(call.stack));
  const bool captured = (call.header.flags & arena::kFlagCaptured) != 0;
  ++shared_.host_calls;
  const bool launches =
      (call.header.flags & arena::kFlagKernel) != 0 && !captured && call.result == 0;
  keepCall(call.correlation, {.thread = thread,
                              .path = path,
                              .kernel = kernel,
                              .awaited = launches,
                              .is_launch = launches,
                              .is_virtual_memory = function.is_virtual_memory});
  if (const auto waits = waiting_.find(call.correlation); waits != waiting_.end()) {
    for (Work& work : waits->second) arrived_.push_back(std::move(work));
    waiting_.erase(waits);
  }
  const int64_t start_ns = host_ns_(call.start);
  shared_.delta.host_call.push({.start_ns = start_ns,
                                .duration_ns = host_ns_(call.end) - start_ns,
                                .name = function.name,
                                .process_id = process_,
                                .thread_id = thread,
                                .correlation_id = call.correlation,
                                .result = call.result,
                                .kind = function.kind,
                                .call_path_id = path,
                                .subject = captured ? kernel : StringId::kNone});
  if (function.records_event && call.result == 0 && !captured) {
    events_.addCall(call.correlation, start_ns, host_ns_(call.end));
  }
  if (captured) noteNoDeviceWork(call.correlation);
}

/// Notes for a resuming collector that this launch expects no records; the row of the call does not
/// say so.
void RecordedCuda::noteNoDeviceWork(uint64_t correlation) {
  shared_.delta.pending.push({.process_id = process_,
                              .correlation_id = correlation,
                              .kind = CallKind::kOther,
                              .sub_kind = kPendingNoDeviceWork});
}

// --- Device work --------------------------------------------------------------------------------

bool RecordedCuda::join(ByteView record, ThreadId thread) {
  any_ = true;
  const RecordKind kind = kindOf(record);
  if (isWork(kind)) return joinWork(record, thread);
  switch (kind) {
    case RecordKind::kCudaCall: {
      arena::CallRecord call;
      if (!takePart(record, call)) return false;
      writeHostCall(call, thread);
      return true;
    }
    case RecordKind::kCudaText: {  // a problem; it may be the only record
      arena::CudaTextRecord r;
      if (!takePart(record, r) || r.bytes > record.size()) return false;
      const std::string_view text = asText(record.subspan(0, r.bytes));
      if (static_cast<arena::CudaText>(r.header.flags) == arena::CudaText::kOtherTools) {
        other_tools_ = text;
        return true;
      }
      captures_nothing_ = captures_nothing_ || r.header.aux == 0;
      if (problem_.find(text) == std::string::npos) {
        problem_ += (problem_.empty() ? "" : "; ") + std::string(text);
      }
      return true;
    }
    case RecordKind::kCudaGraphNode:
      return joinGraphNode(record);
    case RecordKind::kCudaModule: {
      arena::CudaModuleRecord r;
      if (!takePart(record, r)) return false;
      writeModule(r, thread);
      return true;
    }
    case RecordKind::kCudaVirtualMemory: {
      arena::CudaVirtualMemoryRecord r;
      if (!takePart(record, r)) return false;
      joinVirtualMemory(r, thread);
      return true;
    }
    case RecordKind::kCudaDropped: {
      arena::CudaDroppedRecord r;
      if (!takePart(record, r)) return false;
      totals_.dropped += r.records;
      return true;
    }
    case RecordKind::kCudaUnified: {
      arena::CudaUnifiedRecord r;
      if (!takePart(record, r)) return false;
      writeUnified(r);
      return true;
    }
    default:
      return false;
  }
}

bool RecordedCuda::joinWork(ByteView record, ThreadId thread) {
  const WorkPlace place = placeOf(record);
  const RecordKind kind = kindOf(record);
  // CUPTI's own overhead may belong to no call.
  if (place.correlation == 0 &&
      (kind != RecordKind::kCudaOverhead || record.size() < workBytes(kind))) {
    return false;
  }
  last_work_[static_cast<uint32_t>(thread)] = {kind, place.correlation, place.start};
  arrived_.push_back({Bytes(record.begin(), record.end()), place.correlation});
  return true;
}

/// Joins a record that a killed program had in a buffer. The first record of a buffer may already
/// have come through a ring.
bool RecordedCuda::joinUnread(ByteView record, bool first, uint64_t first_correlation) {
  const RecordKind kind = kindOf(record);
  if (kind == RecordKind::kCudaDevice || kind == RecordKind::kCudaContext) {
    return define(record, first_correlation);
  }
  if (!isWork(kind)) return join(record, ThreadId::kNone);
  const WorkPlace place = placeOf(record);
  const WorkKey key{kind, place.correlation, place.start};
  for (const auto& [thread, last] : last_work_) {
    if (first && last == key) return true;
  }
  return joinWork(record, ThreadId::kNone);
}

void RecordedCuda::noteFile(const CudaFile& file, bool dead) {
  const auto [at, is_new] = file_losses_.try_emplace(file.name());
  auto& [undefined, refused] = at->second;
  if (is_new) {  // new to this collector; another one may have counted its losses
    undefined = std::min(file.definitionsLost(), restored_losses_.first);
    refused = std::min(file.buffersRefused(), restored_losses_.second);
    restored_losses_.first -= undefined;
    restored_losses_.second -= refused;
  }
  totals_.undefined += file.definitionsLost() - undefined;
  totals_.refused += file.buffersRefused() - refused;
  undefined = file.definitionsLost();
  refused = file.buffersRefused();
  if (!dead) return;
  const uint64_t near = life(file.firstCorrelation()).newestCall();
  const UnreadCudaRecords left = file.readBuffers(near, [&](ByteView record, bool first) {
    joinUnread(record, first, file.firstCorrelation());
  });
  totals_.unreadable += left.unreadable;
  totals_.unfinished += left.unfinished_others;
  endPass();  // the file is not needed once these rows are written
}

void RecordedCuda::endPass() {
  const int64_t now = monotonicNs();
  for (Work& work : arrived_) {
    Call* const call = callOf(work.correlation);
    if (call != nullptr || work.correlation == 0) {
      writeRow(work, call);
      continue;
    }
    work.since_ns = now;
    waiting_order_.emplace_back(work.correlation, now);
    waiting_[work.correlation].push_back(std::move(work));
  }
  arrived_.clear();
  while (!waiting_order_.empty() && (waiting_order_.size() > kMostWaiting ||
                                     now - waiting_order_.front().second > kLongestWaitNs)) {
    giveUp(waiting_order_.front().first);
    waiting_order_.pop_front();
  }
  events_.endPass();
  totals_.unmatched = restored_unmatched_ + events_.unmatched();
  writeMemoryEvents(virtual_memory_.endPass());
  totals_.unmatched_memory = virtual_memory_.unmatched();
}

/// Gives up work whose call has not been seen for long: capture was disabled, or the record was
/// lost.
void RecordedCuda::giveUp(uint64_t correlation) {
  const auto found = waiting_.find(correlation);
  if (found == waiting_.end()) return;
  for (const Work& work : found->second) writeRow(work, callOf(correlation));
  waiting_.erase(found);
}

void RecordedCuda::finish() {
  endPass();
  for (const auto& [correlation, since] : waiting_order_) giveUp(correlation);
  waiting_order_.clear();
  events_.finish();
  totals_.unmatched = restored_unmatched_ + events_.unmatched();
  writeMemoryEvents(virtual_memory_.finish(), true);
  totals_.unmatched_memory = virtual_memory_.unmatched();
  noteLastLaunches();
  while (!call_order_.empty()) forgetOldestCall();
  for (const auto& [correlation, count] : interrupted_) totals_.interrupted += count;
  interrupted_.clear();
  finished_ = true;
}

/// The agent has collected CUPTI's remaining records at the program's end. If the last launches
/// have no record, and another tool that uses CUPTI is loaded in the process, that tool is the
/// likely reason.
void RecordedCuda::noteLastLaunches() {
  if (other_tools_.empty() || !problem_.empty()) return;
  for (auto id = call_order_.rbegin(); id != call_order_.rend(); ++id) {
    const Call* const call = callOf(*id);
    if (call == nullptr || !call->is_launch) continue;
    if (!call->awaited) break;
    ++last_launches_lost_;
  }
  if (last_launches_lost_ == 0 || totals_.dropped >= last_launches_lost_) return;
  problem_ =
      "CUPTI delivered no record of the last " + std::to_string(last_launches_lost_) +
      " launches. Another tool in this process may use CUPTI, which serves one tool at a time "
      "(loaded: " +
      other_tools_ + "). Record without that tool, or use that tool alone";
}

// --- Another collector's ------------------------------------------------------------------------

void RecordedCuda::restoreCall(const HostCallRow& row) {
  life(row.correlation_id).noteCall(row.correlation_id);
  const std::string_view name = shared_.delta.strings.at(row.name);
  const bool awaited = shared_.keep_kernels && row.kind == CallKind::kLaunch && row.result == 0 &&
                       name.starts_with("cu") && name.find("GraphLaunch") == std::string_view::npos;
  // The file may have the kernel of a call that is forgotten now: see forgetWaiting().
  if (call_order_.size() >= kMostCalls) calls_[call_order_.front()].awaited = false;
  keepCall(row.correlation_id, {.thread = row.thread_id,
                                .path = row.call_path_id,
                                .awaited = awaited,
                                .is_virtual_memory = VirtualMemory::isFunction(name)});
  if (CudaEvents::recordsEvent(name) && row.result == 0) {
    events_.addCall(row.correlation_id, row.start_ns, row.start_ns + row.duration_ns);
  }
}

void RecordedCuda::restoreWaiting(uint64_t correlation) {
  ++interrupted_[correlation];
  if (Call* const call = callOf(correlation)) call->awaited = false;
}

void RecordedCuda::restoreNoDeviceWork(uint64_t correlation) {
  if (Call* const call = callOf(correlation)) call->awaited = false;
}

void RecordedCuda::restoreContext(const ContextRow& row) {
  const uint32_t number = CudaLife::lifeOf(row.handle);
  life(number * cuda_file::kIdsOfLife).restoreContext(row);
  restored_contexts_[row.id] = {number, static_cast<uint32_t>(row.handle)};
}

void RecordedCuda::restoreStream(const StreamRow& row) {
  const auto in = restored_contexts_.find(row.context_id);
  if (in == restored_contexts_.end()) return;
  life(in->second.first * cuda_file::kIdsOfLife).restoreStream(row, in->second.second);
}

void RecordedCuda::restoreGraphNode(const ObjectRow& row) {
  life(row.bytes).defineGraphNode(row.handle, row.parent, static_cast<CallPathId>(row.id));
}

void RecordedCuda::forgetWaiting(uint64_t correlation) {
  const auto found = interrupted_.find(correlation);
  if (found != interrupted_.end() && --found->second == 0) interrupted_.erase(found);
  if (Call* const call = callOf(correlation)) call->awaited = false;
}

void RecordedCuda::writeWaiting() {
  events_.writeWaiting();
  writeMemoryEvents(virtual_memory_.endCommit());
  const int64_t now = monotonicNs();
  for (auto& [correlation, works] : waiting_) {
    std::erase_if(works, [&](const Work& work) {
      const RecordKind kind = kindOf(work.record);
      // It may still turn out to be an allocation of the virtual memory API: see writeRow().
      const bool is_new = now - work.since_ns < kSoonNs && kind == RecordKind::kCudaMemory;
      if (needsCall(kind) || is_new) return false;
      writeRow(work, nullptr);
      return true;
    });
    for (Work& work : works) {
      if (work.is_written) continue;
      work.is_written = true;
      // CallKind::kOther distinguishes it from commands that wait for their completion.
      shared_.delta.pending.push({.process_id = process_, .correlation_id = correlation});
    }
  }
}

void RecordedCuda::writeRow(const Work& work, Call* call) {
  const uint8_t* const p = work.record.data();
  const RecordKind kind = kindOf(work.record);
  if (call == nullptr && needsCall(kind)) ++totals_.without_call;
  if (call != nullptr && kind == RecordKind::kCudaKernel) call->awaited = false;
  const Call by = call != nullptr ? *call : Call{};
  switch (kind) {
    case RecordKind::kCudaKernel:
      return writeKernel(loadFixed<arena::CudaKernelRecord>(p), by);
    case RecordKind::kCudaCopy:
      return writeCopy(loadFixed<arena::CudaCopyRecord>(p), by);
    case RecordKind::kCudaFill:
      return writeFill(loadFixed<arena::CudaFillRecord>(p), by);
    case RecordKind::kCudaGraph:
      return writeGraph(loadFixed<arena::CudaGraphRecord>(p), by);
    case RecordKind::kCudaSync:
      return writeSync(loadFixed<arena::CudaSyncRecord>(p), by);
    case RecordKind::kCudaEvent:
      return addEventRecording(loadFixed<arena::CudaEventRecord>(p));
    case RecordKind::kCudaMemory:
      // CUPTI's documentation does not mention memory records for these calls. If it sends them,
      // VirtualMemory has that memory already: a call's record follows the record of its effect.
      if (by.is_virtual_memory) return;
      return writeMemory(loadFixed<arena::CudaMemoryRecord>(p), by);
    case RecordKind::kCudaPool:
      return writePool(loadFixed<arena::CudaPoolRecord>(p), by);
    case RecordKind::kCudaOverhead:
      return writeOverhead(loadFixed<arena::CudaOverheadRecord>(p), by);
    case RecordKind::kCudaJit:
      return writeJit(loadFixed<arena::CudaJitRecord>(p), by);
    default:
      return;
  }
}

}  // namespace tracesmith
