// SPDX-License-Identifier: Apache-2.0
// Report of `tracesmith whatif`: the prediction, the critical path before and after, and the
// model's errors against the recording.
#pragma once

#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith {

struct WhatIfOptions {
  EmulatorOptions emulator;
  size_t limit = 15;  ///< rows of tables by name or iteration; 0: all
  bool check = true;  ///< also checks the model's accuracy, which takes three more emulations
};

Result<std::vector<ReportTable>> whatIfReport(const Trace& trace, const WhatIf& change,
                                              const WhatIfOptions& options = {});

}  // namespace tracesmith
