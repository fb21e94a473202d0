// SPDX-License-Identifier: Apache-2.0
// Names of divergence causes in reports.
#include "tracesmith/replay/check/determinism.hpp"

namespace tracesmith {

const char* toString(DivergenceCause cause) {
  switch (cause) {
    case DivergenceCause::kScheduleDependent:
      return "schedule-dependent";
    case DivergenceCause::kAtomicOrder:
      return "atomic or reduction order";
    case DivergenceCause::kUninitialisedRead:
      return "uninitialised read";
    case DivergenceCause::kMissingSynchronisation:
      return "missing synchronisation";
    case DivergenceCause::kCompilerDifference:
      return "driver or compiler difference";
    case DivergenceCause::kMissingData:
      return "missing data in the recording";
  }
  return "";
}

}  // namespace tracesmith
