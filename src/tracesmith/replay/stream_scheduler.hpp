// SPDX-License-Identifier: Apache-2.0
// Says which operation can go next: one whose predecessor in its stream (StreamOperation::
// out_of_order: none) and all that it depends on are over. Which of several, the policy says.
//
// Operations and what they depend on may be added in any order, also while others are handed out.
// Handing one out takes O(1) with RoundRobin and O(log ready ones) with the others; a completion
// takes as long as there are operations that depend on it. stream_scheduler_bench.cpp measures
// both.
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

/// One thread at a time.
class StreamScheduler {
 public:
  /// Ready, blocked, handed out and completed ones are all there are.
  struct Statistics {
    size_t total_operations = 0;
    size_t completed_operations = 0;
    size_t ready_operations = 0;    ///< can be handed out now
    size_t blocked_operations = 0;  ///< wait for others
    size_t active_operations = 0;   ///< handed out, not completed
    /// Streams of one number on several devices count together.
    std::map<uint32_t, size_t> operations_per_stream;
  };

  explicit StreamScheduler(SchedulingPolicy policy = SchedulingPolicy::RoundRobin)
      : policy_(policy) {}
  SchedulingPolicy policy() const { return policy_; }

  /// Behind the others of its stream. kInvalidArgument: there is one with this id, or those of its
  /// stream are in order and it is not, or the other way round; nothing changes.
  Status addOperation(StreamOperation operation);
  /// Up to the first that is refused.
  Status addOperations(std::vector<StreamOperation> operations);

  /// Each operation once; it stays where it is until reset(). nullptr: none is ready now, because
  /// all are completed, or wait for what is handed out, or can never go (see check()).
  StreamOperation* getNextOperation();
  /// Lets go what waited for it. False: there is no such operation handed out.
  bool markCompleted(uint64_t operation_id);

  /// True when there were operations and all of them are over.
  bool allCompleted() const { return !operations_.empty() && completed_ == operations_.size(); }
  size_t pendingCount() const { return operations_.size() - completed_; }
  size_t readyCount() const;
  Statistics getStatistics() const;

  /// Whether all operations can be completed. kInvalidArgument names an operation that depends on
  /// one that was never added, or kDamaged one that waits for itself by way of others. Linear.
  Status check() const;
  /// Forgets all operations; the policy stays.
  void reset();

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  /// An id that was named: of an operation, or (yet) only of what others depend on.
  struct Node {
    uint32_t operation = kNone;
    uint32_t stream = kNone;
    uint32_t next_in_stream = kNone;   // node
    uint32_t first_dependent = kNone;  // in edges_
    uint32_t waits_for = 0;            // not completed, the predecessor in the stream included
    int64_t key = 0;                   // of its Turn: operations themselves are far apart in memory
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
  /// The lowest key first; among equals the one that was added first.
  struct Turn {
    int64_t key = 0;
    uint32_t node = kNone;
    uint32_t operation = kNone;
    bool operator>(const Turn& other) const {
      return std::pair(key, operation) > std::pair(other.key, other.operation);
    }
  };

  uint32_t nodeOf(uint64_t id);
  void ready(uint32_t node);
  void release(uint32_t node);

  SchedulingPolicy policy_;
  std::deque<StreamOperation> operations_;  // a deque: pointers to them stay good
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Stream> streams_;
  std::unordered_map<uint64_t, uint32_t> node_of_id_;
  std::unordered_map<uint64_t, uint32_t> stream_of_key_;  // device and stream
  std::queue<uint32_t> turns_;                            // RoundRobin: of nodes
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> heap_;
  size_t completed_ = 0;
  size_t active_ = 0;
};

}  // namespace tracesmith
