// SPDX-License-Identifier: Apache-2.0
// The dependencies among the operations of a program, for programs that have TraceEvents; what is
// behind it, and what a Trace has, is OperationGraph.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/state/operation_dot.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

struct OperationDependency {
  uint64_t from_correlation_id = 0;
  uint64_t to_correlation_id = 0;
  DependencyType type = DependencyType::None;
  std::string description;  ///< why, for people
  bool exact = true;        ///< the trace says so; else it was inferred
};

/// An operation; its numbers are those of the execution order's list of operations.
struct InstructionNode {
  uint64_t correlation_id = 0;
  std::string name;
  uint32_t stream_id = 0;
  uint32_t device_id = 0;
  Timestamp start_time = 0;
  Timestamp end_time = 0;
  std::vector<uint64_t> dependencies;  ///< correlation ids of what it had to wait for
  std::vector<uint64_t> dependents;    ///< and of what had to wait for it
};

class InstructionStreamBuilder {
 public:
  struct Statistics {
    size_t total_operations = 0;
    size_t kernel_launches = 0;
    size_t memory_operations = 0;
    size_t synchronizations = 0;
    size_t total_dependencies = 0;
    std::map<uint32_t, size_t> operations_per_stream;
  };

  InstructionStreamBuilder();
  void addEvent(const TraceEvent& event);
  void addEvents(std::span<const TraceEvent> events);
  /// In place of events: the operations of a trace in host time.
  void setTrace(Trace trace);

  /// Finds the dependencies of what has been added. The others answer for the last call that was
  /// not cancelled (base/cancellation.hpp).
  void analyze();
  /// Correlation ids in an order that keeps all dependencies.
  std::vector<uint64_t> getExecutionOrder() const;
  std::vector<InstructionNode> getNodes() const;
  std::vector<OperationDependency> getDependencies() const;
  /// Correlation ids of a stream's operations, by start.
  std::vector<uint64_t> getStreamOperations(uint32_t stream_id) const;
  /// Whether `to` had to wait for `from`, directly or by way of others.
  bool hasDependency(uint64_t from_correlation_id, uint64_t to_correlation_id) const;
  /// The kernels that a kernel had to wait for, one after the other, back to one that waited for
  /// none: correlation ids, the given one last.
  std::vector<uint64_t> getCallChain(uint64_t correlation_id) const;
  Statistics getStatistics() const;
  std::string exportToDot(const DotOptions& options = {}) const;
  const OperationGraph& graph() const { return graph_; }
  void clear();

 private:
  uint32_t streamNumber(const Operation& op) const;
  uint32_t find(uint64_t correlation_id) const;

  Trace trace_;
  std::vector<TraceEvent> events_;  // not yet in trace_
  OperationGraph graph_;
  std::vector<uint32_t> stream_numbers_;
  std::vector<uint32_t> device_numbers_;
};

}  // namespace tracesmith
