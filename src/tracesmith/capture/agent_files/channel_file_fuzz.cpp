// SPDX-License-Identifier: Apache-2.0
// Walks a channel's ring of arbitrary bytes between arbitrary positions, and decodes its commands.
// The input's first 16 bytes are the positions.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/recording/command_codec.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

volatile uint64_t sink;

struct Toucher {
  template <class T>
  void operator()(const T& field) {
    if constexpr (recording::codec::kIsNumber<T>) {
      sink = sink + static_cast<uint64_t>(field);
    } else if constexpr (std::is_same_v<T, recording::Payload>) {
      for (const recording::ContentHash& h : field.chunks) sink = sink + h.low;
    } else {
      for (const auto element : field) sink = sink + static_cast<uint64_t>(element);
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kRing = 8192;
  alignas(8) static uint8_t ring[kRing];
  if (size < 16) return 0;
  uint64_t positions[2];
  memcpy(positions, data, sizeof positions);
  std::fill_n(ring, kRing, uint8_t{0});
  std::copy_n(data + 16, std::min<size_t>(size - 16, kRing), ring);
  FrameWalk walk(ring, kRing, positions[0], positions[1]);
  FrameWalk::Frame frame;
  while (walk.next(frame)) {
    if (frame.kind == channel::FrameKind::kContent) {
      for (const uint8_t b : frame.body) sink = sink + b;
      continue;
    }
    const auto header = loadFixed<recording::CommandHeader>(frame.body.data());
    recording::withCommand(header.kind, frame.body.subspan(sizeof header), [](auto& command) {
      Toucher toucher;
      command.visit(toucher);
    });
  }
  return 0;
}
