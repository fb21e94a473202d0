// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/handle_history.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

TEST(HandleHistory, TellsWhatAHandleWasAtATime) {
  HandleHistory<int> h;
  EXPECT_EQ(h.at(1, 100), nullptr);
  EXPECT_TRUE(h.define(1, 10, 100));
  EXPECT_TRUE(h.define(1, 30, 300));
  EXPECT_TRUE(h.define(2, 20, 7));
  EXPECT_EQ(h.at(1, 9), nullptr);
  EXPECT_EQ(*h.at(1, 10), 100);
  EXPECT_EQ(*h.at(1, 29), 100);
  EXPECT_EQ(*h.at(1, 30), 300);
  EXPECT_EQ(*h.at(1, INT64_MAX), 300);
  EXPECT_EQ(*h.at(2, 25), 7);
}

TEST(HandleHistory, DefinitionsMayComeInAnyOrderAndTwice) {
  HandleHistory<int> h;
  EXPECT_TRUE(h.define(1, 30, 300));
  EXPECT_TRUE(h.define(1, 10, 100));
  EXPECT_TRUE(h.define(1, 20, 200));
  EXPECT_FALSE(h.define(1, 20, 999));
  EXPECT_EQ(*h.at(1, 15), 100);
  EXPECT_EQ(*h.at(1, 25), 200);
  EXPECT_EQ(*h.at(1, 35), 300);
}

TEST(HandleHistory, EveryLifeOfAHandleCanBeFoundInItsPassAndTheNext) {
  HandleHistory<int> h;
  h.define(1, 0, 0);
  h.endPass();
  h.endPass();
  h.endPass();
  // A thousand definitions between two passes. Their uses, and one of the definition before them,
  // come a pass later.
  for (int i = 1; i <= 1000; ++i) h.define(1, i, i);
  for (int i = 0; i <= 1000; ++i) ASSERT_EQ(*h.at(1, i), i);
  h.endPass();
  for (int i = 0; i <= 1000; ++i) ASSERT_EQ(*h.at(1, i), i);
}

TEST(HandleHistory, OldLivesAreForgottenSoThatALongRunDoesNotGrow) {
  HandleHistory<int> h;
  int time = 0;
  for (int pass = 0; pass < 100; ++pass) {
    for (int i = 0; i < 100; ++i, ++time) h.define(1, time, time);
    h.endPass();
    ASSERT_LE(h.versionsOf(1), 210u);
    ASSERT_EQ(*h.at(1, time), time - 1);
  }
  for (int pass = 0; pass < 3; ++pass) h.endPass();
  EXPECT_EQ(h.versionsOf(1), 8u);
  EXPECT_EQ(*h.at(1, time), time - 1);
}

TEST(HandleHistory, AHandleThatNeverChangesStaysKnown) {
  HandleHistory<int> h;
  h.define(5, 1, 42);
  for (int pass = 0; pass < 1000; ++pass) h.endPass();
  EXPECT_EQ(*h.at(5, 1'000'000), 42);
}

}  // namespace
}  // namespace tracesmith
