// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/stack_capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

namespace tracesmith {

// In another namespace than the tests, for the sake of its name.
[[gnu::noinline]] size_t functionWithAName(StackCapture& capture, CallStack& stack) {
  const size_t n = capture.capture(stack);
  asm volatile("");
  return n;
}

namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(StackCapture, NamesFunctionsFilesAndLines) {
  if (!StackCapture::isAvailable()) GTEST_SKIP() << "no stacks on this kind of processor";
  StackCapture capture;
  CallStack stack;
  ASSERT_GT(functionWithAName(capture, stack), 3u);
  EXPECT_EQ(stack.depth(), stack.frames.size());
  EXPECT_EQ(stack.thread_id, StackCapture::getCurrentThreadId());
  EXPECT_THAT(stack.frames[0].function_name, HasSubstr("functionWithAName"));
  EXPECT_THAT(stack.frames[1].function_name, HasSubstr("NamesFunctionsFilesAndLines"));
  EXPECT_THAT(stack.frames[0].module, EndsWith("stacks_tests"));
  if (!stack.frames[0].file_name.empty()) {
    EXPECT_THAT(stack.frames[0].file_name, EndsWith("stack_capture_test.cpp"));
    EXPECT_GT(stack.frames[0].line_number, 15u);
  }
}

TEST(StackCapture, DepthAndSkippedFrames) {
  CallStack whole, part;
  StackCapture all({.resolve_symbols = false});
  StackCapture some({.max_depth = 3, .skip_frames = 1, .resolve_symbols = false});
  functionWithAName(all, whole);
  functionWithAName(some, part);
  ASSERT_THAT(part.frames, SizeIs(3));
  ASSERT_GT(whole.frames.size(), 4u);
  // The callers of this function are the same; the two call sites here are not.
  EXPECT_EQ(part.frames[1].address, whole.frames[2].address);
  EXPECT_EQ(part.frames[2].address, whole.frames[3].address);
  EXPECT_TRUE(part.frames[0].function_name.empty());
}

TEST(StackCapture, ThreadsShareOne) {
  StackCapture capture({.resolve_symbols = false});
  std::vector<std::thread> threads;
  std::vector<size_t> depths(8);
  for (size_t& depth : depths) {
    threads.emplace_back([&] {
      CallStack stack;
      for (int i = 0; i < 500; ++i) depth = functionWithAName(capture, stack);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const size_t depth : depths) EXPECT_GT(depth, 3u);
}

StackCapture* g_capture = nullptr;
CallStack g_stack;

TEST(StackCapture, InASignalHandler) {
  StackCapture capture({.max_depth = 32, .async_signal_safe = true});
  g_capture = &capture;
  g_stack.frames.reserve(8);
  const StackFrame* const place = g_stack.frames.data();
  signal(SIGUSR1, [](int) { g_capture->captureWithThreadId(g_stack, 7); });
  raise(SIGUSR1);
  signal(SIGUSR1, SIG_DFL);
  EXPECT_THAT(g_stack.frames, SizeIs(8));
  EXPECT_EQ(g_stack.frames.data(), place);
  EXPECT_EQ(g_stack.thread_id, 7u);
  capture.resolveSymbols(g_stack);
  std::string names;
  for (const StackFrame& frame : g_stack.frames) names += frame.function_name + "\n";
  EXPECT_THAT(names, HasSubstr("raise"));
}

TEST(StackCapture, Scoped) {
  StackCapture capture({.resolve_symbols = false});
  const ScopedStackCapture here(capture);
  EXPECT_TRUE(here.captured());
  CallStack direct;
  functionWithAName(capture, direct);
  EXPECT_EQ(here.stack().frames.back().address, direct.frames.back().address);
  EXPECT_EQ(here.stack().depth(), direct.depth() - 1);
}

}  // namespace
}  // namespace tracesmith
