// SPDX-License-Identifier: Apache-2.0
// Summaries from anywhere: any bytes, and bodies whose checksum is right. What is read and written
// again is the same.
#include <zstd.h>

#include <cstdlib>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/fleet/summary_bytes.hpp"

using namespace tracesmith;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 64 << 20;  // of memory
  if (size > (1 << 20)) return 0;
  const ByteView input(data, size);
  (void)decodeSummary(input, kMost);
  // The same bytes as a body that was compressed and checked.
  Bytes packed(ZSTD_compressBound(size));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), data, size, 1));
  Bytes bytes = encodeSummary(FleetSummary());
  bytes.resize(24);
  putFixed(bytes, uint64_t{size});
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  const uint64_t hash = hash64(ByteView(bytes).subspan(24));
  std::memcpy(bytes.data() + 16, &hash, sizeof hash);
  const auto summary = decodeSummary(bytes, kMost);
  if (!summary) return 0;
  const auto again = decodeSummary(encodeSummary(*summary));
  if (!again || !(*again == *summary)) abort();
  FleetSummary twice = *summary;
  twice.add(*again);
  if (twice.traces != 2 * summary->traces) abort();
  return 0;
}
