// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/topology/routes.hpp"
#include "tracesmith/topology/topology_builder.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::topology {
namespace {

Topology readText(const std::string& text) {
  auto read = readTopologyText(text, "file");
  EXPECT_TRUE(read) << read.error().toString();
  return read ? *read : Topology{{}, {Node{}}, {}, {}, {}, {}};
}

std::string errorOf(const std::string& text) {
  const auto read = readTopologyText(text, "file");
  return read ? "" : read.error().toString();
}

PathClass between(const Topology& topology, const char* a, const char* b) {
  return Routes(topology)
      .between(topology.at(*pciAddress(a)).value(), topology.at(*pciAddress(b)).value())
      .path_class;
}

TEST(Topology, PciAddresses) {
  EXPECT_EQ(toString(*pciAddress("0000:3b:1f.7")), "0000:3b:1f.7");
  EXPECT_EQ(toString(*pciAddress("3B:00.0")), "0000:3b:00.0");
  EXPECT_EQ(toString(*pciAddress("00010000:01:00.0")), "10000:01:00.0");
  for (const char* wrong : {"", "3b", "0000:3b:00", "0000:3b:00.8", "zz:00.0", "1:2:3:4.0", ".0"}) {
    EXPECT_FALSE(pciAddress(wrong)) << wrong;
  }
}

TEST(Topology, RatesOfTheStandards) {
  EXPECT_NEAR(pcieBandwidth(8, 16), 15.754, 0.001);
  EXPECT_NEAR(pcieBandwidth(32, 16), 63.015, 0.001);
  EXPECT_NEAR(pcieBandwidth(64, 16), 121, 0.1);
  EXPECT_EQ(pcieBandwidth(2.5, 1), 0.25);
  EXPECT_EQ(pcieBandwidth(8, 3), 0);
  EXPECT_EQ(pcieBandwidth(9, 16), 0);
  EXPECT_EQ(pcieName(16, 8), "PCIe 4.0 x8");
  EXPECT_EQ(nvlinkBandwidth(nvlinkGeneration(90)) * 18, 450);   // H100: 900 GB/s both ways
  EXPECT_EQ(nvlinkBandwidth(nvlinkGeneration(100)) * 18, 900);  // B200: 1.8 TB/s
  EXPECT_EQ(nvlinkBandwidth(nvlinkGeneration(89)), 0);
  EXPECT_EQ(xgmiBandwidth("gfx942") * 7, 448);
  EXPECT_EQ(xgmiBandwidth("gfx1100"), 0);
}

TEST(Topology, MasksOfProcessors) {
  EXPECT_EQ(cpuList("00000000,00ffffff"), "0-23");
  EXPECT_EQ(cpuList("1,0"), "32");
  EXPECT_EQ(cpuList("0x00000303,0x03030000,,0x0"), "80-81,88-89,96-97,104-105");
  EXPECT_EQ(cpuList("f"), "0-3");
  EXPECT_EQ(cpuList(""), "");
  EXPECT_EQ(cpuList("g"), "");
}

constexpr const char* kTwoBoards = R"(<system version="1">
 <cpu numaid="0" affinity="0000000f">
  <pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
   <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="16">
    <gpu dev="0" sm="80"><nvlink target="0000:03:00.0" count="4" tclass="0x030200"/></gpu></pci>
   <pci busid="0000:04:00.0" class="0x020700" link_speed="8 GT/s" link_width="8">
    <nic><net name="mlx5_0" dev="0" speed="100000"/></nic></pci>
  </pci>
  <pci busid="0000:05:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
   <pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="16">
    <gpu dev="1" sm="80"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu></pci>
   <pci busid="0000:06:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
    <pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="8">
     <gpu dev="2" sm="80"/></pci>
   </pci>
  </pci>
 </cpu>
 <cpu numaid="1"><nic><net name="eth0" dev="1" speed="10000"/></nic></cpu>
</system>)";

