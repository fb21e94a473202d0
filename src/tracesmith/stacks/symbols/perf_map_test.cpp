// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/perf_map.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tracesmith {
namespace {

TEST(PerfMap, GivesTheFunctionOfAnAddress) {
  const PerfMap map = PerfMap::parse(
      "7f00a000 20 py::work:/home/me/a program.py\n"
      "0x7f00a020 0x10 LazyCompile:~go /srv/x.js:12\r\n");
  EXPECT_EQ(map.functions(), 2u);
  EXPECT_EQ(map.badLines(), 0u);
  EXPECT_EQ(map.find(0x7f009fff), "");
  EXPECT_EQ(map.find(0x7f00a000), "py::work:/home/me/a program.py");
  EXPECT_EQ(map.find(0x7f00a01f), "py::work:/home/me/a program.py");
  EXPECT_EQ(map.find(0x7f00a02f), "LazyCompile:~go /srv/x.js:12");
  EXPECT_EQ(map.find(0x7f00a030), "");
}

TEST(PerfMap, LinesThatSayNothingArePassedOverAndCounted) {
  const PerfMap map = PerfMap::parse(
      "\nwhat\n10 0 empty\n10 4\n10 4 \nffffffffffffffff 2 too far\n-1 4 minus\n20 8 kept");
  EXPECT_EQ(map.badLines(), 6u);
  EXPECT_EQ(map.functions(), 1u);
  EXPECT_EQ(map.find(0x27), "kept");
}

TEST(PerfMap, OfFunctionsAtOnePlaceTheLaterOneCounts) {
  std::mt19937 random(1);
  std::string text;
  struct Line {
    uint64_t begin, end;
    std::string name;
  };
  std::vector<Line> lines;
  for (int i = 0; i < 300; ++i) {
    const uint64_t begin = random() % 1000;
    const uint64_t size = 1 + random() % 100;
    char line[64];
    std::snprintf(line, sizeof line, "%lx %lx f%d\n", begin, size, i);
    text += line;
    lines.push_back({begin, begin + size, "f" + std::to_string(i)});
  }
  const PerfMap map = PerfMap::parse(text);
  for (uint64_t address = 0; address < 1200; ++address) {
    std::string expected;
    for (const Line& l : lines) {
      if (address >= l.begin && address < l.end) expected = l.name;
    }
    ASSERT_EQ(map.find(address), expected) << address;
  }
}

TEST(PerfMap, WhatIsNoFileIsAnError) {
  EXPECT_FALSE(PerfMap::load("/tmp"));
  EXPECT_FALSE(PerfMap::load("/nowhere/perf-1.map"));
}

}  // namespace
}  // namespace tracesmith
