// SPDX-License-Identifier: Apache-2.0
// Matches operators of a Kineto profile with nodes of the execution trace of the same process.
//
// If operators have a "Record function id", it equals the node's rf_id. Older profiles only have an
// "External id", which is a different number. For these, both files list operators by start time,
// so on each thread the names of one file follow those of the other, with gaps (the limits are in
// the .cpp file). The match must be unambiguous: if a program repeats itself and several positions
// fit, the thread is not joined.
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
  /// Reads a PyTorch execution trace; may be called for several files.
  Status read(const std::string& path);

  /// Adds an operator of the profile. Missing ids are 0.
  void addOperator(std::string_view process, std::string_view thread, int64_t external_id,
                   int64_t record_function, std::string_view name);
  /// Call after the last addOperator(). Error: the execution trace belongs to a process that is not
  /// in the profile.
  Status align();

  /// The JSON text of the operator's node; empty if it has none.
  std::string_view nodeOf(int64_t external_id, int64_t record_function, std::string_view name);

  uint64_t nodes() const { return nodes_.size(); }
  uint64_t joined() const { return joined_; }
  /// The nodes not joined to any operator, as a JSON list.
  std::string rest() const;
  /// Why some nodes could not be joined; "" if all were.
  std::string describeUnjoined() const;
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
  /// How the nodes of one thread match the operators of one thread.
  struct Match {
    std::vector<std::pair<size_t, size_t>> pairs;  // node, operator
    bool doubtful = false;
  };
  uint32_t nameNumber(std::string_view name);
  Match matchNodes(const std::vector<uint32_t>& nodes,
                   const std::vector<Operator>& operators) const;
  static std::vector<std::pair<size_t, size_t>> walk(const std::vector<uint32_t>& nodes,
                                                     const std::vector<Operator>& operators,
                                                     size_t node, size_t op);

  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, std::string>> processes_;  // pid and path of each trace read
  std::set<std::string, std::less<>> seen_processes_;
  std::unordered_map<int64_t, size_t> by_record_function_;
  std::unordered_map<std::string, uint32_t> names_;
  std::map<std::string, std::vector<Operator>, std::less<>> operators_;  // by thread
  std::unordered_map<int64_t, size_t> by_external_id_;
  bool record_functions_ = false;  // whether operators have such ids
  uint64_t joined_ = 0;
  uint64_t uncertain_threads_ = 0;
};

}  // namespace tracesmith::import
