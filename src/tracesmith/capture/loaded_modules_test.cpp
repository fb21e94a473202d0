// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/loaded_modules.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <string>

namespace tracesmith::agent {
namespace {

LoadedModule moduleOf(const void* address) {
  LoadedModule module;
  EXPECT_TRUE(findModule(address, module));
  return module;
}

TEST(LoadedModules, AreFoundByAnAddressInThem) {
  Dl_info info{};
  void* const in_libc = dlsym(RTLD_DEFAULT, "qsort");
  ASSERT_NE(dladdr(in_libc, &info), 0);
  const LoadedModule libc = moduleOf(in_libc);
  EXPECT_EQ(libc.begin, reinterpret_cast<uintptr_t>(info.dli_fbase));
  EXPECT_STREQ(libc.path, info.dli_fname);
  static const int kOwn = 0;
  EXPECT_STREQ(moduleOf(&kOwn).path, "") << "the program has no name";
  LoadedModule none;
  EXPECT_FALSE(findModule(nullptr, none));
  int on_the_stack = 0;
  EXPECT_FALSE(findModule(&on_the_stack, none));
}

TEST(LoadedModules, ExportWhatDlsymFinds) {
  const LoadedModule libc = moduleOf(dlsym(RTLD_DEFAULT, "qsort"));
  // Of realpath and of pthread_cond_wait there are old versions, which nobody gets by default.
  for (const char* name : {"qsort", "puts", "strtol", "dlsym", "dlclose", "realpath", "getenv",
                           "pthread_cond_wait", "opendir", "clock_gettime"}) {
    EXPECT_EQ(findExport(libc, name), dlsym(RTLD_DEFAULT, name)) << name;
  }
  EXPECT_EQ(findExport(libc, "clFinish"), nullptr);
  EXPECT_EQ(findExport(libc, ""), nullptr);
  EXPECT_EQ(findExport(libc, "environ"), nullptr) << "no function";
  EXPECT_EQ(findExport(moduleOf(reinterpret_cast<const void*>(&moduleOf)), "qsort"), nullptr)
      << "called there, defined elsewhere";
}

TEST(LoadedModules, AreSearchedInTheOrderOfLoading) {
  void* const qsort_of_libc = dlsym(RTLD_DEFAULT, "qsort");
  EXPECT_EQ(findExportBehind(reinterpret_cast<const void*>(&moduleOf), "qsort"), qsort_of_libc);
  EXPECT_EQ(findExportBehind(qsort_of_libc, "qsort"), nullptr) << "there is none behind the only";
}

TEST(LoadedModules, HoldTheTextsOfTheirCode) {
  static const char kText[] = "a text that only this test has";
  const LoadedModule own = moduleOf(kText);
  EXPECT_TRUE(holdsText(own, kText, sizeof kText));
  std::string other = kText;  // not in this form in the file
  other[0] = 'b';
  EXPECT_FALSE(holdsText(own, other.c_str(), sizeof kText));
  EXPECT_FALSE(holdsText(moduleOf(dlsym(RTLD_DEFAULT, "qsort")), kText, sizeof kText));
}

}  // namespace
}  // namespace tracesmith::agent
