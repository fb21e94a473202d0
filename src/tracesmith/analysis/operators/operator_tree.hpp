// SPDX-License-Identifier: Apache-2.0
// The call tree of a trace's host ranges, with the host time and the device work of each call path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/analysis/operators/operator_names.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

/// All calls of one name on one path.
struct OperatorNode {
  uint32_t parent = 0;  ///< index of a node before this one; of the root: 0
  uint32_t name = 0;    ///< index in OperatorTree::names
  uint64_t calls = 0;
  int64_t host_total_ns = 0;
  int64_t host_self_ns = 0;    ///< outside of nested ranges
  uint64_t launches = 0;       ///< kernels, copies and fills launched outside of nested ranges
  int64_t device_self_ns = 0;  ///< their durations, each counted by itself
  uint64_t bytes = 0;          ///< of these copies and fills
  /// Device work of its backward operators; in trees of operators only. In the other trees backward
  /// operators are nodes below the one that caused them.
  int64_t backward_ns = 0;
  /// With the nodes below.
  int64_t device_total_ns = 0;
  int64_t backward_total_ns = 0;
};

/// A piece of device work belongs to the innermost range that is open on the launching thread when
/// its host call starts. Of ranges that overlap without nesting, the one that ends first is left,
/// and the others go on without it.
///
/// A backward operator belongs to the last forward operator that has its sequence number and
/// started before it (as PyTorch's own flows do). Of nested ranges of one backward operator the
/// outermost is joined.
struct OperatorTree {
  std::vector<std::string> names;    ///< names[0] is empty
  std::vector<OperatorNode> nodes;   ///< nodes[0], the root: work launched outside of ranges
  std::vector<uint32_t> node_of_op;  ///< of DeviceOps::ops; 0 for waits and markers, too

  static OperatorTree of(const Trace& trace, const DeviceOps& ops, OperatorRanges which);

  /// Names from the outermost to this node's; empty for the root.
  std::vector<std::string_view> path(uint32_t node) const;
};

/// Kernels, copies and fills; false for waits and markers.
inline bool isDeviceWork(const DeviceOp& op) { return op.table != TableId::kSync; }
/// Bytes of a copy or a fill; 0 for a kernel.
uint64_t bytesOf(const Trace& trace, const DeviceOp& op);

}  // namespace tracesmith
