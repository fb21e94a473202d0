// SPDX-License-Identifier: Apache-2.0
// For tests: captures one stack at the same place with TraceSmith, glibc and libunwind, and
// compares the results.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tracesmith/stacks/unwind/stack_test_util.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TS_SANITIZED 1
#endif
#endif

namespace tracesmith::stacks::test {

/// One stack as seen by each of them.
struct Taken {
  uint32_t id = 0;
  std::vector<uint64_t> ours;
  std::vector<uint64_t> glibcs;
  std::vector<uint64_t> libunwinds;  // if requested and installed
};

inline PathBook* g_book = nullptr;
inline Taken g_taken;
inline bool g_ask_libunwind = false;

[[gnu::noinline]] inline uint32_t capture() {
  const uint32_t id = g_book->cache().capture(TS_CALLER_START_POINT());
  asm volatile("");  // no tail call
  return id;
}

[[gnu::noinline]] inline void take() {
  g_taken.id = capture();
  g_taken.ours = g_book->addresses(g_taken.id);
  g_taken.glibcs = glibcBacktrace();
  if (g_ask_libunwind) g_taken.libunwinds = libunwindBacktrace();
  asm volatile("");
}

inline void expectSameAs(const std::vector<uint64_t>& all_theirs, const Taken& t) {
  // It starts in its caller, glibcBacktrace() or the like, unless that was inlined.
  const auto first = std::find(all_theirs.begin(), all_theirs.end(), t.ours[1]);
  ASSERT_NE(first, all_theirs.end());
  std::vector<uint64_t> theirs(first, all_theirs.end());
  // It continues past the outermost frame, with the address 0 or 1.
  while (!theirs.empty() && theirs.back() < 4096) theirs.pop_back();
  EXPECT_THAT(std::vector<uint64_t>(t.ours.begin() + 1, t.ours.end()),
              ::testing::ElementsAreArray(theirs));
}

/// The frames of take()'s callers are the same; its own call sites differ.
inline void expectSame(const Taken& t, size_t at_least) {
  ASSERT_GE(t.glibcs.size(), at_least);
  ASSERT_GE(t.ours.size(), at_least);
  expectSameAs(t.glibcs, t);
  if (!t.libunwinds.empty()) expectSameAs(t.libunwinds, t);
}

class CallPathCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kUnwinds) GTEST_SKIP() << "no stacks on this kind of processor";
    g_book = &book_;
    g_taken = {};
    g_ask_libunwind = true;
  }
  /// Captures twice, so that the second time uses a memo; returns the number.
  uint32_t expectExact(const std::function<void()>& call, size_t at_least = 5) {
    uint32_t id = 0;
    for (int i = 0; i < 2; ++i) {
      call();
      expectSame(g_taken, at_least);
      EXPECT_EQ(book_.endOf(g_taken.id), WalkEnd::kOutermost);
      if (i == 0) id = g_taken.id;
    }
    EXPECT_EQ(g_taken.id, id) << "the same stack, another number";
    return id;
  }
  PathBook book_;
};

template <int kDepth>
[[gnu::noinline]] int deep(int x) {
  volatile char pad[16 + kDepth % 5 * 24];
  pad[0] = static_cast<char>(x);
  if constexpr (kDepth == 0) {
    take();
  } else {
    deep<kDepth - 1>(x + 1);
  }
  return pad[0];
}

/// Makes the compiler assume that the memory at `p` is used.
inline void keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

}  // namespace tracesmith::stacks::test
