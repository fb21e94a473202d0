// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agent_files/channel_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace tracesmith {
namespace {

using channel::ContentFrame;
using channel::FrameHeader;
using channel::FrameKind;

constexpr uint64_t kRing = 4096;

struct TestRing {
  Bytes bytes = Bytes(kRing);
  uint64_t head = 0;
  void put(FrameKind kind, const Bytes& body) {
    const uint64_t frame = (sizeof(FrameHeader) + body.size() + 7) / 8 * 8;
    const uint64_t to_end = kRing - head % kRing;
    if (frame > to_end) {
      const FrameHeader pad{FrameKind::kPad, static_cast<uint32_t>(to_end)};
      memcpy(bytes.data() + head % kRing, &pad, sizeof pad);
      head += to_end;
    }
    const FrameHeader header{kind, static_cast<uint32_t>(frame)};
    memcpy(bytes.data() + head % kRing, &header, sizeof header);
    memcpy(bytes.data() + head % kRing + sizeof header, body.data(), body.size());
    head += frame;
  }
};

Bytes content(uint64_t low, const Bytes& data) {
  Bytes out(24);
  const uint64_t words[] = {low, 7, data.size()};
  memcpy(out.data(), words, sizeof words);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

TEST(FrameWalk, GivesFramesInTheirOrderAcrossTheEndOfTheRing) {
  TestRing ring;
  std::vector<uint64_t> expected;
  uint64_t tail = 0;
  for (uint64_t i = 1; i <= 300; ++i) {
    if (i % 3 == 0) {
      ring.put(FrameKind::kContent, content(i, Bytes(1 + i % 90)));
    } else {
      ring.put(FrameKind::kCommand, Bytes(40 + i % 7 * 8, static_cast<uint8_t>(i)));
    }
    FrameWalk walk(ring.bytes.data(), kRing, tail, ring.head);
    FrameWalk::Frame frame;
    ASSERT_TRUE(walk.next(frame)) << i;
    if (i % 3 == 0) {
      EXPECT_EQ(frame.kind, FrameKind::kContent);
      EXPECT_EQ(frame.hash.low, i);
      EXPECT_EQ(frame.body.size(), 1 + i % 90);
    } else {
      EXPECT_EQ(frame.kind, FrameKind::kCommand);
      EXPECT_EQ(frame.body[0], static_cast<uint8_t>(i));
    }
    EXPECT_FALSE(walk.next(frame));
    EXPECT_FALSE(walk.damaged());
    EXPECT_EQ(walk.position(), ring.head);
    tail = ring.head;
  }
}

TEST(FrameWalk, StopsAtWhatNoAgentWrites) {
  const auto damaged = [](uint32_t kind, uint32_t bytes, uint64_t head) {
    Bytes ring(kRing);
    const uint32_t words[] = {kind, bytes};
    memcpy(ring.data(), words, sizeof words);
    FrameWalk walk(ring.data(), kRing, 0, head);
    FrameWalk::Frame frame;
    EXPECT_FALSE(walk.next(frame));
    return walk.damaged();
  };
  EXPECT_TRUE(damaged(2, 0, 64));          // no length
  EXPECT_TRUE(damaged(2, 12, 64));         // not whole words
  EXPECT_TRUE(damaged(2, 128, 64));        // beyond what was written
  EXPECT_TRUE(damaged(2, 8192, 4096));     // beyond the ring
  EXPECT_TRUE(damaged(2, 16, 64));         // too short for a command
  EXPECT_TRUE(damaged(1, 32, 64));         // content without bytes
  EXPECT_TRUE(damaged(9, 64, 64));         // no such kind
  EXPECT_TRUE(damaged(0, 64, kRing * 2));  // more than the ring holds
  EXPECT_FALSE(damaged(0, 64, 64));        // a pad and nothing else
}

TEST(FrameWalk, NeverReadsBeyondTheRingWhateverIsInIt) {
  std::mt19937_64 random(3);
  Bytes ring(kRing);  // under AddressSanitizer
  size_t frames = 0;
  size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (size_t at = 0; at < kRing; at += 8) {
      const uint64_t word =
          random() % 4 == 0 ? random() : (random() % 512 * 8) << 32 | random() % 3;
      memcpy(ring.data() + at, &word, sizeof word);
    }
    const uint64_t begin = random() % kRing * 8;
    const uint64_t end = random() % kRing * 8;
    FrameWalk walk(ring.data(), kRing, begin, end);
    FrameWalk::Frame frame;
    uint64_t position = begin;
    while (walk.next(frame)) {
      // It lies between the previous and the current position, and completely in the ring.
      const auto offset = static_cast<uint64_t>(frame.body.data() - ring.data());
      ASSERT_GT(frame.body.size(), 0u);
      ASSERT_LE(offset + frame.body.size(), kRing);
      ASSERT_GT(walk.position(), position);
      ASSERT_LE(frame.body.size(), walk.position() - position);
      ASSERT_LT((offset - position) % kRing, walk.position() - position);
      position = walk.position();
      ++frames;
    }
    ASSERT_TRUE(walk.damaged() || (walk.position() == end && end - begin <= kRing));
    if (!walk.damaged()) continue;
    ++refused;
    ASSERT_GE(walk.position(), position);  // pads may precede the invalid frame
    ASSERT_TRUE(walk.position() == begin || walk.position() <= end);
  }
  EXPECT_GT(frames, 100u);
  EXPECT_GT(refused, 1000u);
}

TEST(FrameWalk, WhatLiesBeforeDamageIsReadAndNothingBehindIt) {
  constexpr uint32_t kFrame = 64;
  constexpr size_t kFrames = kRing / kFrame;
  for (size_t damaged = 0; damaged < kFrames; ++damaged) {
    for (const uint32_t bytes : {0u, 4u, 12u, uint32_t{kRing} * 2, UINT32_MAX}) {
      Bytes ring(kRing);
      for (size_t i = 0; i < kFrames; ++i) {
        const FrameHeader head{FrameKind::kCommand, i == damaged ? bytes : kFrame};
        memcpy(ring.data() + i * kFrame, &head, sizeof head);
        ring[i * kFrame + sizeof head] = static_cast<uint8_t>(i);
      }
      FrameWalk walk(ring.data(), kRing, 0, kRing);
      FrameWalk::Frame frame;
      size_t read = 0;
      for (; walk.next(frame); ++read) ASSERT_EQ(frame.body[0], static_cast<uint8_t>(read));
      ASSERT_EQ(read, damaged);
      ASSERT_TRUE(walk.damaged());
      ASSERT_EQ(walk.position(), damaged * kFrame);
    }
  }
}

}  // namespace
}  // namespace tracesmith
