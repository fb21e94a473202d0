// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/readable_names.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace tracesmith {
namespace {

TEST(ReadableNames, CppNamesAreDemangledAndOthersStay) {
  Trace trace;
  const auto launch = [&](std::string_view name) {
    const StringId id = trace.strings.intern(name);
    trace.kernel.push({.name = id});
    return id;
  };
  const StringId mangled = launch("_Z3addii");
  const StringId plain = launch("ampere_sgemm_128x64_nn");
  const StringId wrong = launch("_Zgarbage");
  // 375 bytes that stand for gigabytes of text.
  std::string doubling = "_Z1fSt4pairIiiE";
  for (const char c : std::string_view("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    doubling += std::string("S_IS") + c + "_S" + c + "_E";
  }
  const StringId explosive = launch(doubling);
  const StringId last = launch("_Z3subii");
  trace.kernel.push({.name = StringId(0xffffffff)});

  const auto begin = std::chrono::steady_clock::now();
  const ReadableNames names(trace);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(names.of(mangled), "add(int, int)");
  EXPECT_EQ(names.of(plain), "ampere_sgemm_128x64_nn");
  EXPECT_EQ(names.of(wrong), "_Zgarbage");
  EXPECT_EQ(names.of(explosive), doubling);
  EXPECT_EQ(names.of(last), "sub(int, int)");
}

}  // namespace
}  // namespace tracesmith
