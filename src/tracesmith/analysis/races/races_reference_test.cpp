// SPDX-License-Identifier: Apache-2.0
// Small random programs: the result must match the definition.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tracesmith/analysis/races/races_test_util.hpp"

namespace tracesmith::races {
namespace {

using test::SlowRaces;

struct Shape {
  bool out_of_order = false;
  bool user_events = false;
  uint32_t threads = 1;
  bool all_grades = true;
};

/// A program with editable steps, so that waits can be added.
struct Draft {
  struct Item {
    Step step;
    std::vector<StepId> waits;
    std::vector<Access> accesses;
  };
  std::vector<bool> streams;
  std::vector<Item> items;

  Program program() const {
    Program program;
    for (const bool out_of_order : streams) program.addStream(out_of_order);
    for (const Item& item : items) program.add(item.step, item.waits, item.accesses);
    return program;
  }
};

Draft randomDraft(std::mt19937_64& random, const Shape& shape) {
  const auto below = [&](uint64_t n) { return random() % n; };
  Draft draft;
  const auto streams = static_cast<uint32_t>(1 + below(3));
  for (uint32_t s = 0; s < streams; ++s) {
    draft.streams.push_back(shape.out_of_order && below(2) == 0);
  }
  const auto steps = static_cast<StepId>(2 + below(14));
  std::vector<StepId> user_events;
  for (StepId id = 0; id < steps; ++id) {
    Draft::Item item;
    Step& step = item.step;
    step.thread = static_cast<uint32_t>(below(shape.threads));
    step.stream = static_cast<uint32_t>(below(streams));
    const uint64_t what = below(20);
    if (what < 12) {
      step.kind = StepKind::kOperation;
    } else if (what == 12) {
      step.kind = StepKind::kMarker;
    } else if (what == 13) {
      step.kind = StepKind::kBarrier;
    } else if (what < 16) {
      step.kind = StepKind::kHostWait;
      if (below(2) == 0) step.stream = kNone;
    } else if (what < 18 || !shape.user_events) {
      step.kind = StepKind::kHostAccess;
      step.stream = kNone;
    } else if (what == 18 || user_events.empty()) {
      step.kind = StepKind::kUserEvent;
      step.stream = kNone;
      user_events.push_back(id);
    } else {
      step.kind = StepKind::kSetUserEvent;
      step.stream = kNone;
      step.target = user_events[below(user_events.size())];
    }
    step.blocking = isOfStream(step.kind) && below(8) == 0;
    const bool can_wait = step.kind != StepKind::kUserEvent && step.kind != StepKind::kSetUserEvent;
    while (can_wait && id > 0 && below(3) == 0) {
      const auto wait = static_cast<StepId>(below(id));
      const StepKind kind = draft.items[wait].step.kind;
      if (isOfStream(kind) || kind == StepKind::kUserEvent) item.waits.push_back(wait);
    }
    if (step.kind == StepKind::kOperation || step.kind == StepKind::kHostAccess) {
      for (uint64_t a = 0, n = 1 + below(3); a < n; ++a) {
        const uint64_t begin = below(SlowRaces::kBytes);
        item.accesses.push_back(
            {.begin = begin,
             .end = begin + below(SlowRaces::kBytes - begin + 1),
             .allocation = static_cast<uint32_t>(below(SlowRaces::kAllocations)),
             .is_write = below(2) == 0,
             .grade = static_cast<Grade>(shape.all_grades ? below(3) : 0)});
      }
    }
    draft.items.push_back(std::move(item));
  }
  return draft;
}

std::vector<Race> fast(const Program& program, Grade weakest) {
  std::vector<Race> races;
  forEachRace(program, {.weakest = weakest}, [&](const Race& race) { races.push_back(race); });
  return races;
}

std::string describe(const Draft& draft, const std::vector<Race>& a, const std::vector<Race>& b) {
  std::string text;
  for (size_t i = 0; i < draft.items.size(); ++i) {
    const Draft::Item& item = draft.items[i];
    text += std::to_string(i) + " kind " + std::to_string(static_cast<int>(item.step.kind)) +
            " thread " + std::to_string(item.step.thread) + " stream " +
            std::to_string(static_cast<int>(item.step.stream)) +
            (item.step.blocking ? " blocking" : "") + " target " +
            std::to_string(static_cast<int>(item.step.target)) + " waits";
    for (const StepId wait : item.waits) text += " " + std::to_string(wait);
    for (const Access& x : item.accesses) {
      text += std::string(x.is_write ? "  w" : "  r") + std::to_string(static_cast<int>(x.grade)) +
              " " + std::to_string(x.allocation) + ":" + std::to_string(x.begin) + "-" +
              std::to_string(x.end);
    }
    text += "\n";
  }
  for (const auto* list : {&a, &b}) {
    text += "--\n";
    for (const Race& race : *list) {
      text += std::to_string(race.first) + " " + std::to_string(race.second) + " of " +
              std::to_string(race.allocation) + " " + std::to_string(race.begin) + "-" +
              std::to_string(race.end) + " " + std::to_string(race.bytes) + " bytes " +
              std::string(toString(race.grade)) + " " + std::string(toString(race.conflict)) + "\n";
    }
  }
  return text;
}

void expectSame(const Shape& shape, uint64_t seed, int programs) {
  std::mt19937_64 random(seed);
  size_t races = 0;
  for (int i = 0; i < programs; ++i) {
    const Draft draft = randomDraft(random, shape);
    const Program program = draft.program();
    const SlowRaces slow(program);
    for (const Grade weakest : {Grade::kProven, Grade::kLikely, Grade::kPossible}) {
      const std::vector<Race> found = fast(program, weakest);
      const std::vector<Race> right = slow.races(weakest);
      races += right.size();
      ASSERT_EQ(found, right) << "program " << i << "\n" << describe(draft, found, right);
    }
  }
  EXPECT_GT(races, static_cast<size_t>(programs)) << "the programs are of use";
}

TEST(RacesAgainstTheDefinition, OneThreadAndInOrderStreams) { expectSame({}, 1, 1500); }

TEST(RacesAgainstTheDefinition, SeveralThreads) { expectSame({.threads = 3}, 2, 1500); }

TEST(RacesAgainstTheDefinition, UserEvents) {
  expectSame({.user_events = true, .threads = 2}, 3, 1500);
}

/// The finder chooses the chains of an out-of-order stream. So of several ordered readers it may
/// report any set that includes the last ones.
TEST(RacesAgainstTheDefinition, OutOfOrderStreams) {
  std::mt19937_64 random(4);
  size_t races = 0;
  for (int i = 0; i < 2500; ++i) {
    const Draft draft = randomDraft(
        random, {.out_of_order = true, .user_events = i % 2 == 0, .threads = 1 + i % 3u});
    const Program program = draft.program();
    const SlowRaces slow(program);
    const std::vector<Race> found = fast(program, Grade::kPossible);
    const std::vector<Race> most = slow.races(Grade::kPossible, false, true);
    races += most.size();
    std::set<std::tuple<StepId, StepId, uint32_t>> named;
    for (const Race& race : found) {
      named.insert({race.first, race.second, race.allocation});
      const auto same = std::find_if(most.begin(), most.end(), [&](const Race& other) {
        return other.first == race.first && other.second == race.second &&
               other.allocation == race.allocation;
      });
      ASSERT_NE(same, most.end()) << describe(draft, found, most);
      // A reader after this one may account for some bytes or a more certain grade.
      ASSERT_GE(race.grade, same->grade) << describe(draft, found, most);
      if (race.conflict != Conflict::kReadWrite && same->conflict != Conflict::kReadWrite &&
          race.grade == same->grade) {
        ASSERT_LE(race.bytes, same->bytes) << describe(draft, found, most);
      }
    }
    for (const Race& race : most) {
      if (named.contains({race.first, race.second, race.allocation})) continue;
      ASSERT_EQ(race.conflict, Conflict::kReadWrite) << describe(draft, found, most);
      ASSERT_TRUE(std::any_of(found.begin(), found.end(), [&](const Race& other) {
        return other.second == race.second && other.allocation == race.allocation &&
               slow.before(race.first, other.first);
      })) << describe(draft, found, most);
    }
  }
  EXPECT_GT(races, 5000u) << "the programs are of use";
}

TEST(RacesAgainstTheDefinition, NothingRacesOnceTheMissingWaitsAreAdded) {
  std::mt19937_64 random(5);
  size_t fixed = 0;
  for (int i = 0; i < 1000; ++i) {
    Draft draft = randomDraft(
        random, {.out_of_order = i % 2 == 0, .user_events = i % 3 == 0, .threads = 1 + i % 2u});
    const Program before = draft.program();
    const SlowRaces slow_before(before);
    const std::vector<Race> found = fast(before, Grade::kPossible);
    EXPECT_EQ(found.empty(), slow_before.races(Grade::kPossible, true).empty());
    for (const Race& race : found) draft.items[race.second].waits.push_back(race.first);
    const Program program = draft.program();
    EXPECT_TRUE(fast(program, Grade::kPossible).empty());
    const SlowRaces slow(program);
    // A step that now waits may be one that threads waited for; all steps that happened still
    // happen.
    EXPECT_GE(slow.steps().size() + 0, slow_before.steps().size());
    EXPECT_TRUE(slow.races(Grade::kPossible, true).empty());
    fixed += found.size();
  }
  EXPECT_GT(fixed, 2000u);
}

}  // namespace
}  // namespace tracesmith::races
