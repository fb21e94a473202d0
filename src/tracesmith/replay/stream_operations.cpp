// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/stream_operations.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/simulate/step_durations.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

using recording::CommandKind;

namespace {

Timestamp stamp(int64_t ns) { return static_cast<Timestamp>(std::max<int64_t>(ns, 0)); }

EventType typeOf(CommandKind kind) {
  switch (kind) {
    case CommandKind::kLaunch:
      return EventType::KernelLaunch;
    case CommandKind::kWrite:
    case CommandKind::kUnmap:
    case CommandKind::kSvmUnmap:
      return EventType::MemcpyH2D;
    case CommandKind::kRead:
    case CommandKind::kMap:
    case CommandKind::kSvmMap:
      return EventType::MemcpyD2H;
    case CommandKind::kCopy:
    case CommandKind::kSvmCopy:
    case CommandKind::kMigrate:
      return EventType::MemcpyD2D;
    case CommandKind::kFill:
    case CommandKind::kSvmFill:
      return EventType::MemsetDevice;
    case CommandKind::kMarker:
      return EventType::EventRecord;
    case CommandKind::kFinish:
      return EventType::StreamSync;
    case CommandKind::kWaitForEvents:
      return EventType::EventSync;
    case CommandKind::kSvmFree:
      return EventType::MemFree;
    default:
      return EventType::Custom;
  }
}

EventType typeOf(const Trace& trace, const Operation& op) {
  switch (op.table) {
    case TableId::kKernel:
      return EventType::KernelComplete;
    case TableId::kFill:
      return EventType::MemsetDevice;
    case TableId::kCopy:
      switch (trace.copy.kind[op.row]) {
        case CopyKind::kHostToDevice:
        case CopyKind::kUnmap:
          return EventType::MemcpyH2D;
        case CopyKind::kDeviceToHost:
        case CopyKind::kMap:
          return EventType::MemcpyD2H;
        default:
          return EventType::MemcpyD2D;
      }
    default:
      return EventType::StreamSync;
  }
}

uint32_t numberOf(const std::vector<uint32_t>& numbers, size_t id) {
  return id == 0 || id > numbers.size() ? 0 : numbers[id - 1];
}

/// The operations that `step` has to wait for. Steps that move but are not operations (the Done of
/// a call that waited, a user event, restored memory) are replaced by the operations that they wait
/// for.
std::vector<uint64_t> operationsBefore(const ReplayPlan& plan, const StepDependencies& dependencies,
                                       StepIndex step) {
  std::vector<uint64_t> out;
  std::vector<StepIndex> todo = {step};
  std::unordered_set<StepIndex> seen = {step};
  while (!todo.empty()) {
    const auto before = dependencies.before(todo.back());
    todo.pop_back();
    for (const StepIndex on : before) {
      if (!seen.insert(on).second) continue;
      if (isOperation(plan.step(on))) {
        out.push_back(on);
        continue;
      }
      // Adding all of them would be quadratic with one wait after the other: usually a listed
      // operation already waited for the earlier ones.
      const bool implied = std::any_of(before.begin(), before.end(), [&](StepIndex other) {
        const auto its = dependencies.before(other);
        return isOperation(plan.step(other)) && std::find(its.begin(), its.end(), on) != its.end();
      });
      if (!implied) todo.push_back(on);
    }
  }
  return out;
}

}  // namespace

OperationKind kindOf(EventType type) {
  switch (type) {
    case EventType::KernelLaunch:
    case EventType::KernelComplete:
      return OperationKind::kKernel;
    case EventType::MemcpyH2D:
    case EventType::MemcpyD2H:
    case EventType::MemcpyD2D:
    case EventType::MemsetDevice:
    case EventType::MemAlloc:
    case EventType::MemFree:
      return OperationKind::kMemory;
    case EventType::StreamSync:
    case EventType::DeviceSync:
    case EventType::EventRecord:
    case EventType::EventSync:
      return OperationKind::kSync;
    default:
      return OperationKind::kOther;
  }
}

bool isOperation(const ReplayStep& step) { return isCommand(step) || hostWaits(step); }

