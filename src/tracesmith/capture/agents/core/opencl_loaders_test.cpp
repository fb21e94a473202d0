// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/opencl_loaders.hpp"

#include <gtest/gtest.h>
#include <setjmp.h>

namespace tracesmith::agent {
namespace {

constexpr cl_int kFirst = 11;
constexpr cl_int kSecond = 22;
cl_int finishOfFirst(cl_command_queue) { return kFirst; }
cl_int finishOfSecond(cl_command_queue) { return kSecond; }

cl_icd_dispatch g_first;  // table given to the program
cl_icd_dispatch g_second;

/// Action of a signal handler while the wrapper runs.
enum class Handler { kNone, kLeaves, kCallsTheFirst } g_handler = Handler::kNone;
sigjmp_buf g_program;
cl_int g_heard = 0;

cl_int wrapper(cl_command_queue queue) {
  const Handler handler = g_handler;
  g_handler = Handler::kNone;
  if (handler == Handler::kLeaves) siglongjmp(g_program, 1);
  if (handler == Handler::kCallsTheFirst) g_heard = g_first.clFinish(queue);
  return next().clFinish(queue);
}

class OpenClLoaders : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const void* const here = reinterpret_cast<const void*>(&finishOfFirst);
    cl_icd_dispatch below{};
    below.clFinish = finishOfFirst;
    ASSERT_EQ(addLoader(here, &below, sizeof below / sizeof(void*)), 0u);
    wrapEntry<0, &cl_icd_dispatch::clFinish, wrapper>(g_first);
    below.clFinish = finishOfSecond;
    ASSERT_EQ(addLoader(here, &below, sizeof below / sizeof(void*)), 1u);
    wrapEntry<1, &cl_icd_dispatch::clFinish, wrapper>(g_second);
  }
};

TEST_F(OpenClLoaders, GetTheCallsThatTheProgramMakesThroughThem) {
  EXPECT_EQ(g_first.clFinish(nullptr), kFirst);
  EXPECT_EQ(g_second.clFinish(nullptr), kSecond);
  EXPECT_EQ(g_first.clFinish(nullptr), kFirst);
}

TEST_F(OpenClLoaders, GetThemAfterAHandlerHasLeftACall) {
  if (sigsetjmp(g_program, 0) == 0) {
    g_handler = Handler::kLeaves;
    g_second.clFinish(nullptr);
    FAIL() << "the call was not left";
  }
  EXPECT_EQ(g_first.clFinish(nullptr), kFirst);
  EXPECT_EQ(g_second.clFinish(nullptr), kSecond);
  EXPECT_EQ(g_first.clFinish(nullptr), kFirst);
}

TEST_F(OpenClLoaders, GetTheCallsOfAHandlerThatInterruptsAnothersCall) {
  g_handler = Handler::kCallsTheFirst;
  EXPECT_EQ(g_second.clFinish(nullptr), kSecond);
  EXPECT_EQ(g_heard, kFirst);
}

}  // namespace
}  // namespace tracesmith::agent
