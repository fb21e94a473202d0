// SPDX-License-Identifier: Apache-2.0
// Converts nodes of execution traces to rows, for all formats of such traces.
#pragma once

#include <cstdint>
#include <map>
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

/// What Chakra's nodes that communicate say about it (attributes comm_type, comm_size, comm_src,
/// comm_dst, comm_tag, pg_name).
struct NodeCommunication {
  int64_t type = -1;  ///< CollectiveCommType of a collective; -1: not given
  uint64_t bytes = 0;
  int64_t source = -1, destination = -1, tag = -1;  ///< of a message; -1: not given
  StringId group{};                                 ///< the process group's name
};

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
  NodeCommunication communication;
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
  /// Call after the last node. Nodes of a graph without any times that communicate get rows of
  /// `comm`, at time 0.
  void finish();
  uint64_t nodes() const { return nodes_; }
  uint64_t rows() const { return rows_; }
  /// Note for the user about nodes that are in no table; "" if there are none.
  std::string describeNodesWithoutTable() const;
  const SpansOfSource& spans() const { return spans_; }

 private:
  /// The row of `comm` of a node that communicates; nullopt of any other.
  std::optional<CommRow> commOf(const ExecutionNode& node);
  void addComm(const ExecutionNode& node, ProcessId process);
  CommunicatorId communicator(StringId group);

  TraceBuilder& builder_;
  KeptEvents kept_;
  int64_t pid_;
  SpansOfSource spans_;
  std::map<StringId, CommunicatorId> communicators_;  // by name
  std::vector<CommRow> untimed_;                      // of nodes without a start
  bool has_untimed_ = false;                          // rows of `comm`
  uint64_t nodes_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace tracesmith::import
