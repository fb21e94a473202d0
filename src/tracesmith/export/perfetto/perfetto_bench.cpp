// SPDX-License-Identifier: Apache-2.0
// Measures size and speed of the Perfetto and Chrome JSON exports; prints one line per case.
//   perfetto_bench [KERNELS] [DIRECTORY]     (default 1000000 /dev/shm)
// CPU time of this thread, best of five; a launch, its kernel and the link between them count as
// one.
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace {

using tracesmith::Status;

double measure(const char* what, const std::string& path, size_t kernels,
               const std::function<Status()>& run) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    unlink(path.c_str());
    const int64_t begin = tracesmith::clockNs(CLOCK_PROCESS_CPUTIME_ID);
    const Status status = run();
    const int64_t end = tracesmith::clockNs(CLOCK_PROCESS_CPUTIME_ID);
    if (!status) {
      std::fprintf(stderr, "%s: %s\n", what, status.error().toString().c_str());
      std::exit(1);
    }
    best = std::min(best, static_cast<double>(end - begin) * 1e-9);
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) std::exit(1);
  const auto bytes = static_cast<double>(info.st_size);
  const auto n = static_cast<double>(kernels);
  std::printf("%-34s %9.1f bytes/kernel+launch  %6.2f M/s  %7.1f MB/s  (%.3f s cpu)\n", what,
              bytes / n, n / best / 1e6, bytes / best / 1e6, best);
  unlink(path.c_str());
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t kernels = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::string directory = argc > 2 ? argv[2] : "/dev/shm";
  const std::string path = directory + "/perfetto_bench." + std::to_string(getpid());
  const auto run = [&](const char* label, const tracesmith::Trace& trace) {
    const double proto = measure((std::string(label) + ", perfetto").c_str(), path, kernels,
                                 [&] { return tracesmith::exportPerfetto(trace, path); });
    const double json = measure((std::string(label) + ", chrome json").c_str(), path, kernels,
                                [&] { return tracesmith::exportChromeJson(trace, path); });
    std::printf("%-34s %9.1f %% of the JSON\n", label, 100 * proto / json);
  };
  tracesmith::sample::Options options;
  options.kernels = kernels;
  options.hostile_names = false;
  options.extras = false;
  run("launches and kernels", tracesmith::sample::makeTrace(options));
  options.extras = true;
  run("with everything else", tracesmith::sample::makeTrace(options));
  return 0;
}
