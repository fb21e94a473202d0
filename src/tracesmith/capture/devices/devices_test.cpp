// SPDX-License-Identifier: Apache-2.0
// Uses the real libraries that this machine has. For others it builds stand-ins that answer,
// refuse, crash and hang as vendors' libraries do; those test our side only.
#include "tracesmith/capture/devices/devices.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class DevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tracesmith_devices_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  bool build(const std::string& library, const std::string& source) {
    std::ofstream(directory_ + "/library.c") << source;
    return ::system(("cc -shared -fPIC -o " + directory_ + "/" + library + " " + directory_ +
                     "/library.c 2>/dev/null")
                        .c_str()) == 0;
  }
  BackendReport probe(PlatformType backend, int64_t timeout_ms = 10'000) {
    ProbeOptions options;
    options.timeout_ms = timeout_ms;
    options.search_first = {directory_};
    auto reports = probeBackends({backend}, options);
    EXPECT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports.at(0).backend, backend);
    return std::move(reports.at(0));
  }

  std::string directory_;
};

TEST(Devices, EveryBackendIsReportedAndSaysWhatItHasOrWhatIsMissing) {
  const auto reports = probeBackends();
  ASSERT_EQ(reports.size(), 7u);
  PlatformType last = PlatformType::Unknown;
  for (const BackendReport& r : reports) {
    EXPECT_GT(r.backend, last);
    last = r.backend;
    EXPECT_FALSE(r.library.empty()) << toString(r.backend);
    EXPECT_EQ(r.devices.empty(), !r.problem.empty()) << toString(r.backend) << ": " << r.problem;
    if (!r.library_found && r.backend != PlatformType::Metal) {
      EXPECT_THAT(r.problem, HasSubstr(r.library));
      EXPECT_THAT(r.looked_in, Contains("/etc/ld.so.cache"));
      EXPECT_GE(r.looked_in.size(), 2u);
    }
    for (const DeviceRow& device : r.devices) EXPECT_EQ(device.backend, r.backend);
  }
}

TEST(Devices, OpenClDevicesAreDescribed) {
  void* present = ::dlopen("libOpenCL.so.1", RTLD_NOW);
  if (present == nullptr) GTEST_SKIP() << "no OpenCL loader here";
  ::dlclose(present);
  const auto reports = probeBackends({PlatformType::OpenCL}, {});
  const BackendReport& r = reports.at(0);
  EXPECT_TRUE(r.library_found);
  EXPECT_THAT(r.path, HasSubstr("libOpenCL.so"));
  if (r.devices.empty()) GTEST_SKIP() << r.problem;
  for (const DeviceRow& device : r.devices) {
    EXPECT_FALSE(r.strings.at(device.name).empty());
    EXPECT_FALSE(r.strings.at(device.platform).empty());
    EXPECT_THAT(std::string(r.strings.at(device.api_version)), HasSubstr("OpenCL"));
    EXPECT_NE(device.kind, DeviceKind::kUnknown);
    EXPECT_GT(device.memory_bytes, 1u << 20);
    EXPECT_GT(device.compute_units, 0u);
    EXPECT_GT(device.max_work_group_size, 0u);
  }
}

