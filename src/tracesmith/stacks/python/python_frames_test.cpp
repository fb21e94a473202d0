// SPDX-License-Identifier: Apache-2.0
// Tests that need no interpreter; tests/stacks tests each of several interpreters.
#include "tracesmith/stacks/python/python_frames.hpp"

#include <gtest/gtest.h>

namespace tracesmith::stacks {
namespace {

TEST(PythonFrames, AWordKeepsCodeEntryAndPlace) {
  const uint64_t word = pythonFrame(0xfedcba98, true, 12345);
  EXPECT_EQ(kindOf(word), FrameWordKind::kPython);
  EXPECT_EQ(pythonCodeOf(word), 0xfedcba98u);
  EXPECT_EQ(pythonPlaceOf(word), 12345u);
  EXPECT_TRUE(isPythonEntry(word));
  EXPECT_FALSE(isPythonEntry(pythonFrame(1, false, 12345)));
  // Code of sixteen million bytes does not occur; the entry bit must not be set by it.
  EXPECT_EQ(pythonPlaceOf(pythonFrame(1, false, uint64_t{1} << 40)), kPythonPlaceUnknown);
  EXPECT_FALSE(isPythonEntry(pythonFrame(1, false, uint64_t{1} << 40)));
}

TEST(PythonFrames, AProgramWithoutAnInterpreterHasNativeStacksAlone) {
  CallPathCache* const paths = CallPathCache::make(
      {}, {.path = [](void*, uint32_t, uint32_t, const uint64_t*, uint32_t) { return true; },
           .object = nullptr,
           .context = nullptr});
  ASSERT_NE(paths, nullptr);
  PythonFrames* const python =
      PythonFrames::make(paths, {},
                         {.code = [](void*, const PythonCode&) { return true; },
                          .interpreter = nullptr,
                          .context = nullptr});
  ASSERT_NE(python, nullptr);
  for (uint32_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(python->capture(), 0u);
    ASSERT_EQ(python->captureOnto(i), i);
  }
  EXPECT_EQ(pythonStatus(), PythonStatus::kNone);
  EXPECT_EQ(pythonVersion(), 0u);
  EXPECT_EQ(python->lost(), 0u);
  python->restart();
  EXPECT_EQ(python->capture(), 0u);
  PythonFrames::destroy(python);
  CallPathCache::destroy(paths);
}

}  // namespace
}  // namespace tracesmith::stacks
