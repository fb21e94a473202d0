// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_limits.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"
#include "tracesmith/topology/topology_rows.hpp"

namespace tracesmith {
namespace {

using test::CommTrace;
using topology::Link;
using topology::LinkType;
using topology::NodeIndex;
using topology::NodeKind;
using topology::Topology;

/// GPUs with PCIe of 64 GB/s; more nodes and links are added.
Topology gpus(uint32_t count) {
  Topology machine;
  machine.nodes.push_back({.kind = NodeKind::kMachine});
  machine.nodes.push_back({.kind = NodeKind::kHostBridge, .parent = 0});
  for (uint32_t i = 0; i < count; ++i) {
    machine.nodes.push_back({.kind = NodeKind::kGpu,
                             .parent = 1,
                             .number = static_cast<int32_t>(i),
                             .pci = topology::PciAddress{.bus = static_cast<uint8_t>(16 + i)},
                             .uplink_type = LinkType::kPcie,
                             .uplink_gbps = 64});
  }
  return machine;
}
constexpr NodeIndex gpu(uint32_t number) { return 2 + number; }

/// As a machine of 8 GPUs with NVSwitches: 18 links of 25 GB/s from each GPU to switches.
Topology switched() {
  Topology machine = gpus(8);
  machine.nodes.push_back({.kind = NodeKind::kNvSwitch, .parent = 0});
  for (uint32_t i = 0; i < 8; ++i) {
    machine.links.push_back({.a = gpu(i),
                             .b = static_cast<NodeIndex>(machine.nodes.size() - 1),
                             .type = LinkType::kNvLink,
                             .count = 18,
                             .gbps_ab = 450,
                             .gbps_ba = 450});
  }
  return machine;
}

std::vector<GpuRates> ratesOf(const Topology& machine, const std::vector<NodeIndex>& of) {
  return gpuRates(topology::Routes(machine), of);
}
std::vector<NodeIndex> first(uint32_t count) {
  std::vector<NodeIndex> nodes;
  for (uint32_t i = 0; i < count; ++i) nodes.push_back(gpu(i));
  return nodes;
}

TEST(CommLimits, SwitchesAreSharedByAllOthers) {
  const Topology machine = switched();
  const auto rates = ratesOf(machine, first(8));
  ASSERT_EQ(rates.size(), 8u);
  EXPECT_DOUBLE_EQ(rates[0].out_gbps, 450);
  EXPECT_TRUE(rates[0].is_switched);
  EXPECT_DOUBLE_EQ(*highestBusBandwidth(CollectiveOp::kAllGather, rates), 450e9);
  // Switches can add up: 485 GB/s were measured on such a machine.
  EXPECT_DOUBLE_EQ(*highestBusBandwidth(CollectiveOp::kAllReduce, rates), 450e9 * 2 * 7 / 8);
}

TEST(CommLimits, DirectLinksAddUp) {
  Topology machine = gpus(4);
  for (uint32_t a = 0; a < 4; ++a) {
    for (uint32_t b = a + 1; b < 4; ++b) {
      machine.links.push_back({.a = gpu(a),
                               .b = gpu(b),
                               .type = LinkType::kXgmi,
                               .count = 1,
                               .gbps_ab = 64,
                               .gbps_ba = 64});
    }
  }
  const auto rates = ratesOf(machine, first(4));
  EXPECT_DOUBLE_EQ(rates[0].out_gbps, 3 * 64);
  EXPECT_FALSE(rates[0].is_switched);
  EXPECT_DOUBLE_EQ(*highestBusBandwidth(CollectiveOp::kAllReduce, rates), 3 * 64e9)
      << "without switches no GPU can send less than the others on average";
  EXPECT_DOUBLE_EQ(ratesOf(machine, first(2))[0].out_gbps, 64) << "links to others do not count";
}

TEST(CommLimits, PcieIsOneWayToAll) {
  const Topology machine = gpus(4);
  EXPECT_DOUBLE_EQ(ratesOf(machine, first(4))[0].out_gbps, 64);
}

TEST(CommLimits, AnUnknownRateLimitsNothing) {
  Topology machine = gpus(2);
  machine.nodes[gpu(1)].uplink_gbps = 0;
  EXPECT_TRUE(ratesOf(machine, first(2)).empty());
  EXPECT_FALSE(highestBusBandwidth(CollectiveOp::kAllReduce, {}));
  EXPECT_FALSE(highestBusBandwidth(CollectiveOp::kBarrier, ratesOf(switched(), first(8))));
}

/// One process with n GPUs, which are the first of the machine.
CommTrace traceOf(const Topology& machine, uint32_t count) {
  CommTrace made(1);
  topology::appendRows(machine, made.trace);
  for (uint32_t i = 0; i < count; ++i) {
    made.trace.device.push(
        {.id = idAt<DeviceId>(i),
         .kind = DeviceKind::kGpu,
         .pci_address = made.text(topology::toString(*machine.nodes[gpu(i)].pci))});
    made.trace.stream.push({.id = idAt<StreamId>(i),
                            .process_id = ProcessId{1},
                            .device_id = idAt<DeviceId>(i),
                            .handle = 100 + i});
    const CommunicatorId id = made.communicator(0, 7, i, count, "", "", "NCCL");
    CommRow& row = made.call(0, id, "ncclAllReduce", CommKind::kCollective, 100, 5);
    row.stream = 100 + i;
    made.add();
  }
  return made;
}

std::optional<double> limitOf(const CommTrace& made) {
  const JobCommunicators job(made.trace);
  const auto operations = commOperations(made.trace, job, made.deviceOps());
  return CommLimits(made.trace, operations, job).of(0, CollectiveOp::kAllGather);
}

TEST(CommLimits, OfATraceWithTheTopologyOfItsHost) {
  CommTrace made = traceOf(switched(), 8);
  EXPECT_DOUBLE_EQ(limitOf(made).value_or(0), 450e9);
  made.trace.communicator.ranks.back() = 9;
  EXPECT_FALSE(limitOf(made)) << "a rank is not in the trace";
  CommTrace unknown = traceOf(switched(), 8);
  unknown.trace.device.pci_address[3] = StringId::kNone;
  EXPECT_FALSE(limitOf(unknown));
  CommTrace without = traceOf(switched(), 8);
  without.trace.topology_node.clear();
  EXPECT_FALSE(limitOf(without));
}

}  // namespace
}  // namespace tracesmith
