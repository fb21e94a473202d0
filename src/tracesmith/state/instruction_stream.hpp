// SPDX-License-Identifier: Apache-2.0
// The dependencies between the operations of a program, for API users who have TraceEvents.
// OperationGraph is the implementation and works on a Trace.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/state/operation_graph.hpp"

namespace tracesmith {

struct OperationDependency {
  uint64_t from_correlation_id = 0;
  uint64_t to_correlation_id = 0;
  DependencyType type = DependencyType::None;
  std::string description;  ///< the reason, as readable text
  bool exact = true;        ///< stated by the trace; false: inferred
};

/// An operation. Indices are positions in the list of operations of the execution order.
struct InstructionNode {
  uint64_t correlation_id = 0;
  std::string name;
  uint32_t stream_id = 0;
  uint32_t device_id = 0;
  Timestamp start_time = 0;
  Timestamp end_time = 0;
  std::vector<uint64_t> dependencies;  ///< correlation ids of the operations it had to wait for
  /// Correlation ids of the operations that had to wait for it.
  std::vector<uint64_t> dependents;
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
  /// Instead of events: the operations of a trace in host time.
  void setTrace(Trace trace);

  /// Finds the dependencies of everything added. The functions below return results of the last
  /// call that was not cancelled (base/cancellation.hpp).
  void analyze();
  /// Correlation ids in an order that respects all dependencies.
  std::vector<uint64_t> getExecutionOrder() const;
  std::vector<InstructionNode> getNodes() const;
  std::vector<OperationDependency> getDependencies() const;
  /// Correlation ids of a stream's operations, by start.
  std::vector<uint64_t> getStreamOperations(uint32_t stream_id) const;
  /// True if `to` had to wait for `from`, directly or indirectly.
  bool hasDependency(uint64_t from_correlation_id, uint64_t to_correlation_id) const;
  /// The chain of kernels that a kernel had to wait for, back to one that waited for none:
  /// correlation ids, the given one last.
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
