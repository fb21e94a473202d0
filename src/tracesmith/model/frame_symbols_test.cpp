// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/frame_symbols.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

std::string shown(const Trace& trace, uint32_t frame) {
  const FrameSymbols names(trace);
  std::vector<FrameFunction> functions;
  names.functions(static_cast<FrameId>(frame), functions);
  std::string s;
  for (const FrameFunction& f : functions) {
    s += names.label(static_cast<FrameId>(frame), f) + "@" + std::string(f.file) + ":" +
         std::to_string(f.line) + " ";
  }
  return s;
}

class FrameSymbolsTest : public testing::Test {
 protected:
  StringId text(std::string_view t) { return trace.strings.intern(t); }
  void symbol(uint32_t frame, uint32_t level, std::string_view name, uint32_t line = 0) {
    trace.symbol.push({static_cast<FrameId>(frame), level, text(name), text("a.c"), line});
  }
  Trace trace;
};

TEST_F(FrameSymbolsTest, WithoutSymbolsTheFrameSpeaksForItself) {
  trace.frame.push({.address = 16, .function = text("f"), .file = text("a.c"), .line = 3});
  trace.frame.push({.address = 0x7f10, .module = text("/lib/libx.so.1"), .module_offset = 0x10});
  trace.frame.push({.address = 0x7f10});
  trace.frame.push({});
  EXPECT_EQ(shown(trace, 1), "f@a.c:3 ");
  EXPECT_EQ(shown(trace, 2), "libx.so.1+0x10@:0 ");
  EXPECT_EQ(shown(trace, 3), "0x7f10@:0 ");
  EXPECT_EQ(shown(trace, 4), "0x0@:0 ");
  EXPECT_EQ(shown(trace, 0), "");
  EXPECT_EQ(shown(trace, 5), "");
}

TEST_F(FrameSymbolsTest, InlinedFunctionsComeInnermostFirst) {
  trace.frame.push({.address = 1, .function = text("old")});
  symbol(1, 0, "inner", 7);
  symbol(1, 1, "outer", 9);
  EXPECT_EQ(shown(trace, 1), "inner@a.c:7 outer@a.c:9 ");
}

TEST_F(FrameSymbolsTest, ALaterAnswerReplacesTheEarlierOneWhole) {
  for (uint64_t i = 1; i <= 3; ++i) trace.frame.push({.address = i});
  symbol(1, 0, "a", 1);
  symbol(1, 1, "b", 2);
  symbol(2, 0, "c");
  symbol(1, 0, "d", 3);
  symbol(3, 0, "e");
  symbol(3, 0, "f");
  symbol(3, 1, "g");
  symbol(9, 0, "of a frame that is not there");
  symbol(0, 0, "of no frame");
  EXPECT_EQ(shown(trace, 1), "d@a.c:3 ");
  EXPECT_EQ(shown(trace, 2), "c@a.c:0 ");
  EXPECT_EQ(shown(trace, 3), "f@a.c:0 g@a.c:0 ");
}

TEST_F(FrameSymbolsTest, AnAnswerThatLostItsBeginIsNotAddedToAnEarlierOne) {
  trace.frame.push({.address = 1});
  symbol(1, 0, "a", 1);
  symbol(0, 0, "");  // a row with a lost frame
  symbol(1, 1, "b", 2);
  EXPECT_EQ(shown(trace, 1), "b@a.c:2 ");
}

}  // namespace
}  // namespace tracesmith
