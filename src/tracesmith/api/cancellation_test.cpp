// SPDX-License-Identifier: Apache-2.0
// What takes long ends when it is no longer wanted, wherever it is, and leaves nothing behind that
// is wrong.
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

  // Ends the work when it asks for the n-th time, until n is more than it asks.
  int ended = 0;
  for (int n = 1;; ++n) {
    int asked = 0;
    const auto answer = [&]() -> Result<size_t> {
      const CancelScope scope([&] { return ++asked >= n; });
      TS_TRY(OpenTrace trace, OpenTrace::open(path));
      const auto column = trace.column("kernel", "name");
      if (!column) {
        asked = std::numeric_limits<int>::min();  // now it may go on
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
