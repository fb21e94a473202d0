// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tracesmith/api/memory_profiler.hpp"

namespace tracesmith {
namespace {

MemoryReport report() {
  const std::vector<MemoryEvent> events = {
      {.timestamp = 1'000'000, .bytes = 4096, .ptr = 0x10000, .allocator_name = "pool \"1\""},
      {.timestamp = 2'000'000,
       .device_id = 1,
       .bytes = 1 << 20,
       .ptr = 0x20000,
       .allocator_name = "direct"},
      {.timestamp = 3'000'000, .ptr = 0x10000, .is_allocation = false},
      {.timestamp = 4'000'000, .ptr = 0x10000, .is_allocation = false},
  };
  return MemoryProfiler::of(events, {.leak_threshold_ns = 1'000'000}).generateReport();
}

TEST(MemoryReport, AsJson) {
  const auto json = nlohmann::json::parse(report().toJSON());
  EXPECT_EQ(json["total_allocations"], 2);
  EXPECT_EQ(json["peak_memory_usage"], 4096 + (1 << 20));
  EXPECT_EQ(json["double_frees"], 1);
  EXPECT_EQ(json["fragmentation"]["free_block_count"], 1);
  EXPECT_EQ(json["potential_leaks"][0]["ptr"], 0x20000);
  EXPECT_EQ(json["allocator_stats"]["pool \"1\""]["frees"], 1);
  EXPECT_EQ(json["device_stats"]["1"]["current_usage"], 1 << 20);
  EXPECT_EQ(json["allocation_size_histogram"]["4096"], 1);
  EXPECT_EQ(json["timeline"][1]["device_usage"]["0"], 4096);
  EXPECT_EQ(json["timeline"].size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(MemoryReport().toJSON())["fragmentation"], nullptr);
}

TEST(MemoryReport, AsText) {
  EXPECT_EQ(report().summary(),
            "profiled         3.00 ms\n"
            "peak             1.00 MiB\n"
            "now              1.00 MiB\n"
            "device 0         4.00 KiB at most, 0 B now\n"
            "device 1         1.00 MiB at most, 1.00 MiB now\n"
            "allocations      2, 1.00 MiB\n"
            "frees            1, 4.00 KiB\n"
            "sizes            4.00 KiB to 1.00 MiB, 514 KiB on average\n"
            "lifetime         2.00 ms on average\n"
            "free blocks      1, 4.00 KiB, the largest 4.00 KiB: fragmentation 0.0 %\n"
            "double frees     1\n"
            "allocator        direct: 1 allocations, 1.00 MiB at most, 1.00 MiB now\n"
            "allocator        pool \"1\": 1 allocations, 4.00 KiB at most, 0 B now\n"
            "potential leaks  1, 1.00 MiB\n"
            "                 1.00 MiB at 0x20000 on device 1, 2.00 ms old, direct\n");
}

TEST(MemoryReport, OfTheLargestSizesThereAre) {
  MemoryProfiler profiler;
  profiler.start();
  profiler.recordAlloc(1, std::numeric_limits<uint64_t>::max());
  profiler.stop();
  EXPECT_THAT(profiler.generateReport().summary(), testing::HasSubstr("16.0 EiB on average"));
}

}  // namespace
}  // namespace tracesmith
