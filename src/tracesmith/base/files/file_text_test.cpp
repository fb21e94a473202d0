// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/file_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tracesmith {
namespace {

TEST(FileText, IsTheFirstBytesOfAFile) {
  EXPECT_EQ(readFileText("/dev/null"), "");
  EXPECT_EQ(readFileText("/dev/zero", 200'000), std::string(200'000, '\0'));
  const auto status = readFileText("/proc/self/status", 5);
  EXPECT_EQ(status, "Name:");
}

TEST(FileText, IsNoneWhereAFileCannotBeOpenedOrRead) {
  EXPECT_FALSE(readFileText("/nowhere/file"));
  EXPECT_FALSE(readFileText("/"));               // opened, but read() fails
  EXPECT_FALSE(readFileText("/proc/self/mem"));  // address 0 is not mapped
}

}  // namespace
}  // namespace tracesmith
