// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/name_set.hpp"

#include <gtest/gtest.h>

namespace tracesmith::sbt {
namespace {

std::vector<StringId> ids(std::initializer_list<uint32_t> values) {
  std::vector<StringId> out;
  for (const uint32_t value : values) out.push_back(static_cast<StringId>(value));
  return out;
}

TEST(NameSet, HasEachNameOnceInOrder) {
  NameSet set;
  set.add(ids({7, 3, 7, 0}));
  set.add(ids({}));
  set.add(ids({70000, 3}));
  EXPECT_EQ(set.names(), ids({0, 3, 7, 70000}));
}

// A damaged file can name the last id there is. sbt_fuzz stops a case after 5 seconds.
TEST(NameSet, KeepsIdsThatAreFarApart) {
  NameSet set;
  const std::vector<StringId> names{StringId{7}, StringId{4096}, StringId{UINT32_MAX}};
  for (auto name = names.rbegin(); name != names.rend(); ++name) set.add({&*name, 1});
  EXPECT_EQ(set.names(), names);
}

TEST(NameSet, IsReadAsItWasWritten) {
  for (const auto& names : {ids({}), ids({0}), ids({1, 2, 3}), ids({0, 300, UINT32_MAX})}) {
    std::vector<StringId> read = ids({9});
    EXPECT_TRUE(decodeNames(encodeNames(names), read));
    EXPECT_EQ(read, names);
  }
}

TEST(NameSet, RefusesWhatItWouldNotWrite) {
  std::vector<StringId> read;
  const Bytes cut = {0x80};
  const Bytes repeated = {5, 0};
  const Bytes too_large = {0xff, 0xff, 0xff, 0xff, 0x0f, 1};
  for (const Bytes& bytes : {cut, repeated, too_large}) EXPECT_FALSE(decodeNames(bytes, read));
}

}  // namespace
}  // namespace tracesmith::sbt
