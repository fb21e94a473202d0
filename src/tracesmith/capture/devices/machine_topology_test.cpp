// SPDX-License-Identifier: Apache-2.0
// With stand-ins for NVML that answer, crash and hang; those test our side only. On a machine with
// NVIDIA's driver, its own library is asked.
#include "tracesmith/capture/devices/machine_topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/topology/routes.hpp"

namespace tracesmith {
namespace {

using topology::NodeKind;
using topology::Topology;

class MachineTopology : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.folder() / "sys/bus/pci/devices");
    for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}) {
      const auto device = folder_.folder() / "sys/bus/pci/devices" / address;
      std::filesystem::create_directories(device);
      std::ofstream(device / "class") << (address[6] == '3' ? "0x068000\n" : "0x030200\n");
      std::ofstream(device / "vendor") << "0x10de\n";
    }
  }
  void library(const std::string& source) {
    std::ofstream(folder_.path("nvml.c")) << source;
    ASSERT_EQ(::system(("cc -shared -fPIC -o " + folder_.path("libnvidia-ml.so.1") + " " +
                        folder_.path("nvml.c"))
                           .c_str()),
              0);
  }
  Topology read(int64_t timeout_ms = 10'000) {
    const auto read = machineTopology({.root = folder_.folder().string(),
                                       .timeout_ms = timeout_ms,
                                       .search_first = {folder_.folder().string()}});
    EXPECT_TRUE(read) << read.error().toString();
    return *read;
  }

  test::TempFolder folder_;
};

// Two GPUs, "0000:01" and "0000:02", the first as the second device.
constexpr const char* kAnswers = R"(
#include <string.h>
#include <stdio.h>
typedef struct { char old[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; } Pci;
static void fill(Pci* pci, unsigned bus) {
  memset(pci, 0, sizeof *pci);
  pci->bus = bus;
  sprintf(pci->bus_id, "00000000:%02X:00.0", bus);
}
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) { *device = (void*)(2ul - i); return 0; }
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) { fill(pci, (unsigned)(unsigned long)device); return 0; }
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned n) { snprintf(uuid, n, "GPU-%lu", (unsigned long)device); return 0; }
int nvmlDeviceGetName(void* device, char* name, unsigned n) { snprintf(name, n, "GPU of bus %lu", (unsigned long)device); return 0; }
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) { *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) { memory[0] = 1ull << 36; return 0; }
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) { *active = link != 1; return link < 6 ? 0 : 2; }
int nvmlDeviceGetNvLinkVersion(void* device, unsigned link, unsigned* version) { *version = 6; return 0; }
)";

TEST_F(MachineTopology, LinksBetweenGpus) {
  library(std::string(kAnswers) + R"(
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* pci) { fill(pci, 3 - (unsigned)(unsigned long)device); return 0; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* kind) { *kind = 0; return 0; })");
  const Topology t = read();
  EXPECT_THAT(t.problems, ::testing::IsEmpty());
  EXPECT_EQ(t.source, "the kernel (sysfs) and NVML");
  const auto gpus = t.ofKind(NodeKind::kGpu);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(t.nodes[gpus[0]].name, "GPU of bus 2") << "NVML's numbers";
  EXPECT_EQ(t.nodes[gpus[0]].uuid, "GPU-2");
  EXPECT_EQ(t.nodes[gpus[0]].memory_bytes, 1ULL << 36);
  EXPECT_EQ(t.nodes[gpus[1]].compute_capability, 90);
  const topology::Path path = topology::Routes(t).between(gpus[0], gpus[1]);
  EXPECT_EQ(path.links, 5U);
  EXPECT_EQ(path.gbps, 125);
}

TEST_F(MachineTopology, LinksToSwitches) {
  library(std::string(kAnswers) + R"(
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* pci) { fill(pci, 3); return 0; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* kind) { *kind = 2; return 0; })");
  const Topology t = read();
  EXPECT_THAT(t.problems, ::testing::IsEmpty());
  const auto switches = t.ofKind(NodeKind::kNvSwitch);
  ASSERT_EQ(switches.size(), 1U) << "that of the kernel";
  const auto gpus = t.ofKind(NodeKind::kGpu);
  EXPECT_EQ(topology::Routes(t).between(gpus[0], gpus[1]).links, 5U);
  EXPECT_EQ(topology::Routes(t).fabricsOf(gpus[0]).at(0).links, 5U);
}

