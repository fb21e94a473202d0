// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/build_options.hpp"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "I:include", "D:N=1", "U:N", "?:-cl-fast-relaxed-math".
std::vector<std::string> readOptions(std::string_view text) {
  std::vector<std::string> all;
  BuildOptions options(text);
  for (BuildOption option; options.next(option);) {
    all.push_back(std::string(1, "IDU?"[static_cast<size_t>(option.kind)]) + ':' +
                  option.valueAs<std::string>());
  }
  return all;
}

std::vector<std::string> textsOf(std::string_view text) {
  std::vector<std::string> all;
  BuildOptions options(text);
  for (BuildOption option; options.next(option);) all.emplace_back(option.text);
  return all;
}

TEST(BuildOptions, ValuesStandBehindTheLetterOrInTheNextWord) {
  EXPECT_THAT(
      readOptions("-Iinclude -I sub -DN=1 -D M -UN -U M -cl-std=CL3.0 -w"),
      ElementsAre("I:include", "I:sub", "D:N=1", "D:M", "U:N", "U:M", "?:-cl-std=CL3.0", "?:-w"));
  EXPECT_THAT(textsOf("-I  sub\t-DN  -w"), ElementsAre("-I  sub", "-DN", "-w"));
}

TEST(BuildOptions, QuotesAndBackslashesKeepWhiteSpace) {
  EXPECT_THAT(readOptions(R"(-I"my folder" "-Imy folder" -I my\ folder -I "my folder")"),
              ElementsAre("I:my folder", "I:my folder", "I:my folder", "I:my folder"));
  EXPECT_THAT(readOptions(R"(-DH=\"x.h\" -D "H=\"a b\"" -DP="<p.h>" a"b c"d)"),
              ElementsAre("D:H=\"x.h\"", "D:H=\"a b\"", "D:P=<p.h>", "?:ab cd"));
  EXPECT_THAT(textsOf(R"(-I"my folder" -D "H=\"a b\"")"),
              ElementsAre(R"(-I"my folder")", R"(-D "H=\"a b\"")"));
}

TEST(BuildOptions, AnyWhiteSpaceAndNulsPartWords) {
  using namespace std::string_view_literals;
  EXPECT_THAT(readOptions("\v-Ia\f-Ib\r\n-Ic\t-Id\0-Ie\0"sv),
              ElementsAre("I:a", "I:b", "I:c", "I:d", "I:e"));
  EXPECT_THAT(readOptions(" \t\n"), IsEmpty());
  EXPECT_THAT(readOptions(""), IsEmpty());
}

TEST(BuildOptions, WhatIsCutShortIsReadToItsEnd) {
  EXPECT_THAT(readOptions("-I"), ElementsAre("I:"));
  EXPECT_THAT(readOptions("-Ia \"-Ib c"), ElementsAre("I:a", "I:b c"));
  EXPECT_THAT(readOptions("-Ia\\"), ElementsAre("I:a\\"));
  EXPECT_THAT(readOptions("\"\" -I \"\" x"), ElementsAre("?:", "I:", "?:x"));
  EXPECT_THAT(readOptions("-"), ElementsAre("?:-"));
}

TEST(BuildOptions, AValueThatIsLongerThanItsRoomIsSaid) {
  BuildOptions options("-I\"a b\"c");
  BuildOption option;
  ASSERT_TRUE(options.next(option));
  char room[5] = {'x', 'x', 'x', 'x', 'x'};
  EXPECT_EQ(option.copyValue(room, 5), 4U);
  EXPECT_STREQ(room, "a bc");
  EXPECT_EQ(option.copyValue(room, 4), 4U);
  EXPECT_STREQ(room, "a b");
  EXPECT_EQ(option.copyValue(room, 0), 4U);
}

/// For any text, its options lie in it one after the other, separated by white space.
TEST(BuildOptions, OptionsCoverTheWholeText) {
  std::mt19937 random(5);
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (size_t i = random() % 20; i > 0; --i) text += "-IDU \t\"\\ax"[random() % 10];
    BuildOptions options(text);
    const char* at = text.data();
    for (BuildOption option; options.next(option);) {
      for (; at < option.text.data(); ++at) ASSERT_TRUE(BuildOptions::isSpace(*at)) << text;
      ASSERT_FALSE(option.text.empty());
      at = option.text.data() + option.text.size();
    }
    for (; at < text.data() + text.size(); ++at) ASSERT_TRUE(BuildOptions::isSpace(*at)) << text;
  }
}

}  // namespace
}  // namespace tracesmith
