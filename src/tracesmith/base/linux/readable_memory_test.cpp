// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/readable_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tracesmith {
namespace {

/// Two pages, the second of which cannot be read.
class HalfReadable {
 public:
  HalfReadable()
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        at_(static_cast<char*>(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(at_ + page_, page_, PROT_NONE);
  }
  ~HalfReadable() { munmap(at_, 2 * page_); }
  HalfReadable(const HalfReadable&) = delete;
  HalfReadable& operator=(const HalfReadable&) = delete;
  char* end() const { return at_ + page_; }

 private:
  size_t page_;
  char* at_;
};

TEST(ReadableMemory, EndsWhereItCannotBeRead) {
  const HalfReadable memory;
  char* const end = memory.end();
  EXPECT_TRUE(isReadable(end - 100, 100));
  EXPECT_TRUE(isReadable(end - 1, 1));
  EXPECT_FALSE(isReadable(end - 100, 101));
  EXPECT_FALSE(isReadable(end, 1));
  EXPECT_FALSE(isReadable(end - 1, size_t{1} << 62));
  EXPECT_TRUE(isReadable(end, 0));
}

TEST(ReadableMemory, IsNoneAtAddressesThatNobodyHas) {
  EXPECT_FALSE(isReadable(nullptr, 1));
  EXPECT_FALSE(isReadable(reinterpret_cast<const void*>(8), 8));
  EXPECT_FALSE(isReadable(reinterpret_cast<const void*>(~uintptr_t{7}), 8));
  EXPECT_FALSE(isReadable(reinterpret_cast<const void*>(~uintptr_t{7}), 100)) << "past the end";
}

TEST(ReadableMemory, HoldsTextsThatEnd) {
  const HalfReadable memory;
  char* const end = memory.end();
  std::memcpy(end - 4, "abc", 4);
  size_t length = 0;
  EXPECT_TRUE(readableLength(end - 4, 1000, length));
  EXPECT_EQ(length, 3u);
  std::memcpy(end - 4, "abcd", 4);
  EXPECT_FALSE(readableLength(end - 4, 1000, length)) << "no end that could be read";
  EXPECT_TRUE(readableLength(end - 4, 4, length));
  EXPECT_EQ(length, 4u);
  EXPECT_FALSE(readableLength(end, 1000, length));
  EXPECT_FALSE(readableLength(nullptr, 1000, length));
}

TEST(ReadableMemory, IsAskedForWithoutATrace) {
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  errno = 77;
  const uint64_t all = ~uint64_t{0};
  EXPECT_TRUE(isReadable(&all, sizeof all));
  EXPECT_FALSE(isReadable(nullptr, 1));
  EXPECT_EQ(errno, 77);
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 64; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

}  // namespace
}  // namespace tracesmith