TEST(NcclTopology, RoutesAndRates) {
  const Topology t = readText(kTwoBoards);
  EXPECT_EQ(t.problems, std::vector<std::string>());
  EXPECT_EQ(between(t, "02:00.0", "03:00.0"), PathClass::kDirect);
  EXPECT_EQ(between(t, "02:00.0", "04:00.0"), PathClass::kPix);
  EXPECT_EQ(between(t, "03:00.0", "07:00.0"), PathClass::kPxb);
  EXPECT_EQ(between(t, "02:00.0", "07:00.0"), PathClass::kPhb);
  const auto gpus = t.ofKind(NodeKind::kGpu);
  const auto nics = t.ofKind(NodeKind::kNic);
  ASSERT_EQ(gpus.size(), 3U);
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(Routes(t).between(gpus[0], nics[1]).path_class, PathClass::kSys);
  const Path fabric = Routes(t).between(gpus[0], gpus[1]);
  EXPECT_EQ(fabric.links, 4U);
  EXPECT_EQ(fabric.gbps, 100);
  // The narrowest part: eight lanes.
  EXPECT_NEAR(Routes(t).between(gpus[0], gpus[2]).gbps, pcieBandwidth(16, 8), 1e-9);
  EXPECT_EQ(Routes(t).nearestAdapters(gpus[0]), std::vector<NodeIndex>{nics[0]});
  EXPECT_EQ(t.nodes[nics[0]].network_gbps, 12.5);
  EXPECT_EQ(t.nodes[t.numaOf(gpus[2])].cpus, "0-3");
}

TEST(NcclTopology, SwitchesOfNvlinkAreJoined) {
  std::string text = R"(<system version="1"><cpu numaid="0">)";
  for (int gpu = 0; gpu < 4; ++gpu) {
    text +=
        "<pci busid=\"0000:0" + std::to_string(gpu) +
        ":00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
        std::to_string(gpu) +
        "\" sm=\"90\"><nvlink target=\"0000:90:00.0\" count=\"10\" tclass=\"0x068000\"/>"
        "<nvlink target=\"0000:91:00.0\" count=\"8\" tclass=\"0x068000\"/></gpu></pci>";
  }
  const Topology t = readText(text + "</cpu></system>");
  EXPECT_EQ(t.ofKind(NodeKind::kNvSwitch).size(), 2U);
  const auto gpus = t.ofKind(NodeKind::kGpu);
  const Path path = Routes(t).between(gpus[0], gpus[3]);
  EXPECT_EQ(path.path_class, PathClass::kDirect);
  EXPECT_EQ(path.links, 18U);
  EXPECT_EQ(path.gbps, 450);
  EXPECT_EQ(Routes(t).fabricsOf(gpus[1]).at(0).links, 18U);
}

TEST(NcclTopology, WhatContradictsItselfIsNamed) {
  const auto problems = [](const std::string& inside) {
    std::string all;
    for (const std::string& each :
         readText("<system version=\"1\"><cpu numaid=\"0\">" + inside + "</cpu></system>")
             .problems) {
      all += each + "\n";
    }
    return all;
  };
  const auto gpu = [](const std::string& bus, const std::string& inside, int width = 16) {
    return "<pci busid=\"0000:" + bus +
           ":00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"" +
           std::to_string(width) + "\"><gpu dev=\"" + bus + "\" sm=\"80\">" + inside +
           "</gpu></pci>";
  };
  const auto link = [](const std::string& bus, const std::string& count) {
    return "<nvlink target=\"0000:" + bus + ":00.0\" count=\"" + count + "\" tclass=\"0x030200\"/>";
  };
  EXPECT_EQ(problems(gpu("1", link("2", "4")) + gpu("2", link("1", "3"))),
            "GPU1 and GPU2: 4 NVLink links are stated one way and 3 the other\n");
  EXPECT_EQ(problems(gpu("1", link("2", "4")) + gpu("2", "")),
            "GPU1 and GPU2: 4 NVLink links are stated from the first to the second, none back\n");
  EXPECT_EQ(
      problems(gpu("1", link("1", "2"))),
      "GPU1: where 2 of its NVLink links lead is not known: 0000:1:00.0 is the GPU itself, as "
      "some virtual machines say\n");
  EXPECT_EQ(
      problems(gpu("1", link("7", "2"))),
      "GPU1: where 2 of its NVLink links lead is not known: 0000:7:00.0 is not in the file\n");
  EXPECT_EQ(problems(gpu("1", link("1", "99999"))),
            "line 1: GPU1 cannot have 99999 links to 0000:1:00.0\n");
  EXPECT_EQ(problems(gpu("1", "", 77)),
            "GPU 0000:01:00.0: there is no PCIe connection of 77 lanes with 16 GT/s\n");
  EXPECT_EQ(problems(gpu("1", "", -5)),
            "GPU 0000:01:00.0: there is no PCIe connection of -5 lanes with 16 GT/s\n");
  EXPECT_EQ(problems(gpu("1", "", 0)), "") << "as virtual machines have it";
  EXPECT_EQ(problems(gpu("1", "") + gpu("1", "")),
            "two nodes are GPU1\nGPU1 and GPU1 have the same PCI address 0000:01:00.0\n");
  EXPECT_EQ(problems("<pci busid=\"here\" class=\"0x030200\"/>"),
            "line 1: 'here' is no PCI address\n");
}

