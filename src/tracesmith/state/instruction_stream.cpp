// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/instruction_stream.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/model/event_appender.hpp"
#include "tracesmith/state/operation_dot.hpp"

namespace tracesmith {

InstructionStreamBuilder::InstructionStreamBuilder() { clear(); }

void InstructionStreamBuilder::addEvent(const TraceEvent& event) { events_.push_back(event); }

void InstructionStreamBuilder::addEvents(std::span<const TraceEvent> events) {
  events_.insert(events_.end(), events.begin(), events.end());
}

void InstructionStreamBuilder::setTrace(Trace trace) {
  events_.clear();
  trace_ = std::move(trace);
}

void InstructionStreamBuilder::analyze() {
  const size_t appended = EventAppender(trace_).append(events_);
  events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(appended));
  if (isCancelled()) return;
  OperationGraph graph = OperationGraph::of(trace_);
  if (isCancelled()) return;
  graph_ = std::move(graph);
  stream_numbers_ = streamNumbers(trace_);
  device_numbers_ = deviceNumbers(trace_);
}

void InstructionStreamBuilder::clear() {
  trace_ = Trace();
  events_.clear();
  graph_ = OperationGraph();
  graph_.first = {0};
  stream_numbers_.clear();
  device_numbers_.clear();
}

uint32_t InstructionStreamBuilder::streamNumber(const Operation& op) const {
  const auto s = static_cast<size_t>(op.stream);
  return s == 0 || s > stream_numbers_.size() ? 0 : stream_numbers_[s - 1];
}

uint32_t InstructionStreamBuilder::find(uint64_t correlation_id) const {
  for (size_t i = 0; i < graph_.operations.size(); ++i) {
    if (graph_.operations[i].correlation_id == correlation_id) return static_cast<uint32_t>(i);
  }
  return ~uint32_t{0};
}

std::vector<uint64_t> InstructionStreamBuilder::getExecutionOrder() const {
  std::vector<uint64_t> order;
  for (const uint32_t op : graph_.executionOrder()) {
    order.push_back(graph_.operations[op].correlation_id);
  }
  return order;
}

std::vector<InstructionNode> InstructionStreamBuilder::getNodes() const {
  std::vector<InstructionNode> nodes(graph_.operations.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Operation& op = graph_.operations[i];
    const auto device = static_cast<size_t>(trace_.deviceOf(op.stream));
    nodes[i].correlation_id = op.correlation_id;
    nodes[i].name = trace_.text(op.name);
    nodes[i].stream_id = streamNumber(op);
    nodes[i].device_id =
        device == 0 || device > device_numbers_.size() ? 0 : device_numbers_[device - 1];
    nodes[i].start_time = static_cast<Timestamp>(op.begin_ns);
    nodes[i].end_time = static_cast<Timestamp>(op.end_ns);
  }
  for (const Dependency& d : graph_.dependencies) {
    nodes[d.to].dependencies.push_back(nodes[d.from].correlation_id);
    nodes[d.from].dependents.push_back(nodes[d.to].correlation_id);
  }
  return nodes;
}

std::vector<OperationDependency> InstructionStreamBuilder::getDependencies() const {
  std::vector<OperationDependency> out;
  out.reserve(graph_.dependencies.size());
  for (const Dependency& d : graph_.dependencies) {
    out.push_back({graph_.operations[d.from].correlation_id, graph_.operations[d.to].correlation_id,
                   d.type, std::string(toString(d.why)), d.exact()});
  }
  return out;
}

std::vector<uint64_t> InstructionStreamBuilder::getStreamOperations(uint32_t stream_id) const {
  std::vector<uint64_t> out;
  for (const Operation& op : graph_.operations) {
    if (!op.host_wait && streamNumber(op) == stream_id) out.push_back(op.correlation_id);
  }
  return out;
}

bool InstructionStreamBuilder::hasDependency(uint64_t from_correlation_id,
                                             uint64_t to_correlation_id) const {
  const uint32_t from = find(from_correlation_id);
  const uint32_t to = find(to_correlation_id);
  if (from >= graph_.operations.size() || to >= graph_.operations.size()) return false;
  std::vector<bool> seen(graph_.operations.size(), false);
  std::vector<uint32_t> left = {to};
  while (!left.empty()) {
    const uint32_t op = left.back();
    left.pop_back();
    for (const Dependency& d : graph_.of(op)) {
      if (d.from == from) return true;
      if (seen[d.from]) continue;
      seen[d.from] = true;
      left.push_back(d.from);
    }
  }
  return false;
}

std::vector<uint64_t> InstructionStreamBuilder::getCallChain(uint64_t correlation_id) const {
  std::vector<uint64_t> chain;
  uint32_t op = find(correlation_id);
  std::vector<bool> seen(graph_.operations.size(), false);
  while (op < graph_.operations.size() && !seen[op]) {
    seen[op] = true;
    if (graph_.operations[op].table == TableId::kKernel) {
      chain.push_back(graph_.operations[op].correlation_id);
    }
    // The dependency that ended last is the one that delayed it.
    uint32_t before = ~uint32_t{0};
    for (const Dependency& d : graph_.of(op)) {
      if (before == ~uint32_t{0} ||
          graph_.operations[d.from].end_ns > graph_.operations[before].end_ns) {
        before = d.from;
      }
    }
    op = before;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

InstructionStreamBuilder::Statistics InstructionStreamBuilder::getStatistics() const {
  Statistics out;
  out.total_operations = graph_.operations.size();
  out.total_dependencies = graph_.dependencies.size();
  for (const Operation& op : graph_.operations) {
    out.kernel_launches += op.table == TableId::kKernel;
    out.memory_operations += op.table == TableId::kCopy || op.table == TableId::kFill;
    out.synchronizations += op.table == TableId::kSync;
    if (!op.host_wait) ++out.operations_per_stream[streamNumber(op)];
  }
  return out;
}

std::string InstructionStreamBuilder::exportToDot(const DotOptions& options) const {
  return dependencyDot(trace_, graph_, options);
}

}  // namespace tracesmith
