// SPDX-License-Identifier: Apache-2.0
// Cost of a host call stack as a number, compared with glibc's backtrace() and libunwind's
// unw_backtrace(), which give addresses and no number. Measures 10 and 33 frames: always the same
// call site, 200 call sites in turn, and with cold caches.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

using namespace tracesmith;          // NOLINT: a program of few functions
using namespace tracesmith::stacks;  // NOLINT

namespace {

using Backtrace = int (*)(void**, int);

CallPathCache* g_cache = nullptr;
Backtrace g_glibc = nullptr;
Backtrace g_libunwind = nullptr;
void* g_frames[256];

enum class By { kOurs, kGlibc, kLibunwind };
By g_by = By::kOurs;

[[gnu::noinline]] uint32_t take() {
  uint32_t out = 0;
  switch (g_by) {
    case By::kOurs:
      out = g_cache->capture(TS_CALLER_START_POINT());
      break;
    case By::kGlibc:
      out = static_cast<uint32_t>(g_glibc(g_frames, 256));
      break;
    case By::kLibunwind:
      out = static_cast<uint32_t>(g_libunwind(g_frames, 256));
      break;
  }
  asm volatile("");
  return out;
}

template <int kSite>
[[gnu::noinline]] void site() {
  take();
  asm volatile("" ::"r"(kSite));
}
using Site = void (*)();
template <int... kAll>
std::vector<Site> sitesOf(std::integer_sequence<int, kAll...>) {
  return {&site<kAll>...};
}
const std::vector<Site> kSiteList = sitesOf(std::make_integer_sequence<int, 200>());

enum class What { kDepth, kSame, kSites, kCold };
What g_what = What::kSame;
double g_ns = 0;
uint32_t g_depth = 0;

double best(int rounds, const auto& once) {
  double least = 1e18;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const int64_t from = clockNs(CLOCK_MONOTONIC);
    for (int i = 0; i < rounds; ++i) once(i);
    least = std::min(least, static_cast<double>(clockNs(CLOCK_MONOTONIC) - from) / rounds);
  }
  return least;
}

/// The median of single captures, each after touching two megabytes of other memory.
double cold() {
  static std::vector<char> other(2 << 20);
  std::vector<int64_t> ns, clock;
  for (int i = 0; i < 400; ++i) {
    for (size_t k = 0; k < other.size(); k += 64) other[k] = static_cast<char>(other[k] + i);
    const int64_t from = clockNs(CLOCK_MONOTONIC);
    const int64_t between = clockNs(CLOCK_MONOTONIC);
    take();
    ns.push_back(clockNs(CLOCK_MONOTONIC) - between);
    clock.push_back(between - from);
  }
  const auto median = [](std::vector<int64_t>& all) {
    std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
    return static_cast<double>(all[all.size() / 2]);
  };
  return median(ns) - median(clock);
}

[[gnu::noinline]] void measure() {
  const int rounds = g_by == By::kOurs ? 400'000 : g_by == By::kGlibc ? 5'000 : 50'000;
  switch (g_what) {
    case What::kDepth:
      g_depth = static_cast<uint32_t>(g_glibc(g_frames, 256));
      break;
    case What::kSame:
      g_ns = best(rounds, [](int) { take(); });
      break;
    case What::kSites:
      g_ns = best(rounds, [](int i) { kSiteList[static_cast<size_t>(i) % kSiteList.size()](); });
      break;
    case What::kCold:
      g_ns = cold();
      break;
  }
  asm volatile("");
}

template <int kMore>
[[gnu::noinline]] void deep() {
  char pad[16 + kMore % 5 * 8];
  asm volatile("" ::"r"(pad) : "memory");
  if constexpr (kMore == 0) {
    measure();
  } else {
    deep<kMore - 1>();
  }
  asm volatile("" ::"r"(pad) : "memory");
}

template <int kMore>
void table(const char* bars) {
  g_what = What::kDepth;
  deep<kMore>();
  std::printf("%u frames (bars: %s)\n  %-24s %10s %10s %12s\n", g_depth + 1, bars, "ns a stack",
              "ours", "libunwind", "backtrace()");
  struct Row {
    What what;
    const char* name;
  };
  for (const Row row : {Row{What::kSame, "one call site"}, Row{What::kSites, "200 by turns"},
                        Row{What::kCold, "cold caches"}}) {
    std::printf("  %-24s", row.name);
    for (const By by : {By::kOurs, By::kLibunwind, By::kGlibc}) {
      g_by = by;
      g_what = row.what;
      if (by == By::kLibunwind && g_libunwind == nullptr) {
        std::printf(" %10s", "not there");
        continue;
      }
      deep<kMore>();
      std::printf(by == By::kGlibc ? " %12.1f" : " %10.1f", g_ns);
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  if (!kUnwinds) {
    std::printf("no stacks on this kind of processor\n");
    return 0;
  }
  prepareCodeTables();
  // Looked up by name in the C library: linking libunwind would replace glibc's function.
  g_glibc =
      reinterpret_cast<Backtrace>(dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "backtrace"));
  if (void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL)) {
    g_libunwind = reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
  }
  const CallPathSink sink{[](void*, uint32_t, uint32_t, const uint64_t*, uint32_t) { return true; },
                          nullptr, nullptr};
  g_cache = CallPathCache::make({}, sink);
  if (g_cache == nullptr) return 1;
  // Additional frames: main and its callers, measure() and the call site.
  table<3>("12, 60, 500 ns");
  table<26>("50, 250, 1200 ns");
  std::printf("memory: %.1f MB of addresses for each thread that takes stacks, at most %.0f MB\n",
              static_cast<double>(g_cache->bytes()) / 1e6,
              static_cast<double>(CallPathCache::kMostBytes) / 1e6);
  CallPathCache::destroy(g_cache);
  return 0;
}
