// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/execution_trace/execution_nodes.hpp"

#include <fmt/format.h>

namespace tracesmith::import {

std::string_view toString(NodeType type) {
  switch (type) {
    case NodeType::kMetadata:
      return "metadata";
    case NodeType::kMemLoad:
      return "memory load";
    case NodeType::kMemStore:
      return "memory store";
    case NodeType::kCompute:
      return "compute";
    case NodeType::kSend:
      return "send";
    case NodeType::kReceive:
      return "receive";
    case NodeType::kCollective:
      return "collective";
    case NodeType::kInvalid:
      break;
  }
  return "node";
}

int64_t microsecondsInNs(int64_t micros) {
  int64_t ns = 0;
  if (!__builtin_mul_overflow(micros, int64_t{1000}, &ns)) return ns;
  return micros < 0 ? INT64_MIN : INT64_MAX;
}

bool ExecutionNodes::add(ExecutionNode& node) {
  ++nodes_;
  if (!node.start_ns || !spans_.isTime(*node.start_ns)) {
    kept_.keep(SourceRows::kNone, node.kept);
    builder_.added();
    return false;
  }
  node.duration_ns = spans_.lasting(node.duration_ns);
  Trace& rows = builder_.rows;
  const ProcessId process = builder_.process(pid_);
  TableId table = TableId::kRange;
  if (!node.on_device) {
    rows.range.push({.start_ns = *node.start_ns,
                     .duration_ns = node.duration_ns,
                     .name = node.name,
                     .category = builder_.text(toString(node.type)),
                     .process_id = process,
                     .thread_id = builder_.thread(pid_, node.tid),
                     .correlation_id = node.id});
  } else if (node.type == NodeType::kMemLoad || node.type == NodeType::kMemStore) {
    table = TableId::kCopy;
    rows.copy.push({.start_ns = *node.start_ns,
                    .duration_ns = node.duration_ns,
                    .process_id = process,
                    .stream_id = builder_.stream(pid_, 0, 0, node.tid),
                    .correlation_id = node.id,
                    .bytes = node.bytes,
                    .name = node.name});
  } else {
    table = TableId::kKernel;
    rows.kernel.push({.start_ns = *node.start_ns,
                      .duration_ns = node.duration_ns,
                      .name = node.name,
                      .process_id = process,
                      .stream_id = builder_.stream(pid_, 0, 0, node.tid),
                      .correlation_id = node.id});
  }
  kept_.keep(table, node.kept);
  const auto arrows = [&](const std::vector<uint64_t>& from, FlowKind kind) {
    for (const uint64_t id : from) {
      rows.flow.push({.process_id = process,
                      .from_correlation_id = id,
                      .to_correlation_id = node.id,
                      .kind = kind});
    }
  };
  arrows(node.control_deps, FlowKind::kCustom);
  arrows(node.data_deps, FlowKind::kWait);
  builder_.added(1 + node.control_deps.size() + node.data_deps.size());
  ++rows_;
  return true;
}

std::string ExecutionNodes::describeNodesWithoutTable() const {
  if (nodes_ == rows_) return {};
  return fmt::format(
      "{} nodes have no readable start: they are kept unchanged, but are in no table",
      nodes_ - rows_);
}

}  // namespace tracesmith::import
