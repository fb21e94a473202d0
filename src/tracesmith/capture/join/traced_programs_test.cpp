// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/traced_programs.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/stacks/symbols/xray_program_test_util.hpp"

namespace tracesmith {
namespace {

using test::TempFile;
using test::XRayProgram;

Bytes programWith(const std::string& function) {
  return XRayProgram().sled(0x1000).symbol(function, 0x1000).bytes();
}

class TracedProgramsTest : public ::testing::Test {
 protected:
  std::string nameIn(const TempFile& program) {
    const auto& functions = programs_.functionsOf(program.path());
    return functions ? functions->name(1) : functions.error().message;
  }
  TracedPrograms programs_;
};

TEST_F(TracedProgramsTest, AProgramIsReadOnceAndStays) {
  const TempFile program, other;
  program.write(programWith("work"));
  other.write(programWith("play"));
  const auto* const functions = &programs_.functionsOf(program.path());
  EXPECT_EQ(nameIn(other), "play");
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(&programs_.functionsOf(program.path()), functions);
  EXPECT_EQ((*functions)->name(1), "work");
  EXPECT_EQ(programs_.filesRead(), 2u);
}

TEST_F(TracedProgramsTest, AnotherBuildInItsPlaceIsAnotherProgram) {
  const TempFile program;
  program.write(programWith("work"));
  EXPECT_EQ(nameIn(program), "work");
  const auto built = std::filesystem::last_write_time(program.path());
  program.write(programWith("play"));  // same length, same inode
  std::filesystem::last_write_time(program.path(), built + std::chrono::nanoseconds(1));
  EXPECT_EQ(nameIn(program), "play");
  std::filesystem::remove(program.path());
  EXPECT_NE(nameIn(program), "play");
  program.write(programWith("rest"));
  EXPECT_EQ(nameIn(program), "rest");
}

TEST_F(TracedProgramsTest, AnUnreadableOneIsTriedOnceAndSaysWhy) {
  const TempFile program;
  program.write(Bytes(100));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(nameIn(program), ::testing::HasSubstr("not an ELF file"));
  EXPECT_EQ(programs_.filesRead(), 1u);
}

TEST_F(TracedProgramsTest, GivesASignOfLifeOnlyWhereItReads) {
  const TempFile program;
  program.write(programWith("work"));
  int signs = 0;
  programs_.onProgress([&] { ++signs; });
  nameIn(program);
  EXPECT_GE(signs, 3);  // before, after, and in between
  const int reading = signs;
  nameIn(program);
  EXPECT_EQ(signs, reading);
}

}  // namespace
}  // namespace tracesmith
