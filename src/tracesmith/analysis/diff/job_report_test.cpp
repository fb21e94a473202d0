// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/job_report.hpp"

#include <gmock/gmock.h>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kLongName =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";

RankRun rank(uint32_t number, const std::string& file, int64_t busy_ns, double kernel_ns) {
  RankRun run{file, number, {}};
  run.run.totals = {{"trace", 1000}, {"device span", 1000}, {"device busy", busy_ns}};
  run.run.names[{TableId::kKernel, kLongName}] = {{}, 2, kernel_ns};
  return run;
}

std::string text(const ReportValue& value) { return std::get<std::string>(value); }

std::vector<std::string> firstColumn(const ReportTable& table) {
  std::vector<std::string> out;
  for (const auto& row : table.rows) out.push_back(text(row[0]));
  return out;
}

TEST(JobReport, RanksAreInTheOrderOfTheirNumbers) {
  const auto report = jobReport({rank(10, "b", 300, 5), rank(2, "a", 100, 9)}, {});
  EXPECT_THAT(firstColumn(report[0]), ElementsAre("2", "10"));
  EXPECT_THAT(report[0].note, HasSubstr("each rank has its own clock"));
  const auto& busy = report[1].rows[2];
  EXPECT_EQ(text(busy[0]), "device busy");
  EXPECT_EQ(std::get<int64_t>(busy[1]), 400);
  EXPECT_EQ(std::get<int64_t>(busy[3]), 100);
  EXPECT_EQ(text(busy[4]), "2");
  EXPECT_EQ(text(busy[6]), "10");
}

TEST(JobReport, ARankThatOccursTwiceIsNamedWithItsFile) {
  const auto report =
      jobReport({rank(1, "a", 100, 5), rank(1, "b", 300, 9), rank(0, "c", 200, 7)}, {});
  EXPECT_THAT(report[0].note, HasSubstr("several files say that they are rank 1"));
  const auto& busy = report[1].rows[2];
  EXPECT_EQ(text(busy[4]), "1 (a)");
  EXPECT_EQ(text(busy[6]), "1 (b)");
  EXPECT_EQ(text(report[2].rows[0][7]), "1 (b)");
}

TEST(JobReport, KernelsHaveShortNamesForPeopleAndFullOnesForPrograms) {
  const std::vector<RankRun> ranks = {rank(0, "a", 1, 5), rank(1, "b", 1, 9)};
  EXPECT_EQ(text(jobReport(ranks, {})[2].rows[0][0]), kLongName);
  const auto report = jobReport(ranks, {.short_names = true});
  EXPECT_LT(text(report[2].rows[0][0]).size(), 60u);
  EXPECT_EQ(std::get<int64_t>(report[2].rows[0][3]), 14);
}

TEST(JobReport, NotesAndLimitsAreShown) {
  std::vector<RankRun> ranks = {rank(0, "a", 1, 5)};
  ranks[0].run.names[{TableId::kKernel, "gemm"}] = {{}, 1, 50};
  const auto report = jobReport(ranks, {.limit = 1, .notes = {"the job has 4 ranks"}});
  EXPECT_THAT(report[0].note, HasSubstr("the job has 4 ranks"));
  EXPECT_THAT(firstColumn(report[2]), ElementsAre("gemm"));
  EXPECT_FALSE(report[2].note.empty());
  EXPECT_TRUE(jobReport({}, {}).empty());
}

}  // namespace
}  // namespace tracesmith
