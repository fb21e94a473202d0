// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/topology_rows.hpp"

#include <gtest/gtest.h>

#include "tracesmith/topology/topology_builder.hpp"

namespace tracesmith::topology {
namespace {

Topology twoGpus() {
  TopologyBuilder builder("a test");
  const NodeIndex numa = builder.add(NodeKind::kNuma, builder.machine());
  builder[numa].cpus = "0-3";
  const NodeIndex bridge = builder.add(NodeKind::kHostBridge, numa);
  const NodeIndex nic = builder.add(NodeKind::kNic, bridge);
  builder[nic].name = "mlx5_0";
  builder[nic].network_gbps = 50;
  builder[nic].pci = pciAddress("0000:01:00.0");
  builder.setPcieUplink(nic, 32, 16);
  NodeIndex gpus[2];
  for (NodeIndex& gpu : gpus) {
    gpu = builder.add(NodeKind::kGpu, bridge);
    builder[gpu].vendor = "NVIDIA";
    builder[gpu].compute_capability = 90;
    builder[gpu].memory_bytes = 80ull << 30;
    builder[gpu].pci = PciAddress{0x10000, static_cast<uint8_t>(gpu), 0, 0};
  }
  builder.addLinkBothWays(gpus[0], gpus[1], LinkType::kNvLink, 18, 25, 4);
  builder.problem("a problem");
  builder.problem("another");
  return builder.finish();
}

TEST(TopologyRows, AreTheTopologyAgain) {
  const Topology before = twoGpus();
  Trace trace;
  ASSERT_FALSE(topologyOf(trace).has_value());
  EXPECT_NE(topologyOf(trace).error().message.find("it was imported"), std::string::npos);
  appendRows(before, trace);
  EXPECT_EQ(trace.topology_link.bytes_per_s[0], 450'000'000'000u);
  const auto after = topologyOf(trace);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->source, before.source);
  EXPECT_EQ(after->nodes.size(), before.nodes.size());
  for (size_t i = 0; i < before.nodes.size(); ++i) {
    Node node = before.nodes[i];
    EXPECT_NEAR(after->nodes[i].uplink_gbps, node.uplink_gbps, 1e-9);  // whole bytes
    node.uplink_gbps = after->nodes[i].uplink_gbps;
    EXPECT_EQ(after->nodes[i], node) << i;
  }
  EXPECT_EQ(after->links, before.links);
  EXPECT_EQ(after->problems, before.problems);
}

TEST(TopologyRows, SayWhyThereAreNone) {
  Topology none;
  none.problems.push_back("there is no /sys");
  Trace trace;
  appendRows(none, trace);
  ASSERT_FALSE(topologyOf(trace).has_value());
  EXPECT_EQ(topologyOf(trace).error().message, "the topology could not be read: there is no /sys");
}

TEST(TopologyRows, OfADamagedTraceMakeATree) {
  Trace trace;
  appendRows(twoGpus(), trace);
  TopologyNodeTable& nodes = trace.topology_node;
  nodes.parent_id[2] = idAt<TopologyNodeId>(4);  // its own descendant
  nodes.parent_id[3] = idAt<TopologyNodeId>(3);  // itself
  nodes.parent_id[4] = idAt<TopologyNodeId>(900);
  nodes.kind[5] = static_cast<TopologyNodeKind>(200);
  nodes.number[4] = int64_t{1} << 40;
  trace.topology_link.to_id[0] = idAt<TopologyNodeId>(700);
  const auto read = topologyOf(trace);
  ASSERT_TRUE(read.has_value());
  for (NodeIndex i = 0; i < read->nodes.size(); ++i) {
    EXPECT_EQ(read->ancestors(i).back(), 0u);
    EXPECT_FALSE(read->label(i).empty());
  }
  EXPECT_TRUE(read->links.empty());
  EXPECT_EQ(read->problems.back(), "4 nodes and links of the trace lead nowhere: it is damaged");
}

TEST(TopologyRows, OfADamagedTraceAreNoDeeperOrMoreThanAHostHas) {
  Trace trace;
  for (size_t i = 0; i < 100'000; ++i) {
    trace.topology_node.push({.id = idAt<TopologyNodeId>(i),
                              .kind = i == 0 ? NodeKind::kMachine : NodeKind::kPciSwitch,
                              .parent_id = static_cast<TopologyNodeId>(i)});  // the one before
    trace.topology_link.push(
        {.from_id = idAt<TopologyNodeId>(i), .to_id = idAt<TopologyNodeId>(i + 1)});
  }
  const auto read = topologyOf(trace);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->nodes.size(), 4096u);
  EXPECT_EQ(read->links.size(), 4095u);
  for (NodeIndex i = 0; i < read->nodes.size(); ++i) EXPECT_LE(read->ancestors(i).size(), 257u);
  EXPECT_FALSE(read->problems.empty());
}

}  // namespace
}  // namespace tracesmith::topology
