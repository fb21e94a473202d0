// SPDX-License-Identifier: Apache-2.0
// Calls of different ranks that do not fit together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/communication/collective_sets.hpp"

namespace tracesmith {

enum class CommMismatchKind : uint8_t {
  kSize,  ///< ranks gave different sizes to one collective
  kDataType,
  kReduction,
  kRoot,
  kOrder,       ///< ranks called collectives of a communicator in different orders
  kMissing,     ///< a rank lacks a collective between two that it called
  kMissingEnd,  ///< a rank lacks the last ones, although others completed them: its rows are
                ///< missing
  kLaterStart,  ///< a rank lacks the first ones: it was recorded from a later time on
  kRepeated,    ///< a rank has the same sequence number twice, in the order of its calls
  kRestarted,   ///< the numbers of a rank start again
  kOneSided,    ///< only one rank of a communicator is in the trace, although others of the job are
  kMessageSize,    ///< a message was received with another size than it was sent with
  kUnmatchedSend,  ///< a message was not received
  kUnmatchedReceive,
};
std::string_view toString(CommMismatchKind kind);

/// All mismatches of one kind in one function of a communicator, with the first as an example.
struct CommMismatch {
  CommMismatchKind kind{};
  uint32_t communicator = 0;
  StringId function{};
  uint64_t count = 0;
  uint64_t sequence = 0;  ///< of the first; 0 where calls have none
  std::string example;    ///< which ranks, and how they differ: of the first
};

/// By communicator and function. Those about messages are in message_waits.hpp.
std::vector<CommMismatch> collectiveMismatches(const Trace& trace,
                                               const std::vector<CommOperation>& operations,
                                               const JobCommunicators& communicators,
                                               const CollectiveSets& sets);

}  // namespace tracesmith
