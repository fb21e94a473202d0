// SPDX-License-Identifier: Apache-2.0
// Loading and replaying stop when cancelled, and can be repeated.
#include <gtest/gtest.h>

#include "tracesmith/base/cancellation_test_util.hpp"
#include "tracesmith/replay/replay_engine.hpp"

namespace tracesmith {
namespace {

TEST(ReplayEngine, EndsAtEachOfItsStepsWhenItIsCancelled) {
  std::vector<TraceEvent> events;
  for (uint64_t i = 0; i < 20'000; ++i) {
    TraceEvent& event = events.emplace_back(EventType::KernelComplete, 1000 + 100 * i);
    event.duration = 90;
    event.correlation_id = i + 1;
    event.stream_id = static_cast<uint32_t>(i % 3);
  }
  ReplayEngine engine;
  Status loaded;
  EXPECT_GT(test::ended([&] { loaded = engine.loadEvents(events); },
                        [&] {
                          if (!loaded) {
                            EXPECT_EQ(loaded.error().message, "interrupted");
                          }
                          EXPECT_EQ(engine.replay().operations_total, loaded ? 20'000u : 0u);
                        }),
            5);
  ReplayResult result;
  EXPECT_GT(test::ended([&] { result = engine.replay(); },
                        [&] {
                          if (!result.errors.empty()) {
                            EXPECT_EQ(result.errors[0], "interrupted");
                          }
                          EXPECT_EQ(engine.replay().operations_simulated, 20'000u);
                        }),
            3);
}

}  // namespace
}  // namespace tracesmith
