// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/loaded_modules.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <string>

namespace tracesmith {
namespace {

LoadedModule moduleOf(const void* address) {
  LoadedModule module;
  EXPECT_TRUE(findModule(address, module));
  return module;
}

/// The C library's own function: sanitizers interpose some of them.
void* inLibc(const char* name) {
  static void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return libc == nullptr ? nullptr : dlsym(libc, name);
}

TEST(LoadedModules, AreFoundByAnAddressInThem) {
  Dl_info info{};
  void* const in_libc = inLibc("qsort");
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
  const LoadedModule libc = moduleOf(inLibc("qsort"));
  // realpath and pthread_cond_wait also have old versions, which are never the default.
  for (const char* name : {"qsort", "puts", "strtol", "dlsym", "dlclose", "realpath", "getenv",
                           "pthread_cond_wait", "opendir", "clock_gettime"}) {
    EXPECT_EQ(findExport(libc, name), inLibc(name)) << name;
  }
  EXPECT_EQ(findExport(libc, "clFinish"), nullptr);
  EXPECT_EQ(findExport(libc, ""), nullptr);
  EXPECT_EQ(findExport(libc, "environ"), nullptr) << "no function";
  EXPECT_EQ(findExport(moduleOf(reinterpret_cast<const void*>(&moduleOf)), "dladdr"), nullptr)
      << "called there, defined elsewhere";
}

TEST(LoadedModules, AreSearchedInTheOrderOfLoading) {
  EXPECT_EQ(findExportAfter(reinterpret_cast<const void*>(&moduleOf), "qsort"),
            dlsym(RTLD_NEXT, "qsort"));
  EXPECT_EQ(findExportAfter(inLibc("qsort"), "qsort"), nullptr) << "there is none behind the last";
}

TEST(LoadedModules, DefineVariablesToo) {
  const LoadedModule libc = moduleOf(inLibc("qsort"));
  Definition found;
  ASSERT_TRUE(findDefinition(libc, "in6addr_any", found));
  EXPECT_EQ(found.address, inLibc("in6addr_any"));
  EXPECT_EQ(found.bytes, 16u);
  ASSERT_TRUE(findDefinition(libc, "qsort", found));
  EXPECT_EQ(found.address, inLibc("qsort"));
  EXPECT_GT(found.bytes, 0u);
  EXPECT_FALSE(findDefinition(libc, "clFinish", found));
}

TEST(LoadedModules, HaveAScopeOfWhatTheyAreLinkedTo) {
  const LoadedModule program = moduleOf(reinterpret_cast<const void*>(&moduleOf));
  const LoadedModule libc = moduleOf(inLibc("qsort"));
  LoadedModule scope[64];
  const size_t count = modulesInScopeOf(program, scope, 64);
  ASSERT_GT(count, 2u);
  EXPECT_EQ(scope[0].begin, program.begin);
  size_t libcs = 0;
  for (size_t i = 0; i < count; ++i) libcs += scope[i].begin == libc.begin;
  EXPECT_EQ(libcs, 1u) << "many of them are linked to it";
  EXPECT_EQ(modulesInScopeOf(program, scope, 2), 2u);
}

TEST(LoadedModules, AreSearchedFromTheFirst) {
  EXPECT_EQ(findExportAnywhere("qsort"), dlsym(RTLD_DEFAULT, "qsort"));
  EXPECT_EQ(findExportAnywhere("clNoSuchFunction"), nullptr);
}

// Uses the C library: a sanitizer puts unreadable memory between the texts of this program.
TEST(LoadedModules, HoldTheTextsOfTheirCode) {
  const LoadedModule libc = moduleOf(inLibc("qsort"));
  const std::string text = "No such file or directory";
  EXPECT_TRUE(holdsText(libc, text.c_str(), text.size() + 1));
  std::string other = text;  // the file does not contain this text
  other[0] = 'n';
  EXPECT_FALSE(holdsText(libc, (other + "!").c_str(), other.size() + 2));
}

TEST(LoadedModules, AreCountedAsTheyComeAndGo) {
  const LoadCounts before = loadCounts();
  EXPECT_GT(before.loaded, before.unloaded);
  void* const library = dlopen("libanl.so.1", RTLD_LAZY);
  if (library == nullptr) GTEST_SKIP() << dlerror();
  const LoadCounts with = loadCounts();
  dlclose(library);
  const LoadCounts after = loadCounts();
  EXPECT_GT(with.loaded, before.loaded);
  EXPECT_EQ(with.unloaded, before.unloaded);
  EXPECT_EQ(after.loaded, with.loaded);
  EXPECT_EQ(after.unloaded - before.unloaded, with.loaded - before.loaded);
}

}  // namespace
}  // namespace tracesmith