TEST_F(MachineTopology, SwitchesOfAVirtualMachineHaveNoAddress) {
  library(std::string(kAnswers) + R"(
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* pci) {
  memset(pci, 0, sizeof *pci);
  strcpy(pci->bus_id, "FFFFFFF:FF:1F.0");
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* kind) { *kind = 2; return 0; })");
  const Topology t = read();
  EXPECT_EQ(t.ofKind(NodeKind::kNvSwitch).size(), 2U);
  const auto gpus = t.ofKind(NodeKind::kGpu);
  EXPECT_EQ(topology::Routes(t).between(gpus[0], gpus[1]).links, 5U);
}

TEST_F(MachineTopology, EndsThatAreNotKnownAreNamed) {
  library(std::string(kAnswers) + R"(
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* pci) { fill(pci, 9); return 0; })");
  EXPECT_THAT(read().problems,
              ::testing::ElementsAre("GPU0: where 5 of its NVLinks lead is not known",
                                     "GPU1: where 5 of its NVLinks lead is not known"));
}

TEST_F(MachineTopology, GpusThatNvmlDoesNotShowAreCountedAfterItsOwn) {
  std::string one = kAnswers;  // of bus 2 alone, as a container that was given one GPU sees it
  one.replace(one.find("*n = 2;"), 7, "*n = 1;");
  library(one);
  const Topology t = read();
  const auto gpus = t.ofKind(NodeKind::kGpu);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(toString(*t.nodes[gpus[0]].pci), "0000:02:00.0");
  EXPECT_EQ(t.nodes[gpus[0]].number, 0);
  EXPECT_EQ(t.nodes[gpus[1]].number, 1);
  EXPECT_THAT(t.problems, ::testing::Contains(
                              "GPU 0000:01:00.0 is not visible to NVML: its links are not known"));
}

TEST_F(MachineTopology, AGpuThatIsLostIsNamed) {
  std::string lost = kAnswers;
  const std::string fine = "*device = (void*)(2ul - i); return 0;";
  lost.replace(lost.find(fine), fine.size(), "*device = (void*)(2ul - i); return i == 1 ? 15 : 0;");
  library(lost);
  EXPECT_THAT(read().problems, ::testing::Contains("NVML does not answer for GPU 1: error 15"));
}

TEST_F(MachineTopology, ALibraryThatFailsCostsItsFactsOnly) {
  library(
      "int nvmlInit_v2(void) { return 9; } int nvmlDeviceGetCount_v2; int "
      "nvmlDeviceGetHandleByIndex_v2; int "
      "nvmlDeviceGetPciInfo_v3;");
  Topology t = read();
  EXPECT_THAT(t.problems, ::testing::ElementsAre("NVML cannot be used: nvmlInit_v2 returned 9"));
  EXPECT_EQ(t.ofKind(NodeKind::kGpu).size(), 2U) << "those that the kernel has";
  library(
      "#include <stdlib.h>\nint nvmlInit_v2(void) { abort(); } int nvmlDeviceGetCount_v2; int "
      "nvmlDeviceGetHandleByIndex_v2; int nvmlDeviceGetPciInfo_v3;");
  EXPECT_THAT(read().problems,
              ::testing::ElementsAre("NVML crashed when it was asked for devices (Aborted)"));
  library(
      "#include <unistd.h>\nint nvmlInit_v2(void) { sleep(100); return 0; } int "
      "nvmlDeviceGetCount_v2; int "
      "nvmlDeviceGetHandleByIndex_v2; int nvmlDeviceGetPciInfo_v3;");
  const int64_t from = monotonicNs();
  EXPECT_THAT(read(300).problems, ::testing::ElementsAre("NVML did not answer within 0.3 s"));
  EXPECT_LT(monotonicNs() - from, 30'000'000'000);
}

TEST(MachineTopologyHere, ThisMachineCanBeRead) {
  if (!std::filesystem::exists("/sys/devices/system/node/node0")) GTEST_SKIP() << "no NUMA nodes";
  const auto read = machineTopology();
  ASSERT_TRUE(read) << read.error().toString();
  EXPECT_FALSE(read->ofKind(NodeKind::kNuma).empty());
  if (std::filesystem::exists("/proc/driver/nvidia/gpus")) {
    EXPECT_FALSE(read->ofKind(NodeKind::kGpu).empty());
  }
}

}  // namespace
}  // namespace tracesmith
