// SPDX-License-Identifier: Apache-2.0
// Who communicates with whom, from operations that a C++ or Python program has. For traces there is
// `tracesmith analyze --comm` (analysis/communication).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/cluster/nccl_operation.hpp"

namespace tracesmith {

/// Ranks are those of the operations' communicators; if these differ, add the operations of one.
/// Not thread-safe.
class CommAnalysis {
 public:
  /// More ranks than this are in no matrix.
  static constexpr uint32_t kMostRanks = 2048;

  /// From rank (first index) to rank.
  struct CommMatrix {
    std::vector<std::vector<uint64_t>> bytes;
    std::vector<std::vector<uint64_t>> count;
    std::vector<std::vector<double>> avg_latency;  ///< mean duration in ns, of those that have one
    uint32_t world_size = 0;
  };
  enum class CommPattern : uint8_t {
    Unknown,       ///< nothing was sent
    AllToAll,      ///< each rank to each other
    Ring,          ///< a circle of all ranks, one way or both ways
    Tree,          ///< no circles, and a rank with three or more neighbours, or gathering in one
    Butterfly,     ///< each rank r with r xor 1, r xor 2, r xor 4, ...
    PointToPoint,  ///< no rank has more than two neighbours, and they are no circle
    Broadcast,     ///< one rank to all others, and no other sends
    Custom,
  };
  /// A pair of ranks that is busy for much of the time.
  struct Bottleneck {
    uint32_t rank_a = 0;  ///< sends
    uint32_t rank_b = 0;  ///< receives
    /// Share of the time from the first start of any operation to the last end in which at least
    /// one message of the pair was on its way.
    double utilization = 0;
    std::string reason;
  };
  struct LoadImbalance {
    uint32_t rank = 0;
    /// (value - mean) / mean of the time in operations; of the bytes if no operation has a time.
    double deviation = 0;
    uint64_t total_bytes = 0;  ///< data_size of its operations
    uint64_t total_time_ns = 0;
  };

  void addOperations(const std::vector<NCCLOperation>& operations);
  void addOperation(const NCCLOperation& operation);
  void clear();

  /// A message counts by its Send; by its Recv if no operation of the sender was added. AllToAll is
  /// an equal part to each other rank, Broadcast the buffer from the root to each other. What other
  /// collectives send to whom depends on the algorithm, so they are not in it. Empty if the ranks
  /// are more than kMostRanks.
  CommMatrix getCommMatrix() const;
  CommPattern detectPattern() const;
  static std::string_view patternToString(CommPattern pattern);
  /// Pairs of Send and Recv whose utilization is at least `threshold`, the busiest first.
  std::vector<Bottleneck> findBottlenecks(double threshold = 0.5) const;
  /// Each rank with operations, the one that deviates most first.
  std::vector<LoadImbalance> analyzeLoadBalance() const;
  /// Bytes of the matrix, as text.
  std::string matrixToASCII() const;
  /// {"world_size": n, "bytes": [[...], ...], "count": [...], "avg_latency_ns": [...]}
  std::string matrixToHeatmapJSON() const;

  /// data_size of all operations; of a message that both ends have, once.
  uint64_t getTotalBytes() const;
  size_t getTotalOperations() const { return operations_.size(); }
  /// The most that an operation says, or the highest rank + 1.
  uint32_t getWorldSize() const { return world_size_; }

 private:
  bool isCounted(const NCCLOperation& message) const;

  std::vector<NCCLOperation> operations_;
  std::set<uint32_t> ranks_;  // that have operations
  uint32_t world_size_ = 0;
};

}  // namespace tracesmith
