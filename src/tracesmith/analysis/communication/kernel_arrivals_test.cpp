// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/kernel_arrivals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace tracesmith {
namespace {

using ::testing::IsEmpty;

constexpr std::string_view kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)";
constexpr std::string_view kSendRecv = "ncclDevKernel_SendRecv(args)";

/// Kernels on devices, and no calls.
class KernelTrace {
 public:
  void kernel(uint32_t device, int64_t begin, int64_t end, std::string_view name = kAllReduce) {
    while (trace.device.size() <= device) {
      const auto at = static_cast<uint32_t>(trace.device.size());
      trace.device.push({.id = idAt<DeviceId>(at), .kind = DeviceKind::kGpu});
      trace.stream.push({.id = idAt<StreamId>(at), .device_id = idAt<DeviceId>(at)});
    }
    trace.kernel.push({.start_ns = begin,
                       .duration_ns = end - begin,
                       .name = trace.strings.intern(name),
                       .stream_id = idAt<StreamId>(device)});
  }
  AllKernelArrivals arrivals() const { return kernelArrivals(trace, DeviceOps::of(trace)); }

  Trace trace;
};

TEST(KernelArrivals, TheLastToStartIsTheOneThatOthersWaitFor) {
  KernelTrace made;
  for (int64_t i = 0; i < 10; ++i) {
    made.kernel(0, 1000 * i, 1000 * i + 500);
    made.kernel(1, 1000 * i + (i == 3 ? 0 : 100), 1000 * i + 500);
    made.kernel(2, 1000 * i + (i == 3 ? 0 : 400), 1000 * i + 500);
  }
  const AllKernelArrivals all = made.arrivals();
  ASSERT_EQ(all.kernels.size(), 1u);
  const KernelArrivals& found = all.kernels[0];
  EXPECT_EQ(found.collectives, 10u);
  EXPECT_EQ(found.compared, 9u) << "once all came at the same time";
  EXPECT_EQ(found.unmatched, 0u);
  ASSERT_EQ(found.devices.size(), 3u);
  EXPECT_EQ(found.devices[2].times_last, 9u);
  EXPECT_EQ(found.devices[2].late_ns, 9 * 300);
  EXPECT_EQ(found.devices[2].caused_ns, 9 * (400 + 300));
  EXPECT_EQ(found.devices[0].waited_ns, 9 * 400);
  EXPECT_EQ(found.devices[1].times_last, 0u);
  EXPECT_EQ(found.spread_ns.p50, 400);
}

TEST(KernelArrivals, WhatAWindowCutsOffHasNoPartner) {
  KernelTrace made;
  for (int64_t i = 0; i < 40; ++i) {
    if (i > 0) made.kernel(0, 1000 * i, 1000 * i + 500);
    if (i < 39) made.kernel(1, 1000 * i + 10, 1000 * i + 510);
  }
  const AllKernelArrivals all = made.arrivals();
  ASSERT_EQ(all.kernels.size(), 1u);
  EXPECT_EQ(all.kernels[0].collectives, 38u);
  EXPECT_EQ(all.kernels[0].unmatched, 2u);
  EXPECT_EQ(all.kernels[0].devices[1].times_last, 38u);
}

TEST(KernelArrivals, OfUnknownGroupsNothingIsSaid) {
  KernelTrace apart;  // two groups: each does its own at another time
  for (int64_t i = 0; i < 10; ++i) {
    apart.kernel(0, 1000 * i, 1000 * i + 100);
    apart.kernel(1, 1000 * i + 500, 1000 * i + 600);
  }
  EXPECT_THAT(apart.arrivals().kernels, IsEmpty());
  EXPECT_EQ(apart.arrivals().unknown_groups, 1u);
  KernelTrace messages;
  for (uint32_t device = 0; device < 3; ++device) messages.kernel(device, 0, 100, kSendRecv);
  EXPECT_THAT(messages.arrivals().kernels, IsEmpty());
  KernelTrace pair;
  for (uint32_t device = 0; device < 2; ++device) pair.kernel(device, device, 100, kSendRecv);
  EXPECT_EQ(pair.arrivals().kernels.size(), 1u);
  KernelTrace alone;
  alone.kernel(0, 0, 100);
  EXPECT_EQ(alone.arrivals().unknown_groups, 0u);
}

TEST(KernelArrivals, TheBoundOfTheClocksCounts) {
  KernelTrace made;
  made.kernel(0, 0, 1000);
  made.kernel(1, 50, 1000);
  made.kernel(0, 2000, 3000);
  made.kernel(1, 2300, 3000);
  made.trace.clock_snapshot.push({.error_ns = 60});  // of each device: together 120
  const AllKernelArrivals all = made.arrivals();
  ASSERT_EQ(all.kernels.size(), 1u);
  EXPECT_EQ(all.kernels[0].collectives, 2u);
  EXPECT_EQ(all.kernels[0].compared, 1u);
  EXPECT_EQ(all.kernels[0].devices[0].waited_ns, 300);
}

}  // namespace
}  // namespace tracesmith
