// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/output/output.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  static std::string contents(const std::string& path) { return test::contentsOf(path); }
  size_t filesIn() const { return folder_.files(); }

  test::TempFolder folder_;
};

TEST_F(OutputTest, aFileAppearsOnlyWhenItIsWhole) {
  auto out = Output::toFile(path("a"));
  ASSERT_TRUE(out);
  out->write(std::string(3 << 20, 'x'));
  ASSERT_TRUE(out->flush());
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_TRUE(out->finish());
  EXPECT_EQ(fs::file_size(path("a")), 3u << 20);
  EXPECT_EQ(filesIn(), 1u);
}

TEST_F(OutputTest, anAbandonedOutputLeavesTheOldFileAndNothingElse) {
  std::ofstream(path("a")) << "old";
  {
    auto out = Output::toFile(path("a"));
    ASSERT_TRUE(out);
    out->write("new");
  }
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(filesIn(), 1u);
}

TEST_F(OutputTest, aReplacedFileKeepsItsModeAndALinkStaysALink) {
  std::ofstream(path("real")) << "old";
  ASSERT_EQ(chmod(path("real").c_str(), 0640), 0);
  fs::create_symlink("real", path("link"));
  auto out = Output::toFile(path("link"));
  ASSERT_TRUE(out);
  out->write("new");
  ASSERT_TRUE(out->finish());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("real")), "new");
  EXPECT_EQ(fs::status(path("real")).permissions(), fs::perms(0640));
}

TEST_F(OutputTest, sizesAroundABlockComeOutAsTheyWentIn) {
  for (size_t size : {size_t{0}, size_t{1}, (size_t{1} << 20) - 1, size_t{1} << 20,
                      (size_t{1} << 20) + 1, size_t{5} << 20}) {
    std::string expected;
    std::string text;
    Output out = Output::toString(&text);
    for (size_t i = 0; expected.size() < size; ++i) {
      const std::string piece(std::min(size - expected.size(), i * 977 + 1),
                              static_cast<char>('a' + i % 26));
      expected += piece;
      out.write(piece);
    }
    EXPECT_EQ(out.bytesWritten(), size);
    ASSERT_TRUE(out.finish());
    EXPECT_EQ(text, expected);
  }
}

TEST_F(OutputTest, aFullDeviceIsSaid) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  auto out = Output::toFile("/dev/full");
  ASSERT_TRUE(out);
  for (int i = 0; i < 4; ++i) out->write(std::string(1 << 20, 'x'));
  EXPECT_TRUE(out->failed());
  const Status status = out->finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(status.error().where, "/dev/full");
  EXPECT_TRUE(fs::is_character_file("/dev/full")) << "the device must not be replaced by a file";
}

TEST_F(OutputTest, aFileThatMayNotGrowLeavesTheOldOneAndNoHalf) {
  std::ofstream(path("a")) << "old";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto out = Output::toFile(path("a"));
  Status status;
  if (out) {
    out->write(std::string(4 << 20, 'x'));
    status = out->finish();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  ASSERT_TRUE(out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(filesIn(), 1u);
}

TEST_F(OutputTest, impossibleTargetsAreNamed) {
  const auto missing = Output::toFile(path("no/such/directory/a"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().where, path("no/such/directory/a"));
  const auto directory = Output::toFile(folder_.folder().string());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Output::toFile(""));
}

TEST_F(OutputTest, theFirstErrorOfASinkEndsIt) {
  int calls = 0;
  Output out = Output::toSink([&](std::string_view) -> Status {
    ++calls;
    return fail(ErrorCode::kIo, "gone", "there");
  });
  for (int i = 0; i < 5; ++i) out.write(std::string(1 << 20, 'x'));
  const Status status = out.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().toString(), "there: gone");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tracesmith
