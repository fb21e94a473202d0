// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/spare_objects.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tracesmith {
namespace {

struct Buffer {
  std::string text;
};
using Spare = SpareObjects<Buffer>;

TEST(SpareObjectsTest, GivesBackWhatWasKept) {
  Spare spare(2);
  EXPECT_EQ(spare.take().text, "");
  for (const char* text : {"a", "b", "one too many"}) spare.keep({text});
  EXPECT_EQ(spare.take().text, "b");
  EXPECT_EQ(spare.take().text, "a");
  EXPECT_EQ(spare.take().text, "");
}

TEST(SpareObjectsTest, GivesEachToOneThread) {
  Spare spare(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&spare, i] {
      for (int k = 0; k < 1000; ++k) {
        Buffer buffer = spare.take();
        buffer.text = std::to_string(i);
        ASSERT_EQ(buffer.text, std::to_string(i));
        spare.keep(std::move(buffer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tracesmith
