// SPDX-License-Identifier: Apache-2.0
// Converts nodes of execution traces to rows, for all formats of such traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_interval.hpp"

namespace tracesmith::import {

/// Values as in Chakra's NodeType.
enum class NodeType : uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
};
std::string_view toString(NodeType type);

struct ExecutionNode {
  uint64_t id = 0;
  StringId name{};
  NodeType type = NodeType::kInvalid;
  std::vector<uint64_t> control_deps, data_deps;
  std::optional<int64_t> start_ns;
  int64_t duration_ns = 0;
  bool on_device = false;
  int64_t tid = 0;  ///< thread; for device work: stream
  uint64_t bytes = 0;
  KeptEvent kept;
};

/// Converts a node's time from microseconds; saturates where nanoseconds do not fit in 64 bits.
int64_t microsecondsInNs(int64_t micros);

class ExecutionNodes {
 public:
  ExecutionNodes(TraceBuilder& builder, int64_t pid)
      : builder_(builder), kept_(builder), pid_(pid) {}
  void setPid(int64_t pid) { pid_ = pid; }
  /// Returns false if the node did not become a row.
  bool add(ExecutionNode& node);
  uint64_t nodes() const { return nodes_; }
  uint64_t rows() const { return rows_; }
  /// Note for the user about nodes that are in no table; "" if there are none.
  std::string describeNodesWithoutTable() const;
  const SpansOfSource& spans() const { return spans_; }

 private:
  TraceBuilder& builder_;
  KeptEvents kept_;
  int64_t pid_;
  SpansOfSource spans_;
  uint64_t nodes_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace tracesmith::import
