// SPDX-License-Identifier: Apache-2.0
// What the reports on communication share.
#pragma once

#include <cstdint>
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

/// A time of a distribution; times of damaged rows may be beyond what an int64_t holds.
inline int64_t wholeNs(double ns) {
  return ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? INT64_MIN : static_cast<int64_t>(ns);
}

/// Times of the kernels of collective libraries.
void addCollectiveKernels(Maker& maker);
/// Which devices came late to them.
void addKernelArrivals(Maker& maker);

/// Which ranks came late, what does not fit together, and where ranks hang.
void addRankWaits(CommFacts& facts);

}  // namespace tracesmith::report_parts
