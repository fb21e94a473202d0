// SPDX-License-Identifier: Apache-2.0
// Forks children, in which a signal comes just when the agent puts down which program they are; its
// handler calls a function that is traced. Prints in how many that was so.
// Usage: xray_interrupted [CHILDREN]
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#define TRACED [[gnu::noinline, clang::xray_always_instrument]]
#define NOT_TRACED [[clang::xray_never_instrument]]

static volatile size_t g_awaited = 0;  // a copy of so many bytes is that of the program's path
static volatile int g_interrupted = 0;

// In the place of libc's: the agent's copies come through here.
extern "C" NOT_TRACED void* memcpy(void* to, const void* from, size_t bytes) {
  auto* t = static_cast<volatile char*>(to);
  const auto* f = static_cast<const volatile char*>(from);
  for (size_t i = 0; i < bytes; ++i) t[i] = f[i];
  if (bytes != 0 && bytes == g_awaited && f[0] == '/') raise(SIGUSR1);
  return to;
}

TRACED int leaf(int n) {
  asm volatile("");
  return n + 1;
}
NOT_TRACED static void onSignal(int) {
  g_interrupted = 1;
  leaf(0);
}

NOT_TRACED int main(int argc, char** argv) {
  const int children = argc > 1 ? std::atoi(argv[1]) : 1;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return 1;
  std::signal(SIGUSR1, onSignal);
  int interrupted = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      g_awaited = static_cast<size_t>(length);
      for (int n = 0; n < 10; ++n) leaf(n);
      _exit(g_interrupted);
    }
    int status = 0;
    waitpid(child, &status, 0);
    interrupted += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  }
  std::printf("%d\n", interrupted);
  return 0;
}
