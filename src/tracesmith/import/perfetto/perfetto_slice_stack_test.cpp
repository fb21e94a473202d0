// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_slice_stack.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/perfetto/perfetto_source_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::at;
using test::importText;
using test::packet;
using test::process;
using test::trackEvent;
using ::testing::ElementsAre;

/// Drives a stack and records its output as "name start-end", in order.
class Track {
 public:
  void begin(int64_t now, int name, int category = 0) {
    advance(now, false);
    stack_.begin(now, StringId(name), StringId(category), std::to_string(name));
  }
  void end(int64_t now, int name, int category = 0) {
    advance(now, false);
    auto started = stack_.end(now, StringId(name), StringId(category));
    if (started) {
      write(*started, now);
    } else {
      said_.push_back("nothing");
    }
  }
  void complete(int64_t from, int64_t to) {
    advance(from, false);
    stack_.add(from, to);
  }
  void instant(int64_t now) { advance(now, true); }
  std::vector<std::string> finish() {
    for (const auto& started : stack_.open()) said_.push_back(started.event + " never");
    return said_;
  }

 private:
  using Stack = SliceStack<std::string>;
  void advance(int64_t now, bool instant) {
    stack_.advance(now, instant,
                   [&](Stack::StartedSlice&& started, int64_t end_ns) { write(started, end_ns); });
  }
  void write(const Stack::StartedSlice& started, int64_t end_ns) {
    said_.push_back(started.event + " " + std::to_string(started.start_ns) + "-" +
                    std::to_string(end_ns));
  }
  Stack stack_;
  std::vector<std::string> said_;
};

TEST(SliceStack, AnEndEndsTheInnermostSliceThatItMayBelongTo) {
  Track t;
  t.begin(10, 1);
  t.begin(20, 2);
  t.end(30, 0);  // no name: ends the innermost slice
  t.end(40, 3);  // matches no open slice
  t.end(50, 1);
  EXPECT_THAT(t.finish(), ElementsAre("2 20-30", "nothing", "1 10-50"));
}

TEST(SliceStack, CategoriesMustBeEqualWhereTheEndHasOne) {
  Track t;
  t.begin(10, 1, 5);
  t.begin(20, 1);
  t.end(30, 1, 6);
  t.end(40, 1, 5);  // the inner one has no category
  t.end(40, 1);
  EXPECT_THAT(t.finish(), ElementsAre("nothing", "1 10-40", "1 20-40"));
}

TEST(SliceStack, SlicesWithinEndWithTheOneAround) {
  Track t;
  t.begin(10, 1);
  t.begin(20, 2);
  t.begin(25, 3);
  t.end(30, 1);
  t.end(30, 3);  // not too late yet
  t.instant(31);
  t.end(40, 2);
  EXPECT_THAT(t.finish(), ElementsAre("1 10-30", "3 25-30", "2 20-30", "nothing"));
}

TEST(SliceStack, WithoutAnythingLaterTheyNeverEnd) {
  Track t;
  t.begin(10, 1);
  t.begin(20, 2);
  t.end(30, 1);
  EXPECT_THAT(t.finish(), ElementsAre("1 10-30", "2 never"));
}

TEST(SliceStack, ASliceWithItsDurationEndsWhatBeganWithin) {
  Track t;
  t.complete(10, 20);
  t.begin(15, 1);
  t.complete(30, 40);
  t.begin(40, 2);  // after its end
  t.end(50, 2);
  EXPECT_THAT(t.finish(), ElementsAre("1 15-20", "2 40-50"));
  // A slice that only overlaps others does not enclose them.
  Track overlapping;
  overlapping.complete(10, 20);
  overlapping.complete(15, 30);
  overlapping.begin(18, 1);
  overlapping.end(25, 1);
  EXPECT_THAT(overlapping.finish(), ElementsAre("1 18-20", "nothing"));
}

