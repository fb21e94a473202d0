// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/request_values.hpp"

#include <gmock/gmock.h>

namespace tracesmith::studio {
namespace {

using ::testing::HasSubstr;

TEST(QueryValues, AreDecoded) {
  const QueryValues values("/api/search?q=a%20b%2Bc+d%zz%4&limit=7&empty&=x");
  EXPECT_EQ(values.path(), "/api/search");
  EXPECT_EQ(values.text("q"), "a b+c d%zz%4");
  EXPECT_EQ(values.text("empty"), "");
  EXPECT_EQ(values.text("limi"), std::nullopt);
  EXPECT_EQ(**values.number("limit"), 7U);
  EXPECT_EQ(*QueryValues("/x").number("limit"), std::nullopt);
}

TEST(QueryValues, NumbersAreWholeAndInRange) {
  for (const char* text : {"", "-1", "1.5", "8", "99999999999999999999", "0x1", " 1", "1 "}) {
    const auto number = QueryValues(std::string("/?n=") + text).number("n", 7);
    ASSERT_FALSE(number) << text;
    EXPECT_THAT(number.error().toString(), HasSubstr("n: must be a whole number from 0 to 7"));
  }
  EXPECT_FALSE(QueryValues("/").needNumber("n"));
}

TEST(RequestBodies, HaveTilesIdsAndSql) {
  const auto keys = tileKeysOf(R"({"tiles":[[1,20,3],[4294967295,62,18446744073709551615]]})");
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ((*keys)[0].lane, 1U);
  EXPECT_EQ((*keys)[1].index, UINT64_MAX);
  EXPECT_EQ(*idsOf(R"({"ids":[7,0]})"), (std::vector<uint32_t>{7, 0}));
  EXPECT_EQ(sqlRequestOf(R"({"sql":"SELECT 'ä'","limit":3})")->sql, "SELECT 'ä'");
}

TEST(RequestBodies, ThatAreNotThePagesAreRefused) {
  for (const char* body :
       {"", "[]", "{}", "{\"tiles\":1}", "{\"tiles\":[1]}", "{\"tiles\":[[1,2]]}",
        "{\"tiles\":[[1,63,0]]}", "{\"tiles\":[[-1,2,0]]}", "{\"tiles\":[[1.5,2,0]]}",
        "{\"tiles\":[[4294967296,2,0]]}", "{\"tiles\":[[\"1\",2,0]]}", "{\"tiles\":[[1,2,0]"}) {
    EXPECT_FALSE(tileKeysOf(body)) << body;
  }
  std::string many = "{\"tiles\":[[0,0,0]";
  for (int i = 0; i < 512; ++i) many += ",[0,0,0]";
  EXPECT_FALSE(tileKeysOf(many + "]}"));
  EXPECT_FALSE(idsOf("{\"ids\":[-1]}"));
  EXPECT_FALSE(sqlRequestOf("{\"sql\":1,\"limit\":1}"));
  EXPECT_FALSE(sqlRequestOf("{\"sql\":\"x\"}"));
}

}  // namespace
}  // namespace tracesmith::studio
