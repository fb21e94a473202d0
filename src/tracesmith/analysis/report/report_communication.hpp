// SPDX-License-Identifier: Apache-2.0
// What the reports on communication share.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"
#include "tracesmith/analysis/report/report_parts.hpp"

namespace tracesmith::report_parts {

struct CommFacts {
  explicit CommFacts(Maker& of)
      : maker(of),
        communicators(of.trace),
        operations(commOperations(of.trace, communicators, of.ops)) {}

  Maker& maker;
  JobCommunicators communicators;
  std::vector<CommOperation> operations;

  std::string communicatorName(uint32_t communicator) const;
  std::string rankName(uint32_t who) const;
};

/// Which ranks came late, what does not fit together, and where ranks hang.
void addRankWaits(CommFacts& facts);

}  // namespace tracesmith::report_parts
