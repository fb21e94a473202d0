// SPDX-License-Identifier: Apache-2.0
// Launches kernels as fast as it can and counts the launches in a file that outlives it; ends in a
// way of one's choice.
// Usage: cl_flood COUNTS_FILE THREADS LAUNCHES_PER_THREAD(0: endless) END
//   END: a number (return it, maybe with work in flight), done (wait for it, return 0), segv,
//   abort, _exit, exit, quick_exit (with work in flight)
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cl_program.hpp"
#include "flood_counts.hpp"

namespace {

void flood(const ClProgram& cl, uint64_t launches, bool wait, FloodCounts& counts) {
  const cl_command_queue queue = cl.queue();
  const cl_kernel kernel = cl.kernel("one");
  const size_t items = 1;
  for (uint64_t i = 0; launches == 0 || i < launches; ++i) {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    counts.launched.fetch_add(1);
    // What waits for the device may not grow without bounds.
    if (i % 256 == 255) check(clFinish(queue), "clFinish");
  }
  if (wait) {
    check(clFinish(queue), "clFinish");
  } else {
    check(clFlush(queue), "clFlush");
  }
}

[[noreturn]] void endAs(const std::string& how) {
  if (how == "segv") {
    volatile int* nowhere = nullptr;
    *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): that is what is wanted
  }
  if (how == "abort") std::abort();
  if (how == "_exit") _exit(11);
  if (how == "quick_exit") std::quick_exit(12);
  std::exit(13);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 95;
  FloodCounts& counts = *mapFloodCounts(argv[1]);
  counts.pid.store(static_cast<uint64_t>(getpid()));
  const ClProgram cl("__kernel void one(void) {}");
  const std::string end = argv[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    threads.emplace_back(
        [&] { flood(cl, std::strtoull(argv[3], nullptr, 10), end == "done", counts); });
  }
  for (std::thread& thread : threads) thread.join();
  counts.finished.store(1);
  if (end == "done") return 0;
  if (end.find_first_not_of("0123456789") != std::string::npos) endAs(end);
  return std::atoi(argv[4]);
}
