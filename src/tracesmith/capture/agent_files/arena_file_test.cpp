// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agent_files/arena_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <bit>

#include "tracesmith/capture/protocol/arena_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

TEST(ArenaFile, OpensWhatAnAgentMakes) {
  const test::TempDirectory dir;
  test::TestArenaHeader h(77);
  test::writeArena(dir / "77.1.0.arena", h, h.file_bytes);
  auto file = ArenaFile::open(dir / "77.1.0.arena");
  ASSERT_TRUE(file) << file.error().toString();
  EXPECT_EQ(file->name(), "77.1.0.arena");
  EXPECT_EQ(file->header().pid, 77u);
  EXPECT_EQ(file->ringCount(), arena::kRingsPerArena);
  // The last byte of the last ring is mapped.
  EXPECT_EQ(file->ringData(file->ringCount() - 1)[file->ringBytes() - 1], 0);
}

struct Bad {
  const char* name;
  void (*bend)(arena::ArenaHeader&);
  ErrorCode code;
};

class ArenaHeaderTest : public ::testing::TestWithParam<Bad> {};

TEST_P(ArenaHeaderTest, IsRefused) {
  const test::TempDirectory dir;
  test::TestArenaHeader h(77);
  const uint64_t bytes = h.file_bytes;
  GetParam().bend(h);
  test::writeArena(dir / "bent", h, bytes);
  const auto file = ArenaFile::open(dir / "bent");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, GetParam().code);
  EXPECT_THAT(file.error().toString(), HasSubstr("bent"));
}

INSTANTIATE_TEST_SUITE_P(
    , ArenaHeaderTest,
    ::testing::Values(
        Bad{"NoMagic", [](auto& h) { h.magic ^= 1; }, ErrorCode::kDamaged},
        Bad{"AnotherVersion", [](auto& h) { h.version = 9; }, ErrorCode::kTooNew},
        Bad{"NoRings", [](auto& h) { h.ring_count = 0; }, ErrorCode::kDamaged},
        Bad{"OneRingTooMany", [](auto& h) { ++h.ring_count; }, ErrorCode::kDamaged},
        Bad{"AbsurdlyManyRings", [](auto& h) { h.ring_count = UINT32_MAX; }, ErrorCode::kDamaged},
        Bad{"OddRingSize", [](auto& h) { h.ring_bytes -= 8; }, ErrorCode::kDamaged},
        Bad{"RingBeyondTheFile", [](auto& h) { h.ring_bytes *= 2; }, ErrorCode::kDamaged},
        Bad{"AbsurdRing", [](auto& h) { h.ring_bytes = uint64_t{1} << 63; }, ErrorCode::kDamaged},
        Bad{"TinyRing", [](auto& h) { h.ring_bytes = 8; }, ErrorCode::kDamaged},
        Bad{"DataOverTheHeader", [](auto& h) { h.data_offset = 0; }, ErrorCode::kDamaged},
        Bad{"DataFarAway", [](auto& h) { h.data_offset = UINT64_MAX - 4095; },
            ErrorCode::kDamaged}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(ArenaFile, RefusesWhatIsShortOrNoFile) {
  const test::TempDirectory dir;
  const test::TestArenaHeader h(77);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{4096},
                               h.data_offset, h.file_bytes - 1}) {
    test::writeArena(dir / "short", h, bytes);
    EXPECT_FALSE(ArenaFile::open(dir / "short")) << bytes;
  }
  EXPECT_EQ(ArenaFile::open(dir / "absent").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(ArenaFile::open(dir.path()));
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(ArenaFile::open(dir / "fifo"));  // and open() does not wait for a writer
  test::writeArena(dir / "real", h, h.file_bytes);
  ASSERT_EQ(symlink((dir / "real").c_str(), (dir / "link").c_str()), 0);
  EXPECT_FALSE(ArenaFile::open(dir / "link")) << "a link leads out of the session's directory";
}

TEST(ArenaFile, RefusesAnyRandomHeaderWithoutReadingBeyondTheFile) {
  const test::TempDirectory dir;
  std::mt19937_64 chance(5);
  for (int i = 0; i < 300; ++i) {
    test::TestArenaHeader h(77);
    const uint64_t bytes = h.file_bytes;
    auto* raw = reinterpret_cast<uint8_t*>(&h);
    for (int k = 0; k < 3; ++k) raw[8 + chance() % 48] = static_cast<uint8_t>(chance());
    test::writeArena(dir / "bent", h, bytes);
    auto file = ArenaFile::open(dir / "bent");
    if (!file) continue;
    uint64_t sum = file->ring(file->ringCount() - 1).head.load();
    sum += file->ringData(file->ringCount() - 1)[file->ringBytes() - 1];
    EXPECT_EQ(sum, 0u);
  }
}

/// A ring that ends at a page that cannot be read.
class FencedRing {
 public:
  FencedRing() {
    base_ =
        mmap(nullptr, kBytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(data() + kBytes, 4096, PROT_NONE), 0);
  }
  ~FencedRing() { munmap(base_, kBytes + 4096); }
  FencedRing(const FencedRing&) = delete;
  FencedRing& operator=(const FencedRing&) = delete;
  static constexpr uint64_t kBytes = 4096;
  uint8_t* data() { return static_cast<uint8_t*>(base_); }
  void put(uint64_t position, const Bytes& bytes) {
    std::memcpy(data() + position % kBytes, bytes.data(), bytes.size());
  }

 private:
  void* base_;
};

TEST(RecordWalk, GivesRecordsAndSkipsThePadAtTheEnd) {
  FencedRing ring;
  const Bytes first = test::completeRecord(1);  // 48 bytes
  const Bytes second = test::completeRecord(2);
  const uint64_t begin = 5 * FencedRing::kBytes - 64;
  ring.put(begin, first);
  Bytes pad;
  putFixed(pad, arena::RecordHeader{arena::RecordKind::kPad, 0, 0, 2});
  ring.put(begin + 48, pad);
  ring.put(begin + 64, second);
  RecordWalk walk(ring.data(), FencedRing::kBytes, begin, begin + 64 + 48);
  const ByteView one = walk.next();
  EXPECT_EQ(Bytes(one.begin(), one.end()), first);
  const ByteView two = walk.next();
  EXPECT_EQ(Bytes(two.begin(), two.end()), second);
  EXPECT_TRUE(walk.next().empty());
  EXPECT_FALSE(walk.damaged());
  EXPECT_EQ(walk.position(), begin + 64 + 48);
}

TEST(RecordWalk, EndsAtWhatMakesNoSense) {
  const auto damaged = [](const arena::RecordHeader& header, uint64_t begin, uint64_t end) {
    FencedRing ring;
    Bytes bytes;
    putFixed(bytes, header);
    if (begin % FencedRing::kBytes <= FencedRing::kBytes - 8) ring.put(begin, bytes);
    RecordWalk walk(ring.data(), FencedRing::kBytes, begin, end);
    EXPECT_TRUE(walk.next().empty());
    EXPECT_EQ(walk.position(), begin);
    return walk.damaged();
  };
  using arena::RecordKind;
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 0, 0}, 0, 48)) << "no length";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 7, 0}, 0, 48)) << "longer than what was written";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 2, 0}, 4088, 4104)) << "over the end of the ring";
  EXPECT_TRUE(damaged({RecordKind::kPad, 0, 0, 0}, 0, 48)) << "no length";
  EXPECT_TRUE(damaged({RecordKind::kPad, 0, 0, UINT32_MAX}, 0, 48)) << "beyond everything";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 1, 0}, 0, 4104)) << "more than a ring can hold";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 1, 0}, 48, 0)) << "end before begin";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 1, 0}, UINT64_MAX - 7, 8)) << "the same, but close";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 1, 0}, 4092, 4100)) << "not a record's place";
  EXPECT_TRUE(damaged({RecordKind::kCall, 0, 1, 0}, 0, 12)) << "not a record's end";
}

