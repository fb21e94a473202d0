// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/merge_python.hpp"

#include <gmock/gmock.h>

#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith::stacks {
namespace {

using testing::ElementsAre;
using Words = std::vector<uint64_t>;

// Native frames below 100 are ordinary, from 100 on kEval, from 200 on kEvalPart.
NativeFrameKind kind(uint64_t word) {
  if (word >= 200) return NativeFrameKind::kEvalPart;
  return word >= 100 ? NativeFrameKind::kEval : NativeFrameKind::kOther;
}
uint64_t python(uint32_t code) { return pythonFrame(code, false, 5); }
uint64_t entry(uint32_t code) { return pythonFrame(code, true, 5); }
const uint64_t kCut = otherFrame(FrameWordKind::kCut, static_cast<uint64_t>(WalkEnd::kTooDeep));

MergedStack merge(const Words& native, const Words& frames) {
  return mergePython(native, frames, kind);
}

TEST(MergePython, EachNativeFrameThatRunsPythonGivesWayToWhatItRan) {
  const MergedStack m = merge({1, 100, 2, 3, 101, 4}, {python(7), entry(8), entry(9)});
  EXPECT_TRUE(m.agrees);
  EXPECT_THAT(m.frames, ElementsAre(1, python(7), entry(8), 2, 3, entry(9), 4));
}

TEST(MergePython, WithoutPythonFramesNativeOnesStay) {
  EXPECT_THAT(merge({1, 2, 3}, {}).frames, ElementsAre(1, 2, 3));
  EXPECT_TRUE(merge({}, {}).frames.empty());
}

TEST(MergePython, WhatTheInterpretersFunctionCallsToRunCodeGoesWithIt) {
  EXPECT_THAT(merge({1, 200, 201, 100, 2, 200}, {entry(8)}).frames,
              ElementsAre(1, entry(8), 2, 200));
}

TEST(MergePython, PythonFramesBeyondANativeCutAreOutermost) {
  const MergedStack m = merge({1, 100, 2, kCut}, {entry(7), python(8), entry(9)});
  EXPECT_TRUE(m.agrees);
  EXPECT_THAT(m.frames, ElementsAre(1, entry(7), 2, python(8), entry(9), kCut));
}

TEST(MergePython, NativeFramesBeyondAPythonCutStay) {
  const MergedStack m = merge({1, 100, 2, 101, 3, 102}, {entry(7), python(8), kCut});
  EXPECT_TRUE(m.agrees);
  EXPECT_TRUE(m.python_cut);
  EXPECT_THAT(m.frames, ElementsAre(1, entry(7), 2, python(8), 3, 102));
}

TEST(MergePython, BothCutMatchFromTheInnermost) {
  const MergedStack m = merge({1, 100, kCut}, {python(7), entry(8), python(9), kCut});
  EXPECT_TRUE(m.agrees);
  EXPECT_THAT(m.frames, ElementsAre(1, python(7), entry(8), python(9), kCut));
}

TEST(MergePython, WhereNumbersDisagreeAllIsKeptAndItSaysSo) {
  MergedStack m = merge({1, 100, 2}, {entry(7), entry(8)});
  EXPECT_FALSE(m.agrees);
  EXPECT_THAT(m.frames, ElementsAre(entry(7), entry(8), 1, 100, 2));
  m = merge({1, 100, 2, 101}, {entry(7)});
  EXPECT_FALSE(m.agrees);
  EXPECT_THAT(m.frames, ElementsAre(entry(7), 1, 100, 2, 101));
}

TEST(MergePython, AReturnAddressBehindTheLastInstructionStillBelongsToTheFunction) {
  const PythonInterpreter interpreter{.version = 0, .eval_begin = 0x1000, .eval_end = 0x2000};
  EXPECT_EQ(kindByAddress(interpreter, 0x2000), NativeFrameKind::kEval);
  EXPECT_EQ(kindByAddress(interpreter, 0x1000), NativeFrameKind::kOther);
  EXPECT_EQ(kindByAddress(interpreter, 0x1000 | kExactFrame), NativeFrameKind::kEval);
  EXPECT_EQ(kindByAddress(interpreter, 0x2000 | kExactFrame), NativeFrameKind::kOther);
  EXPECT_EQ(kindByAddress(PythonInterpreter(), 0x1000), NativeFrameKind::kOther);
  EXPECT_EQ(kindByAddress(interpreter, entry(1)), NativeFrameKind::kOther);
}

}  // namespace
}  // namespace tracesmith::stacks