TEST(Routes, AsMuchFlowsAsTheNarrowestPartsTogether) {
  TopologyBuilder builder("made");
  const NodeIndex a = builder.add(NodeKind::kGpu, 0), b = builder.add(NodeKind::kGpu, 0);
  const NodeIndex other = builder.add(NodeKind::kGpu, 0);
  NodeIndex switches[4];
  for (NodeIndex& each : switches) each = builder.add(NodeKind::kNvSwitch, 0);
  const auto link = [&](NodeIndex x, NodeIndex y, uint32_t count) {
    builder.addLinkBothWays(x, y, LinkType::kNvLink, count, 10);
  };
  link(a, switches[0], 3);
  link(switches[0], b, 2);  // 2 of the 3 go on to b
  link(switches[0], switches[1], 5);
  link(switches[1], b, 4);  // the third one takes this way
  link(a, switches[2], 2);
  link(switches[2], switches[3], 1);
  link(switches[3], b, 7);  // and one of these
  link(a, other, 9);
  link(other, b, 9);  // GPUs pass nothing on
  const Topology t = builder.finish();
  const Path path = Routes(t).between(a, b);
  EXPECT_EQ(path.links, 4U);
  EXPECT_EQ(path.gbps, 40);
  EXPECT_TRUE(path.is_switched);
  EXPECT_EQ(Routes(t).between(b, a).links, 4U);
  EXPECT_EQ(Routes(t).between(a, other).links, 9U);
}

TEST(NcclTopology, LinksOfTwoTypesAreTwo) {
  std::string text = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int gpu = 0; gpu < 2; ++gpu) {  // as of a Grace Hopper
    text += "<pci busid=\"0000:0" + std::to_string(gpu) + ":00.0\" class=\"0x030200\"><gpu dev=\"" +
            std::to_string(gpu) + "\" sm=\"90\"><nvlink target=\"0000:0" + std::to_string(1 - gpu) +
            ":00.0\" count=\"6\" tclass=\"0x030200\"/><c2c bw=\"45000\" count=\"10\"/></gpu></pci>";
  }
  const Topology t = readText(text + "</cpu></system>");
  const Routes routes(t);
  const auto gpus = t.ofKind(NodeKind::kGpu);
  for (const NodeIndex gpu : gpus) {
    const std::vector<Fabric> fabrics = routes.fabricsOf(gpu);
    ASSERT_EQ(fabrics.size(), 2U);
    EXPECT_EQ(fabrics[0].type, LinkType::kNvLink);
    EXPECT_EQ(fabrics[0].links, 6U);
    EXPECT_EQ(fabrics[0].gbps, 150);
    EXPECT_EQ(fabrics[1].type, LinkType::kC2c);
    EXPECT_EQ(fabrics[1].gbps, 450);
  }
  const Path path = routes.between(gpus[0], gpus[1]);
  EXPECT_EQ(path.type, LinkType::kNvLink);
  EXPECT_EQ(path.links, 6U);
  EXPECT_FALSE(path.is_switched);
  EXPECT_EQ(path.generation, 4);
}

