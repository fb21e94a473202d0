// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/shell_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

namespace tracesmith {
namespace {

std::string printedByShell(const std::string& word) {
  const std::unique_ptr<FILE, int (*)(FILE*)> shell(popen(("printf %s " + word).c_str(), "r"),
                                                    pclose);
  std::array<char, 256> text{};
  return {text.data(), std::fread(text.data(), 1, text.size(), shell.get())};
}

TEST(ShellWords, AreOneWordForTheShell) {
  for (const std::string text : {"plain.sbt", "a b;c.json", "it's", "$HOME `id` \\ *",
                                 "line\nbreak", "", "-x", "größe.sbt"}) {
    EXPECT_EQ(printedByShell(shellWord(text)), text);
    EXPECT_EQ(printedByShell(shellQuoted(text)), text);
  }
}

TEST(ShellWords, PlainOnesAreNotQuoted) {
  EXPECT_EQ(shellWord("/traces/rank-0.json.gz"), "/traces/rank-0.json.gz");
  EXPECT_EQ(shellWord("a b"), "'a b'");
}

}  // namespace
}  // namespace tracesmith
