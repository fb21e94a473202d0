// SPDX-License-Identifier: Apache-2.0
// Memory of a replay: initial content, data shown, comparisons, missing content.
#include <gmock/gmock.h>

#include "tracesmith/replay/run/replay_test_util.hpp"

namespace tracesmith {
namespace {

using test::kAllOrders;
using test::kSource;
using test::RecordingBuilder;
using test::replayed;
using namespace recording;
using testing::HasSubstr;

TEST(ReplayedMemory, MapsOfSharedMemoryAreComparedUnlessTheyAreToBeOverwritten) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const Handle shared = 0x7000'0000;
    r.add(SvmAlloc{
        .pointer = shared, .context = RecordingBuilder::kContext, .flags = 1, .bytes = 16});
    const auto k = r.kernel(r.program(kSource), "scale");
    constexpr uint64_t kRead = 1, kInvalidate = 4;
    const auto map = [&](uint64_t flags, const std::vector<ContentHash>& shown) {
      SvmMap c{.queue = q, .pointer = shared, .flags = flags, .bytes = 16};
      const auto of = r.add(c, command_flags::kBlocking | command_flags::kStarted);
      r.add(Done{.of = of, .content = {shown.empty() ? 0u : 16u, shown}});
    };
    map(kInvalidate, {});
    const auto left = r.content<int>({1, 2, 3, 4});
    r.add(Snapshot{.memory = shared, .is_svm = 1, .content = {16, left}, .kept = 1},
          command_flags::kAddedByAgent);
    r.add(SvmUnmap{.queue = q, .pointer = shared});
    uint8_t address[8];
    std::memcpy(address, &shared, sizeof shared);
    r.add(SetArgument{.kernel = k, .form = ArgumentForm::kSvm, .bytes = 8, .value = address});
    r.argument(k, 1, 10);
    r.launch(q, k, 4);
    map(kRead, r.content<int>({10, 20, 30, 40}));
    r.add(SvmUnmap{.queue = q, .pointer = shared});
    map(kRead, left);  // not the real content
    r.add(SvmUnmap{.queue = q, .pointer = shared});
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.shown, 2u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.not_comparable, 0u);
    EXPECT_EQ(outcome.result.problem_count, 0u);
  }
}

TEST(ReplayedMemory, ABufferThatIsMappedToBeOverwrittenNeedNoComparison) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.buffer(8);
  Map map{.queue = q, .memory = b, .flags = 4, .pointer = 0};  // CL_MAP_WRITE_INVALIDATE_REGION
  map.box.region[0] = 8;
  const auto of = r.add(map, command_flags::kBlocking | command_flags::kStarted);
  r.add(Done{.of = of, .pointer = 0x7000'0000});
  const auto left = r.content<int>({5, 6});
  Unmap unmap{.queue = q, .memory = b, .pointer = 0x7000'0000, .content = {8, left}};
  unmap.box = map.box;
  r.add(unmap);
  r.read<int>(q, b, {5, 6});
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
  EXPECT_EQ(outcome.result.not_comparable, 0u);
  EXPECT_EQ(outcome.result.problem_count, 0u);
}

TEST(ReplayedMemory, ALaunchWithoutAnArgumentsMemoryIsNotMadeAndSaysWhy) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const Handle lost = r.newHandle(), huge = r.newHandle(), part = r.newHandle();
    const ContentHash hashes[] = {{1, 2}};  // content that is not in the recording
    r.add(CreateBuffer{.buffer = lost,
                       .context = RecordingBuilder::kContext,
                       .flags = 1 | 1 << 5,
                       .bytes = 16,
                       .host = 1,
                       .content = {16, hashes}});
    r.add(CreateSubBuffer{.buffer = part, .parent = lost, .bytes = 8});
    r.add(SvmAlloc{.pointer = huge,
                   .context = RecordingBuilder::kContext,
                   .flags = 1,
                   .bytes = uint64_t{1} << 50});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 1, 2);
    r.argument(k, 0, lost);
    r.launch(q, k, 4);
    r.argument(k, 0, part);
    r.launch(q, k, 2);
    for (const Handle address : {huge, Handle{8}}) {
      uint8_t value[8];
      std::memcpy(value, &address, sizeof address);
      r.add(SetArgument{.kernel = k, .form = ArgumentForm::kSvm, .bytes = 8, .value = value});
      r.launch(q, k, 4);
    }
    r.read<int>(q, lost, {1, 2, 3, 4});
    r.add(SvmUnmap{.queue = q, .pointer = huge});
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.launches, 0u);
    std::vector<std::string> said;
    for (const StepProblem& problem : outcome.result.problems) said.push_back(problem.text);
    const auto says = [](const char* what, const char* why) {
      return testing::Contains(testing::AllOf(HasSubstr(what), HasSubstr(why)));
    };
    EXPECT_THAT(said, says("argument 0 of scale, buffer 1 does not exist", "0000000"));
    EXPECT_THAT(said,
                says("argument 0 of scale, buffer 2 (in buffer 1) does not exist", "0000000"));
    EXPECT_THAT(said, says("argument 0 of scale, shared memory 3 does not exist", "could not"));
    EXPECT_THAT(said, says("argument 0 of scale, an address", "no shared memory"));
    EXPECT_EQ(outcome.result.shown, 0u);
  }
}

