// SPDX-License-Identifier: Apache-2.0
// Long operations end when cancelled, wherever they are, and leave no wrong results behind.
#include "tracesmith/base/cancellation.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/api/open_trace.hpp"

namespace tracesmith {
namespace {

TEST(Cancellation, IsThatOfTheInnermostScopeOfTheThread) {
  EXPECT_FALSE(isCancelled());
  {
    const CancelScope outer([] { return true; });
    EXPECT_TRUE(isCancelled());
    {
      const CancelScope inner([] { return false; });
      EXPECT_FALSE(isCancelled());
    }
    EXPECT_EQ(checkCancelled().error().message, "interrupted");
  }
  EXPECT_TRUE(checkCancelled());
}

TEST(Cancellation, EndsImportsReadsAndAnalysesAtEachOfTheirSteps) {
  const std::string path = testing::TempDir() + "cancelled.json";
  std::ofstream file(path);
  file << "[";
  for (int i = 0; i < 2'000; ++i) {
    file << (i == 0 ? "" : ",") << R"({"ph":"X","name":"k","cat":"kernel","pid":0,"tid":7,"ts":)"
         << 10 * i << R"(,"dur":5,"args":{"stream":7,"device":0}})";
  }
  file << "]";
  file.close();

  // Cancels the work at its n-th check, with increasing n, until it finishes with fewer checks.
  int ended = 0;
  for (int n = 1;; ++n) {
    int asked = 0;
    const auto answer = [&]() -> Result<size_t> {
      const CancelScope scope([&] { return ++asked >= n; });
      TS_TRY(OpenTrace trace, OpenTrace::open(path));
      const auto column = trace.column("kernel", "name");
      if (!column) {
        asked = std::numeric_limits<int>::min();  // now let it finish
        TS_TRY(const ColumnArray again, trace.column("kernel", "name"));
        EXPECT_EQ(again.rows, 2'000u) << "after it was cancelled at step " << n;
        return tl::unexpected(column.error());
      }
      TS_TRY(const OpenTrace::Loaded loaded, trace.tables().needAll());
      const size_t tables = analyze(loaded->trace).size();
      TS_CHECK_OK(checkCancelled());
      return tables;
    }();
    if (answer) {
      EXPECT_GT(*answer, 10u);
      EXPECT_LT(asked, n);
      break;
    }
    EXPECT_EQ(answer.error().message, "interrupted");
    ++ended;
  }
  EXPECT_GT(ended, 20);
}

}  // namespace
}  // namespace tracesmith
