// SPDX-License-Identifier: Apache-2.0
// Stacks of real calls of every kind, frame by frame against glibc's backtrace().
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

#include <alloca.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include "tracesmith/stacks/unwind/call_path_test_util.hpp"

namespace tracesmith::stacks {
namespace {

using test::CallPathCacheTest;
using test::deep;
using test::expectSame;
using test::g_book;
using test::g_taken;
using test::keep;
using test::PathBook;
using test::take;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

[[gnu::noinline]] int recursive(int n) {
  volatile int here = n;
  if (n == 0) {
    take();
  } else {
    recursive(n - 1);
  }
  return here;
}

TEST_F(CallPathCacheTest, DeepAndRecursiveCalls) {
  expectExact([] { deep<3>(1); }, 8);
  expectExact([] { deep<40>(1); }, 45);
  expectExact([] { recursive(60); }, 65);
}

[[gnu::noinline]] void withAlloca(size_t bytes) {
  auto* const p = static_cast<volatile char*>(alloca(bytes));
  p[0] = 1;
  take();
  p[bytes - 1] = 2;
}

/// Makes the compiler assume that the memory is read and written here.
[[gnu::noinline]] void withAlignedLocal(int x) {
  alignas(128) char local[256];
  local[0] = static_cast<char>(x);
  keep(local);
  take();
  keep(local);
}

/// Aligned, and with a size known only at run time: the caller's frame is found through a register
/// that is saved on the aligned stack.
[[gnu::noinline]] void withBoth(size_t bytes) {
  alignas(64) char local[64];
  void* const p = alloca(bytes);
  keep(local);
  keep(p);
  take();
  keep(local);
  keep(p);
}

TEST_F(CallPathCacheTest, FramesWhoseSizeOnlyShowsAtRunTime) {
  expectExact([] { withAlloca(100); });
  expectExact([] { withAlloca(10'000); });
  expectExact([] { withAlignedLocal(1); });
  expectExact([] { withBoth(300); });
}

[[noreturn, gnu::noinline]] void neverReturns(int what) {
  take();
  throw what;
}

TEST_F(CallPathCacheTest, ACallThatIsTheLastInstructionOfItsFunction) {
  expectExact([] {
    try {
      neverReturns(3);
    } catch (int) {
    }
  });
}

int compareAndTake(const void* a, const void* b) {
  take();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST_F(CallPathCacheTest, CallbacksOfTheCLibrary) {
  expectExact([] {
    int two[] = {2, 1};
    qsort(two, 2, sizeof two[0], compareAndTake);
  });
}

TEST_F(CallPathCacheTest, OtherThreads) {
  std::thread([] {
    PathBook book;  // of this thread
    g_book = &book;
    deep<5>(1);
    expectSame(g_taken, 8);
    EXPECT_EQ(book.endOf(g_taken.id), WalkEnd::kOutermost);
  }).join();
}

TEST_F(CallPathCacheTest, DifferentStacksHaveDifferentNumbersAndSharedCallers) {
  const auto of = [&](const std::function<void()>& call) {
    call();
    return g_taken.id;
  };
  std::vector<uint32_t> ids;
  for (int round = 0; round < 3; ++round) {
    const uint32_t a = of([] { deep<2>(1); });
    const uint32_t b = of([] { deep<3>(1); });
    const uint32_t c = of([] { recursive(9); });
    EXPECT_NE(a, b);
    EXPECT_NE(b, c);
    if (!ids.empty()) {
      EXPECT_THAT(ids, ElementsAreArray({a, b, c}));
    }
    ids = {a, b, c};
  }
}

// --- Random calls: memos of earlier stacks must never be used for the current one ---------------

std::mt19937 g_random;
void wander(int depth);
template <int kWhich>
[[gnu::noinline]] void step(int depth) {
  char pad[8 + kWhich % 7 * 40];
  keep(pad);
  if constexpr (kWhich % 5 == 0) {
    auto* const p = static_cast<volatile char*>(alloca(16 + g_random() % 3 * 64));
    p[0] = 1;
    wander(depth);
    p[0] = 2;
  } else if constexpr (kWhich % 5 == 1) {
    alignas(64) char local[64];
    keep(local);
    wander(depth);
    keep(local);
  } else {
    wander(depth);
    asm volatile("");
    if (g_random() % 4 == 0) wander(depth);  // the same frame at another call site
  }
  keep(pad);
}
template <int... kAll>
constexpr std::array<void (*)(int), sizeof...(kAll)> stepsOf(std::integer_sequence<int, kAll...>) {
  return {&step<kAll>...};
}
constexpr auto kSteps = stepsOf(std::make_integer_sequence<int, 24>());

[[gnu::noinline]] void wander(int depth) {
  if (depth == 0 || g_random() % 16 == 0) {
    take();
    expectSame(g_taken, 3);
  } else {
    kSteps[g_random() % kSteps.size()](depth - 1);
  }
  asm volatile("");
}

TEST_F(CallPathCacheTest, ThousandsOfRandomStacks) {
  g_random.seed(7);
  for (int i = 0; i < 3'000 && !HasFailure(); ++i) wander(1 + static_cast<int>(g_random() % 24));
  EXPECT_GT(book_.cache().walks(), 100u);
}

// --- Limits -------------------------------------------------------------------------------------

TEST_F(CallPathCacheTest, AStackIsCutAtTheDepthThatWasAskedForAlwaysAtTheSamePlace) {
  PathBook book({.max_depth = 32});
  g_book = &book;
  uint32_t at_60 = 0;
  for (int depth : {60, 61, 200, 60, 5, 60, 200}) {
    recursive(depth);
    const bool cut = depth > 30;
    EXPECT_EQ(book.endOf(g_taken.id), cut ? WalkEnd::kTooDeep : WalkEnd::kOutermost) << depth;
    if (cut) {
      EXPECT_THAT(g_taken.ours, SizeIs(32));
    }
    if (depth == 60) {
      EXPECT_TRUE(at_60 == 0 || at_60 == g_taken.id);
      at_60 = g_taken.id;
    }
  }
}

TEST_F(CallPathCacheTest, AHundredThousandFrames) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{512} << 20);
  pthread_t thread;
  const auto body = [](void*) -> void* {
    PathBook book;
    g_book = &book;
    recursive(100'000);
    EXPECT_EQ(book.endOf(g_taken.id), WalkEnd::kTooDeep);
    EXPECT_THAT(g_taken.ours, SizeIs(128));
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
  pthread_join(thread, nullptr);
}

TEST_F(CallPathCacheTest, WhatCouldNotBeToldIsToldLater) {
  book_.refuses = true;
  deep<4>(1);
  EXPECT_EQ(g_taken.id, 0u);
  book_.refuses = false;
  deep<4>(1);
  expectSame(g_taken, 8);
}

TEST_F(CallPathCacheTest, MoreStacksThanThereIsRoomForAreAllRight) {
  // Each of these is a path of its own: memory stays within its limit, and is reused.
  for (uint32_t i = 1; i < 2'000'000; ++i) {
    const uint32_t id = book_.cache().child(0, otherFrame(FrameWordKind::kPython, i));
    if (id == 0) continue;
    ASSERT_EQ(book_.words(id).at(0), otherFrame(FrameWordKind::kPython, i));
  }
  EXPECT_LE(book_.cache().bytes(), CallPathCache::kMostBytes);
  deep<4>(1);
  expectSame(g_taken, 8);
}

TEST_F(CallPathCacheTest, ObjectsAreToldWithTheirBuildIds) {
  deep<2>(1);
  for (const uint64_t address : g_taken.ours) {
    const auto holds = [&](const PathBook::Object& o) {
      return address >= o.begin && address < o.end;
    };
    const auto& objects = book_.objects();
    EXPECT_EQ(std::count_if(objects.begin(), objects.end(), holds), 1);
  }
}

// --- Foreign stacks, and code without unwind information ----------------------------------------

ucontext_t g_main, g_fiber;

TEST_F(CallPathCacheTest, Coroutines) {
  std::vector<char> stack(256 << 10);
  getcontext(&g_fiber);
  g_fiber.uc_stack.ss_sp = stack.data();
  g_fiber.uc_stack.ss_size = stack.size();
  g_fiber.uc_link = &g_main;
  makecontext(
      &g_fiber, [] { deep<6>(1); }, 0);
  swapcontext(&g_main, &g_fiber);
  expectSame(g_taken, 8);
  // makecontext() lets the first function return to code without unwind information.
  EXPECT_EQ(book_.endOf(g_taken.id), WalkEnd::kNoInformation);
}

TEST_F(CallPathCacheTest, WhatIsForgottenIsToldAgain) {
  deep<3>(1);
  const uint32_t before = g_taken.id;
  const uint64_t path_count = book_.path_count;
  forgetCode();
  deep<3>(1);
  EXPECT_NE(g_taken.id, before);
  EXPECT_GT(book_.path_count, path_count);
  expectSame(g_taken, 8);
}

}  // namespace
}  // namespace tracesmith::stacks
