// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/recorded_program.hpp"

#include <gtest/gtest.h>

#include <set>
#include <unordered_map>

#include "tracesmith/analysis/races/races.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith::races {
namespace {

using namespace recording;  // NOLINT: uses the recording vocabulary

constexpr Handle kQueue1 = 0x100, kQueue2 = 0x200, kOutOfOrder = 0x300;
constexpr Handle kBuffer = 0x1000, kOther = 0x2000, kKernel = 0x3000, kReader = 0x4000;

/// Commands as an agent would write them.
class Recorded : public testing::Test {
 protected:
  template <class Command>
  void add(Command command, CommandHeader header = {}) {
    header.sequence = sequence_++;
    if (header.thread == 0) header.thread = 1;
    const size_t at = bytes_.size();
    bytes_.resize(at + encodedBytes(command));
    encode(header, command, bytes_.data() + at);
  }
  void SetUp() override {
    add(CreateQueue{.queue = kQueue1});
    add(CreateQueue{.queue = kQueue2});
    add(CreateQueue{.queue = kOutOfOrder, .properties = 1});
    add(CreateBuffer{.buffer = kBuffer, .bytes = 1000});
    add(CreateBuffer{.buffer = kOther, .bytes = 1000});
    program(
        "kernel void w(global int* p) { p[0] = 1; } kernel void r(global int* p, global int* q)"
        " { q[0] = p[0]; }");
  }
  void program(const std::string& source) {
    const ContentHash hash =
        hashOf(ByteView(reinterpret_cast<const uint8_t*>(source.data()), source.size()));
    source_[hash] = source;
    const ContentHash chunks[] = {hash};
    add(CreateProgram{.program = 0x10, .code = {source.size(), chunks}});
    add(BuildProgram{.program = 0x10});
    for (const auto& [kernel, name] : {std::pair{kKernel, "w"}, {kReader, "r"}}) {
      add(CreateKernel{.kernel = kernel, .program = 0x10, .name = Text(name, 1)});
    }
    argument(kKernel, 0, kBuffer);
    argument(kReader, 0, kBuffer);
    argument(kReader, 1, kOther);
  }
  void argument(Handle kernel, uint64_t index, Handle value,
                ArgumentForm form = ArgumentForm::kValue) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&value);
    add(SetArgument{
        .kernel = kernel, .index = index, .form = form, .bytes = 8, .value = Raw(raw, 8)});
  }
  void launch(Handle queue, Handle kernel, std::vector<uint64_t> waits = {}, Handle event = 0) {
    add(Launch{.queue = queue, .kernel = kernel, .waits = waits, .event = event});
  }
  void fill(Handle queue, Handle memory, uint64_t begin, uint64_t bytes,
            std::vector<uint64_t> waits = {}, Handle event = 0) {
    Fill f{.queue = queue, .memory = memory, .waits = waits, .event = event};
    f.box.origin[0] = begin;
    f.box.region[0] = bytes;
    add(f);
  }
  /// "grade first/second memory:begin-end" of each group.
  std::string found(Grade weakest = Grade::kLikely) {
    const RecordedProgram of = programOfRecording(bytes_, [&](const Payload& p) -> Result<Bytes> {
      const std::string& text = source_.at(p.chunks[0]);
      return Bytes(text.begin(), text.end());
    });
    EXPECT_FALSE(of.damaged);
    EXPECT_EQ(of.steps.size(), of.program.size());
    std::string text;
    for (const RaceGroup& group : findRaces(of.program, weakest).groups) {
      const Race& race = group.race;
      text += (text.empty() ? "" : "; ") + std::string(toString(race.grade)) + " " +
              of.labels[of.program.step(race.first).label] + "/" +
              of.labels[of.program.step(race.second).label] + " " +
              std::to_string(race.allocation) + ":" + std::to_string(race.begin) + "-" +
              std::to_string(race.end);
    }
    return text;
  }
  Bytes bytes_;
  uint64_t sequence_ = 0;
  std::unordered_map<ContentHash, std::string, HashOfContentHash> source_;
};

TEST_F(Recorded, TwoQueuesWithoutAnEvent) {
  launch(kQueue1, kKernel, {}, 0x77);
  launch(kQueue2, kReader);
  EXPECT_EQ(found(), "likely w/r 1:0-1000");
}

TEST_F(Recorded, AnEventOrders) {
  launch(kQueue1, kKernel, {}, 0x77);
  launch(kQueue2, kReader, {0x77});
  EXPECT_EQ(found(), "");
}

