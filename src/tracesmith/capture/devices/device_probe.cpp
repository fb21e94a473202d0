// SPDX-License-Identifier: Apache-2.0
// The few functions of each vendor's API that list devices, declared here by hand. So no vendor's
// headers are needed to build, and no vendor's library to start.
#include "tracesmith/capture/devices/device_probe.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

namespace tracesmith {
namespace {

using Paths = std::vector<std::string>;

std::string environmentPath(const char* variable, const char* below) {
  const char* root = std::getenv(variable);
  return root == nullptr || root[0] != '/' ? std::string() : std::string(root) + below;
}
/// `fixed`, preceded by the directory in the vendor's environment variable, if it is set.
Paths pathsOf(Paths fixed, const char* variable, const char* below) {
  if (std::string place = environmentPath(variable, below); !place.empty())
    fixed.insert(fixed.begin(), std::move(place));
  return fixed;
}

/// "cuInit failed with 100".
std::string failed(const char* function, long code) {
  return fmt::format("{} failed with {}", function, code);
}
std::string lacks(const BackendReport& report, const char* function) {
  return fmt::format("{} has no {}: not the library it should be", report.path, function);
}
std::string noDevices(const BackendReport& report) {
  return fmt::format("{} sees no devices", report.library);
}

// --- OpenCL (OpenCL 3.0 specification; numbers from CL/cl.h) --------------------------------

void probeOpenCl(BackendReport& report, const Paths& first) {
  const VendorLibrary library(report, {"libOpenCL.so.1", "libOpenCL.so"}, first, {});
  if (!library) return;
  using GetPlatforms = int (*)(uint32_t, void**, uint32_t*);
  using GetDevices = int (*)(void*, uint64_t, uint32_t, void**, uint32_t*);
  using GetInfo = int (*)(void*, uint32_t, size_t, void*, size_t*);
  const auto platforms = library.find<GetPlatforms>("clGetPlatformIDs");
  const auto platform_info = library.find<GetInfo>("clGetPlatformInfo");
  const auto devices = library.find<GetDevices>("clGetDeviceIDs");
  const auto device_info = library.find<GetInfo>("clGetDeviceInfo");
  if (!platforms || !platform_info || !devices || !device_info) {
    report.problem = lacks(report, "clGetDeviceIDs");
    return;
  }
  const auto text = [](GetInfo get, void* object, uint32_t what) {
    size_t bytes = 0;
    if (get(object, what, 0, nullptr, &bytes) != 0 || bytes == 0 || bytes > 65536)
      return std::string();
    std::string value(bytes, '\0');
    if (get(object, what, bytes, value.data(), nullptr) != 0) return std::string();
    value.resize(std::strlen(value.c_str()));
    return value;
  };
  constexpr int kPlatformNotFound = -1001;  // cl_khr_icd: CL_PLATFORM_NOT_FOUND_KHR
  uint32_t platform_count = 0;
  const int listed = platforms(0, nullptr, &platform_count);
  if (listed != 0 && listed != kPlatformNotFound) {
    report.problem = failed("clGetPlatformIDs", listed);
    return;
  }
  std::vector<void*> all(std::min<uint32_t>(platform_count, 256));
  if (all.empty() || platforms(static_cast<uint32_t>(all.size()), all.data(), nullptr) != 0) {
    report.problem = "no OpenCL driver is registered (in /etc/OpenCL/vendors or OCL_ICD_VENDORS)";
    return;
  }
  for (void* platform : all) {
    uint32_t count = 0;
    constexpr uint64_t kAllTypes = 0xFFFFFFFF;
    if (devices(platform, kAllTypes, 0, nullptr, &count) != 0) continue;
    std::vector<void*> ids(std::min<uint32_t>(count, 1024));
    if (ids.empty() ||
        devices(platform, kAllTypes, static_cast<uint32_t>(ids.size()), ids.data(), nullptr) != 0)
      continue;
    for (uint32_t ordinal = 0; ordinal < ids.size(); ++ordinal) {
      const auto number = [&](uint32_t what, auto value) {
        if (device_info(ids[ordinal], what, sizeof value, &value, nullptr) != 0) value = 0;
        return value;
      };
      DeviceRow row;
      row.ordinal = ordinal;
      row.name = report.strings.intern(text(device_info, ids[ordinal], 0x102B));
      row.vendor = report.strings.intern(text(device_info, ids[ordinal], 0x102C));
      row.platform = report.strings.intern(text(platform_info, platform, 0x0902));
      row.driver_version = report.strings.intern(text(device_info, ids[ordinal], 0x102D));
      row.api_version = report.strings.intern(text(device_info, ids[ordinal], 0x102F));
      const uint64_t type = number(0x1000, uint64_t{0});
      row.kind = type & 4   ? DeviceKind::kGpu
                 : type & 8 ? DeviceKind::kAccelerator
                 : type & 2 ? DeviceKind::kCpu
                            : DeviceKind::kUnknown;
      row.memory_bytes = number(0x101F, uint64_t{0});
      row.compute_units = number(0x1002, uint32_t{0});
      row.clock_mhz = number(0x100C, uint32_t{0});
      row.max_work_group_size = static_cast<uint32_t>(number(0x1004, size_t{0}));
      row.compute_major = number(0x4000, uint32_t{0});  // cl_nv_device_attribute_query
      row.compute_minor = number(0x4001, uint32_t{0});
      row.warp_size = number(0x4003, uint32_t{0});
      report.devices.push_back(row);
    }
  }
  if (report.devices.empty()) report.problem = noDevices(report);
}

// --- CUDA (CUDA driver API; numbers from cuda.h) --------------------------------------------

/// The driver's functions; optional ones may be missing.
struct CudaDriver {
  explicit CudaDriver(const VendorLibrary& library)
      : init(library.find<int (*)(unsigned)>("cuInit")),
        count(library.find<int (*)(int*)>("cuDeviceGetCount")),
        get(library.find<int (*)(int*, int)>("cuDeviceGet")),
        name(library.find<int (*)(char*, int, int)>("cuDeviceGetName")),
        memory(library.find<int (*)(size_t*, int)>("cuDeviceTotalMem_v2")),
        attribute(library.find<int (*)(int*, int, int)>("cuDeviceGetAttribute")),
        uuid(library.find<int (*)(std::array<uint8_t, 16>*, int)>("cuDeviceGetUuid")),
        version(library.find<int (*)(int*)>("cuDriverGetVersion")),
        error_text(library.find<int (*)(int, const char**)>("cuGetErrorString")) {}

