// SPDX-License-Identifier: Apache-2.0
// Collectives that some ranks are in, and others never came to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/analysis/communication/collective_sets.hpp"

namespace tracesmith {

/// A collective, or a call that never returned, in which ranks wait.
struct CommHang {
  uint32_t communicator = CommOperation::kNone;  ///< kNone: unknown, as the call did not return
  /// kNone: a call that did not return, of which the trace knows only that it started.
  StringId function{};
  uint64_t sequence = 0;
  int64_t since_ns = 0;  ///< the first rank is in it; unknown function: since its last call
  std::vector<uint32_t> waiting;  ///< in JobCommunicators::ranks(): they are in it
  std::vector<uint32_t> missing;  ///< they are in the trace and never came; empty: all came
  uint64_t absent = 0;  ///< ranks of the communicator that are not in the trace, or gave no data
  /// A call of it is known not to have ended. Else the trace only lacks the calls of `missing`, as
  /// it also does if their recording ended earlier.
  bool is_certain = false;
  /// Of an unknown function: the last collective of the waiting ranks; an index in the operations,
  /// kNone: none.
  uint32_t after = CommOperation::kNone;
};

/// What a rank did last.
struct LastOperation {
  uint32_t row = CommOperation::kNone;  ///< in `comm`; kNone: nothing
  int64_t end_ns = 0;
  CallPathId call_path_id{};  ///< of its host call; kNone: the trace has none
};

struct CommHangs {
  /// For each communicator the first such collective of each function; the first to start first.
  /// Calls of unknown functions are last.
  std::vector<CommHang> hangs;
  std::vector<LastOperation> last;  ///< by JobCommunicators::ranks(): of those in the trace
};

/// - A collective hangs where a rank lacks it and all later ones of its function, and others did
///   not complete it; or where all came, and a snapshot or missing times of work say that it did
///   not end. A rank that gave a snapshot no data lacks nothing.
/// - Calls of MPI that did not return have no row; the table `loss` counts them. The others are
///   then missing: those that are in no call, and did not end with MPI_Finalize.
CommHangs commHangs(const Trace& trace, const std::vector<CommOperation>& operations,
                    const JobCommunicators& communicators, const CollectiveSets& sets);

}  // namespace tracesmith
