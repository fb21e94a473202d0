// SPDX-License-Identifier: Apache-2.0
// Rows for the status of a job that NCCL's RAS gives: for each communicator and rank a row of
// `communicator`, with attributes, and for each function the last call that the rank has made. RAS
// tells no times: all of these rows have the time 0, the moment of the question.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/nccl/host_processes.hpp"

namespace tracesmith::import {

/// What RAS knows about a rank of a communicator.
struct RasRank {
  int64_t rank = -1;
  std::string host;  ///< "": unknown
  int64_t pid = -1;
  bool answered = true;                                 ///< false: its data is missing
  std::vector<std::pair<std::string, uint64_t>> calls;  ///< so far, by operation ("AllReduce")
  std::vector<std::pair<std::string, std::string>> attributes;
};

struct RasCommunicator {
  std::string hash;   ///< hexadecimal
  int64_t ranks = 0;  ///< 0: unknown
  int64_t nodes = 0;  ///< 0: unknown
  std::vector<RasRank> known;
  /// Calls of ranks that are not named, by operation.
  std::vector<std::pair<std::string, uint64_t>> others;
};

class RasRows {
 public:
  explicit RasRows(TraceBuilder& builder) : builder_(builder), processes_(builder) {}

  void add(const RasCommunicator& communicator);
  /// A process that RAS mentions outside of communicators. `state`: "considered dead".
  void addProcess(std::string_view host, int64_t pid, std::string_view state);

  uint64_t ranks() const { return ranks_; }
  /// Which ranks are behind, which did not answer, and which processes are dead.
  std::vector<std::string> notes() const;

 private:
  void addRank(const RasCommunicator& communicator, const RasRank& rank,
               const std::map<std::string, uint64_t>& fewest);
  void noteDifferences(const RasCommunicator& communicator);
  void note(std::string text);

  TraceBuilder& builder_;
  HostProcesses processes_;
  std::vector<std::string> notes_;
  uint64_t more_notes_ = 0;
  uint64_t ranks_ = 0;
  uint64_t calls_ = 0;
};

}  // namespace tracesmith::import
