// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/guarded_mappings.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tracesmith {
namespace {

constexpr size_t kBytes = 64 << 10;

/// An unnamed mapped file that the test truncates.
struct MappedFile {
  MappedFile() : fd(memfd_create("guarded", 0)) {
    if (ftruncate(fd, kBytes) != 0) abort();
    base = static_cast<volatile char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
  void cut() const {
    if (ftruncate(fd, 0) != 0) abort();
  }
  void* begin() const { return const_cast<char*>(base); }
  int fd;
  volatile char* base;
};

/// How a child process ends that calls `run` and then exits with 0.
template <class Run>
int endOf(Run&& run) {
  const pid_t child = fork();
  if (child == 0) {
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;  // not a sanitizer's or an earlier test's
    sigaction(SIGBUS, &by_default, nullptr);
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

int g_damages = 0;

TEST(GuardedMappings, BecomeZerosWhenTheirFileIsCutShort) {
  const int status = endOf([] {
    const MappedFile file;
    file.base[kBytes - 1] = 7;
    if (!mappings::guard(file.begin(), kBytes, [] { ++g_damages; })) _exit(1);
    file.cut();
    if (mappings::isDamaged(file.begin())) _exit(2);
    if (file.base[kBytes - 1] != 0) _exit(3);
    file.base[0] = 5;
    if (file.base[0] != 5 || !mappings::isDamaged(file.begin()) || g_damages != 1) _exit(4);
    mappings::release(file.begin());
    if (mappings::isDamaged(file.begin())) _exit(5);
  });
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST(GuardedMappings, LeaveEveryOtherBusErrorToTheProgram) {
  const auto others_fault = [] {
    const MappedFile guarded, other;
    mappings::guard(guarded.begin(), kBytes);
    other.cut();
    other.base[0] = 1;
  };
  const int by_default = endOf(others_fault);
  EXPECT_TRUE(WIFSIGNALED(by_default) && WTERMSIG(by_default) == SIGBUS) << by_default;
  const int sent = endOf([] {
    const MappedFile guarded;
    mappings::guard(guarded.begin(), kBytes);
    raise(SIGBUS);
  });
  EXPECT_TRUE(WIFSIGNALED(sent) && WTERMSIG(sent) == SIGBUS) << sent;
  const int own = endOf([&] {
    signal(SIGBUS, [](int) { _exit(42); });
    others_fault();
  });
  EXPECT_EQ(WEXITSTATUS(own), 42);
}

struct sigaction g_before_compiler;

/// Like LLVM's handler: handles one fault and then restores the previous handler.
void onFaultInCompiler(int number) { sigaction(number, &g_before_compiler, nullptr); }

void installHandlerOfCompiler() {
  struct sigaction action {};
  action.sa_handler = onFaultInCompiler;
  action.sa_flags = static_cast<int>(SA_NODEFER | SA_RESETHAND | SA_ONSTACK);
  sigaction(SIGBUS, &action, &g_before_compiler);
}

void onFaultOfProgram(int) { _exit(42); }

TEST(GuardedMappings, StayGuardedBehindAHandlerThatCameLater) {
  const int guarded = endOf([] {
    const MappedFile first, second;
    mappings::guard(first.begin(), kBytes);
    mappings::guard(second.begin(), kBytes);
    signal(SIGBUS, onFaultOfProgram);
    mappings::renewHandler();
    first.cut();
    first.base[0] = 1;
    second.cut();
    second.base[0] = 1;
    if (!mappings::isDamaged(first.begin()) || !mappings::isDamaged(second.begin())) _exit(1);
  });
  EXPECT_EQ(guarded, 0) << WEXITSTATUS(guarded);
  const int other = endOf([] {
    const MappedFile file, of_program;
    mappings::guard(file.begin(), kBytes);
    signal(SIGBUS, onFaultOfProgram);
    mappings::renewHandler();
    of_program.cut();
    of_program.base[0] = 1;
  });
  EXPECT_EQ(WEXITSTATUS(other), 42);
}

TEST(GuardedMappings, LeaveTheEndOfAProgramToAHandlerThatPutsBackTheOneBeforeIt) {
  const int status = endOf([] {
    alarm(10);  // it must not loop forever
    const MappedFile file, of_program;
    mappings::guard(file.begin(), kBytes);
    installHandlerOfCompiler();
    mappings::renewHandler();
    file.cut();
    file.base[0] = 1;
    of_program.cut();
    of_program.base[0] = 1;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

TEST(GuardedMappings, AreGuardedAgainAfterARelease) {
  const int status = endOf([] {
    for (int i = 0; i < 10'000; ++i) {
      char place[64];
      if (!mappings::guard(place, sizeof place)) _exit(1);
      mappings::release(place);
    }
    const MappedFile file;
    mappings::guard(file.begin(), kBytes);
    file.cut();
    file.base[0] = 1;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tracesmith
