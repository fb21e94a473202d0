// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/gpu_topology.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/base/temp_folder_test_util.hpp"

namespace tracesmith {
namespace {

/// Four GPUs: 0 - 1 with two links, 1 - 2 with one, 0 - 3 and 3 - 2 with four; 4 by PCIe.
GPUTopology fiveGpus() {
  const std::pair<int, std::vector<std::pair<int, int>>> links[] = {{0, {{1, 2}, {3, 4}}},
                                                                    {1, {{0, 2}, {2, 1}}},
                                                                    {2, {{1, 1}, {3, 4}}},
                                                                    {3, {{0, 4}, {2, 4}}},
                                                                    {4, {}}};
  const test::TempFolder folder;
  std::ofstream file(folder.path("topo.xml"));
  file << "<system version=\"1\"><cpu numaid=\"1\">";
  for (const auto& [gpu, others] : links) {
    file << "<pci busid=\"0000:0" << gpu
         << ":00.0\" class=\"0x030200\" vendor=\"0x10de\" link_speed=\"8 GT/s\" "
         << "link_width=\"16\"><gpu dev=\"" << gpu << "\" sm=\"70\">";
    for (const auto& [other, count] : others) {
      file << "<nvlink target=\"0000:0" << other << ":00.0\" count=\"" << count
           << "\" tclass=\"0x030200\"/>";
    }
    file << "</gpu></pci>";
  }
  file << "</cpu></system>";
  file.close();
  GPUTopology topology;
  const Status read = topology.read(folder.path("topo.xml"));
  EXPECT_TRUE(read) << read.error().toString();
  return topology;
}

TEST(GPUTopology, Connections) {
  const GPUTopology t = fiveGpus();
  EXPECT_TRUE(t.isDiscovered());
  EXPECT_TRUE(t.problems().empty());
  EXPECT_EQ(t.getGPUCount(), 5U);
  EXPECT_EQ(t.getLinkType(0, 1), GPULinkType::NVLink2);
  EXPECT_EQ(t.getLinkType(0, 4), GPULinkType::PCIe);
  EXPECT_EQ(t.getLinkType(0, 9), GPULinkType::None);
  EXPECT_EQ(t.getBandwidth(0, 3), 100);
  EXPECT_NEAR(t.getBandwidth(0, 4), 15.754, 0.001);
  EXPECT_EQ(t.getNVLinkCount(0, 3), 4U);
  EXPECT_EQ(t.getNVLinkCount(0, 4), 0U);
  EXPECT_TRUE(t.canAccessPeer(0, 1));
  EXPECT_FALSE(t.canAccessPeer(0, 4)) << "over the host bridge";
  EXPECT_EQ(t.getConnectedGPUs(1), (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(t.getConnectedGPUs(4).empty());
  EXPECT_EQ(t.getOptimalPath(0, 2), (std::vector<uint32_t>{0, 3, 2})) << "wider than over 1";
  EXPECT_EQ(t.getOptimalPath(0, 4), (std::vector<uint32_t>{0, 4}));
  EXPECT_TRUE(t.getOptimalPath(0, 9).empty());
  EXPECT_EQ(t.estimateTransferTime(0, 3, 1000), 10U);
  EXPECT_FALSE(t.estimateTransferTime(0, 0, 1000));
  const GPUTopologyInfo& info = t.getTopology();
  EXPECT_EQ(info.links.size(), 10U);
  EXPECT_FALSE(info.has_nvswitch);
  EXPECT_EQ(info.devices.at(3).nvlink_count, 8U);
  EXPECT_EQ(info.devices.at(3).numa_node, 1);
  EXPECT_EQ(info.devices.at(3).compute_major, 7U);
  EXPECT_EQ(info.devices.at(3).vendor, GPUVendor::NVIDIA);
  EXPECT_EQ(t.getDeviceInfo(4)->pci_bus_id, "0000:04:00.0");
  EXPECT_NE(t.toASCII().find("5 GPUs"), std::string::npos);
  EXPECT_EQ(t.toGraphviz().rfind("graph topology {", 0), 0U);
  EXPECT_EQ(t.toJSON().front(), '{');
}

TEST(GPUTopology, WhatCannotBeReadIsSaid) {
  GPUTopology topology = fiveGpus();
  EXPECT_FALSE(topology.read("/nowhere"));
  EXPECT_EQ(topology.getGPUCount(), 5U) << "unchanged";
  EXPECT_FALSE(GPUTopology().isDiscovered());
  EXPECT_EQ(GPUTopology().getGPUCount(), 0U);
  EXPECT_EQ(GPUTopology().toASCII(), "");
}

TEST(GPUTopology, ThisMachine) {
  GPUTopology topology;
  EXPECT_EQ(topology.discover(), topology.getGPUCount() > 0);
  EXPECT_EQ(topology.isDiscovered(), std::filesystem::exists("/sys"));
}

TEST(GPUTopology, NamesAndRates) {
  EXPECT_EQ(linkTypeToString(GPULinkType::NVLink4), "NVLink4");
  EXPECT_EQ(linkTypeToString(GPULinkType::XGMI), "XGMI");
  EXPECT_EQ(getLinkBandwidth(GPULinkType::NVLink1), 20);
  EXPECT_EQ(getLinkBandwidth(GPULinkType::PCIe), 0);
}

}  // namespace
}  // namespace tracesmith