TEST(RecordWalk, NeverLeavesTheRingOnRandomBytes) {
  FencedRing ring;
  std::mt19937_64 chance(9);
  uint64_t given = 0;
  for (int i = 0; i < 20'000; ++i) {
    for (uint64_t at = 0; at < FencedRing::kBytes; at += 8) {
      const uint64_t words = chance() % 40;
      const uint64_t any = chance();
      // Mostly plausible headers: a kind, and a length of some words.
      const uint64_t value = any % 20 == 0 ? any : (any % 13) | words << 16 | words << 32;
      std::memcpy(ring.data() + at, &value, sizeof value);
      if (i % 200 != 0) at += 8 * (chance() % 64);
    }
    uint64_t begin = chance() % (3 * FencedRing::kBytes);
    if (i % 10 != 0) begin &= ~uint64_t{7};
    const uint64_t end = i % 50 == 0 ? chance() : begin + chance() % (FencedRing::kBytes + 64);
    RecordWalk walk(ring.data(), FencedRing::kBytes, begin, end);
    for (ByteView r = walk.next(); !r.empty(); r = walk.next()) {
      ASSERT_GE(r.data(), ring.data());
      ASSERT_LE(r.data() + r.size(), ring.data() + FencedRing::kBytes);
      ASSERT_GE(r.size(), 8u);
      given += r.size();
    }
    ASSERT_LE(walk.position() - begin, FencedRing::kBytes);
  }
  EXPECT_GT(given, 0u);
}

TEST(ArenaLayout, LaterArenasOfAProcessHaveMoreAndSmallerRings) {
  for (const uint64_t first : {arena::kMinRingBytes, uint64_t{4} << 20, arena::kMaxRingBytes}) {
    uint64_t before = first;
    for (uint32_t n = 0; n < arena::kMaxArenasPerProcess; ++n) {
      const uint64_t bytes = arena::ringBytesOf(n, first);
      EXPECT_TRUE(std::has_single_bit(bytes)) << n;
      EXPECT_GE(bytes, arena::kMinRingBytes) << n;
      EXPECT_LE(bytes, before) << n;
      EXPECT_GE(arena::ringCountOf(n), arena::kRingsPerArena) << n;
      before = bytes;
    }
    EXPECT_EQ(arena::ringBytesOf(0, first), first);
  }
  uint32_t arenas = 0, rings = 0;
  uint64_t bytes = 0;
  for (; rings < 1000; ++arenas) {
    rings += arena::ringCountOf(arenas);
    bytes += arena::ringCountOf(arenas) * arena::ringBytesOf(arenas, 4u << 20);
  }
  EXPECT_EQ(arenas, 41u);
  EXPECT_EQ(bytes, uint64_t{276} << 20);
}

}  // namespace
}  // namespace tracesmith
