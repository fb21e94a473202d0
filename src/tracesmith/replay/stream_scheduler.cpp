// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/stream_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tracesmith {

uint32_t StreamScheduler::nodeOf(uint64_t id) {
  const auto [it, is_new] = node_of_id_.try_emplace(id, static_cast<uint32_t>(nodes_.size()));
  if (is_new) nodes_.emplace_back();
  return it->second;
}

Status StreamScheduler::addOperation(StreamOperation operation) {
  const uint64_t id = operation.operation_id;
  // Indices of nodes, edges and operations have 32 bits.
  if (nodes_.size() + operation.depends_on.size() >= kNone ||
      edges_.size() + operation.depends_on.size() >= kNone) {
    return fail(ErrorCode::kUnsupported, "more operations than a scheduler can number (2^32)");
  }
  const auto known = node_of_id_.find(id);
  if (known != node_of_id_.end() && nodes_[known->second].operation != kNone) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("there are two operations {}", id));
  }
  const uint64_t key = uint64_t{operation.device_id} << 32 | operation.stream_id;
  const auto [at, is_new] = stream_of_key_.try_emplace(key, static_cast<uint32_t>(streams_.size()));
  if (is_new) {
    streams_.push_back({.stream_id = operation.stream_id, .out_of_order = operation.out_of_order});
  } else if (streams_[at->second].out_of_order != operation.out_of_order) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("operation {} is {}, unlike the others of its stream", id,
                            operation.out_of_order ? "out of order" : "in order"));
  }
  const uint32_t node = nodeOf(id);
  Stream& stream = streams_[at->second];
  ++stream.operations;
  nodes_[node].operation = static_cast<uint32_t>(operations_.size());
  nodes_[node].stream = at->second;
  operation.dependencies_satisfied = false;
  if (policy_ == SchedulingPolicy::Priority) {
    nodes_[node].key = ~operation.priority;  // the highest first; ~ does not overflow as - would
  } else {
    nodes_[node].key =
        static_cast<int64_t>(std::min<Timestamp>(operation.event.timestamp, Timestamp{INT64_MAX}));
  }
  if (stream.last != kNone && !operation.out_of_order) {
    nodes_[stream.last].next_in_stream = node;
    nodes_[node].waits_for += nodes_[stream.last].completed ? 0 : 1;
  }
  stream.last = node;
  for (const uint64_t before : operation.depends_on) {
    const uint32_t other = nodeOf(before);
    if (nodes_[other].completed) continue;
    edges_.push_back({node, nodes_[other].first_dependent});
    nodes_[other].first_dependent = static_cast<uint32_t>(edges_.size() - 1);
    ++nodes_[node].waits_for;
  }
  operations_.push_back(std::move(operation));
  if (nodes_[node].waits_for == 0) ready(node);
  return {};
}

Status StreamScheduler::addOperations(std::vector<StreamOperation> operations) {
  for (StreamOperation& operation : operations) TS_CHECK_OK(addOperation(std::move(operation)));
  return {};
}

void StreamScheduler::ready(uint32_t node) {
  if (policy_ == SchedulingPolicy::RoundRobin) {
    // Those that have waited longest come first.
    turns_.push(node);
  } else {
    heap_.push({nodes_[node].key, node, nodes_[node].operation});
  }
}

size_t StreamScheduler::readyCount() const { return turns_.size() + heap_.size(); }

StreamOperation* StreamScheduler::getNextOperation() {
  uint32_t node = kNone;
  if (!turns_.empty()) {
    node = turns_.front();
    turns_.pop();
  } else if (!heap_.empty()) {
    node = heap_.top().node;
    heap_.pop();
  } else {
    return nullptr;
  }
  nodes_[node].active = true;
  ++active_;
  StreamOperation& operation = operations_[nodes_[node].operation];
  operation.dependencies_satisfied = true;
  return &operation;
}

void StreamScheduler::release(uint32_t node) {
  if (--nodes_[node].waits_for == 0) ready(node);
}

bool StreamScheduler::markCompleted(uint64_t operation_id) {
  const auto it = node_of_id_.find(operation_id);
  if (it == node_of_id_.end() || !nodes_[it->second].active) return false;
  Node& node = nodes_[it->second];
  node.active = false;
  node.completed = true;
  --active_;
  ++completed_;
  if (node.next_in_stream != kNone) release(node.next_in_stream);
  for (uint32_t e = node.first_dependent; e != kNone; e = edges_[e].next) release(edges_[e].to);
  return true;
}

StreamScheduler::Statistics StreamScheduler::getStatistics() const {
  Statistics out;
  out.total_operations = operations_.size();
  out.completed_operations = completed_;
  out.ready_operations = readyCount();
  out.active_operations = active_;
  out.blocked_operations = operations_.size() - completed_ - active_ - out.ready_operations;
  for (const Stream& stream : streams_) {
    out.operations_per_stream[stream.stream_id] += stream.operations;
  }
  return out;
}

Status StreamScheduler::check() const {
  for (const Node& node : nodes_) {
    if (node.operation != kNone) continue;
    const StreamOperation& who = operations_[nodes_[edges_[node.first_dependent].to].operation];
    const auto missing =
        std::find_if(who.depends_on.begin(), who.depends_on.end(),
                     [&](uint64_t id) { return nodes_[node_of_id_.at(id)].operation == kNone; });
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("operation {} depends on {}, which does not exist", who.operation_id,
                            *missing));
  }
  // Remove ready operations until none is left, or only those that wait for themselves.
  std::vector<uint32_t> waits_for(nodes_.size());
  std::vector<uint32_t> free;
  size_t over = 0;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    waits_for[i] = nodes_[i].waits_for;
    if (nodes_[i].completed) {
      ++over;
    } else if (waits_for[i] == 0) {
      free.push_back(i);
    }
  }
  const auto release = [&](uint32_t node) {
    if (--waits_for[node] == 0) free.push_back(node);
  };
  while (!free.empty()) {
    const Node& node = nodes_[free.back()];
    free.pop_back();
    ++over;
    if (node.next_in_stream != kNone) release(node.next_in_stream);
    for (uint32_t e = node.first_dependent; e != kNone; e = edges_[e].next) release(edges_[e].to);
  }
  if (over == nodes_.size()) return {};
  // From a remaining one, walk back through remaining ones until one repeats.
  std::vector<uint32_t> before(nodes_.size(), kNone);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (waits_for[i] == 0 || nodes_[i].completed) continue;
    const auto leads = [&](uint32_t to) { before[to] = i; };
    if (nodes_[i].next_in_stream != kNone) leads(nodes_[i].next_in_stream);
    for (uint32_t e = nodes_[i].first_dependent; e != kNone; e = edges_[e].next)
      leads(edges_[e].to);
  }
  auto at = static_cast<uint32_t>(
      std::find_if(before.begin(), before.end(), [](uint32_t b) { return b != kNone; }) -
      before.begin());
  std::vector<bool> seen(nodes_.size());
  while (!seen[at]) {
    seen[at] = true;
    at = before[at];
  }
  return fail(ErrorCode::kDamaged,
              fmt::format("operation {} waits for itself, through others or its stream",
                          operations_[nodes_[at].operation].operation_id));
}

void StreamScheduler::reset() { *this = StreamScheduler(policy_); }

}  // namespace tracesmith
