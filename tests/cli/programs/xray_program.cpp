// SPDX-License-Identifier: Apache-2.0
// Calls functions of every kind under XRay; with the argument "xray-fdr" it records itself in that
// mode (which the environment alone does not start), else the environment decides. "events" behind
// that: with an event of its own, which llvm-xray cannot account for.
#include <unistd.h>
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace shapes {

struct Box {
  virtual ~Box();
  virtual int side(int n);
};

[[gnu::noinline]] int leaf(int n) {
  asm volatile("");
  return n + 1;
}
Box::~Box() {}
[[gnu::noinline]] int Box::side(int n) { return leaf(n) * 2; }

/// Its mangled name refers to itself often.
template <class K, class V>
[[gnu::noinline]] int count(const std::map<K, std::vector<std::pair<K, V>>>& map) {
  asm volatile("");
  return static_cast<int>(map.size());
}

[[gnu::noinline]] int recurse(int n) { return n <= 0 ? leaf(0) : recurse(n - 1) + leaf(n); }

[[gnu::noinline, clang::xray_always_instrument, clang::xray_log_args(1)]] int launch(int n) {
  Box box;
  return box.side(n) + recurse(n % 5);
}

}  // namespace shapes

static void work(int times) {
  const std::map<std::string, std::vector<std::pair<std::string, int>>> map;
  for (int i = 0; i < times; ++i) {
    shapes::launch(i);
    shapes::count(map);
  }
}

int main(int argc, char** argv) {
  const bool fdr = argc > 1 && std::strcmp(argv[1], "xray-fdr") == 0;
  if (fdr) {
    if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK) return 3;
    if (__xray_log_init_mode("xray-fdr",
                             "func_duration_threshold_us=0:buffer_size=4096:buffer_max=4000") !=
        XRAY_LOG_INITIALIZED) {
      return 4;
    }
    if (__xray_patch() != SUCCESS) return 5;
  }
  std::thread a(work, 300);
  std::thread b(work, 200);
  work(100);
  static const char event[] = "an event of the program";
  if (fdr && argc > 2) __xray_customevent(event, sizeof event - 1);
  a.join();
  b.join();
  if (fdr) {
    __xray_unpatch();
    __xray_log_finalize();
    usleep(100'000);
    __xray_log_flushLog();
  }
  return 0;
}
