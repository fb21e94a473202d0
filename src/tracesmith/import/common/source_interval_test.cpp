// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/source_interval.hpp"

#include <gtest/gtest.h>

namespace tracesmith::import {
namespace {

TEST(SpansOfSource, WhatCanBeIsTakenAndNothingIsSaid) {
  SpansOfSource spans;
  EXPECT_TRUE(spans.isTime(1'795'187'451'000'000'000));
  EXPECT_TRUE(spans.isTime(-5));
  EXPECT_EQ(spans.between(10, 25), 15);
  EXPECT_EQ(spans.between(-10, -10), 0);
  EXPECT_EQ(spans.lasting(SpansOfSource::kLongestNs), SpansOfSource::kLongestNs);
  std::vector<std::string> notes;
  std::string lost = "before";
  spans.tell(notes, lost);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(lost, "before");
}

TEST(SpansOfSource, WhatCanNotBeHasNoLengthAndIsCounted) {
  SpansOfSource spans;
  EXPECT_EQ(spans.between(10, 9), 0);
  EXPECT_EQ(spans.lasting(-1), 0);
  EXPECT_EQ(spans.between(0, 1'795'187'451'000'000'000), 0) << "a begin that is missing";
  EXPECT_EQ(spans.between(INT64_MIN, INT64_MAX), 0);
  EXPECT_EQ(spans.between(10, std::nullopt), 0);
  EXPECT_FALSE(spans.isTime(INT64_MAX));
  EXPECT_FALSE(spans.isTime(INT64_MIN));
  std::vector<std::string> notes;
  std::string lost = "before";
  spans.tell(notes, lost);
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(lost,
            "before; 2 events end before they start: shown without length; 2 events would have "
            "lasted more than ten years: shown without length; 1 events have no end: shown without "
            "length; 2 events have an impossible time (beyond the year 2116): in no table");
}

}  // namespace
}  // namespace tracesmith::import
