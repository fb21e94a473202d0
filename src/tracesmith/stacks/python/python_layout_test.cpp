// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_layout.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace tracesmith::stacks {
namespace {

/// _PyRuntime of an interpreter where each member contains its own offset: 8 * its index.
struct Runtime {
  std::array<uint64_t, 128> words{};
  explicit Runtime(uint64_t version) {
    for (size_t i = 0; i < words.size(); ++i) words[i] = 8 * i;
    std::memcpy(words.data(), "xdebugpy", 8);
    words[1] = version;
    words[2] = 0;
  }
  PythonLayoutResult find(uint32_t version, PythonLayout& out) const {
    return findPythonLayout(version, words.data(), out);
  }
};

TEST(PythonLayout, VersionsBefore313HaveTheirOwnAndOthersHaveNone) {
  PythonLayout layout;
  EXPECT_EQ(findPythonLayout(0x030b02f0, nullptr, layout), PythonLayoutResult::kKnown);
  EXPECT_EQ(layout.frame_is_entry, 68u);
  EXPECT_EQ(findPythonLayout(0x030c01f0, nullptr, layout), PythonLayoutResult::kKnown);
  EXPECT_EQ(layout.frame_is_entry, PythonLayout::kAbsent);
  for (const uint32_t version : {0x030a0df0u, 0x030f0000u, 0x02071800u, 0x04000000u, 0u}) {
    EXPECT_EQ(findPythonLayout(version, nullptr, layout), PythonLayoutResult::kUnknownVersion);
  }
}

// Include/internal/pycore_runtime.h of 3.13 and pycore_debug_offsets.h of 3.14, counted by hand.
TEST(PythonLayout, LaterVersionsTellTheirOwnOffsets) {
  PythonLayout layout;
  ASSERT_EQ(Runtime(0x030d00f0).find(0x030d00f0, layout), PythonLayoutResult::kKnown);
  EXPECT_EQ(layout.thread_frame, 8u * 23);
  EXPECT_EQ(layout.link_frame, PythonLayout::kAbsent);
  EXPECT_EQ(layout.frame_owner, 8u * 33);
  EXPECT_EQ(layout.code_instructions, 8u * 43);
  EXPECT_EQ(layout.code_first_traceable, 8u * 43 - 16);
  ASSERT_EQ(Runtime(0x030e02f0).find(0x030e02f0, layout), PythonLayoutResult::kKnown);
  EXPECT_EQ(layout.thread_frame, 8u * 26);
  EXPECT_EQ(layout.frame_owner, 8u * 36);
  EXPECT_EQ(layout.code_instructions, 8u * 48);
}

TEST(PythonLayout, OffsetsOfAnotherVersionOrWithoutSenseAreNotTaken) {
  PythonLayout layout;
  const Runtime good(0x030d00f0);
  EXPECT_EQ(good.find(0x030d01f0, layout), PythonLayoutResult::kDamaged);
  EXPECT_EQ(findPythonLayout(0x030d00f0, nullptr, layout), PythonLayoutResult::kDamaged);
  Runtime no_cookie = good;
  no_cookie.words[0] = 0;
  EXPECT_EQ(no_cookie.find(0x030d00f0, layout), PythonLayoutResult::kDamaged);
  Runtime far_off = good;
  far_off.words[30] = 1u << 20;
  EXPECT_EQ(far_off.find(0x030d00f0, layout), PythonLayoutResult::kDamaged);
  Runtime free_threaded = good;
  free_threaded.words[2] = 1;
  EXPECT_EQ(free_threaded.find(0x030d00f0, layout), PythonLayoutResult::kFreeThreaded);
}

}  // namespace
}  // namespace tracesmith::stacks
