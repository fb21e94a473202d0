// SPDX-License-Identifier: Apache-2.0
// Tests the ring under every interleaving and every value that a load may see; see
// memory_model_test_util.hpp. The programs are small: a ring of four words, a few records and one
// wrap-around are enough for every possible error.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tracesmith/base/memory_model_test_util.hpp"
#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/record_ring.hpp"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TS_FIBERS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TS_FIBERS 0
#endif
#endif
#ifndef TS_FIBERS
#define TS_FIBERS 1
#endif

namespace tracesmith {
namespace {

using memory_model::Explorer;

/// kStoreForExchange: the writer moves tail as if no other thread did.
enum class Mutant { kNone, kPublishRelaxed, kStoreForExchange };

/// The ring's memory in the model; a mutant omits an operation that the ring depends on.
template <Mutant mutant>
struct ModelMemory {
  struct Atomic : memory_model::Atomic {
    using memory_model::Atomic::Atomic;
    void store(uint64_t value, std::memory_order order) {
      memory_model::Atomic::store(
          value, mutant == Mutant::kPublishRelaxed ? std::memory_order_relaxed : order);
    }
    bool compare_exchange_strong(uint64_t& expected, uint64_t desired, std::memory_order success,
                                 std::memory_order failure) {
      if (mutant == Mutant::kStoreForExchange && Explorer::current().inFiber()) {
        memory_model::Atomic::store(desired, success);
        return true;
      }
      return memory_model::Atomic::compare_exchange_strong(expected, desired, success, failure);
    }
  };
  using Word = memory_model::Word;
  static uint64_t loadPlain(const Word& w) { return w.loadPlain(); }
  static void storePlain(Word& w, uint64_t v) { w.storePlain(v); }
  static uint64_t loadAcquire(const Word& w) { return w.load(std::memory_order_acquire); }
  static void storeRelease(Word& w, uint64_t v) { w.store(v, std::memory_order_release); }
};

struct Plan {
  OverflowPolicy policy;
  std::vector<uint64_t> words;  // of each record
  int drains = 2;               // while the writer is writing; one more follows at the end
  uint64_t drain_limit = UINT64_MAX;
};

constexpr uint64_t kRingWords = 4;
constexpr int kTries = 3;  // tries of a blocked writer, so that the program can end

uint64_t payload(uint64_t record, uint64_t word) { return 1000 * (record + 1) + word; }

template <Mutant mutant>
struct World {
  using Memory = ModelMemory<mutant>;
  explicit World(const Plan& p) : plan(p) {}

  void write() {
    for (uint64_t n = 0; n < plan.words.size(); ++n) {
      const uint64_t count = plan.words[n];
      const uint64_t first = ring::headerWord(1, count, static_cast<uint32_t>(n));
      if (plan.policy == OverflowPolicy::DropOldest) {
        std::vector<uint64_t> record{first};
        for (uint64_t w = 1; w < count; ++w) record.push_back(payload(n, w));
        ring.pushOverOldest(record.data(), 8 * count);
        continue;
      }
      memory_model::Word* out = ring.reserve(8 * count);
      const bool wait = plan.policy == OverflowPolicy::Block;
      for (int i = 0; out == nullptr && wait && i < kTries; ++i) out = ring.reserve(8 * count);
      if (out == nullptr) {
        ring.drop();
        gave_up += wait ? 1 : 0;
        continue;
      }
      out[0].storePlain(first);
      for (uint64_t w = 1; w < count; ++w) out[w].storePlain(payload(n, w));
      ring.commit(8 * count);
    }
  }

  void drain(uint64_t limit = UINT64_MAX) {
    auto take = [&](uint64_t first, uint64_t bytes, auto word) {
      const uint64_t n = first >> 32;
      Explorer& e = Explorer::current();
      if (n >= plan.words.size() || bytes != 8 * plan.words[n]) return e.fail("a torn header");
      for (uint64_t w = 1; w < bytes / 8; ++w) {
        if (word(w) != payload(n, w)) return e.fail("a torn record");
      }
      if (!got.empty() && got.back() >= n) return e.fail("out of order");
      got.push_back(n);
    };
    if (plan.policy == OverflowPolicy::DropOldest) {
      ring.drainCopies(
          scratch,
          [&](const uint64_t* r, uint64_t bytes) {
            take(r[0], bytes, [&](uint64_t w) { return r[w]; });
          },
          limit);
    } else {
      ring.drain(
          [&](const memory_model::Word* r, uint64_t bytes) {
            take(r[0].loadPlain(), bytes, [&](uint64_t w) { return r[w].loadPlain(); });
          },
          limit);
    }
  }