TEST_F(DevicesTest, CudaDevicesAreDescribedThroughADriverOfThatName) {
  if (!build("libcuda.so.1", R"(
        #include <string.h>
        int cuInit(unsigned f) { return (int)f; }
        int cuDriverGetVersion(int* v) { *v = 12040; return 0; }
        int cuDeviceGetCount(int* n) { *n = 2; return 0; }
        int cuDeviceGet(int* d, int i) { *d = 100 + i; return 0; }
        int cuDeviceGetName(char* s, int n, int d) { strncpy(s, d == 100 ? "First" : "Second", n); return 0; }
        int cuDeviceTotalMem_v2(unsigned long* b, int d) { *b = (d - 99) * 1000000007ul; return 0; }
        int cuDeviceGetAttribute(int* v, int a, int d) { *v = a * 1000; return d >= 100 ? 0 : 1; }
        int cuDeviceGetUuid(unsigned char* u, int d) { for (int i = 0; i < 16; ++i) u[i] = i; return 0; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  const BackendReport r = probe(PlatformType::CUDA);
  EXPECT_EQ(r.problem, "");
  EXPECT_EQ(r.path, directory_ + "/libcuda.so.1");
  EXPECT_EQ(r.capture_supported, findAgentLibrary("libtracesmith-cuda.so").has_value());
  EXPECT_EQ(r.driver_version, 12040u);
  ASSERT_EQ(r.devices.size(), 2u);
  EXPECT_EQ(r.strings.at(r.devices[0].name), "First");
  EXPECT_EQ(r.strings.at(r.devices[1].name), "Second");
  EXPECT_EQ(r.devices[1].ordinal, 1u);
  EXPECT_EQ(r.devices[1].memory_bytes, 2000000014u);
  EXPECT_EQ(r.devices[0].warp_size, 10000u);
  EXPECT_EQ(r.devices[0].clock_mhz, 13u);
  EXPECT_EQ(r.strings.at(r.devices[0].api_version), "CUDA 12.4");
  EXPECT_EQ(r.strings.at(r.devices[0].uuid), "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
}

TEST_F(DevicesTest, ADriverThatIsTooOldSaysSoEvenWhenItSeesNoDevices) {
  if (!build("libcuda.so.1", R"(
        int cuInit(unsigned f) { return 100; }
        int cuDriverGetVersion(int* v) { *v = 10020; return 0; }
        int cuDeviceGetCount(int* n) { return 3; }
        int cuDeviceGet(int* d, int i) { return 3; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  const BackendReport r = probe(PlatformType::CUDA);
  EXPECT_EQ(r.driver_version, 10020u);
  EXPECT_FALSE(r.capture_supported);
  if (!findAgentLibrary("libtracesmith-cuda.so")) GTEST_SKIP() << r.capture_problem;
  EXPECT_EQ(r.capture_problem,
            "libcuda.so.1 is too old: it knows CUDA 10.2, and 11.6 or newer is needed");
}

TEST_F(DevicesTest, TheQuestionIsNotRecorded) {
  if (!build("libcuda.so.1", R"(
        #include <stdlib.h>
        int cuInit(unsigned f) { return getenv("CUDA_INJECTION64_PATH") ? 999 : 100; }
        int cuDeviceGetCount(int* n) { return 3; }
        int cuDeviceGet(int* d, int i) { return 3; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  setenv("CUDA_INJECTION64_PATH", "/no/such/library.so", 1);
  const BackendReport r = probe(PlatformType::CUDA);
  EXPECT_STREQ(getenv("CUDA_INJECTION64_PATH"), "/no/such/library.so");
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_EQ(r.problem, "cuInit failed with 100");
}

TEST_F(DevicesTest, ADriverThatRefusesSaysWhy) {
  if (!build("libcuda.so.1", R"(
        int cuInit(unsigned f) { return 100; }
        int cuDeviceGetCount(int* n) { return 3; }
        int cuDeviceGet(int* d, int i) { return 3; }
        int cuGetErrorString(int e, const char** s) { *s = "no CUDA-capable device is detected"; return 0; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  const BackendReport r = probe(PlatformType::CUDA);
  EXPECT_TRUE(r.library_found);
  EXPECT_EQ(r.problem, "cuInit failed with 100 (no CUDA-capable device is detected)");
}

TEST_F(DevicesTest, ADriverThatCrashesTakesNobodyDown) {
  if (!build("libamdhip64.so", R"(
        #include <stdio.h>
        int hipInit(unsigned f) { printf("noise\n"); fflush(stdout); return *(volatile int*)0; }
        int hipGetDeviceCount(int* n) { *n = 1; return 0; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  ::testing::internal::CaptureStdout();
  const BackendReport r = probe(PlatformType::ROCm);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(r.problem, HasSubstr("crashed"));
  EXPECT_TRUE(r.devices.empty());
}

TEST_F(DevicesTest, ADriverThatExitsTakesNobodyDown) {
  if (!build("libmcruntime.so", R"(
        #include <stdlib.h>
        int mcGetDeviceCount(int* n) { exit(0); }
      )"))
    GTEST_SKIP() << "no C compiler here";
  EXPECT_THAT(probe(PlatformType::MACA).problem, HasSubstr("ended the process"));
}

TEST_F(DevicesTest, ADriverThatHangsIsGivenUp) {
  if (!build("libascendcl.so", R"(
        #include <unistd.h>
        int aclInit(const char* c) { for (;;) pause(); }
        int aclrtGetDeviceCount(unsigned* n) { *n = 1; return 0; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  const int64_t begin = monotonicNs();
  const BackendReport r = probe(PlatformType::Ascend, 300);
  const int64_t took_ns = monotonicNs() - begin;
  EXPECT_THAT(r.problem, HasSubstr("did not answer within 0.3 s"));
  EXPECT_GE(took_ns, 290'000'000);
  EXPECT_LT(took_ns, 5'000'000'000);
}

TEST_F(DevicesTest, ALibraryOfTheRightNameWithoutTheFunctionsIsNotTrusted) {
  if (!build("libvulkan.so.1", "int nothing;")) GTEST_SKIP() << "no C compiler here";
  EXPECT_THAT(probe(PlatformType::Vulkan).problem, HasSubstr("has no vkCreateInstance"));
}

TEST_F(DevicesTest, AFileThatIsNoLibraryIsSaidToBeUnloadable) {
  std::ofstream(directory_ + "/libascendcl.so") << "not a library";
  const BackendReport r = probe(PlatformType::Ascend);
  EXPECT_FALSE(r.library_found);
  EXPECT_THAT(r.problem, HasSubstr("cannot be loaded"));
  EXPECT_THAT(r.looked_in, Contains(directory_));
}

TEST_F(DevicesTest, VulkanDevicesAreDescribedThroughALoaderOfThatName) {
  if (!build("libvulkan.so.1", R"(
        #include <stdint.h>
        #include <string.h>
        int vkCreateInstance(const void* i, const void* a, void** out) {
          *out = (void*)7; return *(const uint32_t*)i == 1 ? 0 : -1; }
        void vkDestroyInstance(void* i, const void* a) {}
        int vkEnumeratePhysicalDevices(void* i, uint32_t* n, void** out) {
          if (out) out[0] = (void*)9; *n = 1; return 0; }
        void vkGetPhysicalDeviceProperties(void* d, uint32_t* p) {
          memset(p, 0, 824); p[0] = 1u << 22 | 3u << 12 | 255; p[2] = 0x10005; p[4] = 4;
          strcpy((char*)(p + 5), "llvmpipe"); }
        void vkGetPhysicalDeviceMemoryProperties(void* d, uint32_t* m) {
          memset(m, 0, 520); m[65] = 1; *(uint64_t*)(m + 66) = 1ull << 33; m[68] = 1; }
      )"))
    GTEST_SKIP() << "no C compiler here";
  const BackendReport r = probe(PlatformType::Vulkan);
  EXPECT_EQ(r.problem, "");
  ASSERT_EQ(r.devices.size(), 1u);
  EXPECT_EQ(r.strings.at(r.devices[0].name), "llvmpipe");
  EXPECT_EQ(r.strings.at(r.devices[0].api_version), "Vulkan 1.3.255");
  EXPECT_EQ(r.devices[0].kind, DeviceKind::kCpu);
  EXPECT_EQ(r.devices[0].memory_bytes, 1ull << 33);
}

}  // namespace
}  // namespace tracesmith
