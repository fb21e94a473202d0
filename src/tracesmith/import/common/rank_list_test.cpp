// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/rank_list.hpp"

#include <gtest/gtest.h>

namespace tracesmith::import {
namespace {

TEST(RankList, ConsecutiveRanksAreTogether) {
  const auto list = RankList::read(" [0, 1,2, 3, 7, 9,10] ");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 7U);
  EXPECT_TRUE(list->isWhole());
  EXPECT_EQ(list->text(), "0-3,7,9-10");
  EXPECT_EQ(list->placeOf(3), 3);
  EXPECT_EQ(list->placeOf(7), 4);
  EXPECT_EQ(list->placeOf(10), 6);
  EXPECT_EQ(list->placeOf(8), -1);
}

TEST(RankList, OrderCounts) {
  const auto list = RankList::read("[3, 2, 0, 1]");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->text(), "3,2,0-1");
  EXPECT_EQ(list->placeOf(0), 2);
}

TEST(RankList, AbbreviatedListsDoNotSayPlaces) {
  const auto list = RankList::read("[0, 1, ..., 127]");
  ASSERT_TRUE(list);
  EXPECT_FALSE(list->isWhole());
  EXPECT_EQ(list->text(), "0-1,127,...");
  EXPECT_EQ(list->placeOf(127), -1);
}

TEST(RankList, OtherTextsAreNoLists) {
  EXPECT_EQ(RankList::read("[]")->size(), 0U);
  for (const char* text : {"", "[", "]", "0, 1", "[0, x]", "[0,]", "[-1]", "[99999999999999999999]",
                           "[1e3]", "[0 1]"}) {
    EXPECT_FALSE(RankList::read(text)) << text;
  }
}

TEST(RankList, AMillionRanksTakeNoMoreThanTheyNeed) {
  std::string text = "[0";
  for (int i = 1; i < 1'000'000; ++i) text += "," + std::to_string(i);
  const auto list = RankList::read(text + "]");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->text(), "0-999999");
  EXPECT_EQ(list->size(), 1'000'000U);
}

TEST(RankList, AllMembersDeriveTheSameKey) {
  const auto all = RankList::read("[0, 1]");
  const auto same = RankList::read("[0,1]");
  const auto others = RankList::read("[2, 3]");
  EXPECT_EQ(communicatorKey("1", &*all), communicatorKey("1", &*same));
  EXPECT_NE(communicatorKey("1", &*all), communicatorKey("1", &*others));
  EXPECT_NE(communicatorKey("1", &*all), communicatorKey("2", &*all));
  const auto cut = RankList::read("[0, ..., 5]");
  EXPECT_EQ(communicatorKey("1", &*cut), communicatorKey("1", nullptr));
  EXPECT_NE(communicatorKey("", nullptr), 0U);
}

}  // namespace
}  // namespace tracesmith::import
