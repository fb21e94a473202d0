// SPDX-License-Identifier: Apache-2.0
// How far the emulator's times are from the recorded ones, and from those of iterations that it has
// not seen.
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
  /// Of the ends of operations, each from the begin of all: absolute.
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

/// The graph with each stretch of host time, and each return of a wait, replaced by the mean of the
/// others between the same two calls; a stretch that has no others stays. `kept` counts these.
EmulatorGraph withTypicalHost(const Trace& trace, const EmulatorGraph& graph, uint64_t* kept);

/// The second half of the iterations, predicted by what was measured in the first half.
struct HeldOut {
  std::string why_not;  ///< "" where there is an answer
  std::string basis;    ///< what the iterations are
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
  uint32_t known = 0;  ///< iterations that were measured
  /// Mean error of who takes each iteration to be as long as these were on average: how much the
  /// program itself varies.
  double spread = 0;
  int64_t end_p50_ns = 0;  ///< of ends of operations, each from the begin of its iteration
  int64_t end_p95_ns = 0;
  uint64_t ops = 0;
  uint64_t values = 0;        ///< lengths and host times that were to be predicted
  uint64_t unseen = 0;        ///< of these, which no measured iteration has anything like
  double meanError() const;   ///< of absolute errors of iterations
  double totalError() const;  ///< of all iterations together
};
Result<HeldOut> heldOut(const Trace& trace, const EmulatorGraph& graph);

}  // namespace tracesmith
