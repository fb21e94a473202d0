// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/kernel_symbols.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

TEST(KernelSymbolsTest, FindsTheFunctionThatHasAnAddress) {
  const test::TempFolder folder;
  const std::string path = folder.path("kallsyms");
  std::ofstream(path) << "ffffffff81000000 T _text\n"
                         "ffffffff81000100 t inner\n"
                         "ffffffff81000080 T outer\n"
                         "ffffffff81000090 D no_code\n"
                         "not a line\n"
                         "0000000000000000 T hidden\n"
                         "ffffffffa0000000 t entry\t[driver]\n";
  const KernelSymbols symbols = KernelSymbols::read(path);
  EXPECT_EQ(symbols.size(), 4u);
  EXPECT_STREQ(symbols.find(0xffffffff81000085).name, "outer");
  EXPECT_STREQ(symbols.find(0xffffffff81000100).name, "inner");
  EXPECT_STREQ(symbols.find(0xffffffff81000100).module, "");
  EXPECT_STREQ(symbols.find(0xffffffffa0000123).name, "entry");
  EXPECT_STREQ(symbols.find(0xffffffffa0000123).module, "[driver]");
  EXPECT_STREQ(symbols.find(0x1000).name, "");
  EXPECT_STREQ(symbols.find(0xffffffff90000000).name, "") << "code that was loaded later";
  EXPECT_EQ(KernelSymbols::read(path + ".missing").size(), 0u);
}

}  // namespace
}  // namespace tracesmith
