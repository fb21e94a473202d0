// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/csv_reader.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/common/import_test_util.hpp"

namespace tracesmith::import {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<std::string>> records(std::string_view text,
                                              std::string* problem = nullptr) {
  test::TextSource source(text);
  CsvReader reader(source);
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> fields;
  while (reader.next(fields)) {
    all.push_back(fields);
    if (problem != nullptr && !reader.problem().empty()) *problem = reader.problem();
  }
  EXPECT_EQ(reader.bytes(), text.size());
  return all;
}

TEST(CsvReader, QuotesCommasAndLineEnds) {
  EXPECT_THAT(records("a,\"b,c\",\"d\"\"e\"\r\n\n1,,\"two\nlines\"\r\nlast"),
              ElementsAre(ElementsAre("a", "b,c", "d\"e"), ElementsAre("1", "", "two\nlines"),
                          ElementsAre("last")));
  EXPECT_THAT(records(""), ElementsAre());
  EXPECT_THAT(records("a,\r\n"), ElementsAre(ElementsAre("a", "")));
  EXPECT_THAT(records("\r\n\"\""), ElementsAre());
}

TEST(CsvReader, WhatDoesNotEndIsSaid) {
  std::string problem;
  EXPECT_THAT(records("a,\"b\nc", &problem), ElementsAre(ElementsAre("a", "b\nc")));
  EXPECT_EQ(problem, "it ends inside quotes");
  problem.clear();
  EXPECT_EQ(records(std::string(5u << 20, 'x'), &problem)[0][0].size(), 1u << 20);
  EXPECT_FALSE(problem.empty());
  EXPECT_EQ(records(std::string(100'000, ','))[0].size(), 4096U);
}

}  // namespace
}  // namespace tracesmith::import
