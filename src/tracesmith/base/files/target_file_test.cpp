// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/target_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

class TargetFileTest : public testing::TestWithParam<TargetFile::CreationMode> {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  static std::string contents(const std::string& path) { return test::contentsOf(path); }
  size_t filesIn() const { return folder_.files(); }
  Status write(const std::string& name) const {
    TS_TRY(TargetFile file, TargetFile::open(path(name), GetParam()));
    std::ofstream(file.place()) << "new";
    return file.finish();
  }

  test::TempFolder folder_;
};

TEST_P(TargetFileTest, isThereWhenItIsWholeAndReplacesWhatWasThere) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(write("a"));
    EXPECT_EQ(contents(path("a")), "new");
    EXPECT_EQ(filesIn(), 1u);
  }
}

TEST_P(TargetFileTest, aLinkStaysALinkAlsoToWhatIsNotThereYet) {
  fs::create_symlink("real", path("link"));
  fs::create_symlink("link", path("further"));
  ASSERT_TRUE(write("further"));
  EXPECT_TRUE(fs::is_symlink(path("further")));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("real")), "new");
  ASSERT_EQ(chmod(path("real").c_str(), 0640), 0);
  ASSERT_TRUE(write("link"));
  EXPECT_EQ(fs::status(path("real")).permissions(), fs::perms(0640));
  EXPECT_EQ(filesIn(), 3u);
}

TEST_P(TargetFileTest, whatIsNoRegularFileStaysWhatItIs) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_directory(path("directory"));
  for (const char* name : {"pipe", "directory"}) {
    const Status status = write(name);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().where, path(name));
  }
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_FALSE(TargetFile::open("-", GetParam()));
  EXPECT_FALSE(TargetFile::open("", GetParam()));
}

TEST_P(TargetFileTest, anAbandonedOneLeavesTheOldFileAndNothingElse) {
  std::ofstream(path("a")) << "old";
  {
    auto file = TargetFile::open(path("a"), GetParam());
    ASSERT_TRUE(file);
    std::ofstream(file->place()) << "new";
    EXPECT_EQ(file->named({ErrorCode::kIo, "broken", file->place()}).where, path("a"));
  }
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(filesIn(), 1u);
}

TEST_P(TargetFileTest, ofAKilledProcessNothingStays) {
  const pid_t child = fork();
  if (child == 0) {
    auto file = TargetFile::open(path("a"), GetParam());
    (void)kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  if (GetParam() == TargetFile::CreationMode::kBest) {
    EXPECT_EQ(filesIn(), 0u);
  }
  ASSERT_TRUE(write("a"));  // a file that needs a name is removed by the next process
  EXPECT_EQ(filesIn(), 1u);
}

TEST_P(TargetFileTest, ofAnInterruptedCommandNothingStaysAtAll) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = fork();
    if (child == 0) {
      removeUnfinishedAtSignals();
      auto finished = TargetFile::open(path("done"), GetParam());
      (void)finished->finish();
      auto file = TargetFile::open(path("a"), GetParam());
      (void)raise(number);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number);
    EXPECT_TRUE(fs::exists(path("done")));
    EXPECT_EQ(filesIn(), 1u);
  }
}

TEST_P(TargetFileTest, whatAnotherLiveProcessWritesIsLeftAlone) {
  auto other = TargetFile::open(path("a"), GetParam());
  ASSERT_TRUE(other);
  ASSERT_TRUE(write("a"));
  ASSERT_TRUE(other->finish());
  EXPECT_EQ(contents(path("a")), "");
  EXPECT_EQ(filesIn(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ways, TargetFileTest,
                         testing::Values(TargetFile::CreationMode::kBest,
                                         TargetFile::CreationMode::kNamed),
                         [](const auto& way) {
                           return way.param == TargetFile::CreationMode::kBest ? "nameless"
                                                                               : "named";
                         });

}  // namespace
}  // namespace tracesmith
