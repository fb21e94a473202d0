// SPDX-License-Identifier: Apache-2.0
// Drivers compile a kernel when it is first launched; those launches are told from the others.
#include <algorithm>
#include <numeric>
#include <sstream>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

class FirstLaunchTest : public RecordingTest {
 protected:
  /// What cl_first_launch says of its launches: "kernel 1" for a first one, else "kernel 0".
  std::vector<std::string> said() const {
    std::vector<std::string> lines;
    std::istringstream in(readFile(path("said")));
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  Recording recordLaunches(const std::vector<std::string>& environment) {
    SpawnOptions o;
    o.output = path("said");
    o.environment = environment;
    EXPECT_EQ(run(driver({}, {helper("cl_first_launch")}), o).exit_code, 0);
    return load(path("out.sbt"));
  }

  /// Rows of `kernel` in the order of their launches.
  static std::vector<size_t> byLaunch(const Trace& t) {
    std::vector<size_t> rows(t.kernel.size());
    std::iota(rows.begin(), rows.end(), size_t{0});
    std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return t.kernel.correlation_id[a] < t.kernel.correlation_id[b];
    });
    return rows;
  }
};

TEST_F(FirstLaunchTest, IsFlaggedPerProgramKernelAndWorkGroupSize) {
  const Recording r = recordLaunches({});
  std::vector<std::string> found;
  for (size_t i : byLaunch(r.trace)) {
    const bool first = (r.trace.kernel.flags[i] & op_flags::kFirstLaunch) != 0;
    found.push_back(std::string(r.trace.text(r.trace.kernel.name[i])) + (first ? " 1" : " 0"));
  }
  EXPECT_EQ(found.size(), 12u);
  EXPECT_EQ(found, said());
}

TEST_F(FirstLaunchTest, CarriesTheCompileWhereNothingIsCached) {
  // An empty cache of the driver's compiler. PoCL compiles within the first launch of each
  // work-group size, which then takes tens of milliseconds; other drivers may compile elsewhere.
  const std::string cache = path("empty_cache");
  const Recording r = recordLaunches({"POCL_CACHE_DIR=" + cache});
  const Trace& t = r.trace;
  ASSERT_FALSE(t.device.empty());
  if (t.text(t.device.platform[0]) != "Portable Computing Language") GTEST_SKIP() << "not PoCL";
  const auto rows = byLaunch(t);
  ASSERT_EQ(rows.size(), 12u);
  // From the end of the host call on: the driver may compile at any time before the kernel's end.
  auto whole = [&](size_t i) { return t.kernel.queued_before_ns[i] + t.kernel.duration_ns[i]; };
  int64_t least_of_firsts = INT64_MAX;
  int64_t least_of_others = INT64_MAX;
  for (size_t n = 0; n < 9; ++n) {  // the second program finds what the first has cached
    const size_t i = rows[n];
    int64_t& least = t.kernel.flags[i] & op_flags::kFirstLaunch ? least_of_firsts : least_of_others;
    least = std::min(least, whole(i));
  }
  EXPECT_GT(least_of_firsts, 5 * least_of_others);
  EXPECT_GT(least_of_firsts, 1'000'000);
}

}  // namespace
}  // namespace tracesmith