TEST(NcclTopology, Graphs) {
  const Topology t = readText(
      R"(<graphs version="1"><graph id="0" pattern="4" speedintra="20" speedinter="12.5" typeintra="NVL" typeinter="PIX">
<channel><gpu dev="0"/><gpu dev="2"/></channel><channel><gpu dev="2"/><gpu dev="0"/></channel></graph></graphs>)");
  ASSERT_EQ(t.graphs.size(), 1U);
  EXPECT_EQ(t.graphs[0].pattern, "ring");
  EXPECT_EQ(t.graphs[0].speed_inter, 12.5);
  EXPECT_EQ(t.graphs[0].channels, (std::vector<std::vector<int32_t>>{{0, 2}, {2, 0}}));
}

TEST(HwlocXml, SwitchesAreTheUpperPorts) {
  const auto bridge = [](const char* address, const std::string& inside) {
    return std::string("<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"") + address +
           "\" pci_type=\"0604 [10b5:9781] [10b5:9781] b0\" pci_link_speed=\"15.75\">" + inside +
           "</object>";
  };
  const auto gpu = [](const char* address, const char* id) {
    return std::string("<object type=\"PCIDev\" pci_busid=\"") + address +
           "\" pci_type=\"0302 [10de:1db8] [10de:131d] a1\" pci_link_speed=\"15.75\"><object "
           "type=\"OSDev\" gp_index=\"" +
           id + "\" name=\"nvml" + id + "\" osdev_type=\"5\"/></object>";
  };
  const std::string lower = bridge("0000:03:00.0", gpu("0000:04:00.0", "0")) +
                            bridge("0000:03:01.0", gpu("0000:05:00.0", "1"));
  const Topology t = readText(
      "<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\">"
      "<object type=\"Machine\" nodeset=\"0x00000003\">"
      "<object type=\"Package\" nodeset=\"0x00000002\"><object type=\"NUMANode\" os_index=\"1\" "
      "cpuset=\"0x000000f0\"/><object type=\"Bridge\" bridge_type=\"0-1\" "
      "bridge_pci=\"0000:[00-05]\">" +
      bridge("0000:00:01.0", bridge("0000:02:00.0", lower)) +
      bridge("0000:00:02.0", gpu("0000:06:00.0", "2")) +
      "</object><object type=\"Bridge\" bridge_type=\"0-1\" bridge_pci=\"0000:[80-85]\">" +
      gpu("0000:81:00.0", "3") +
      "</object></object></object><distances2hetero nbobjs=\"2\" kind=\"25\" "
      "name=\"NVLinkBandwidth\">"
      "<indexes length=\"15\">OSDev:0 OSDev:3</indexes><u64values length=\"8\">0 50000 50000 0"
      "</u64values></distances2hetero></topology>");
  EXPECT_EQ(t.problems, std::vector<std::string>());
  EXPECT_EQ(t.ofKind(NodeKind::kPciSwitch).size(), 1U);
  EXPECT_EQ(between(t, "04:00.0", "05:00.0"), PathClass::kPix);
  EXPECT_EQ(between(t, "04:00.0", "06:00.0"), PathClass::kPhb);
  EXPECT_EQ(between(t, "06:00.0", "81:00.0"), PathClass::kNode);
  const Path fabric =
      Routes(t).between(*t.at(*pciAddress("04:00.0")), *t.at(*pciAddress("81:00.0")));
  EXPECT_EQ(fabric.links, 2U);
  EXPECT_EQ(fabric.gbps, 50);
  EXPECT_EQ(t.nodes[t.numaOf(*t.at(*pciAddress("81:00.0")))].cpus, "4-7");
}

TEST(NvidiaSmiMatrix, AsItIsPrinted) {
  const Topology t = readText(
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
      "GPU0\t X \tNV12\tPIX\t0-31,64-95\t0\t\tN/A\n"
      "GPU1\tNV12\t X \tSYS\t32-63\t1\t\tN/A\n"
      "NIC0\tPIX\tSYS\t X \t\t\t\t\n"
      "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n\nNIC Legend:\n\n  NIC0: "
      "mlx5_0\n");
  EXPECT_EQ(t.problems, std::vector<std::string>());
  const auto gpus = t.ofKind(NodeKind::kGpu);
  const auto nics = t.ofKind(NodeKind::kNic);
  ASSERT_EQ(gpus.size(), 2U);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(t.label(nics[0]), "mlx5_0");
  EXPECT_EQ(Routes(t).between(gpus[0], gpus[1]).links, 12U);
  EXPECT_EQ(Routes(t).between(gpus[0], nics[0]).path_class, PathClass::kPix);
  EXPECT_EQ(Routes(t).between(nics[0], gpus[1]).path_class, PathClass::kSys);
  EXPECT_EQ(Routes(t).nearestAdapters(gpus[0]), nics);
  EXPECT_EQ(t.nodes[t.numaOf(gpus[1])].cpus, "32-63");
}

TEST(NvidiaSmiMatrix, ATableThatIsNotWholeIsNamed) {
  EXPECT_EQ(errorOf(" GPU0 GPU1\nGPU0 X\nGPU1 NV1 X\n"),
            "file: the row of GPU0 has 1 cells, and the heading 2");
  EXPECT_EQ(errorOf("nothing\n"),
            "file: is no topology: it is neither XML nor has it a heading with GPUs, as "
            "`nvidia-smi topo -m` prints it");
  EXPECT_EQ(errorOf(""),
            "file: is no topology: it is neither XML nor has it a heading with GPUs, as "
            "`nvidia-smi topo -m` prints it");
  EXPECT_EQ(readText(" GPU0 GPU1\nGPU0 X NV1\n").problems,
            (std::vector<std::string>{
                "the row of GPU1 is missing",
                "GPU0 and GPU1: 1 NVLink links are stated from the first to the second, "
                "none back"}));
}

TEST(HwlocXml, VersionOneIsRefused) {
  EXPECT_EQ(errorOf("<topology><object type=\"Machine\"/></topology>"),
            "file: is of hwloc 1; lstopo of version 2 or newer writes it anew");
}

TEST(XmlTree, AByteOrderMarkIsNoText) {
  EXPECT_EQ(
      readText("\xef\xbb\xbf<system version=\"1\"><cpu numaid=\"3\"/></system>").nodes.at(1).number,
      3);
}

TEST(XmlTree, WhatIsNoFileOfATopologyIsRefused) {
  EXPECT_EQ(errorOf("<trace/>"),
            "file: is XML of another kind: its outermost element is <trace>, and not <system> or "
            "<graphs> (NCCL) or "
            "<topology> (hwloc)");
  EXPECT_EQ(errorOf("<system><cpu></system>"),
            "file: is not a whole XML file: line 1: mismatched tag");
  EXPECT_EQ(errorOf("<system>\n"), "file: is not a whole XML file: line 2: no element found");
  EXPECT_NE(
      errorOf("<!DOCTYPE a [<!ENTITY b \"c\">]><system>&b;</system>").find("it declares an entity"),
      std::string::npos);
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "<a>";
  EXPECT_NE(errorOf(deep).find("elements within more than 256 others"), std::string::npos);
  std::string many = "<system>";
  for (int i = 0; i < 5'000; ++i) many += "<cpu/>";
  EXPECT_EQ(errorOf(many + "</system>"), "file: has 5001 devices; no machine has more than 4096");
}

/// A root file system with what the reader asks for.
class FakeSystem {
 public:
  void write(const std::string& path, const std::string& text) {
    const auto file = folder_.folder() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  /// A PCI function at the end of a chain of bridges: "pci0000:00/0000:00:01.0/0000:01:00.0".
  void pci(const std::string& chain, const std::string& pci_class, const std::string& vendor,
           int numa, const std::string& speed = "16.0 GT/s PCIe", const std::string& width = "16") {
    const std::string device = "sys/devices/" + chain + "/";
    const std::string address = std::filesystem::path(chain).filename().string();
    write(device + "class", pci_class);
    write(device + "vendor", vendor);
    write(device + "numa_node", std::to_string(numa));
    write(device + "max_link_speed", speed);
    write(device + "max_link_width", width);
    std::filesystem::create_directories(folder_.folder() / "sys/bus/pci/devices");
    std::filesystem::create_symlink("../../../devices/" + chain,
                                    folder_.folder() / "sys/bus/pci/devices" / address);
  }
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_symlink(target, folder_.folder() / path);
  }
  void pipe(const std::string& path) {
    std::filesystem::remove(folder_.folder() / path);
    EXPECT_EQ(::mkfifo((folder_.folder() / path).c_str(), 0600), 0);
  }
  Topology read() {
    auto read = readTopology(folder_.folder().string());
    EXPECT_TRUE(read) << read.error().toString();
    return *read;
  }

 private:
  test::TempFolder folder_;
};

TEST(Sysfs, BridgesAdaptersAndNumaNodes) {
  FakeSystem system;
  system.write("sys/devices/system/node/node0/cpulist", "0-7");
  system.write("sys/devices/system/node/node1/cpulist", "8-15");
  const std::string port = "pci0000:00/0000:00:01.0", upper = port + "/0000:01:00.0";
  system.pci(port, "0x060400", "0x8086", 0, "8.0 GT/s PCIe");
  system.pci(upper, "0x060400", "0x10b5", 0);
  system.pci(upper + "/0000:02:00.0", "0x060400", "0x10b5", 0);
  system.pci(upper + "/0000:02:01.0", "0x060400", "0x10b5", 0);
  system.pci(upper + "/0000:02:00.0/0000:03:00.0", "0x030200", "0x10de", 0, "32.0 GT/s PCIe");
  system.pci(upper + "/0000:02:01.0/0000:04:00.0", "0x020700", "0x15b3", 0);
  system.pci("pci0000:80/0000:80:01.0", "0x060400", "0x8086", 1);
  system.pci("pci0000:80/0000:80:01.0/0000:81:00.0", "0x030200", "0x10de", 1, "Unknown", "255");
  system.pci("pci0000:80/0000:80:02.0", "0x010802", "0x144d", 1);
  const std::string adapter = "sys/devices/" + upper + "/0000:02:01.0/0000:04:00.0/";
  system.write(adapter + "infiniband/mlx5_3/ports/1/rate", "400 Gb/sec (4X NDR)");
  system.write(adapter + "net/ib0/speed", "400000");
  system.write("proc/driver/nvidia/gpus/0000:03:00.0/information",
               "Model: \t\t NVIDIA H200\nIRQ: 1");
  const Topology t = system.read();
  EXPECT_EQ(t.problems, std::vector<std::string>());
  EXPECT_EQ(between(t, "03:00.0", "04:00.0"), PathClass::kPix);
  EXPECT_EQ(between(t, "03:00.0", "81:00.0"), PathClass::kSys);
  const Node& gpu = t.nodes[*t.at(*pciAddress("03:00.0"))];
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uplink, "PCIe 4.0 x16") << "no faster than the port above it";
  EXPECT_EQ(t.nodes[gpu.parent].uplink, "PCIe 3.0 x16");
  const auto nics = t.ofKind(NodeKind::kNic);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(t.label(nics[0]), "mlx5_3");
  EXPECT_EQ(t.nodes[nics[0]].network_gbps, 50);
  EXPECT_EQ(t.nodes[*t.at(*pciAddress("81:00.0"))].uplink_gbps, 0);
  EXPECT_EQ(t.ofKind(NodeKind::kGpu).size(), 2U);
}

TEST(Sysfs, LinksOfAmdGpus) {
  FakeSystem system;
  system.write("sys/devices/system/node/node0/cpulist", "0-7");
  for (int i = 0; i < 2; ++i) {
    const std::string bus = std::to_string(i + 1);
    system.pci("pci0000:00/0000:00:0" + bus + ".0", "0x060400", "0x1022", 0);
    system.pci("pci0000:00/0000:00:0" + bus + ".0/0000:0" + bus + ":00.0", "0x120000", "0x1002", 0);
    const std::string node = "sys/class/kfd/kfd/topology/nodes/" + bus + "/";
    system.write(node + "properties",
                 "simd_count 1216\ngfx_target_version 90402\ndomain 0\nlocation_id " +
                     std::to_string(256 * (i + 1)));
    system.write(node + "io_links/0/properties",
                 "type 2\nnode_from " + bus + "\nnode_to 0\nmax_bandwidth 64000");
    system.write(node + "io_links/1/properties", "type 11\nnode_from " + bus + "\nnode_to " +
                                                     std::to_string(2 - i) +
                                                     "\nmax_bandwidth 64000");
  }
  system.write("sys/class/kfd/kfd/topology/nodes/0/properties", "simd_count 0");
  system.write("sys/class/kfd/kfd/topology/nodes/2/io_links/2/properties",
               "type 11\nnode_from 2\nnode_to 9");
  const Topology t = system.read();
  EXPECT_EQ(t.problems,
            (std::vector<std::string>{"GPU 0000:02:00.0: a link to node 9, which is no GPU"}));
  ASSERT_EQ(t.links.size(), 1U);
  EXPECT_EQ(t.links[0].type, LinkType::kXgmi);
  EXPECT_EQ(t.links[0].gbps_ab, 64);
  EXPECT_EQ(t.nodes[t.links[0].a].name, "gfx942");
}

TEST(Sysfs, BridgesThatLeadBackToThemselvesEnd) {
  FakeSystem system;
  system.write("sys/devices/system/node/node0/cpulist", "0-7");
  system.pci("pci0000:00/0000:00:01.0/0000:00:02.0/0000:00:03.0", "0x030200", "0x10de", 0);
  system.pci("pci0000:00/0000:00:01.0/0000:00:02.0/0000:00:01.0", "0x060400", "0x10b5", 0);
  EXPECT_EQ(system.read().ofKind(NodeKind::kGpu).size(), 1U);
}

TEST(Sysfs, ADomainBehindADeviceHasItsOwnHostBridge) {
  FakeSystem system;  // Intel VMD
  system.write("sys/devices/system/node/node0/cpulist", "0-7");
  system.pci("pci0000:00/0000:00:0e.0", "0x010400", "0x8086", 0);
  const std::string behind = "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:0";
  for (const std::string port : {"6", "7"}) {
    system.pci(behind + port + ".0", "0x060400", "0x8086", 0);
    system.pci(behind + port + ".0/10000:e" + port + ":00.0", "0x020000", "0x15b3", 0);
  }
  const Topology t = system.read();
  EXPECT_TRUE(t.ofKind(NodeKind::kPciSwitch).empty());
  EXPECT_EQ(between(t, "10000:e6:00.0", "10000:e7:00.0"), PathClass::kPhb);
}

TEST(Sysfs, VirtualFunctionsAreNoAdapters) {
  FakeSystem system;
  system.write("sys/devices/system/node/node0/cpulist", "0-7");
  system.pci("pci0000:00/0000:01:00.0", "0x020000", "0x15b3", 0);
  system.pci("pci0000:00/0000:01:00.1", "0x020000", "0x15b3", 0);
  system.link("sys/devices/pci0000:00/0000:01:00.1/physfn", "../0000:01:00.0");
  EXPECT_EQ(system.read().ofKind(NodeKind::kNic).size(), 1U);
}

TEST(Sysfs, PipesInACopyAreNotWaitedFor) {
  FakeSystem system;
  system.write("sys/devices/system/node/node0/cpulist", "0-7");
  system.pci("pci0000:00/0000:01:00.0", "0x030200", "0x10de", 0);
  system.pipe("sys/devices/pci0000:00/0000:01:00.0/max_link_speed");
  EXPECT_EQ(system.read().ofKind(NodeKind::kGpu).size(), 1U);
}

TEST(Sysfs, AFolderWithoutSysIsRefused) {
  const test::TempFolder folder;
  const auto read = readTopology(folder.folder().string());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "has no folder 'sys', as the root of a Linux system has");
}

TEST(Sysfs, ThisSystemCanBeRead) {
  if (!std::filesystem::exists("/sys/devices/system/node/node0")) GTEST_SKIP() << "no NUMA nodes";
  const auto read = readTopology("/");
  ASSERT_TRUE(read) << read.error().toString();
  EXPECT_FALSE(read->ofKind(NodeKind::kNuma).empty());
}

}  // namespace
}  // namespace tracesmith::topology
