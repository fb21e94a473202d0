// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/trace_diff.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostCompared = 1000;

}  // namespace

Result<std::string> compareAnswer(const StudioTrace& before, const StudioTrace& after) {
  TS_CHECK_OK(haveOneClock(before.trace()));
  TS_CHECK_OK(haveOneClock(after.trace()));
  return tablesAnswer(diffReport(before.trace(), after.trace(), {}, kMostCompared));
}

}  // namespace tracesmith::studio
