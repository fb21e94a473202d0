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
using Spare = SpareObjects<Buffer, 2>;

TEST(SpareObjectsTest, GivesBackWhatWasKept) {
  EXPECT_EQ(Spare::take().text, "");
  for (const char* text : {"a", "b", "one too many"}) Spare::keep({text});
  EXPECT_EQ(Spare::take().text, "b");
  EXPECT_EQ(Spare::take().text, "a");
  EXPECT_EQ(Spare::take().text, "");
}

TEST(SpareObjectsTest, GivesEachToOneThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int k = 0; k < 1000; ++k) {
        Buffer buffer = Spare::take();
        buffer.text = std::to_string(i);
        ASSERT_EQ(buffer.text, std::to_string(i));
        Spare::keep(std::move(buffer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tracesmith