std::vector<StreamOperation> operationsOf(const ReplayPlan& plan, const StepDurations* durations) {
  const StepDependencies dependencies = StepDependencies::of(plan);
  std::unordered_map<ObjectIndex, bool> out_of_order;
  std::vector<StreamOperation> out;
  for (StepIndex i = 0; i < plan.steps().size(); ++i) {
    const ReplayStep& step = plan.step(i);
    if (!isOperation(step)) continue;
    StreamOperation op;
    op.operation_id = i;
    if (isCommand(step) && step.queue != 0) {
      op.stream_id = plan.object(step.queue).ordinal;
      const auto [it, is_new] = out_of_order.try_emplace(step.queue);
      if (is_new) it->second = isOutOfOrder(plan, step.queue);
      op.out_of_order = it->second;
    }
    op.event.type = typeOf(step.kind());
    op.event.timestamp = stamp(step.header.start_ns);
    op.event.stream_id = op.stream_id;
    op.event.correlation_id = i;
    op.event.thread_id = step.header.thread;
    op.event.name =
        step.kind() == CommandKind::kLaunch ? plan.kernelName(step) : commandName(step.kind());
    if (durations != nullptr && durations->ns[i] != StepDurations::kUnknown) {
      op.event.duration = stamp(durations->ns[i]);
    }
    op.depends_on = operationsBefore(plan, dependencies, i);
    out.push_back(std::move(op));
  }
  if (durations != nullptr) setPriorities(out);
  return out;
}

TraceOperations operationsOf(const Trace& trace) {
  const OperationGraph graph = OperationGraph::of(trace);
  const std::vector<uint32_t> streams = streamNumbers(trace);
  const std::vector<uint32_t> devices = deviceNumbers(trace);
  const std::vector<uint32_t> order = graph.executionOrder();
  std::vector<uint32_t> place(graph.operations.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  TraceOperations out;
  out.operations.reserve(order.size());
  out.rows.resize(order.size());
  out.host_wait.resize(order.size());
  out.overlaps.resize(order.size());
  for (const uint32_t number : order) {
    if (isCancelledAt(out.operations.size())) return out;
    const Operation& from = graph.operations[number];
    out.rows[number] = {from.table, from.row};
    out.host_wait[number] = from.host_wait;
    StreamOperation op;
    op.operation_id = number;
    op.device_id = from.host_wait
                       ? TraceOperations::kHost
                       : numberOf(devices, static_cast<size_t>(trace.deviceOf(from.stream)));
    op.stream_id = from.host_wait ? static_cast<uint32_t>(from.thread)
                                  : numberOf(streams, static_cast<size_t>(from.stream));
    op.event.type = typeOf(trace, from);
    op.event.timestamp = stamp(from.begin_ns);
    op.event.duration = stamp(lengthOf(from.begin_ns, from.end_ns));
    op.event.device_id = from.host_wait ? 0 : op.device_id;
    op.event.stream_id = from.host_wait ? 0 : op.stream_id;
    op.event.correlation_id = from.correlation_id;
    op.event.name = std::string(trace.text(from.name));
    for (const Dependency& d : graph.of(number)) {
      if (d.why == Dependency::Why::kOverlapInStream) {
        out.overlaps[number] = true;
      } else if (place[d.from] < place[number]) {
        op.depends_on.push_back(d.from);
      } else {
        ++out.left_out;
      }
    }
    out.operations.push_back(std::move(op));
  }
  setPriorities(out.operations);
  return out;
}

void setPriorities(std::vector<StreamOperation>& operations) {
  std::unordered_map<uint64_t, size_t> at;
  // The next one, because the loop runs backwards.
  std::unordered_map<uint64_t, size_t> last_of_stream;
  at.reserve(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) at.try_emplace(operations[i].operation_id, i);
  for (StreamOperation& op : operations) op.priority = 0;
  for (size_t i = operations.size(); i-- > 0;) {
    StreamOperation& op = operations[i];
    const uint64_t stream = uint64_t{op.device_id} << 32 | op.stream_id;
    const auto [next, is_last] = last_of_stream.try_emplace(stream, i);
    if (!is_last) {
      const StreamOperation& after = operations[next->second];
      if (!after.out_of_order) op.priority = std::max(op.priority, after.priority);
      next->second = i;
    }
    const auto own = static_cast<int64_t>(std::min<Timestamp>(op.event.duration, INT64_MAX));
    op.priority = endOf(op.priority, own);
    for (const uint64_t id : op.depends_on) {
      const auto before = at.find(id);
      if (before == at.end() || before->second >= i) continue;
      StreamOperation& other = operations[before->second];
      other.priority = std::max(other.priority, op.priority);
    }
  }
}

}  // namespace tracesmith
