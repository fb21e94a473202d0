// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/kernel_text.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

namespace tracesmith {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTextSource = R"(
/* kernel void commented(void) { } */
#define TWICE(x) \
  ((x) * 2 + inMacro(0))
constant int table[] = {1, 2, 3};
typedef struct { int field; } Pair;
int inMacro(int x) { return x + 700; }
int helper(int x);
int helper(int x) { if (x > 0) { return deeper(x); } return 0; }  // }
int deeper(int x) { return x + 100; }
float helper(float x) { return x + 200; }
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void first(__global int* a) {
  a[0] = helper(a[1]);
}
kernel void second (global int* a) __attribute__((vec_type_hint(int))) { atomic_inc(a); char c = '}'; }
)";

TEST(KernelText, HoldsWhatTheKernelReachesAndNothingOfOthers) {
  const std::string first = kernelText(kTextSource, "first");
  for (const char* part : {"+ 100", "+ 200", "+ 700", "TWICE", "table", "field", "helper(a[1])"}) {
    EXPECT_THAT(first, HasSubstr(part));
  }
  EXPECT_THAT(first, Not(HasSubstr("atomic_inc")));
  EXPECT_THAT(first, Not(HasSubstr("commented")));
  const std::string second = kernelText(kTextSource, "second");
  EXPECT_THAT(second, HasSubstr("atomic_inc"));
  EXPECT_THAT(second, Not(HasSubstr("+ 100")));
}

TEST(KernelText, IsTheWholeSourceWhereTheKernelCanNotBeTold) {
  for (const char* source : {
           "MAKE(first) other() { atomic_inc(a); }",
           "kernel void first() { if (a) { ",
           "}} kernel void first() { }",
           "kernel void other() { }",
           "",
       }) {
    EXPECT_EQ(kernelText(source, "first"), source);
  }
}

/// Number of occurrences of words in a text, by a hash of the word.
std::array<int, 1024> wordsOf(std::string_view text) {
  std::array<int, 1024> words{};
  size_t hash = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const bool is_word = i < text.size() &&
                         (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
    if (is_word) {
      hash = hash * 31 + static_cast<unsigned char>(text[i]);
    } else if (hash != 0) {
      ++words[std::exchange(hash, 0) % words.size()];
    }
  }
  return words;
}

/// True if each word is at most as frequent in the text as in its source.
bool isPartOf(std::string_view text, std::string_view source) {
  const auto all = wordsOf(source);
  const auto words = wordsOf(text);
  return std::equal(words.begin(), words.end(), all.begin(), std::less_equal<>());
}

TEST(KernelText, EveryCutAndEveryByteIsRead) {
  const std::string source = kTextSource;
  // The functions that `first` reaches, each with the end of its text.
  const std::pair<std::string, size_t> reached[] = {
      {"x + 700", source.find("int helper(int x);")},
      {"deeper(x)", source.find("// }")},
      {"x + 100", source.find("float helper(")},
      {"helper(a[1])", source.find("kernel void second")}};
  size_t reduced = 0;
  for (size_t at = 0; at < source.size(); ++at) {
    const std::string_view cut = std::string_view(source).substr(0, at);
    const std::string text = kernelText(cut, "first");
    EXPECT_TRUE(isPartOf(text, cut)) << at;
    for (const auto& [part, end] : reached) {
      if (at < end) continue;
      EXPECT_THAT(text, HasSubstr(part)) << at;
    }
    reduced += text != cut ? 1 : 0;
    for (const char c : {'{', '}', '"', '(', ';', '#', '\\', '/'}) {
      std::string other = source;
      other[at] = c;
      EXPECT_TRUE(isPartOf(kernelText(other, "first"), other)) << at << c;
    }
  }
  EXPECT_GT(reduced, source.size() / 10);  // or everything was returned unchanged
}

}  // namespace
}  // namespace tracesmith
