// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/content_comparison.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

using recording::kChunkBytes;

namespace {

/// With fewer chunks for each, starting a thread takes longer than it saves.
constexpr size_t kChunksOfThread = 8;
constexpr size_t kMostThreads = 4;

size_t threadsFor(size_t chunks) {
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp<size_t>(chunks / kChunksOfThread, 1, std::min(processors, kMostThreads));
}

}  // namespace

std::optional<size_t> firstDifferentChunk(ByteView bytes,
                                          std::span<const recording::ContentHash> chunks) {
  std::atomic<size_t> next{0};
  std::atomic<size_t> first{chunks.size()};
  // Chunks are taken in order, so all chunks before the first difference are compared.
  const auto compare = [&] {
    for (size_t chunk = 0; (chunk = next.fetch_add(1)) < first.load();) {
      const size_t at = chunk * kChunkBytes;
      const ByteView part = bytes.subspan(at, std::min<size_t>(kChunkBytes, bytes.size() - at));
      if (recording::hashOf(part) == chunks[chunk]) continue;
      for (size_t known = first.load(); chunk < known;) {
        if (first.compare_exchange_weak(known, chunk)) break;
      }
    }
  };
  {
    std::vector<std::thread> helpers;
    try {
      for (size_t i = 1; i < threadsFor(chunks.size()); ++i) helpers.emplace_back(compare);
    } catch (const std::system_error&) {
      // No more threads are allowed: fewer compare all chunks as well.
    }
    compare();
    for (std::thread& helper : helpers) helper.join();
  }
  const size_t found = first.load();
  return found < chunks.size() ? std::optional(found) : std::nullopt;
}

}  // namespace tracesmith