TEST(ReplayedMemory, ARowBeginsWhereItsOriginSays) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.buffer(64);
  const auto content = r.content<int>({1, 2});
  Write write{.queue = q, .memory = b, .host = 1, .content = {8, content}};
  write.box.region[0] = 8;
  write.box.origin[1] = 5;  // rows of 8 bytes
  r.add(write, command_flags::kBlocking);
  Read read{.queue = q, .memory = b, .host = 1};
  read.box.origin[0] = 40;
  read.box.region[0] = 8;
  const auto of = r.add(read, command_flags::kBlocking | command_flags::kStarted);
  r.add(Done{.of = of, .content = {8, content}});
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
}

TEST(ReplayedMemory, AnImageOfABufferHasTheRowsThatItHad) {
  RecordingBuilder r;
  const auto q = r.queue();
  std::vector<uint8_t> rows(4 * 256);
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i / 256 * 16 + i % 16);
  for (size_t y = 0; y < 4; ++y) {
    pixels.insert(pixels.end(), rows.begin() + static_cast<ptrdiff_t>(y * 256),
                  rows.begin() + static_cast<ptrdiff_t>(y * 256 + 16));
  }
  const auto b = r.bufferWith(rows);
  const Handle image = r.newHandle();
  r.add(CreateImage{.image = image,
                    .context = RecordingBuilder::kContext,
                    .flags = 1,
                    .channel_order = 0x10B5,  // CL_RGBA
                    .channel_type = 0x10DA,   // CL_UNSIGNED_INT8
                    .type = 0x10F1,           // CL_MEM_OBJECT_IMAGE2D
                    .width = 4,
                    .height = 4,
                    .buffer = b,
                    .row_pitch = 256});
  Read read{.queue = q, .memory = image, .host = 1};
  read.box.is_image = 1;
  read.box.region[0] = read.box.region[1] = 4;
  const auto of = r.add(read, command_flags::kBlocking | command_flags::kStarted);
  const auto content = r.content(pixels);
  r.add(Done{.of = of, .content = {64, content}});
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  if (outcome.result.problem_count != 0) GTEST_SKIP() << outcome.result.problems[0].text;
  EXPECT_EQ(outcome.result.shown_equal, 1u);
}

TEST(ReplayedMemory, MemoryIsShownOnceAfterTheLaunchAndNotAfterOneThatFailed) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.bufferWith<int>({1});
  const auto k = r.kernel(r.program(kSource), "scale");
  r.argument(k, 0, b);
  r.argument(k, 1, 2);
  const auto fails = [&] { r.add(Launch{.queue = q, .kernel = k}, 0, -53); };
  fails();
  r.launch(q, k, 1);
  fails();
  r.launch(q, k, 1);
  ChildSettings settings;
  settings.run.until_launch = 1;
  settings.run.dumps = {{1, 1}, {1, 2}, {1, 0}};
  const ChildOutcome outcome = replayed(r, settings);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.launches, 1u);
  ASSERT_EQ(outcome.result.dumps.size(), 2u);
  for (const Dump& dump : outcome.result.dumps) {
    EXPECT_EQ(loadFixed<int>(dump.bytes.data()), 2) << dump.request.launch;
  }
  ASSERT_EQ(outcome.result.problems.size(), 1u);
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("memory cannot be shown"));
}

TEST(ReplayedMemory, AProgramIsBuiltAgainThoughItsKernelsAreKept) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const auto b = r.bufferWith<int>({1});
    const auto p = r.program("kernel void k(global int* a) { a[0] = a[0] * 10 + N; }", "-DN=1");
    for (const char* options : {"-DN=2", "-DN=3", ""}) {
      const auto k = r.kernel(p, "k");
      r.argument(k, 0, b);
      r.launch(q, k, 1);
      r.add(Release{.object = k, .object_class = ObjectClass::kKernel});
      if (*options != 0) r.add(BuildProgram{.program = p, .options = std::string_view(options)});
    }
    r.read<int>(q, b, {1123});
    ChildSettings settings;
    settings.run.order = order;
    settings.run.dumps = {{1, 0}};
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.problem_count, 0u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
  }
}

}  // namespace
}  // namespace tracesmith
