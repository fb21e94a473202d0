// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/execution_trace/execution_nodes.hpp"

#include <fmt/format.h>

#include "tracesmith/import/common/rank_list.hpp"
#include "tracesmith/import/common/torch_collectives.hpp"

namespace tracesmith::import {
namespace {

/// CollectiveCommType of Chakra's et_def.proto.
std::string_view collectiveName(int64_t type) {
  constexpr std::string_view kNames[] = {
      "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
      "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
  return type >= 0 && type < static_cast<int64_t>(std::size(kNames))
             ? kNames[static_cast<size_t>(type)]
             : "collective";
}

}  // namespace

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

CommunicatorId ExecutionNodes::communicator(StringId group) {
  if (group == StringId::kNone) return CommunicatorId::kNone;
  const auto [known, fresh] = communicators_.try_emplace(group);
  if (fresh) {
    known->second = idAt<CommunicatorId>(communicators_.size() - 1);
    builder_.rows.communicator.push({.id = known->second,
                                     .process_id = builder_.process(pid_),
                                     .name = group,
                                     .key = communicatorKey(builder_.rows.text(group), nullptr),
                                     .rank = -1,
                                     .ordinal = static_cast<uint32_t>(communicators_.size())});
    builder_.added();
  }
  return known->second;
}

std::optional<CommRow> ExecutionNodes::commOf(const ExecutionNode& node) {
  const bool sends = node.type == NodeType::kSend;
  const bool receives = node.type == NodeType::kReceive;
  const NodeCommunication& says = node.communication;
  // Operators around a collective are of its type as well, but say nothing about it.
  const bool is_collective =
      node.type == NodeType::kCollective && (says.type >= 0 || says.bytes > 0);
  if (!sends && !receives && !is_collective) return std::nullopt;
  const std::string_view plain = sends ? "send" : receives ? "recv" : collectiveName(says.type);
  const TorchCollective known = torchCollective(plain);
  const bool is_nccl = builder_.rows.text(node.name).starts_with("nccl") && !known.nccl.empty();
  return CommRow{.start_ns = node.start_ns.value_or(0),
                 .function = builder_.text(is_nccl ? known.nccl : plain),
                 .process_id = builder_.process(pid_),
                 .communicator_id = communicator(says.group),
                 .kind = sends      ? CommKind::kSend
                         : receives ? CommKind::kReceive
                                    : CommKind::kCollective,
                 .peer = sends      ? says.destination
                         : receives ? says.source
                                    : -1,
                 .tag = says.tag,
                 // Of collectives, Chakra does not say which ranks send how much of it.
                 .send_bytes = receives ? 0 : says.bytes,
                 .receive_bytes = receives ? says.bytes : 0,
                 .correlation_id = node.id};
}

void ExecutionNodes::addComm(const ExecutionNode& node, ProcessId process) {
  std::optional<CommRow> row = commOf(node);
  if (!row) return;
  if (!node.on_device) row->duration_ns = node.duration_ns;
  builder_.rows.comm.push(*row);
  if (node.on_device) {
    builder_.rows.comm_work.push({.start_ns = row->start_ns,
                                  .duration_ns = node.duration_ns,
                                  .process_id = process,
                                  .correlation_id = node.id,
                                  .kind = CommWorkKind::kOperation,
                                  .timing_source = TimingSource::kDevice,
                                  .peer = -1});
  }
  builder_.added(2);
}

void ExecutionNodes::finish() {
  if (rows_ > 0) return;
  for (const CommRow& row : untimed_) {
    builder_.rows.comm.push(row);
    builder_.added();
  }
  has_untimed_ = !untimed_.empty();
}

bool ExecutionNodes::add(ExecutionNode& node) {
  ++nodes_;
  if (!node.start_ns || !spans_.isTime(*node.start_ns)) {
    if (!node.start_ns && rows_ == 0) {
      if (const std::optional<CommRow> row = commOf(node)) untimed_.push_back(*row);
    }
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
  addComm(node, process);
  ++rows_;
  return true;
}

std::string ExecutionNodes::describeNodesWithoutTable() const {
  if (nodes_ == rows_) return {};
  if (has_untimed_) {
    return fmt::format(
        "{} nodes have no readable start: they are kept unchanged, but are in no table. Those that "
        "communicate ({}) are in comm, without times",
        nodes_, untimed_.size());
  }
  return fmt::format(
      "{} nodes have no readable start: they are kept unchanged, but are in no table",
      nodes_ - rows_);
}

}  // namespace tracesmith::import
