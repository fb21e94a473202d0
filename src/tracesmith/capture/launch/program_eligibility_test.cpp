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

class ProgramEligibilityTest : public ::testing::Test {
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

TEST_F(ProgramEligibilityTest, AnOrdinaryProgramIsOpenAndFoundAsExecFindsIt) {
  const ProgramEligibility r = checkEligibility("sleep");
  EXPECT_EQ(r.eligibility, Eligibility::kEligible);
  EXPECT_THAT(r.path, EndsWith("/sleep"));
  EXPECT_EQ(checkEligibility(copyOf("/bin/sleep", 0755)).eligibility, Eligibility::kEligible);
  EXPECT_EQ(checkEligibility("/no/such/program").path, "");
  EXPECT_EQ(checkEligibility("no such program").path, "");
  EXPECT_EQ(checkEligibility(dir_.string()).path, "");
  EXPECT_EQ(checkEligibility(copyOf("/bin/sleep", 0644)).path, "");
}

TEST_F(ProgramEligibilityTest, RightsThatTheCallerHasAreNoReason) {
  EXPECT_EQ(checkEligibility(copyOf("/bin/sleep", 04755)).eligibility, Eligibility::kEligible);
  EXPECT_EQ(checkEligibility(copyOf("/bin/sleep", 02755)).eligibility, Eligibility::kEligible);
}

TEST_F(ProgramEligibilityTest, RightsThatTheCallerLacksAreNamed) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string program = copyOf("/bin/sleep", 0755);
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  EXPECT_EQ(checkEligibility(program).eligibility, Eligibility::kEligible);
  chmod(program.c_str(), 04755);
  EXPECT_EQ(checkEligibility(program).eligibility, Eligibility::kPrivileged);
  EXPECT_THAT(checkEligibility(program).why, HasSubstr("set-user-id to "));
  chmod(program.c_str(), 02755);
  EXPECT_THAT(checkEligibility(program).why, HasSubstr("set-group-id to "));
  std::ofstream(program) << "#!/bin/sh\n";
  EXPECT_EQ(checkEligibility(program).eligibility, Eligibility::kEligible);
}

}  // namespace
}  // namespace tracesmith
