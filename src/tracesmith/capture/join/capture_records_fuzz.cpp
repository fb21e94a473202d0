// SPDX-License-Identifier: Apache-2.0
// Walks, joins and writes arbitrary bytes as a ring, like a collector.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"

using namespace tracesmith;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 16) return 0;
  // Two passes over the same records; the first bytes choose the position and the clock.
  constexpr uint64_t kRing = 4096;
  const auto begin = loadFixed<uint16_t>(data);
  const auto length = loadFixed<uint16_t>(data + 2);
  const auto clock = static_cast<arena::StampClockKind>(data[4] & 1);
  std::vector<uint8_t> ring(kRing);
  std::copy_n(data + 16, std::min<size_t>(size - 16, kRing), ring.begin());

  SharedRows shared;
  shared.keep_kernels = (data[5] & 1) == 0;
  shared.keep_memory = (data[5] & 2) == 0;
  shared.stamps.add({1000, static_cast<int64_t>(data[6]), 1});
  shared.stamps.add({2000, loadFixed<int64_t>(data + 8), 1});
  RecordJoiner joiner(shared, ProcessId{1}, clock);
  uint64_t met = 0;
  for (int pass = 0; pass < 2; ++pass) {
    RecordWalk first(ring.data(), kRing, begin, uint64_t{begin} + length);
    for (ByteView r = first.next(); !r.empty(); r = first.next()) joiner.define(r);
    RecordWalk second(ring.data(), kRing, begin, uint64_t{begin} + length);
    for (ByteView r = second.next(); !r.empty(); r = second.next()) {
      joiner.join(r, 1);
      ++met;
    }
    joiner.endPass();
    joiner.writePending();
  }
  if (shared.events != met) std::abort();
  if (shared.keep_kernels && shared.kernels != shared.delta.kernel.size()) std::abort();
  return 0;
}