/// `if (n > 0) p[0] = 1`: a launch's accesses depend on its own values, not on another launch's.
TEST_F(Recorded, ValuesOfArgumentsDecideWhatALaunchTouches) {
  program(
      "kernel void w(global int* p, int n) { if (n > 0) p[0] = 1; }"
      "kernel void r(global int* p, global int* q) { q[0] = p[0]; }");
  const auto number = [&](int32_t n) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&n);
    add(SetArgument{.kernel = kKernel, .index = 1, .bytes = sizeof n, .value = Raw(raw, sizeof n)});
  };
  number(0);
  launch(kQueue1, kKernel);
  launch(kQueue2, kReader);
  EXPECT_EQ(found(), "");
  number(3);
  launch(kQueue1, kKernel);
  EXPECT_EQ(found(), "likely r/w 1:0-1000");
  number(-3);
  launch(kQueue1, kKernel);
  EXPECT_EQ(found(), "likely r/w 1:0-1000");
}

TEST_F(Recorded, AValueThatIsNotSetDecidesNothing) {
  program(
      "kernel void w(global int* p, int n) { if (n > 0) p[0] = 1; }"
      "kernel void r(global int* p, global int* q) { q[0] = p[0]; }");
  launch(kQueue1, kKernel);
  launch(kQueue2, kReader);
  EXPECT_EQ(found(), "likely w/r 1:0-1000");
}

TEST_F(Recorded, AnEventsHandleIsThatOfTheLatestCommandThatMadeIt) {
  launch(kQueue1, kKernel, {}, 0x77);
  fill(kQueue2, kOther, 0, 10, {}, 0x77);
  launch(kQueue2, kReader, {0x77});
  EXPECT_EQ(found(), "likely w/r 1:0-1000");
}

TEST_F(Recorded, FinishAndBlockingCallsAndWaitsOfTheHostOrder) {
  launch(kQueue1, kKernel);
  add(Finish{.queue = kQueue1}, {.flags = command_flags::kStarted});
  launch(kQueue2, kReader, {}, 0x78);
  const uint64_t events[] = {0x78};
  add(WaitForEvents{.events = events}, {.flags = command_flags::kStarted});
  Write write{.queue = kQueue1, .memory = kBuffer};
  write.box.region[0] = 1000;
  add(write, {.flags = command_flags::kStarted | command_flags::kBlocking});
  launch(kQueue2, kKernel);
  EXPECT_EQ(found(), "");
}

TEST_F(Recorded, AFailedCallOrdersNothingAndTouchesNothing) {
  launch(kQueue1, kKernel);
  const uint64_t begun = sequence_;
  add(Finish{.queue = kQueue1}, {.flags = command_flags::kStarted});
  add(Done{.of = begun}, {.result = -36});
  fill(kQueue2, kBuffer, 0, 1000);
  add(Launch{.queue = kOutOfOrder, .kernel = kKernel}, {.result = -5});
  EXPECT_EQ(found(), "likely w/fill 1:0-1000");
}

TEST_F(Recorded, TheEventOfABlockingCallIsInItsDone) {
  const uint64_t begun = sequence_;
  Read read{.queue = kQueue1, .memory = kOther};
  read.box.region[0] = 8;
  add(read, {.flags = command_flags::kStarted | command_flags::kBlocking});
  add(Done{.of = begun, .event = 0x79});
  add(Marker{.queue = kOutOfOrder, .waits = std::span(&sequence_, 0), .event = 0x80});
  const uint64_t waits[] = {0x79};
  add(Marker{.queue = kQueue2, .is_barrier = 1, .waits = waits});
  EXPECT_EQ(found(Grade::kPossible), "");
}

TEST_F(Recorded, PartsOfBuffersAndSubBuffers) {
  add(CreateSubBuffer{.buffer = 0x1100, .parent = kBuffer, .offset = 500, .bytes = 100});
  fill(kQueue1, kBuffer, 0, 500);
  fill(kQueue2, 0x1100, 50, 50);
  EXPECT_EQ(found(), "");
  fill(kOutOfOrder, kBuffer, 499, 52);
  EXPECT_EQ(found(), "proven fill/fill 1:499-500");
  fill(kOutOfOrder, 0x1100, 99, 1);
  EXPECT_EQ(found(), "proven fill/fill 1:499-500") << "equal pairs are one group";
}

