// SPDX-License-Identifier: Apache-2.0
// A thread that holds the lock of dlopen() may wait for any other: the constructor of a library
// that is being opened does. So the agents' part of an OpenCL call must not take that lock.
#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

enum class Also : uint8_t { kNothing, kStacks, kRecording };

struct Case {
  const char* name;
  const char* program;
  Injection injection;
  Also also;
};

class LoaderLockTest : public RecordingTest, public ::testing::WithParamInterface<Case> {};

TEST_P(LoaderLockTest, AConstructorMayWaitForAThreadThatCallsOpenCl) {
  const Case& p = GetParam();
  const std::vector<std::string> command = {helper(p.program), helper("cl_waiting_library.so"),
                                            systemLoader()};
  ASSERT_EQ(run(command).exit_code, 0) << "the driver itself waits";
  ProfileOptions o = options(command);
  o.injection = p.injection;
  if (p.also == Also::kStacks) o.stacks.emplace();
  if (p.also == Also::kRecording) o.record.emplace();
  const Recording r = record(o);
  EXPECT_EQ(r.outcome.exit_code, 0) << "5: the thread was waited for in vain";
  EXPECT_EQ(r.outcome.copies, 1u);
}

constexpr Case kCases[] = {
    {"Preload", "cl_waiting", Injection::kPreload, Also::kNothing},
    {"PreloadOfALinkedProgram", "cl_waiting_linked", Injection::kPreload, Also::kNothing},
    {"PreloadWithStacks", "cl_waiting", Injection::kPreload, Also::kStacks},
    {"PreloadWithRecording", "cl_waiting", Injection::kPreload, Also::kRecording},
    {"Layer", "cl_waiting", Injection::kLayer, Also::kNothing},
    {"LayerWithStacks", "cl_waiting", Injection::kLayer, Also::kStacks},
    {"LayerWithRecording", "cl_waiting", Injection::kLayer, Also::kRecording},
};
INSTANTIATE_TEST_SUITE_P(, LoaderLockTest, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tracesmith
