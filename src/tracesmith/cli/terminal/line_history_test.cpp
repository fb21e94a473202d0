// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/line_history.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LineHistoryTest : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  static mode_t modeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }

  test::TempFolder folder_;
  std::string path_ = folder_.path("state/history");
  LineHistory history_{path_};
};

TEST_F(LineHistoryTest, EntriesComeBackInTheirOrder) {
  EXPECT_THAT(history_.load(), IsEmpty());
  history_.append("SELECT 1;");
  history_.append("SELECT 2;");
  EXPECT_THAT(history_.load(), ElementsAre("SELECT 1;", "SELECT 2;"));
  EXPECT_THAT(LineHistory(path_).load(), ElementsAre("SELECT 1;", "SELECT 2;"));
}

TEST_F(LineHistoryTest, FileAndFolderArePrivate) {
  history_.append("SELECT 'secret';");
  EXPECT_EQ(modeOf(path_), 0600u);
  EXPECT_EQ(modeOf(folder_.path("state")), 0700u);
  chmod(path_.c_str(), 0644);
  EXPECT_EQ(history_.load().size(), 1u);
  EXPECT_EQ(modeOf(path_), 0600u) << "a file that others could read becomes private";
}

TEST_F(LineHistoryTest, LinesThatNoPromptWroteAreLeftOut) {
  history_.append("");
  history_.append("two\nlines");
  history_.append("an escape \x1b[2J");
  EXPECT_FALSE(std::filesystem::exists(path_));
  history_.append("whole");
  write("whole\n\n\x01\x02\nnext\nlast without an end");
  EXPECT_THAT(history_.load(), ElementsAre("whole", "next", "last without an end"));
}

TEST_F(LineHistoryTest, OnlyTheNewestEntriesAreKept) {
  history_.append("first");
  std::string text;
  for (int i = 0; i < 2500; ++i) text += "SELECT " + std::to_string(i) + ";\n";
  write(text);
  const std::vector<std::string> entries = history_.load();
  ASSERT_EQ(entries.size(), 1000u);
  EXPECT_EQ(entries.front(), "SELECT 1500;");
  EXPECT_EQ(entries.back(), "SELECT 2499;");
  EXPECT_LT(std::filesystem::file_size(path_), text.size()) << "the file was shortened";
  EXPECT_EQ(modeOf(path_), 0600u);
  EXPECT_EQ(history_.load(), entries);
}

TEST_F(LineHistoryTest, AVeryLongFileGivesItsEnd) {
  history_.append("first");
  write(std::string(5 << 20, 'x') + "\nlast\n");
  EXPECT_THAT(history_.load(), ElementsAre("last"));
}

TEST_F(LineHistoryTest, WhatIsNoFileCostsNothing) {
  std::filesystem::create_directories(path_);
  history_.append("SELECT 1;");
  EXPECT_THAT(history_.load(), IsEmpty());
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  LineHistory(pipe).append("SELECT 1;");  // must not wait for a reader
  EXPECT_THAT(LineHistory(pipe).load(), IsEmpty());
  LineHistory().append("SELECT 1;");
  EXPECT_THAT(LineHistory().load(), IsEmpty());
}

TEST_F(LineHistoryTest, PlaceFollowsTheXdgSpecification) {
  const auto restore = [](const char* name, const char* value) {
    return value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  const char* state = std::getenv("XDG_STATE_HOME");
  const std::string before = state == nullptr ? "" : state;
  setenv("XDG_STATE_HOME", folder_.path("xdg").c_str(), 1);
  LineHistory::ofUser("query_history").append("SELECT 1;");
  restore("XDG_STATE_HOME", state == nullptr ? nullptr : before.c_str());
  EXPECT_EQ(test::contentsOf(folder_.path("xdg/tracesmith/query_history")), "SELECT 1;\n");
}

}  // namespace
}  // namespace tracesmith::cli