  void check() {
    drain();
    Explorer& e = Explorer::current();
    const uint64_t dropped = control.dropped;
    if (control.emitted != plan.words.size()) e.fail("emitted is wrong");
    if (got.size() + dropped != control.emitted) e.fail("delivered + dropped is not emitted");
    if (control.delivered != got.size()) e.fail("delivered is wrong");
    if (plan.policy == OverflowPolicy::Block && dropped != gave_up) e.fail("lost under Block");
    if (plan.policy == OverflowPolicy::DropOldest &&
        (got.empty() || got.back() + 1 != plan.words.size())) {
      e.fail("the newest was lost");
    }
    most_dropped = std::max(most_dropped, dropped);
    most_delivered = std::max<uint64_t>(most_delivered, got.size());
  }

  Plan plan;
  ring::Control<Memory> control;
  memory_model::Word words[kRingWords];
  ring::RecordRing<Memory> ring{control, words, 8 * kRingWords};
  uint64_t scratch[kRingWords]{};
  std::vector<uint64_t> got;
  uint64_t gave_up = 0;
  static inline uint64_t most_dropped = 0;
  static inline uint64_t most_delivered = 0;
};

template <Mutant mutant = Mutant::kNone>
std::string explore(const Plan& plan, uint64_t max_runs = 20'000'000) {
  using W = World<mutant>;
  W::most_dropped = W::most_delivered = 0;
  std::unique_ptr<W> world;
  Explorer explorer;
  explorer.explore(
      [&] {
        world = std::make_unique<W>(plan);
        return Explorer::Program{{[&] { world->write(); },
                                  [&] {
                                    for (int i = 0; i < plan.drains; ++i)
                                      world->drain(plan.drain_limit);
                                  }},
                                 [&] { world->check(); }};
      },
      max_runs);
  world.reset();
  if (!explorer.failure().empty()) return explorer.failure();
  EXPECT_TRUE(explorer.complete()) << "more than " << max_runs << " runs";
  testing::Test::RecordProperty("runs", static_cast<int>(explorer.runs()));
  std::printf("  %llu runs; %llu of %zu records dropped at most, %llu delivered at most\n",
              static_cast<unsigned long long>(explorer.runs()),
              static_cast<unsigned long long>(W::most_dropped), plan.words.size(),
              static_cast<unsigned long long>(W::most_delivered));
  // A program in which nothing happens proves nothing.
  EXPECT_EQ(W::most_delivered, plan.words.size()) << "no run delivered everything";
  return {};
}

class RecordRingModel : public testing::Test {
 protected:
  void SetUp() override {
    if (!TS_FIBERS) GTEST_SKIP() << "sanitizers do not follow fibers";
  }
};

TEST_F(RecordRingModel, DropNewestLosesOnlyWhatItCounts) {
  EXPECT_EQ(explore({OverflowPolicy::DropNewest, {1, 2, 1, 2, 1}, 3}), "");
  EXPECT_EQ(explore({OverflowPolicy::DropNewest, {2, 1, 2, 2}, 3, 8}), "");
}

TEST_F(RecordRingModel, BlockLosesNothing) {
  EXPECT_EQ(explore({OverflowPolicy::Block, {2, 1, 2, 2}, 2}), "");
  EXPECT_EQ(explore({OverflowPolicy::Block, {1, 2, 2}, 3, 8}), "");
}

TEST_F(RecordRingModel, DropOldestGivesEachRecordToOneSide) {
  EXPECT_EQ(explore({OverflowPolicy::DropOldest, {1, 2, 1, 2}, 2}), "");
  EXPECT_EQ(explore({OverflowPolicy::DropOldest, {2, 2, 2, 2}, 2}), "");
  EXPECT_EQ(explore({OverflowPolicy::DropOldest, {1, 1, 1, 1, 2}, 2}), "");
  EXPECT_EQ(explore({OverflowPolicy::DropOldest, {1, 2, 2, 1}, 2, 8}), "");
}

TEST_F(RecordRingModel, FindsWhatIsWrongWithMutants) {
  EXPECT_NE(explore<Mutant::kPublishRelaxed>({OverflowPolicy::DropNewest, {1, 2, 1, 2}, 2}), "");
  EXPECT_NE(explore<Mutant::kPublishRelaxed>({OverflowPolicy::DropOldest, {2, 2, 2}, 1}), "");
  EXPECT_NE(explore<Mutant::kStoreForExchange>({OverflowPolicy::DropOldest, {2, 2, 2, 2}, 1}), "");
}

}  // namespace
}  // namespace tracesmith
