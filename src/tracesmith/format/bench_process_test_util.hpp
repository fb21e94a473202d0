// SPDX-License-Identifier: Apache-2.0
// For benchmarks of large traces: runs each measurement in a process of its own, so that its peak
// memory is its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/bench_trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith::bench {

template <class T>
T valueOr(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().toString().c_str());
  std::exit(1);
}
inline void check(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().toString().c_str());
  std::exit(1);
}

/// Peak memory of this process, in MiB.
inline double peakMib() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

/// Runs this program again with these arguments, and ends if that fails.
inline void runApart(const std::vector<std::string>& arguments) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::string name = "bench";
    std::vector<char*> argv = {name.data()};
    std::vector<std::string> copies = arguments;
    for (std::string& each : copies) argv.push_back(each.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(1);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) std::exit(1);
}

/// A trace of `kernels` kernels and as many launches, written in parts.
inline void writeLaunchedKernels(const std::string& path, size_t kernels) {
  constexpr size_t kBatch = 1 << 18;
  TraceGenerator generator(TraceModel::kTrainingLoop);
  TraceWriter writer = valueOr(TraceWriter::create(path));
  for (size_t written = 0; written < kernels; written += kBatch) {
    generator.add(std::min(kBatch, kernels - written));
    check(writer.write(generator.trace()));
    forEachTable(generator.trace(), [](auto& table) { table.clear(); });
  }
  check(writer.finish());
}

/// The numbers and the folder among the arguments of a program.
struct SizesAndFolder {
  std::vector<size_t> sizes;
  std::string folder = "/dev/shm";

  SizesAndFolder(int argc, char** argv, std::vector<size_t> otherwise) {
    for (int i = 1; i < argc; ++i) {
      const size_t size = std::strtoull(argv[i], nullptr, 10);
      if (size > 0) {
        sizes.push_back(size);
      } else {
        folder = argv[i];
      }
    }
    if (sizes.empty()) sizes = std::move(otherwise);
  }
};

}  // namespace tracesmith::bench
