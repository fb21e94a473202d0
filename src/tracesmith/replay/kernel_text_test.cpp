// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/kernel_text.hpp"

#include <gmock/gmock.h>

namespace tracesmith {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSource = R"(
/* kernel void commented(void) { } */
#define TWICE(x) \
  ((x) * 2 + inMacro(0))
constant int table[] = {1, 2, 3};
typedef struct { int field; } Pair;
int inMacro(int x) { return x + 700; }
int helper(int x);
int helper(int x) { if (x > 0) { return deeper(x); } return 0; }  // }
int deeper(int x) { return x + 100; }
float helper(float x) { return x + 200; }
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void first(__global int* a) {
  a[0] = helper(a[1]);
}
kernel void second (global int* a) __attribute__((vec_type_hint(int))) { atomic_inc(a); char c = '}'; }
)";

TEST(KernelText, HoldsWhatTheKernelReachesAndNothingOfOthers) {
  const std::string first = kernelText(kSource, "first");
  for (const char* part : {"+ 100", "+ 200", "+ 700", "TWICE", "table", "field", "helper(a[1])"}) {
    EXPECT_THAT(first, HasSubstr(part));
  }
  EXPECT_THAT(first, Not(HasSubstr("atomic_inc")));
  EXPECT_THAT(first, Not(HasSubstr("commented")));
  const std::string second = kernelText(kSource, "second");
  EXPECT_THAT(second, HasSubstr("atomic_inc"));
  EXPECT_THAT(second, Not(HasSubstr("+ 100")));
}

TEST(KernelText, IsTheWholeSourceWhereTheKernelCanNotBeTold) {
  for (const char* source : {
           "MAKE(first) other() { atomic_inc(a); }",
           "kernel void first() { if (a) { ",
           "}} kernel void first() { }",
           "kernel void other() { }",
           "",
       }) {
    EXPECT_EQ(kernelText(source, "first"), source);
  }
}

TEST(KernelText, EveryCutAndEveryByteIsRead) {
  const std::string source = kSource;
  for (size_t at = 0; at < source.size(); ++at) {
    (void)kernelText(std::string_view(source).substr(0, at), "first");
    for (const char c : {'{', '}', '"', '(', ';', '#', '\\', '/'}) {
      std::string other = source;
      other[at] = c;
      (void)kernelText(other, "first");
    }
  }
}

}  // namespace
}  // namespace tracesmith
