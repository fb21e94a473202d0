// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/included_files.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

TEST(IncludedFiles, FoldersOfOptionsLieBelowTheRoot) {
  const auto of = [](std::string_view options) {
    return optionsBelow("/root", "/home/me", options);
  };
  EXPECT_EQ(of(""), "-I/root/home/me");
  EXPECT_EQ(of("-DA=1 -cl-std=CL2.0"), "-DA=1 -cl-std=CL2.0 -I/root/home/me");
  EXPECT_EQ(of("-I inc -I/usr/inc  -Ix/y "),
            "-I/root/home/me/inc -I/root/usr/inc -I/root/home/me/x/y -I/root/home/me");
  EXPECT_EQ(of("-I\"inc\" -D\"A=-I b\""), "-I/root/home/me/inc -D\"A=-I b\" -I/root/home/me");
  EXPECT_EQ(of("-I \"two words\""), "-I\"/root/home/me/two words\" -I/root/home/me");
  EXPECT_EQ(of("-I ../other/./inc"), "-I/root/home/other/inc -I/root/home/me");
  EXPECT_EQ(of("-I ../../../../etc"), "-I/root/etc -I/root/home/me");
  // Parsed as by the agent and the analysis (base/build_options.hpp).
  EXPECT_EQ(of("-DA\v-Iinc\f-I sub"),
            "-DA -I/root/home/me/inc -I/root/home/me/sub -I/root/home/me");
  EXPECT_EQ(of(R"(-I quo\"ted)"), R"(-I/root/home/me/quo\"ted -I/root/home/me)");
}

TEST(IncludedFiles, LieWhereTheirNamesLeadAndNowhereElse) {
  test::TempFolder folder;
  const std::string root = folder.path("root");
  const Bytes text = {'a', 'b'};
  const auto content = [&](const std::string& at) {
    std::ifstream in(root + at);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  };
  ASSERT_TRUE(layOutIncludedFile(root, "/home/me/x.h", text));
  EXPECT_EQ(content("/home/me/x.h"), "ab");
  // A driver follows the path as written: each folder on it must exist.
  ASSERT_TRUE(layOutIncludedFile(root, "/home/me/deep/../y.h", text));
  EXPECT_EQ(content("/home/me/deep/../y.h"), "ab");
  ASSERT_TRUE(layOutIncludedFile(root, "/../../../escaped.h", text));
  EXPECT_EQ(content("/escaped.h"), "ab");
  EXPECT_FALSE(std::filesystem::exists(folder.path("escaped.h")));
  ASSERT_TRUE(layOutIncludedFile(root, "relative/z.h", text));
  EXPECT_EQ(content("/relative/z.h"), "ab");
  EXPECT_FALSE(layOutIncludedFile(root, "/home/me", text));             // is a folder
  EXPECT_FALSE(layOutIncludedFile(root, "/home/me/x.h/../z.h", text));  // is not a folder
}

TEST(IncludedFiles, APathOfAnyLengthTakesWorkOfItsLength) {
  test::TempFolder folder;
  const std::string root = folder.path("root");
  std::string path;
  for (int i = 0; i < 20'000; ++i) path += "/name/./..";
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(layOutIncludedFile(root, path + "/x.h", Bytes{'a'}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(std::filesystem::is_directory(root + "/name"));
  EXPECT_TRUE(std::filesystem::exists(root + "/x.h"));
}

}  // namespace
}  // namespace tracesmith
