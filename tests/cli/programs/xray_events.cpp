// SPDX-License-Identifier: Apache-2.0
// What XRay's runtime has beside plain entries and exits: functions whose argument is logged, and
// events of the program's own, with handlers of its own when it is called with a word. Prints how
// many of those it got.
#include <xray/xray_interface.h>

#include <cstdio>

#define TRACED [[gnu::noinline, clang::xray_always_instrument]]

static int g_custom = 0;
static int g_typed = 0;
[[clang::xray_never_instrument]] static void onCustom(void*, size_t bytes) {
  g_custom += bytes == 4 ? 1 : 1000;
}
[[clang::xray_never_instrument]] static void onTyped(uint16_t, const void*, size_t bytes) {
  g_typed += bytes == 5 ? 1 : 1000;
}

TRACED [[clang::xray_log_args(1)]] int logged(int n) {
  asm volatile("");
  return n + 1;
}
TRACED [[clang::xray_log_args(1)]] int outer(int n) { return logged(n) + logged(n + 1); }
TRACED int custom(int n) {
  __xray_customevent("four", 4);
  return n;
}
TRACED int typed(int n) {
  __xray_typedevent(7, "fives", 5);
  return n;
}

int main(int argc, char**) {
  if (argc > 1) {
    __xray_set_customevent_handler(onCustom);
    __xray_set_typedevent_handler(onTyped);
  }
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += outer(i) + custom(i) + typed(i);
  std::printf("%d %d %d\n", sum, g_custom, g_typed);
  return 0;
}
