// SPDX-License-Identifier: Apache-2.0
// Captures its own call stacks: prints the cost with and without names, and the stack's content.
//   stack_capture_example
// Exits with 1 if the stack does not have the functions in which it was captured, and with 77 if
// stacks cannot be captured on this kind of processor.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <tracesmith/tracesmith.hpp>
#include <vector>

using tracesmith::CallStack;
using tracesmith::StackCapture;

// Functions that the linker keeps, and that do not call each other by tail calls.
extern "C" [[gnu::noinline]] size_t example_innermost(StackCapture& capture, CallStack& stack) {
  const size_t frames = capture.capture(stack);
  asm volatile("" ::: "memory");
  return frames;
}
extern "C" [[gnu::noinline]] size_t example_middle(StackCapture& capture, CallStack& stack) {
  const size_t frames = example_innermost(capture, stack);
  asm volatile("" ::: "memory");
  return frames;
}
extern "C" [[gnu::noinline]] size_t example_outer(StackCapture& capture, CallStack& stack) {
  const size_t frames = example_middle(capture, stack);
  asm volatile("" ::: "memory");
  return frames;
}

namespace {

/// Median of `times` captures, in ns.
double cost(StackCapture& capture, int times) {
  std::vector<double> ns;
  CallStack stack;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    example_outer(capture, stack);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    ns.push_back(took.count());
  }
  std::nth_element(ns.begin(), ns.begin() + times / 2, ns.end());
  return ns[static_cast<size_t>(times / 2)];
}

}  // namespace

int main() {
  if (!StackCapture::isAvailable()) {
    std::fprintf(stderr, "stack_capture_example: no stacks can be taken on this processor\n");
    return 77;
  }
  StackCapture named;
  CallStack stack;
  example_outer(named, stack);
  for (const tracesmith::StackFrame& frame : stack.frames) {
    std::printf("%#18llx  %s", static_cast<unsigned long long>(frame.address),
                frame.function_name.empty() ? "?" : frame.function_name.c_str());
    if (!frame.file_name.empty())
      std::printf("  %s:%u", frame.file_name.c_str(), frame.line_number);
    std::printf("\n");
  }

  tracesmith::StackCaptureConfig config;
  config.resolve_symbols = false;
  StackCapture plain(config);
  std::printf("\n%zu frames: %.0f ns a stack, %.0f ns with names (medians)\n", stack.depth(),
              cost(plain, 10'000), cost(named, 1'000));

  size_t at = 0;
  for (const char* name : {"example_innermost", "example_middle", "example_outer", "main"}) {
    while (at < stack.depth() && stack.frames[at].function_name.find(name) == std::string::npos)
      ++at;
    if (at == stack.depth()) {
      std::fprintf(stderr, "stack_capture_example: %s is not in the stack\n", name);
      return 1;
    }
  }
  return 0;
}
