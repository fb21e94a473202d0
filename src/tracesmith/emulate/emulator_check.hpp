// SPDX-License-Identifier: Apache-2.0
// Errors of the emulator: against the recorded times, and against iterations not used for
// calibration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/emulator.hpp"

namespace tracesmith {

struct EmulationErrors {
  int64_t recorded_ns = 0;
  int64_t predicted_ns = 0;
  /// Absolute errors of the ends of operations, each measured from the start of the whole.
  int64_t end_p50_ns = 0;
  int64_t end_p95_ns = 0;
  int64_t end_max_ns = 0;
  uint64_t ops = 0;
  double makespanError() const {
    return recorded_ns == 0
               ? 0
               : static_cast<double>(predicted_ns - recorded_ns) / static_cast<double>(recorded_ns);
  }
};
EmulationErrors errorsOf(const EmulatorGraph& graph, const Emulation& emulation);

/// Returns the graph with each host time, and each return of a wait, replaced by the mean of the
/// other ones between the same two calls. Host times without others are kept and counted in `kept`.
EmulatorGraph withTypicalHost(const Trace& trace, const EmulatorGraph& graph, uint64_t* kept);

/// Validation split: the second half of the iterations, predicted from measurements of the first
/// half.
struct Validation {
  std::string why_not;  ///< "" if there is a result
  std::string basis;    ///< how iterations were identified
  struct Iteration {
    std::string name;
    int64_t recorded_ns = 0;
    int64_t predicted_ns = 0;
    double error() const {
      return recorded_ns == 0 ? 0
                              : static_cast<double>(predicted_ns - recorded_ns) /
                                    static_cast<double>(recorded_ns);
    }
  };
  std::vector<Iteration> iterations;
  uint32_t known = 0;  ///< iterations used for calibration
  /// Mean error of the trivial prediction that each iteration takes the mean time of the
  /// calibration iterations: the variation of the program itself.
  double spread = 0;
  int64_t end_p50_ns = 0;  ///< of ends of operations, each from the start of its iteration
  int64_t end_p95_ns = 0;
  uint64_t ops = 0;
  uint64_t values = 0;  ///< durations and host times to predict
  /// Those of `values` without any counterpart in the calibration iterations.
  uint64_t unseen = 0;
  double meanError() const;   ///< mean of absolute errors of iterations
  double totalError() const;  ///< error of all iterations together
};
Result<Validation> validate(const Trace& trace, const EmulatorGraph& graph);

}  // namespace tracesmith