  int (*init)(unsigned);
  int (*count)(int*);
  int (*get)(int*, int);
  int (*name)(char*, int, int);
  int (*memory)(size_t*, int);
  int (*attribute)(int*, int, int);
  int (*uuid)(std::array<uint8_t, 16>*, int);
  int (*version)(int*);
  int (*error_text)(int, const char**);
};

/// Initializes the driver and returns its number of devices. On failure returns nullopt and
/// explains it in the report.
std::optional<int> startCuda(BackendReport& report, const CudaDriver& driver) {
  if (!driver.init || !driver.count || !driver.get) {
    report.problem = lacks(report, "cuInit");
    return std::nullopt;
  }
  int version = 0, count = 0;
  if (driver.version && driver.version(&version) == 0 && version > 0)
    report.driver_version = static_cast<uint32_t>(version);
  if (const int code = driver.init(0); code != 0) {
    report.problem = failed("cuInit", code);
    const char* text = nullptr;
    if (driver.error_text && driver.error_text(code, &text) == 0 && text != nullptr)
      report.problem += fmt::format(" ({})", text);
    return std::nullopt;
  }
  if (const int code = driver.count(&count); code != 0) {
    report.problem = failed("cuDeviceGetCount", code);
    return std::nullopt;
  }
  return count;
}

/// "GPU-01234567-89ab-cdef-0123-456789abcdef", as NVIDIA's tools format it.
std::string cudaUuidText(const std::array<uint8_t, 16>& uuid) {
  std::string text = "GPU-";
  for (size_t b = 0; b < uuid.size(); ++b)
    text += fmt::format("{}{:02x}", b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "", uuid[b]);
  return text;
}

DeviceRow describeCudaDevice(BackendReport& report, const CudaDriver& driver, int device,
                             const std::string& kernel_module) {
  const auto attribute = [&](int what) {
    int value = 0;
    return driver.attribute && driver.attribute(&value, what, device) == 0 && value > 0
               ? static_cast<uint32_t>(value)
               : 0u;
  };
  DeviceRow row;
  row.kind = DeviceKind::kGpu;
  std::array<char, 256> name{};
  if (driver.name && driver.name(name.data(), name.size() - 1, device) == 0)
    row.name = report.strings.intern(name.data());
  row.vendor = report.strings.intern("NVIDIA Corporation");
  row.platform = report.strings.intern("CUDA");
  if (report.driver_version > 0)
    row.api_version = report.strings.intern("CUDA " + cudaVersionText(report.driver_version));
  row.driver_version = report.strings.intern(kernel_module);
  size_t memory = 0;
  if (driver.memory && driver.memory(&memory, device) == 0) row.memory_bytes = memory;
  row.max_work_group_size = attribute(1);
  row.warp_size = attribute(10);
  row.clock_mhz = attribute(13) / 1000;
  row.compute_units = attribute(16);
  row.memory_clock_mhz = attribute(36) / 1000;
  row.memory_bus_bits = attribute(37);
  row.max_threads_per_unit = attribute(39);
  row.compute_major = attribute(75);
  row.compute_minor = attribute(76);
  row.shared_bytes_per_unit = attribute(81);
  row.registers_per_unit = attribute(82);
  row.pci_address = report.strings.intern(
      fmt::format("{:04x}:{:02x}:{:02x}.0", attribute(50), attribute(33), attribute(34)));
  std::array<uint8_t, 16> uuid{};
  if (driver.uuid && driver.uuid(&uuid, device) == 0)
    row.uuid = report.strings.intern(cudaUuidText(uuid));
  return row;
}

void probeCuda(BackendReport& report, const Paths& first) {
  const VendorLibrary library(report, {"libcuda.so.1", "libcuda.so"}, first,
                              {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"});
  if (!library) return;
  const CudaDriver driver(library);
  const std::optional<int> count = startCuda(report, driver);
  if (!count) return;
  std::string kernel_module;  // "550.54.14"
  std::ifstream("/sys/module/nvidia/version") >> kernel_module;
  for (int i = 0; i < std::min(*count, 1024); ++i) {
    int device = 0;
    if (driver.get(&device, i) != 0) continue;
    DeviceRow row = describeCudaDevice(report, driver, device, kernel_module);
    row.ordinal = static_cast<uint32_t>(i);
    report.devices.push_back(row);
  }
  if (report.devices.empty()) report.problem = noDevices(report);
}

// --- ROCm (HIP runtime API; what HIP 5 and 6 have in common) --------------------------------

void probeHsa(BackendReport& report, const VendorLibrary& library) {
  struct Agent {
    uint64_t handle;
  };
  const auto init = library.find<int (*)()>("hsa_init");
  const auto iterate = library.find<int (*)(int (*)(Agent, void*), void*)>("hsa_iterate_agents");
  using GetInfo = int (*)(Agent, int, void*);
  const auto info = library.find<GetInfo>("hsa_agent_get_info");
  if (!init || !iterate || !info) {
    report.problem = lacks(report, "hsa_init");
    return;
  }
  if (const int code = init(); code != 0) {
    report.problem = failed("hsa_init", code) + " (is /dev/kfd there and readable?)";
    return;
  }
  struct Walk {
    BackendReport& report;
    GetInfo info;
  } walk{report, info};
  (void)iterate(
      [](Agent agent, void* data) {
        Walk& w = *static_cast<Walk*>(data);
        uint32_t type = 0;
        constexpr int kName = 0, kVendor = 1, kDeviceType = 17;  // hsa_agent_info_t
        constexpr uint32_t kGpu = 1;                             // hsa_device_type_t
        if (w.info(agent, kDeviceType, &type) != 0 || type != kGpu) return 0;
        std::array<char, 65> name{}, vendor{};
        DeviceRow row;
        row.ordinal = static_cast<uint32_t>(w.report.devices.size());
        row.kind = DeviceKind::kGpu;
        if (w.info(agent, kName, name.data()) == 0) row.name = w.report.strings.intern(name.data());
        if (w.info(agent, kVendor, vendor.data()) == 0)
          row.vendor = w.report.strings.intern(vendor.data());
        row.platform = w.report.strings.intern("ROCm (HSA)");
        w.report.devices.push_back(row);
        return 0;
      },
      &walk);
  if (report.devices.empty()) report.problem = noDevices(report);
}

void probeRocm(BackendReport& report, const Paths& first) {
  const Paths vendor = pathsOf({"/opt/rocm/lib", "/opt/rocm/lib64"}, "ROCM_PATH", "/lib");
  const VendorLibrary library(
      report, {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}, first,
      vendor);
  if (!library) {
    BackendReport below;
    const VendorLibrary hsa(below, {"libhsa-runtime64.so.1"}, first, vendor);
    if (!hsa) {
      report.problem += "; nor is " + below.library;
      return;
    }
    report.library = below.library;
    report.library_found = true;
    report.path = below.path;
    report.problem.clear();
    probeHsa(report, hsa);
    return;
  }
  const auto init = library.find<int (*)(unsigned)>("hipInit");
  const auto count_of = library.find<int (*)(int*)>("hipGetDeviceCount");
  const auto name_of = library.find<int (*)(char*, int, int)>("hipDeviceGetName");
  const auto memory_of = library.find<int (*)(size_t*, int)>("hipDeviceTotalMem");
  const auto pci_of = library.find<int (*)(char*, int, int)>("hipDeviceGetPCIBusId");
  const auto compute_of = library.find<int (*)(int*, int*, int)>("hipDeviceComputeCapability");
  const auto version_of = library.find<int (*)(int*)>("hipDriverGetVersion");
  if (!init || !count_of) {
    report.problem = lacks(report, "hipInit");
    return;
  }
  if (const int code = init(0); code != 0) {
    report.problem = failed("hipInit", code) + " (is /dev/kfd there and readable?)";
    return;
  }
  int count = 0, version = 0;
  if (const int code = count_of(&count); code != 0) {
    report.problem = failed("hipGetDeviceCount", code);
    return;
  }
  if (version_of) (void)version_of(&version);
  for (int i = 0; i < std::min(count, 1024); ++i) {
    DeviceRow row;
    row.ordinal = static_cast<uint32_t>(i);
    row.kind = DeviceKind::kGpu;
    row.vendor = report.strings.intern("Advanced Micro Devices, Inc.");
    row.platform = report.strings.intern("ROCm (HIP)");
    std::array<char, 256> text{};
    if (name_of && name_of(text.data(), text.size() - 1, i) == 0)
      row.name = report.strings.intern(text.data());
    text.fill(0);
    if (pci_of && pci_of(text.data(), text.size() - 1, i) == 0)
      row.pci_address = report.strings.intern(text.data());
    size_t memory = 0;
    if (memory_of && memory_of(&memory, i) == 0) row.memory_bytes = memory;
    int major = 0, minor = 0;
    if (compute_of && compute_of(&major, &minor, i) == 0) {
      row.compute_major = static_cast<uint32_t>(major);
      row.compute_minor = static_cast<uint32_t>(minor);
    }
    if (version > 0) row.driver_version = report.strings.intern(std::to_string(version));
    report.devices.push_back(row);
  }
  if (report.devices.empty()) report.problem = noDevices(report);
}

// --- MetaX MACA -----------------------------------------------------------------------------

// Not tested on a real device. The runtime uses HIP's names with the prefix "mc"; a missing
// function leaves only its field empty.
void probeMaca(BackendReport& report, const Paths& first) {
  const Paths vendor = pathsOf(pathsOf({"/opt/maca/lib", "/opt/mxdriver/lib"}, "MACA_PATH", "/lib"),
                               "MACA_ROOT", "/lib");
  const VendorLibrary library(report, {"libmcruntime.so", "libmxcd.so"}, first, vendor);
  if (!library) return;
  const auto init = library.find<int (*)(unsigned)>("mcInit");
  const auto count_of = library.find<int (*)(int*)>("mcGetDeviceCount");
  const auto name_of = library.find<int (*)(char*, int, int)>("mcDeviceGetName");
  const auto memory_of = library.find<int (*)(size_t*, int)>("mcDeviceTotalMem");
  if (!count_of) {
    report.problem = lacks(report, "mcGetDeviceCount");
    return;
  }
  if (init) (void)init(0);
  int count = 0;
  if (const int code = count_of(&count); code != 0) {
    report.problem = failed("mcGetDeviceCount", code);
    return;
  }
  for (int i = 0; i < std::min(count, 1024); ++i) {
    DeviceRow row;
    row.ordinal = static_cast<uint32_t>(i);
    row.kind = DeviceKind::kGpu;
    row.vendor = report.strings.intern("MetaX");
    row.platform = report.strings.intern("MACA");
    std::array<char, 256> name{};
    if (name_of && name_of(name.data(), name.size() - 1, i) == 0)
      row.name = report.strings.intern(name.data());
    size_t memory = 0;
    if (memory_of && memory_of(&memory, i) == 0) row.memory_bytes = memory;
    report.devices.push_back(row);
  }
  if (report.devices.empty()) report.problem = noDevices(report);
}

// --- Huawei Ascend (AscendCL) ---------------------------------------------------------------

// Not tested on a real device. A device's memory size is omitted: it requires a context on the
// device, which takes memory and time there.
void probeAscend(BackendReport& report, const Paths& first) {
  const VendorLibrary library(
      report, {"libascendcl.so"}, first,
      pathsOf({"/usr/local/Ascend/ascend-toolkit/latest/lib64"}, "ASCEND_HOME_PATH", "/lib64"));
  if (!library) return;
  const auto init = library.find<int (*)(const char*)>("aclInit");
  const auto count_of = library.find<int (*)(uint32_t*)>("aclrtGetDeviceCount");
  const auto name_of = library.find<const char* (*)()>("aclrtGetSocName");
  if (!init || !count_of) {
    report.problem = lacks(report, "aclInit");
    return;
  }
  if (const int code = init(nullptr); code != 0) {
    report.problem = failed("aclInit", code);
    return;
  }
  uint32_t count = 0;
  if (const int code = count_of(&count); code != 0) {
    report.problem = failed("aclrtGetDeviceCount", code);
    return;
  }
  const char* name = name_of ? name_of() : nullptr;
  for (uint32_t i = 0; i < std::min<uint32_t>(count, 1024); ++i) {
    DeviceRow row;
    row.ordinal = i;
    row.kind = DeviceKind::kAccelerator;
    row.vendor = report.strings.intern("Huawei");
    row.platform = report.strings.intern("Ascend");
    row.name = report.strings.intern(name != nullptr ? name : "");
    report.devices.push_back(row);
  }
  if (report.devices.empty()) report.problem = noDevices(report);
}

// --- Vulkan (Vulkan 1.0; layouts from vulkan_core.h) ----------------------------------------

struct VulkanInstanceCreateInfo {
  uint32_t type = 1;  // VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
  const void* next = nullptr;
  uint32_t flags = 0;
  const void* application = nullptr;
  uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
};
struct VulkanProperties {
  uint32_t api_version, driver_version, vendor_id, device_id, device_type;
  char name[256];
  uint8_t rest[4096];  // cache UUID and limits: about 550 bytes, not used
};
struct VulkanMemory {
  uint32_t type_count;
  uint32_t types[32][2];
  uint32_t heap_count;
  struct {
    uint64_t bytes;
    uint32_t flags;
  } heaps[16];
};
static_assert(sizeof(VulkanMemory) == 520);

void probeVulkan(BackendReport& report, const Paths& first) {
  const VendorLibrary library(report, {"libvulkan.so.1", "libvulkan.so"}, first, {});
  if (!library) return;
  const auto create = library.find<int (*)(const VulkanInstanceCreateInfo*, const void*, void**)>(
      "vkCreateInstance");
  const auto destroy = library.find<void (*)(void*, const void*)>("vkDestroyInstance");
  const auto list = library.find<int (*)(void*, uint32_t*, void**)>("vkEnumeratePhysicalDevices");
  const auto properties_of =
      library.find<void (*)(void*, VulkanProperties*)>("vkGetPhysicalDeviceProperties");
  const auto memory_of =
      library.find<void (*)(void*, VulkanMemory*)>("vkGetPhysicalDeviceMemoryProperties");
  if (!create || !destroy || !list || !properties_of || !memory_of) {
    report.problem = lacks(report, "vkCreateInstance");
    return;
  }
  void* instance = nullptr;
  const VulkanInstanceCreateInfo request;
  if (const int code = create(&request, nullptr, &instance); code != 0) {
    constexpr int kIncompatibleDriver = -9;  // the loader's code when it finds no driver
    report.problem = code == kIncompatibleDriver ? "no Vulkan driver is installed"
                                                 : failed("vkCreateInstance", code);
    return;
  }
  uint32_t count = 0;
  std::vector<void*> devices;
  if (list(instance, &count, nullptr) == 0) {
    devices.resize(std::min<uint32_t>(count, 1024));
    count = static_cast<uint32_t>(devices.size());
    if (list(instance, &count, devices.data()) < 0) devices.clear();
  }
  for (uint32_t i = 0; i < devices.size() && i < count; ++i) {
    auto properties = std::make_unique<VulkanProperties>();
    VulkanMemory memory{};
    properties_of(devices[i], properties.get());
    memory_of(devices[i], &memory);
    properties->name[sizeof properties->name - 1] = 0;
    const auto version = [](uint32_t v) {
      return fmt::format("{}.{}.{}", v >> 22 & 0x7f, v >> 12 & 0x3ff, v & 0xfff);
    };
    DeviceRow row;
    row.ordinal = i;
    constexpr uint32_t kCpu = 4;  // VkPhysicalDeviceType; 1 to 3 are kinds of GPUs
    row.kind = properties->device_type == kCpu ? DeviceKind::kCpu
               : properties->device_type != 0  ? DeviceKind::kGpu
                                               : DeviceKind::kUnknown;
    row.name = report.strings.intern(properties->name);
    row.vendor = report.strings.intern(fmt::format("PCI vendor 0x{:04x}", properties->vendor_id));
    row.platform = report.strings.intern("Vulkan");
    row.api_version = report.strings.intern("Vulkan " + version(properties->api_version));
    // Each vendor packs the version differently, so show the plain number.
    row.driver_version = report.strings.intern(fmt::format("{:#x}", properties->driver_version));
    constexpr uint32_t kDeviceLocal = 1;
    for (uint32_t heap = 0; heap < std::min<uint32_t>(memory.heap_count, 16); ++heap)
      if (memory.heaps[heap].flags & kDeviceLocal) row.memory_bytes += memory.heaps[heap].bytes;
    report.devices.push_back(row);
  }
  destroy(instance, nullptr);
  if (report.devices.empty()) report.problem = noDevices(report);
}

}  // namespace

bool cudaIsInUse() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const auto count_of = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDeviceGetCount"));
  int count = 0;
  constexpr int kNotInitialized = 3;  // CUDA_ERROR_NOT_INITIALIZED
  const bool in_use = count_of != nullptr && count_of(&count) != kNotInitialized;
  ::dlclose(library);
  return in_use;
}

void probeBackend(BackendReport& report, const std::vector<std::string>& directories) {
  switch (report.backend) {
    case PlatformType::OpenCL:
      probeOpenCl(report, directories);
      break;
    case PlatformType::CUDA:
      probeCuda(report, directories);
      break;
    case PlatformType::ROCm:
      probeRocm(report, directories);
      break;
    case PlatformType::MACA:
      probeMaca(report, directories);
      break;
    case PlatformType::Ascend:
      probeAscend(report, directories);
      break;
    case PlatformType::Vulkan:
      probeVulkan(report, directories);
      break;
    case PlatformType::Metal:
      report.library = "Metal.framework";
      report.problem = "Metal exists on macOS only";
      break;
    case PlatformType::Unknown:
    case PlatformType::Simulation:
      report.problem = "not a backend with devices";
      break;
  }
  for (DeviceRow& row : report.devices) row.backend = report.backend;
}

}  // namespace tracesmith