TEST_F(Recorded, BoxesOfABufferTouchOnlyTheirRows) {
  const auto box = [&](Handle queue, uint64_t x) {
    Fill f{.queue = queue, .memory = kBuffer};
    f.box.origin[0] = x;
    f.box.region[0] = 10;
    f.box.region[1] = 4;
    f.box.row_pitch = 20;
    add(f);
  };
  box(kQueue1, 0);
  box(kQueue2, 10);
  EXPECT_EQ(found(), "");
  box(kOutOfOrder, 15);
  EXPECT_EQ(found(), "proven fill/fill 1:20-65");
}

TEST_F(Recorded, ImagesByTheirRectangles) {
  add(CreateImage{.image = 0x5000, .type = 0x10F1, .width = 100, .height = 100});
  const auto part = [&](Handle queue, uint64_t x, uint64_t y) {
    Fill f{.queue = queue, .memory = 0x5000};
    f.box.is_image = 1;
    f.box.origin[0] = x;
    f.box.origin[1] = y;
    f.box.region[0] = f.box.region[1] = 50;
    f.box.region[2] = 1;
    add(f);
  };
  part(kQueue1, 0, 0);
  part(kQueue2, 50, 0);
  EXPECT_EQ(found(), "");
  part(kOutOfOrder, 49, 49);
  EXPECT_EQ(found(), "proven fill/fill 3:4949-4950");
}

TEST_F(Recorded, OutOfOrderQueuesAndBarriers) {
  launch(kOutOfOrder, kKernel);
  add(Marker{.queue = kOutOfOrder, .is_barrier = 1});
  launch(kOutOfOrder, kReader);
  EXPECT_EQ(found(), "");
  fill(kOutOfOrder, kBuffer, 0, 1);
  EXPECT_EQ(found(), "likely r/fill 1:0-1");
}

TEST_F(Recorded, ABarrierThatWaitsForAnUnknownEventWaitsForNothing) {
  launch(kOutOfOrder, kKernel);
  const uint64_t waits[] = {0x999};
  add(Marker{.queue = kOutOfOrder, .is_barrier = 1, .waits = waits});
  launch(kOutOfOrder, kReader);
  EXPECT_EQ(found(), "likely w/r 1:0-1000");
}

TEST_F(Recorded, UserEvents) {
  add(CreateUserEvent{.event = 0x88});
  launch(kQueue1, kKernel, {0x88}, 0x89);
  launch(kQueue2, kReader, {0x89});
  add(SetUserEventStatus{.event = 0x88});
  EXPECT_EQ(found(), "");
  launch(kOutOfOrder, kReader, {0x88});
  EXPECT_EQ(found(), "likely w/r 1:0-1000; likely r/r 2:0-1000");
}

TEST_F(Recorded, WhatTheHostDoesWithAMap) {
  Map map{.queue = kQueue1, .memory = kBuffer, .flags = 2, .pointer = 0x7000};
  map.box.region[0] = 100;
  add(map, {.flags = command_flags::kBlocking});
  launch(kQueue2, kReader);
  Unmap unmap{.queue = kQueue1, .memory = kBuffer, .pointer = 0x7000};
  unmap.box.region[0] = 100;
  unmap.content.bytes = 100;
  add(unmap);
  EXPECT_EQ(found(), "likely r/host, mapped 1:0-100");
}

TEST_F(Recorded, TheHostsMemoryThatAReadFills) {
  Read read{.queue = kQueue1, .memory = kBuffer, .host = 0x10000};
  read.box.region[0] = 100;
  Write write{.queue = kQueue2, .memory = kOther, .host = 0x10020};
  write.box.region[0] = 100;
  add(read);
  add(write);
  EXPECT_EQ(found(), "proven read/write 0:65568-65636");
}

TEST_F(Recorded, ABufferInTheHostsMemoryIsThatMemory) {
  add(CreateBuffer{.buffer = 0x6000, .flags = 8, .bytes = 100, .host = 0x10000});
  fill(kQueue1, 0x6000, 0, 100);
  Write write{.queue = kQueue2, .memory = kOther, .host = 0x10020};
  write.box.region[0] = 100;
  add(write);
  EXPECT_EQ(found(), "proven fill/write 3:32-100");
}

