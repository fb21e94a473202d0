// SPDX-License-Identifier: Apache-2.0
// Allocates memory like a training run: parameters, activations, gradients, workspace; and frees
// everything except the parameters. 21 allocations of 230 MB, 16 releases of 199 MB. Usage:
// memory_phases
#include "sample.hpp"

constexpr size_t kMegabyte = 1u << 20;

struct Phase {
  const char* name;
  std::vector<size_t> megabytes;
};

int main() {
  sample::start();
  const Phase phases[] = {{"parameters", {1, 2, 4, 8, 16}},
                          {"activations", {2, 4, 6, 8, 10, 12, 14, 16}},
                          {"gradients", {1, 2, 4, 8, 16}},
                          {"workspace", {32, 32, 32}}};
  std::string said;
  std::vector<std::pair<void*, size_t>> to_free;
  const int64_t begin = sample::nowNs();
  for (const Phase& phase : phases) {
    size_t bytes = 0;
    for (const size_t megabytes : phase.megabytes) {
      void* const memory = sample::allocate<char>(megabytes * kMegabyte);
      bytes += megabytes * kMegabyte;
      if (&phase != phases) to_free.emplace_back(memory, megabytes * kMegabyte);
    }
    said += std::string(said.empty() ? "" : ", ") + "{\"phase\": \"" + phase.name +
            "\", \"allocations\": " + std::to_string(phase.megabytes.size()) +
            ", \"bytes\": " + std::to_string(bytes) + "}";
  }
  for (const auto& [memory, bytes] : to_free) sample::release(memory, bytes);
  const int64_t ns = sample::nowNs() - begin;
  sample::say("memory_phases",
              ", \"loop_ns\": " + std::to_string(ns) + ", \"phases\": [" + said + "]");
}