/// A direct implementation of the stated rules: searches a list of all slices from the start. An
/// ended slice stays in it until an event comes later than its end.
class Plain {
 public:
  void begin(int64_t now, int name) {
    advance(now);
    slices_.push_back({name, now, std::nullopt});
  }
  void end(int64_t now, int name) {
    advance(now);
    for (size_t i = slices_.size(); i-- > 0;) {
      if (slices_[i].end || (name != 0 && slices_[i].name != 0 && slices_[i].name != name))
        continue;
      write(slices_[i], now);
      slices_[i].end = now;
      return;
    }
    said_.push_back("nothing");
  }
  std::vector<std::string> finish() {
    for (const Slice& s : slices_) {
      if (!s.end) said_.push_back(std::to_string(s.name) + " never");
    }
    return said_;
  }

 private:
  struct Slice {
    int name;
    int64_t start;
    std::optional<int64_t> end;
  };
  void write(const Slice& s, int64_t end_ns) {
    said_.push_back(std::to_string(s.name) + " " + std::to_string(s.start) + "-" +
                    std::to_string(end_ns));
  }
  /// An ended slice ends the open slices inside it; slices without any are removed first.
  void advance(int64_t now) {
    for (size_t i = slices_.size(); i-- > 0;) {
      if (!slices_[i].end) continue;
      const bool innermost = i + 1 == slices_.size();
      if (innermost ? *slices_[i].end > now : *slices_[i].end >= now) continue;
      while (slices_.size() > i + 1) {
        if (!slices_.back().end) write(slices_.back(), *slices_[i].end);
        slices_.pop_back();
      }
      slices_.pop_back();
    }
  }
  std::vector<Slice> slices_;
  std::vector<std::string> said_;
};

TEST(SliceStack, EqualsItsRulesOnRandomEvents) {
  std::mt19937 random(24);
  for (int round = 0; round < 2000; ++round) {
    Track track;
    Plain plain;
    int64_t now = 0;
    for (int i = 0; i < 24; ++i) {
      now += random() % 3;
      const int name = static_cast<int>(random() % 4);
      if (random() % 2 == 0) {
        track.begin(now, name);
        plain.begin(now, name);
      } else {
        track.end(now, name);
        plain.end(now, name);
      }
    }
    ASSERT_EQ(track.finish(), plain.finish()) << "round " << round;
  }
}

/// The work per event is bounded, even if many slices never end.
TEST(SliceStack, LooksNoDeeperThanItMay) {
  Track t;
  constexpr int kOpen = 100'000;
  for (int i = 0; i < kOpen; ++i) t.begin(i, i + 1);
  for (int i = 0; i < kOpen; ++i) t.end(kOpen, kOpen + 7);
  t.end(kOpen, kOpen - 100);
  t.end(kOpen, kOpen - 1000);
  const std::vector<std::string> said = t.finish();
  EXPECT_EQ(said[kOpen], std::to_string(kOpen - 100) + " " + std::to_string(kOpen - 101) + "-" +
                             std::to_string(kOpen));
  EXPECT_EQ(said[kOpen + 1], "nothing");
  EXPECT_EQ(said.size(), size_t{kOpen} + 2 + kOpen - 1);
}

/// The same with a file; the two tracks belong to one thread.
TEST(SliceStack, IsThatOfAThread) {
  using Message = test::Message;
  const std::string second = packet(
      Message().of(60, Message().number(1, 201).of(4, Message().number(1, 4242).number(2, 77))));
  const auto got = importText(process() + second + packet(at(10).of(11, trackEvent(1, 200, "a"))) +
                              packet(at(20).of(11, trackEvent(1, 201, "b"))) +
                              packet(at(30).of(11, trackEvent(2, 200, "x"))) +
                              packet(at(40).of(11, trackEvent(2, 200, "b"))) +
                              packet(at(50).of(11, trackEvent(2, 201))));
  const RangeTable& r = got.trace.range;
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r.kind[0], RangeKind::kEnd);
  EXPECT_EQ(test::nameOf(got.trace, 0), "x");
  EXPECT_EQ(test::nameOf(got.trace, 1), "b");
  EXPECT_EQ(r.duration_ns[1], 20);
  EXPECT_EQ(test::nameOf(got.trace, 2), "a");
  EXPECT_EQ(r.duration_ns[2], 40);
}

}  // namespace
}  // namespace tracesmith::import