TEST_F(Recorded, SharedMemoryByItsAddress) {
  add(SvmAlloc{.pointer = 0x20000, .bytes = 4096});
  argument(kKernel, 0, 0x20000, ArgumentForm::kSvm);
  launch(kQueue1, kKernel);
  const uint8_t pattern[] = {0};
  add(SvmFill{.queue = kQueue2, .pointer = 0x20010, .pattern = pattern, .bytes = 16});
  EXPECT_EQ(found(), "likely w/fill 3:16-32");
  const uint64_t pointers[] = {0x20000};
  add(SvmFree{.pointers = pointers});
  EXPECT_EQ(found(), "proven fill/free 3:16-32; likely w/fill 3:16-32; likely w/free 3:0-4096");
}

TEST_F(Recorded, AKernelWithoutSourceIsAGuess) {
  add(CreateProgram{.program = 0x11, .form = ProgramForm::kBinary});
  add(CreateKernel{.kernel = kKernel, .program = 0x11, .name = Text("w", 1)});
  argument(kKernel, 0, kBuffer);
  launch(kQueue1, kKernel);
  launch(kQueue2, kReader);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(found(Grade::kPossible), "possible w/r 1:0-1000");
}

TEST_F(Recorded, ArgumentsAreThoseOfTheMomentOfTheLaunch) {
  launch(kQueue1, kKernel);
  argument(kKernel, 0, kOther);
  launch(kQueue1, kKernel);
  argument(kReader, 1, 0x9999);  // an unknown object
  launch(kQueue2, kReader);
  EXPECT_EQ(found(), "likely w/r 1:0-1000");
}

TEST_F(Recorded, ABufferMadeOfSharedMemoryIsThatMemory) {
  constexpr uint64_t kUseHostPointer = 1 << 3;
  add(SvmAlloc{.pointer = 0x9000, .bytes = 1000});
  add(CreateBuffer{.buffer = 0x5000, .flags = kUseHostPointer, .bytes = 500, .host = 0x9100});
  argument(kReader, 1, 0x9000, ArgumentForm::kSvm);
  launch(kQueue1, kReader);
  fill(kQueue2, 0x5000, 0, 10);
  EXPECT_EQ(found(), "likely r/fill 3:256-266");
}

TEST_F(Recorded, AnImageMadeOfSharedMemoryIsThatMemory) {
  constexpr uint64_t kUseHostPointer = 1 << 3;
  add(SvmAlloc{.pointer = 0x9000, .bytes = 1000});
  add(CreateImage{.image = 0x5000, .flags = kUseHostPointer, .width = 10, .host = 0x9100});
  argument(kKernel, 0, 0x5000);
  launch(kQueue1, kKernel);
  add(SvmFill{.queue = kQueue2, .pointer = 0x9000, .bytes = 1000});
  EXPECT_EQ(found(), "likely w/fill 3:256-1000");
}

TEST_F(Recorded, WhoWasToldThatAnEventIsCompleteComesAfterIt) {
  const uint64_t events[] = {0x77};
  launch(kQueue1, kKernel, {}, 0x77);
  add(WaitForEvents{.events = events, .without_wait = 1}, {.thread = 1});
  launch(kQueue2, kReader);
  EXPECT_EQ(found(), "");
  launch(kQueue1, kKernel, {}, 0x77);
  add(WaitForEvents{.events = events, .without_wait = 1},
      {.thread = 2});  // another thread learns of it
  launch(kQueue2, kReader);
  EXPECT_EQ(found(Grade::kPossible), "likely r/w 1:0-1000; possible w/r 1:0-1000");
}

TEST_F(Recorded, PointersInSharedMemoryReachWhatTheKernelWasToldOf) {
  program(
      "typedef struct { global int* at; } S; kernel void w(global S* p) { p->at[0] = 1; }"
      "kernel void r(global int* p, global int* q) { q[0] = p[0]; }");
  add(SvmAlloc{.pointer = 0x9000, .bytes = 1000});
  const uint64_t reached[] = {0x9000};
  const auto* raw = reinterpret_cast<const uint8_t*>(reached);
  add(SetExecInfo{.kernel = kKernel, .name = 0x11B6, .value = Raw(raw, 8)});
  argument(kKernel, 0, kBuffer);
  launch(kQueue1, kKernel);
  add(SvmFill{.queue = kQueue2, .pointer = 0x9000, .bytes = 1000});
  EXPECT_EQ(found(), "likely w/fill 3:0-1000");
}

TEST_F(Recorded, AReusedHandleIsAnotherBuffer) {
  launch(kQueue1, kKernel);
  add(Release{.object = kBuffer, .object_class = ObjectClass::kMemory});
  add(CreateBuffer{.buffer = kBuffer, .bytes = 1000});
  fill(kQueue2, kBuffer, 0, 1000);
  EXPECT_EQ(found(), "");
}

