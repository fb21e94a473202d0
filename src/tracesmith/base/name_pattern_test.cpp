// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/name_pattern.hpp"

#include <gmock/gmock.h>

#include <string>

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

TEST(NamePattern, MatchesAnywhereInTheName) {
  struct Case {
    const char* expression;
    const char* name;
    bool matches;
  };
  for (const Case& c : {Case{"", "anything", true},
                        {"gemm", "sgemm_128", true},
                        {"gemm", "GEMM", false},
                        {"a/b", "x a/b y", true},
                        {"gemm$", "sgemm", true},
                        {"gemm$", "sgemm_128", false},
                        {"^s.emm", "sgemm_128", true},
                        {"^[ab].*[0-9]$", "b_7", true},
                        {"^[^ab]", "b_7", false},
                        {"copy|fill", "host_to_device_copy", true},
                        {"\\(float\\*\\)", "void f(float*)", true},
                        {"(a|b){2}", "xab", true},
                        {"^$", "", true}}) {
    const Result<NamePattern> pattern = NamePattern::parse(c.expression);
    ASSERT_TRUE(pattern) << c.expression;
    EXPECT_EQ(pattern->matches(c.name), c.matches) << c.expression << " " << c.name;
    EXPECT_EQ(pattern->matchesEverything(), *c.expression == 0);
  }
}

TEST(NamePattern, WhatIsNoExpressionIsRefusedWithItsReason) {
  for (const auto& [expression, why] :
       {std::pair{"(gemm", "nmatched ("}, {"[a", "nmatched ["}, {"(a+)\\1", "back references"}}) {
    const Result<NamePattern> pattern = NamePattern::parse(expression, "--name");
    ASSERT_FALSE(pattern) << expression;
    EXPECT_EQ(pattern.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(pattern.error().where, "--name");
    EXPECT_THAT(pattern.error().message, HasSubstr(why));
    EXPECT_THAT(pattern.error().message, HasSubstr(expression));
  }
  EXPECT_TRUE(NamePattern::parse("a\\\\1"));  // a backslash, then 1
}

TEST(NamePattern, TakesNoExponentialTime) {
  const Result<NamePattern> pattern = NamePattern::parse("^(a+)+b$");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->matches(std::string(200, 'a')));
  EXPECT_TRUE(pattern->matches(std::string(200, 'a') + "b"));
}

}  // namespace
}  // namespace tracesmith
