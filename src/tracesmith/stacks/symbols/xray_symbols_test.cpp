// SPDX-License-Identifier: Apache-2.0
// Uses programs written by hand; tests/cli/xray_test.py has real ones.
#include "tracesmith/stacks/symbols/xray_symbols.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/stacks/symbols/xray_program_test_util.hpp"

namespace tracesmith {
namespace {

using test::TempFile;
using test::XRayProgram;
using ::testing::HasSubstr;

Result<XRaySymbols> read(const Bytes& program) {
  const TempFile file;
  file.write(program);
  return XRaySymbols::ofBinary(file.path());
}

XRayProgram sample() {
  XRayProgram p;
  p.sled(0x1000).sled(0x1000).sled(0x1100).sled(0x1200);
  p.symbol("_ZL5alias", 0x1000, STB_LOCAL).symbol("_Z3addii", 0x1000).symbol("main", 0x1100);
  p.symbol("data", 0x1200, STB_GLOBAL, STT_OBJECT);
  return p;
}

TEST(XRaySymbols, FunctionsAreNumberedInTheOrderOfTheirSleds) {
  const Result<XRaySymbols> symbols = read(sample().bytes());
  ASSERT_TRUE(symbols) << symbols.error().toString();
  EXPECT_EQ(symbols->functions(), 3U);
  EXPECT_EQ(symbols->named(), 2U);
  EXPECT_EQ(symbols->name(1), "add(int, int)");  // the public one of two names
  EXPECT_EQ(symbols->name(2), "main");
  EXPECT_EQ(symbols->name(3), "");  // not a function symbol
  for (const int32_t none : {0, -1, 4, INT32_MAX, INT32_MIN}) EXPECT_EQ(symbols->name(none), "");
}

TEST(XRaySymbols, ALargeProgramIsReadWithASignOfLifeAgainAndAgain) {
  constexpr uint64_t kFunctions = 10'000, kOthers = 100'000;
  XRayProgram program;
  for (uint64_t i = 1; i <= kFunctions; ++i) {
    program.sled(0x1000 + 16 * i).symbol("f" + std::to_string(i), 0x1000 + 16 * i);
  }
  for (uint64_t i = 0; i < kOthers; ++i) program.symbol("", 0x1000000 + i);
  const TempFile file;
  file.write(program.bytes());
  int signs = 0;
  const auto symbols = XRaySymbols::ofBinary(file.path(), [&] { ++signs; });
  ASSERT_TRUE(symbols) << symbols.error().toString();
  EXPECT_EQ(symbols->named(), kFunctions);
  for (int32_t i = 1; i <= static_cast<int32_t>(kFunctions); ++i) {
    ASSERT_EQ(symbols->name(i), "f" + std::to_string(i));
  }
  EXPECT_GE(signs, 6);  // for each MiB of symbols, and for some thousands of names
}

TEST(XRaySymbols, WhatIsNoSuchProgramSaysSo) {
  EXPECT_THAT(read({}).error().message, HasSubstr("not an ELF file"));
  EXPECT_THAT(read(sample().bytes(".text")).error().message, HasSubstr("-fxray-instrument"));
  EXPECT_THAT(XRaySymbols::ofBinary("/dev/zero").error().message, HasSubstr("not a regular file"));
  Bytes small = sample().bytes();
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(read(small).error().message, HasSubstr("64-bit"));
}

TEST(XRaySymbols, EveryCutAndEveryByteIsHarmless) {
  const Bytes whole = sample().bytes();
  for (size_t n = 0; n < whole.size(); ++n) {
    read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    for (const uint8_t with : {0x00, 0x7f, 0xff}) {
      Bytes changed = whole;
      changed[n] = with;
      const Result<XRaySymbols> symbols = read(changed);
      EXPECT_TRUE(!symbols || symbols->functions() <= whole.size() / 32);
    }
  }
}

}  // namespace
}  // namespace tracesmith
