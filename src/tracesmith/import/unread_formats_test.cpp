// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/unread_formats.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importText;
using ::testing::HasSubstr;

/// `text` with two bytes per character.
std::string wide(std::string_view text, bool little, bool mark) {
  std::string out = !mark ? "" : little ? "\xff\xfe" : "\xfe\xff";
  for (const char c : text) {
    if (little) out += c;
    out += '\0';
    if (!little) out += c;
  }
  return out;
}

TEST(UnreadFormats, TextInUtf16SaysHowToConvertIt) {
  for (const bool little : {true, false}) {
    for (const bool mark : {true, false}) {
      for (const char* text : {R"({"traceEvents":[{"ph":"X","ts":1}]})", R"([{"ph":"X"}])"}) {
        EXPECT_THAT(importText(wide(text, little, mark)).error, HasSubstr("iconv -f UTF-16"));
      }
    }
  }
}

TEST(UnreadFormats, ArchivesSayThatTheyAreToBeUnpacked) {
  std::string tar(512, '\0');
  tar.replace(0, 10, "trace.json");
  tar.replace(257, 5, "ustar");
  for (const std::string& head :
       {std::string("PK\x03\x04") + std::string(60, 'x'), std::string("BZh91AY&SY"),
        std::string("\xfd") + "7zXZ" + std::string(8, '\0'), tar}) {
    EXPECT_THAT(importText(head).error, HasSubstr("unpack it")) << head.substr(0, 5);
  }
}

TEST(UnreadFormats, AnEmptyListOfEventsIsATraceWithoutAny) {
  for (const char* text : {"[]", " [ \n ] \n", "[", "\xef\xbb\xbf[]", R"({"traceEvents":[]})"}) {
    const auto got = importText(text);
    EXPECT_TRUE(got.ok) << text << got.error;
    EXPECT_EQ(got.format, "Chrome JSON") << text;
    EXPECT_EQ(got.counts.events, 0U);
  }
  EXPECT_THAT(importText("{}").error, HasSubstr("without \"traceEvents\""));
  EXPECT_THAT(importText("[1, 2]").error, HasSubstr("known format"));
}

TEST(UnreadFormats, WhatIsNestedTooDeepSaysSo) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const std::string event = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1)";
  const auto member = importText(R"({"m":)" + deep + R"(,"traceEvents":[)" + event + "}]}");
  ASSERT_TRUE(member.ok) << member.error;
  EXPECT_EQ(member.trace.range.size(), 1U);
  ASSERT_EQ(member.counts.damage.size(), 1U);
  EXPECT_THAT(member.counts.damage[0].reason, HasSubstr("nested deeper than 1,024"));
  const auto argument = importText("[" + event + R"(,"args":{"a":)" + deep + "}}," + event + "}]");
  ASSERT_TRUE(argument.ok) << argument.error;
  EXPECT_EQ(argument.trace.range.size(), 1U) << "the next one";
  ASSERT_FALSE(argument.counts.damage.empty());
  EXPECT_THAT(argument.counts.damage[0].reason, HasSubstr("nested deeper than 1,024"));
}

}  // namespace
}  // namespace tracesmith::import