/// Must hold for any program: steps, waits and accesses refer to existing steps and memory.
void expectSound(const RecordedProgram& of) {
  ASSERT_EQ(of.steps.size(), of.program.size());
  for (StepId id = 0; id < of.program.size(); ++id) {
    ASSERT_LT(of.program.step(id).label, of.labels.size());
    ASSERT_LT(of.program.step(id).thread, of.threads.size());
    for (const Access& access : of.program.accesses(id)) {
      ASSERT_LT(access.allocation, of.allocations.size());
      ASSERT_LT(access.begin, access.end);
      ASSERT_LE(access.end, of.allocations[access.allocation].bytes);
    }
  }
}

using Pairs = std::set<std::pair<StepId, StepId>>;
Pairs racesOf(const RecordedProgram& of) {
  Pairs pairs;
  for (const RaceGroup& group : findRaces(of.program, Grade::kPossible).groups) {
    EXPECT_LT(group.race.first, of.program.size());
    EXPECT_LT(group.race.second, of.program.size());
    pairs.emplace(group.race.first, group.race.second);
  }
  return pairs;
}

TEST_F(Recorded, AnyCutAndAnyByteIsSurvived) {
  launch(kQueue1, kKernel, {}, 0x77);
  launch(kQueue2, kReader, {0x77});
  fill(kOutOfOrder, kBuffer, 0, 10);
  const auto content = [](const Payload&) -> Result<Bytes> { return Bytes(); };
  const RecordedProgram whole = programOfRecording(bytes_, content);
  const Pairs races = racesOf(whole);
  ASSERT_GT(races.size(), 0u);
  std::set<size_t> ends = {0};  // ends of whole commands
  forEachCommand(bytes_, [&](const CommandHeader& header, ByteView) {
    ends.insert(*ends.rbegin() + header.bytes);
    return true;
  });
  size_t most = 0;
  for (size_t n = 0; n < bytes_.size(); ++n) {
    const Bytes cut(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(n));
    const RecordedProgram of = programOfRecording(cut, content);
    expectSound(of);
    // The steps of the existing part, and no others.
    EXPECT_EQ(of.damaged, !ends.contains(n)) << n;
    ASSERT_GE(of.steps.size(), most) << n;
    most = of.steps.size();
    for (size_t i = 0; i < of.steps.size(); ++i) {
      EXPECT_EQ(of.steps[i].sequence, whole.steps[i].sequence);
      EXPECT_EQ(of.steps[i].kind, whole.steps[i].kind);
    }
    for (const auto& pair : racesOf(of)) EXPECT_TRUE(races.contains(pair)) << n;
  }
  EXPECT_EQ(most + 1, whole.steps.size());  // all but the last command's
  for (size_t at = 0; at < bytes_.size(); ++at) {
    for (const uint8_t change : {0xFF, 0x01}) {
      Bytes changed = bytes_;
      changed[at] ^= change;
      const RecordedProgram of = programOfRecording(changed, content);
      expectSound(of);
      (void)racesOf(of);
      // A command is at most one step, and a lost command affects at most everything after it.
      EXPECT_LE(of.steps.size(), ends.size()) << at;
    }
  }
}

TEST_F(Recorded, FromAFile) {
  launch(kQueue1, kKernel);
  launch(kQueue2, kReader);
  tracesmith::test::TempFolder folder;
  {
    auto writer = RecordingWriter::create(folder.path("out.sbr"));
    ASSERT_TRUE(writer);
    for (const auto& [hash, text] : source_) {
      ASSERT_TRUE(writer->addContent(
          hash, ByteView(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
    }
    ASSERT_TRUE(writer->addProcess({1, 1, 1, "p"}));
    ASSERT_TRUE(writer->addCommands(1, bytes_, static_cast<uint32_t>(sequence_)));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = RecordingReader::open(folder.path("out.sbr"));
  ASSERT_TRUE(reader);
  auto commands = reader->commands(1);
  ASSERT_TRUE(commands);
  const RecordedProgram of = programOfRecording(
      *commands, [&](const Payload& payload) { return reader->content(payload); });
  EXPECT_EQ(of.launches, 2u);
  EXPECT_TRUE(of.guessed.empty());
  EXPECT_EQ(findRaces(of.program, Grade::kLikely).races, 1u);
}

}  // namespace
}  // namespace tracesmith::races
