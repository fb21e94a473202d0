// SPDX-License-Identifier: Apache-2.0
// What NVTX costs a program. Usage: nvtx_cost [BATCHES [CALLS]]   prints ns of processor time
// (medians of the batches) for a push and pop pair, a pair with attributes, a mark and a start and
// end pair, the number of ranges and marks, and, where call_watch is preloaded, how often they
// allocated memory or took a lock.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

using Watch = unsigned long (*)(bool);

}  // namespace

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::atoi(argv[1]) : 41;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 50'000;
  const auto watch = reinterpret_cast<Watch>(dlsym(RTLD_DEFAULT, "watchCalls"));
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("cost");
  nvtxEventAttributes_t with{};
  with.version = NVTX_VERSION;
  with.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  with.colorType = NVTX_COLOR_ARGB;
  with.color = 0xff00ff00;
  with.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  with.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  with.message.registered = nvtxDomainRegisterStringA(domain, "optimizer step");
  unsigned long seen = 0;
  const auto measure = [&](auto&& once) {
    std::vector<double> ns;
    for (int i = 0; i < 100; ++i) once(0);  // what a thread does once
    for (int b = 0; b < batches; ++b) {
      if (watch != nullptr) watch(true);
      const double begin = now();
      for (int i = 0; i < calls; ++i) once(i);
      const double taken = now() - begin;
      if (watch != nullptr) seen += watch(false);
      ns.push_back(taken / calls);
      // The collector shares the processors with us; what it does is not the call's cost.
      timespec pause{0, 30'000'000};
      nanosleep(&pause, nullptr);
    }
    return median(ns);
  };
  const double pair = measure([](int) {
    nvtxRangePushA("forward pass of layer 12");
    nvtxRangePop();
  });
  const double attributes = measure([&](int i) {
    with.payload.ullValue = static_cast<uint64_t>(i);
    nvtxDomainRangePushEx(domain, &with);
    nvtxDomainRangePop(domain);
  });
  const double mark = measure([](int) { nvtxMarkA("a batch was loaded"); });
  const double process = measure([](int) { nvtxRangeEnd(nvtxRangeStartA("request")); });
  std::printf("%.1f %.1f %.1f %.1f ns, %lld events", pair, attributes, mark, process,
              4ll * (static_cast<long long>(batches) * calls + 100));
  if (watch != nullptr) std::printf(", %lu allocations and locks", seen);
  std::printf("\n");
}
