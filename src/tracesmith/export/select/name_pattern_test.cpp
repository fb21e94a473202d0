// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/name_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tracesmith {
namespace {

TEST(NamePattern, IsAPartOfTheNameOrAPatternForAllOfIt) {
  struct Case {
    const char* pattern;
    const char* name;
    bool matches;
  };
  for (const Case& c : {Case{"", "anything", true},
                        {"gemm", "sgemm_128", true},
                        {"gemm", "GEMM", false},
                        {"a/b", "x a/b y", true},
                        {"*gemm", "sgemm", true},
                        {"*gemm", "sgemm_128", false},
                        {"s?emm*", "sgemm_128", true},
                        {"[ab]*[0-9]", "b_7", true},
                        {"[!ab]*", "b_7", false},
                        {"[^ab]*", "c", true},
                        {"[]x]", "]", true},
                        {"[a", "[a", true},
                        {"[", "[", true},
                        {"**", "", true},
                        {"?", "", false},
                        {"*a*b*c*", "xxaxxbxxcxx", true},
                        {"*a*b*c*", "xxcxxbxxaxx", false}}) {
    EXPECT_EQ(NamePattern(c.pattern).matches(c.name), c.matches) << c.pattern << " " << c.name;
  }
}

TEST(NamePattern, ManyStarsTakeNoLongerThanPatternTimesName) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(NamePattern(pattern + "b").matches(std::string(20000, 'a')));
}

}  // namespace
}  // namespace tracesmith
