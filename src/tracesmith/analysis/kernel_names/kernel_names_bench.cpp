// SPDX-License-Identifier: Apache-2.0
// The time to read one kernel name, on average over the names in the first column of CSV files
// (answers of `tracesmith query --csv`).
//   kernel_names_bench tests/data/kernel_names/kernel_families.csv
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/kernel_names/kernel_names_test_util.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: kernel_names_bench FILE.csv...\n");
    return 2;
  }
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    for (auto& row : csvRows(argv[i])) names.push_back(std::move(row.at(0)));
  }
  if (names.empty()) {
    std::fprintf(stderr, "kernel_names_bench: no names in these files\n");
    return 1;
  }
  size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  double best = 1e300;
  size_t sum = 0;
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& name : names) sum += readKernelName(name).short_name.size();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / static_cast<double>(names.size()));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto begin = std::chrono::steady_clock::now();
  sum += distinctLabels(views).size();
  const std::chrono::duration<double, std::micro> labels = std::chrono::steady_clock::now() - begin;
  std::printf("names            %zu, %.0f bytes on average\n", names.size(),
              static_cast<double>(bytes) / static_cast<double>(names.size()));
  std::printf("reading a name   %.0f ns (best of 20 rounds)\n", best);
  std::printf("labels of all    %.0f us\n", labels.count());
  return sum == 0 ? 1 : 0;
}
