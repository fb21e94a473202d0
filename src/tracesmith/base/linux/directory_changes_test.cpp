// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/directory_changes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

class DirectoryChangesTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = open(directory_.path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(fd_, 0);
  }
  void TearDown() override { close(fd_); }

  void add(const std::string& name) { std::ofstream(directory_.path(name)) << "x"; }
  /// Sets the directory's modification time to this long ago.
  void age(int64_t ns) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t then = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - ns;
    const timespec times[2] = {{0, UTIME_OMIT}, {then / 1'000'000'000, then % 1'000'000'000}};
    ASSERT_EQ(futimens(fd_, times), 0);
  }

  test::TempFolder directory_;
  int fd_ = -1;
};

TEST_F(DirectoryChangesTest, SeesEveryNewNameAtOnce) {
  DirectoryChanges changes;
  age(1'000'000'000);
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
  for (int i = 0; i < 1000; ++i) {
    add(std::to_string(i));
    ASSERT_TRUE(changes.mayHaveChanged(fd_)) << "after file " << i;
  }
  std::filesystem::rename(directory_.path("1"), directory_.path("renamed"));
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
  std::filesystem::remove(directory_.path("2"));
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
}

TEST_F(DirectoryChangesTest, AChangeWithTheSameTimeAsTheLastOneIsSeen) {
  add("first");
  DirectoryChanges changes;
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
  struct stat before {};
  ASSERT_EQ(fstat(fd_, &before), 0);
  add("second");
  const timespec times[2] = {{0, UTIME_OMIT}, before.st_mtim};
  ASSERT_EQ(futimens(fd_, times), 0);  // as a kernel with coarse times leaves it
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
}

TEST_F(DirectoryChangesTest, IsNotReadAgainWhileNothingChanges) {
  DirectoryChanges changes;
  age(1'000'000'000);
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
  int reads = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) reads += changes.mayHaveChanged(fd_);
  const auto took = std::chrono::steady_clock::now() - begin;
  // Once for each kLongestNs that this loop took, however slow the machine is.
  EXPECT_LE(reads, took / std::chrono::nanoseconds(DirectoryChanges::kLongestNs) + 1);
}

TEST_F(DirectoryChangesTest, FileSystemsThatKeepNoTimesAreReadNowAndThen) {
  DirectoryChanges changes;
  age(1'000'000'000);
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
  std::this_thread::sleep_for(std::chrono::nanoseconds(DirectoryChanges::kLongestNs));
  EXPECT_TRUE(changes.mayHaveChanged(fd_));
}

TEST_F(DirectoryChangesTest, ADirectoryFromTheFutureIsAlwaysRead) {
  DirectoryChanges changes;
  age(-3'600'000'000'000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(changes.mayHaveChanged(fd_));
}

}  // namespace
}  // namespace tracesmith
