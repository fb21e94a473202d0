// SPDX-License-Identifier: Apache-2.0
// Which operator of a profile (Kineto) is which node of the execution trace of the same process.
//
// Where operators say their "Record function id", that is the node's rf_id. Older profiles have
// only an "External id", which is another number: there both are in the order in which operators
// began, so that on each thread the names of one are a stretch of the names of the other. Which
// stretch has to be beyond doubt: where a program repeats itself, and the trace would fit in
// several places, nothing is joined.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/common/damage_log.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

class ExecutionTraceJoin {
 public:
  /// Reads a PyTorch execution trace; several may be read.
  Status read(const std::string& path);

  /// An operator of the profile. Ids that it has not are 0.
  void see(std::string_view process, std::string_view thread, int64_t external_id,
           int64_t record_function, std::string_view name);
  /// All operators have been seen. Error: a trace is of a process that the profile is not of.
  Status align();

  /// The node of that operator, as it stands in its document; empty: it has none.
  std::string_view nodeOf(int64_t external_id, int64_t record_function, std::string_view name);

  uint64_t nodes() const { return nodes_.size(); }
  uint64_t joined() const { return joined_; }
  /// Nodes that were given to no operator, as a JSON list.
  std::string rest() const;
  /// Why not all could be joined; "" where all could.
  std::string doubts() const;
  DamageLog damage;

 private:
  struct Node {
    int64_t record_function = 0;
    int64_t thread = 0;
    std::string name;
    std::string raw;
    bool used = false;
  };
  struct Operator {
    int64_t id = 0;
    uint32_t name = 0;
  };
  /// How one thread of nodes lies on one of operators.
  struct Match {
    std::vector<std::pair<size_t, size_t>> pairs;  // node, operator
    bool doubtful = false;
  };
  uint32_t nameNumber(std::string_view name);
  Match lay(const std::vector<uint32_t>& nodes, const std::vector<Operator>& operators) const;
  static std::vector<std::pair<size_t, size_t>> walk(const std::vector<uint32_t>& nodes,
                                                     const std::vector<Operator>& operators,
                                                     size_t node, size_t op);

  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, std::string>> processes_;  // pid and path of what was read
  std::set<std::string, std::less<>> seen_processes_;
  std::unordered_map<int64_t, size_t> by_record_function_;
  std::unordered_map<std::string, uint32_t> names_;
  std::map<std::string, std::vector<Operator>, std::less<>> operators_;  // by thread
  std::unordered_map<int64_t, size_t> by_external_id_;
  bool record_functions_ = false;  // operators have them
  uint64_t joined_ = 0;
  uint64_t doubtful_threads_ = 0;
};

}  // namespace tracesmith::import
