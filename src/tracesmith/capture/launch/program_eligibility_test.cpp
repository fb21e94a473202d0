// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/program_eligibility.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tracesmith {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ProgramReachTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string place = (fs::temp_directory_path() / "tracesmith-reach-XXXXXX").string();
    ASSERT_NE(mkdtemp(place.data()), nullptr);
    dir_ = place;
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string copyOf(const char* program, mode_t mode) {
    const fs::path file = dir_ / "program";
    fs::copy_file(program, file, fs::copy_options::overwrite_existing);
    chmod(file.c_str(), mode);
    return file.string();
  }
  fs::path dir_;
};

TEST_F(ProgramReachTest, AnOrdinaryProgramIsOpenAndFoundAsExecFindsIt) {
  const ProgramReach r = reachOf("sleep");
  EXPECT_EQ(r.reach, Reach::kOpen);
  EXPECT_THAT(r.path, EndsWith("/sleep"));
  EXPECT_EQ(reachOf(copyOf("/bin/sleep", 0755)).reach, Reach::kOpen);
  EXPECT_EQ(reachOf("/no/such/program").path, "");
  EXPECT_EQ(reachOf("no such program").path, "");
  EXPECT_EQ(reachOf(dir_.string()).path, "");
  EXPECT_EQ(reachOf(copyOf("/bin/sleep", 0644)).path, "");
}

TEST_F(ProgramReachTest, RightsThatTheCallerHasAreNoReason) {
  EXPECT_EQ(reachOf(copyOf("/bin/sleep", 04755)).reach, Reach::kOpen);
  EXPECT_EQ(reachOf(copyOf("/bin/sleep", 02755)).reach, Reach::kOpen);
}

TEST_F(ProgramReachTest, RightsThatTheCallerLacksAreNamed) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string program = copyOf("/bin/sleep", 0755);
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  EXPECT_EQ(reachOf(program).reach, Reach::kOpen);
  chmod(program.c_str(), 04755);
  EXPECT_EQ(reachOf(program).reach, Reach::kPrivileged);
  EXPECT_THAT(reachOf(program).why, HasSubstr("set-user-id to "));
  chmod(program.c_str(), 02755);
  EXPECT_THAT(reachOf(program).why, HasSubstr("set-group-id to "));
  std::ofstream(program) << "#!/bin/sh\n";
  EXPECT_EQ(reachOf(program).reach, Reach::kOpen);
}

}  // namespace
}  // namespace tracesmith
