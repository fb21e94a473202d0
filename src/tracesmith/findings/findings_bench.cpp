// SPDX-License-Identifier: Apache-2.0
// Findings of 5.3 million events: launches and kernels on four streams, of a thread that waits now
// and then. The limit is 3 s beyond reading the trace.
#include <cstdio>
#include <string>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/findings/findings_test_util.hpp"

using namespace tracesmith;  // NOLINT: a program of two functions

namespace {

constexpr size_t kEvents = 5'300'000;
constexpr size_t kStreams = 4;

findings::test::Program programOf(size_t events) {
  findings::test::Program program;
  while (program.streams() < kStreams) program.addDevice();
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i)
    names.push_back("void ns::kernel_" + std::to_string(i) + "<float>()");
  for (size_t i = 0; i < events / 2; ++i) {
    program.launchIn(i % kStreams, names[i * 7 % names.size()],
                     static_cast<int64_t>(2'000 + i % 13 * 500));
    if (i % 50 == 49) program.wait("cudaDeviceSynchronize");
  }
  return program;
}

}  // namespace

int main() {
  const findings::test::Program program = programOf(kEvents);
  const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  const Findings found = findingsOf(program.trace());
  const int64_t ns = clockNs(CLOCK_PROCESS_CPUTIME_ID) - from;
  std::printf("%zu events: %zu findings in %.2f s\n%s\n",
              program.trace().host_call.size() + program.trace().kernel.size(), found.list.size(),
              static_cast<double>(ns) / 1e9, found.verdict.c_str());
  return 0;
}
