// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/demangle.hpp"

#include <gmock/gmock.h>

#include <chrono>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

/// f(pair<int,int>, pair<S1,S1>, pair<S2,S2>, …): each is twice as long as the previous one.
std::string doubling(int times) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto reference = [&](int n) {
    if (n == 0) return std::string("S_");
    std::string digits;
    for (--n; digits.empty() || n > 0; n /= 36) {
      digits.insert(digits.begin(), kDigits[static_cast<size_t>(n % 36)]);
    }
    return "S" + digits + "_";
  };
  std::string symbol = "_Z1fSt4pairIiiE";
  for (int i = 0; i < times; ++i) {
    symbol += reference(0) + "I" + reference(i + 1) + reference(i + 1) + "E";
  }
  return symbol;
}

TEST(Demangle, NamesAreAsPeopleWriteThem) {
  const std::vector<std::string> symbols = {"_Z3addii", "main", "", "_Zgarbage",
                                            "_ZNSt6vectorIiSaIiEE9push_backEOi"};
  EXPECT_THAT(demangled(symbols), ElementsAre("add(int, int)", "main", "", "_Zgarbage",
                                              "std::vector<int, std::allocator<int> >::push_back("
                                              "int&&)"));
}

#ifdef TRACESMITH_LIBIBERTY
TEST(Demangle, TypesOfLearningAreKnown) {
  EXPECT_THAT(demangled(std::vector<std::string>{"_Z4normDF16bDF16_"}),
              ElementsAre("norm(std::bfloat16_t, _Float16)"));
}
#endif

TEST(Demangle, LongNamesThatReferToThemselvesComeToo) {
  // 12 references: more than are demangled in this process, but harmless.
  const std::string symbol = "_Z1fSt4pairIiiES0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_";
  const std::vector<std::string> names = demangled(std::vector<std::string>{symbol});
  EXPECT_TRUE(names[0].starts_with("f(std::pair<int, int>, std::pair<int, int>")) << names[0];
}

TEST(Demangle, AnExplosionCostsOneName) {
  const std::vector<std::string> symbols = {doubling(5), doubling(40), "_Z1gSt4pairIiiES0_",
                                            doubling(60), doubling(6)};
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> names = demangled(symbols);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(names[0].starts_with("f(std::pair<int, int>"));
  EXPECT_EQ(names[1], symbols[1]);
  EXPECT_EQ(names[2], "g(std::pair<int, int>, std::pair<int, int>)");
  EXPECT_EQ(names[3], symbols[3]);
  EXPECT_TRUE(names[4].starts_with("f(std::pair<int, int>"));
}

}  // namespace
}  // namespace tracesmith
