// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_recognition.hpp"

#include <gtest/gtest.h>

#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/perfetto/perfetto_source_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::at;
using test::importText;
using test::Message;
using test::packet;
using test::process;
using test::trackEvent;

bool isPerfetto(std::string_view file) {
  return looksLikePerfetto(file.substr(0, ImportInput::kHeadBytes));
}

/// Context switches of a processor in the kernel's own form, without any field common to all
/// packets.
Message ftrace(int events) {
  Message bundle;
  bundle.number(1, 3);
  for (int i = 0; i < events; ++i) {
    bundle.of(2, Message()
                     .number(1, 1'000'000 + static_cast<uint64_t>(i))
                     .number(2, 12)
                     .of(4, Message().text(1, "swapper").number(2, 0).text(5, "worker")));
  }
  return Message().of(1, bundle);
}
Message clocks() {
  return Message().of(6, Message()
                             .of(1, Message().number(1, 6).number(2, 1000))
                             .of(1, Message().number(1, 3).number(2, 900)));
}

TEST(PerfettoRecognition, WhateverKindOfPacketComesFirst) {
  EXPECT_TRUE(isPerfetto(packet(ftrace(3))));
  const Message compact = Message().number(1, 0).of(4, Message().text(1, "\x01\x02"));
  EXPECT_TRUE(isPerfetto(packet(Message().of(1, compact))));
  EXPECT_TRUE(isPerfetto(packet(clocks())));
  const Message buffers = Message().of(1, Message().number(1, 4096)).number(3, 10'000);
  EXPECT_TRUE(isPerfetto(packet(Message().of(33, buffers)))) << "trace_config";
  EXPECT_TRUE(isPerfetto(packet(Message().of(35, Message().number(2, 1))))) << "trace_stats";
  const Message tree = Message().of(1, Message().number(1, 7).number(2, 1).text(3, "a.out"));
  EXPECT_TRUE(isPerfetto(packet(Message().of(2, tree))));
  EXPECT_TRUE(isPerfetto(packet(Message().of(45, Message().text(2, "6.1")).number(3, 9999))))
      << "system_info, and who wrote it";
}

TEST(PerfettoRecognition, BehindManyPacketsAndWithinOneThatIsCut) {
  std::string file;
  while (file.size() < 17'000) file += packet(ftrace(2));
  EXPECT_TRUE(isPerfetto(file + packet(at(5).of(11, trackEvent(3, 1, "late")))));
  const std::string large = packet(ftrace(4000));
  ASSERT_GT(large.size(), ImportInput::kHeadBytes);
  EXPECT_TRUE(isPerfetto(large));
  // Many packets that prove nothing before one that does.
  std::string silent;
  for (int i = 0; i < 100; ++i) silent += packet(Message().number(3, 9999));
  EXPECT_FALSE(isPerfetto(silent));
  EXPECT_TRUE(isPerfetto(silent + packet(at(5).of(11, trackEvent(3, 1, "late")))));
}

/// End to end: packets in no table are counted by name, and all others have rows.
TEST(PerfettoRecognition, SuchTracesAreImported) {
  std::string file = packet(clocks());
  while (file.size() < 17'000) file += packet(ftrace(2));
  const uint64_t bundles = importText(file).counts.others;
  EXPECT_GT(bundles, 100u);
  const auto got = importText(file + process() + packet(at(5).of(11, trackEvent(3, 200, "mark"))));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "Perfetto");
  EXPECT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(got.counts.others, bundles);
  EXPECT_NE(
      got.trace.text(got.trace.loss.reason[0]).find(std::to_string(bundles) + " ftrace_events"),
      std::string_view::npos);
}

TEST(PerfettoRecognition, OtherFormatsWhoseFieldOneIsAMessage) {
  // A graph of TensorFlow or ONNX: nodes with names and inputs; pprof: pairs of numbers.
  const Message node = Message().text(1, "conv").text(2, "Conv2D").text(3, "input");
  EXPECT_FALSE(isPerfetto(packet(node) + packet(node)));
  const Message types = Message().number(1, 1).number(2, 2);
  EXPECT_FALSE(isPerfetto(packet(types) + packet(types)));
  const Message features = Message().of(1, Message().of(1, Message().text(1, "x").real(2, 1)));
  EXPECT_FALSE(isPerfetto(packet(features) + packet(features)));
  // Field numbers of packets next to fields that packets do not have.
  EXPECT_FALSE(isPerfetto(packet(Message().of(33, node).real(1, 2))));
  EXPECT_FALSE(isPerfetto(packet(Message().of(33, node).text(500, "x"))));
  EXPECT_FALSE(isPerfetto(packet(Message().of(6, node))));
  EXPECT_FALSE(isPerfetto(""));
}

}  // namespace
}  // namespace tracesmith::import
