// SPDX-License-Identifier: Apache-2.0
// Selects the next operation to execute. An operation is ready when its predecessor in the stream
// (none with StreamOperation::out_of_order) and all its dependencies have completed. The policy
// chooses among ready ones.
//
// Operations and their dependencies may be added in any order, also while others are handed out.
// Handing one out takes O(1) with RoundRobin and O(log n) for n ready ones with the other policies.
// A completion takes time linear in the number of operations that depend on it.
// stream_scheduler_bench.cpp measures both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/replay/replay_config.hpp"

namespace tracesmith {

/// Use from one thread at a time.
class StreamScheduler {
 public:
  /// Ready, blocked, active and completed operations add up to the total.
  struct Statistics {
    size_t total_operations = 0;
    size_t completed_operations = 0;
    size_t ready_operations = 0;    ///< ready to be handed out
    size_t blocked_operations = 0;  ///< wait for others
    size_t active_operations = 0;   ///< handed out, not completed
    /// By stream number; streams with the same number on several devices count together.
    std::map<uint32_t, size_t> operations_per_stream;
  };

  explicit StreamScheduler(SchedulingPolicy policy = SchedulingPolicy::RoundRobin)
      : policy_(policy) {}
  SchedulingPolicy policy() const { return policy_; }

  /// Appends the operation to its stream. kInvalidArgument, without any change: the id exists
  /// already, or the operation and its stream differ in out_of_order.
  Status addOperation(StreamOperation operation);
  /// Stops at the first operation that is rejected.
  Status addOperations(std::vector<StreamOperation> operations);

  /// Returns each operation once; the pointer is valid until reset(). nullptr: none is ready now,
  /// because all are completed, wait for active ones, or can never run (see check()).
  StreamOperation* getNextOperation();
  /// Releases the operations that waited for this one. False: no such operation is active.
  bool markCompleted(uint64_t operation_id);

  /// True if there are operations and all of them are completed.
  bool allCompleted() const { return !operations_.empty() && completed_ == operations_.size(); }
  size_t pendingCount() const { return operations_.size() - completed_; }
  size_t readyCount() const;
  Statistics getStatistics() const;

  /// Checks that all operations can be completed. kInvalidArgument names an operation that depends
  /// on one that was never added; kDamaged names one that waits for itself through others. Takes
  /// linear time.
  Status check() const;
  /// Removes all operations; keeps the policy.
  void reset();

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  /// A known id: of an operation, or so far only named as a dependency.
  struct Node {
    uint32_t operation = kNone;
    uint32_t stream = kNone;
    uint32_t next_in_stream = kNone;   // node
    uint32_t first_dependent = kNone;  // in edges_
    // Number of uncompleted dependencies, including the predecessor in the stream.
    uint32_t waits_for = 0;
    // Key of its Turn, copied here because operations are scattered in memory.
    int64_t key = 0;
    bool active = false;
    bool completed = false;
  };
  struct Edge {
    uint32_t to = kNone;  // node
    uint32_t next = kNone;
  };
  struct Stream {
    uint32_t stream_id = 0;
    uint32_t last = kNone;  // node
    size_t operations = 0;
    bool out_of_order = false;
  };
  /// Order: the lowest key first; among equals the one added first.
  struct QueueEntry {
    int64_t key = 0;
    uint32_t node = kNone;
    uint32_t operation = kNone;
    bool operator>(const QueueEntry& other) const {
      return std::pair(key, operation) > std::pair(other.key, other.operation);
    }
  };

  uint32_t nodeOf(uint64_t id);
  void ready(uint32_t node);
  void release(uint32_t node);

  SchedulingPolicy policy_;
  std::deque<StreamOperation> operations_;  // a deque, so that pointers remain valid
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Stream> streams_;
  std::unordered_map<uint64_t, uint32_t> node_of_id_;
  std::unordered_map<uint64_t, uint32_t> stream_of_key_;  // device and stream
  std::queue<uint32_t> turns_;                            // RoundRobin: nodes
  std::priority_queue<QueueEntry, std::vector<QueueEntry>, std::greater<>> heap_;
  size_t completed_ = 0;
  size_t active_ = 0;
};

}  // namespace tracesmith
