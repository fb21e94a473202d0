// SPDX-License-Identifier: Apache-2.0
// The functions, structs and numbers are those of nvml.h, which is not needed to compile this.
#include "tracesmith/capture/devices/nvml_gpus.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/devices/asked_children.hpp"
#include "tracesmith/capture/devices/device_probe.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kMostGpus = 1024;
constexpr unsigned kMostLinks =
    36;  // NVML_NVLINK_MAX_LINKS: it refuses numbers above its own limit
constexpr uint8_t kComplete = 0x5a;

// nvmlPciInfo_t, version 2 and 3
struct PciInfo {
  char legacy_address[16];
  unsigned domain, bus, device;
  unsigned device_id, subsystem_id;
  char address[32];
};
static_assert(sizeof(PciInfo) == 68);
// nvmlMemory_t
struct Memory {
  unsigned long long total, free, used;
};

using Device = void*;
struct Nvml {
  explicit Nvml(const VendorLibrary& library)
      : init(library.find<int (*)()>("nvmlInit_v2")),
        count(library.find<int (*)(unsigned*)>("nvmlDeviceGetCount_v2")),
        handle(library.find<int (*)(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2")),
        pci(library.find<int (*)(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3")),
        name(library.find<int (*)(Device, char*, unsigned)>("nvmlDeviceGetName")),
        uuid(library.find<int (*)(Device, char*, unsigned)>("nvmlDeviceGetUUID")),
        memory(library.find<int (*)(Device, Memory*)>("nvmlDeviceGetMemoryInfo")),
        capability(library.find<int (*)(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability")),
        link_state(library.find<int (*)(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState")),
        link_version(
            library.find<int (*)(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkVersion")),
        link_remote(library.find<int (*)(Device, unsigned, PciInfo*)>(
            "nvmlDeviceGetNvLinkRemotePciInfo_v2")),
        link_kind(
            library.find<int (*)(Device, unsigned, int*)>("nvmlDeviceGetNvLinkRemoteDeviceType")) {}

  int (*init)();
  int (*count)(unsigned*);
  int (*handle)(unsigned, Device*);
  int (*pci)(Device, PciInfo*);
  int (*name)(Device, char*, unsigned);
  int (*uuid)(Device, char*, unsigned);
  int (*memory)(Device, Memory*);
  int (*capability)(Device, int*, int*);
  int (*link_state)(Device, unsigned, unsigned*);
  int (*link_version)(Device, unsigned, unsigned*);
  int (*link_remote)(Device, unsigned, PciInfo*);
  int (*link_kind)(Device, unsigned, int*);
};

topology::PciAddress addressOf(const PciInfo& info) {
  const auto read =
      topology::pciAddress({info.address, strnlen(info.address, sizeof info.address)});
  if (read) return *read;
  return {info.domain, static_cast<uint8_t>(info.bus), static_cast<uint8_t>(info.device), 0};
}

/// NVML_NVLINK_VERSION_*: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0.
int32_t generationOf(unsigned version) {
  constexpr std::array<int32_t, 8> kGenerations = {0, 1, 2, 2, 3, 3, 4, 5};
  return version < kGenerations.size() ? kGenerations.at(version) : 0;
}

NvmlLink::Remote remoteOf(int kind) {  // nvmlIntNvLinkDeviceType_t
  switch (kind) {
    case 0:
      return NvmlLink::Remote::kGpu;
    case 1:
      return NvmlLink::Remote::kProcessor;
    case 2:
      return NvmlLink::Remote::kSwitch;
    default:
      return NvmlLink::Remote::kUnknown;
  }
}

void askLinks(const Nvml& nvml, Device device, NvmlGpu& gpu) {
  if (nvml.link_state == nullptr) return;
  for (unsigned i = 0; i < kMostLinks; ++i) {
    unsigned active = 0, version = 0;
    // A GPU without NVLink refuses the first.
    if (nvml.link_state(device, i, &active) != 0) break;
    if (active == 0) continue;
    NvmlLink link;
    PciInfo remote{};
    int kind = 255;
    if (nvml.link_remote != nullptr && nvml.link_remote(device, i, &remote) == 0) {
      link.address = addressOf(remote);
    }
    if (nvml.link_kind != nullptr && nvml.link_kind(device, i, &kind) == 0) {
      link.remote = remoteOf(kind);
    }
    if (nvml.link_version != nullptr && nvml.link_version(device, i, &version) == 0) {
      link.generation = generationOf(version);
    }
    gpu.links.push_back(link);
  }
}

NvmlReport ask(const std::vector<std::string>& directories) {
  NvmlReport report;
  BackendReport where;
  const VendorLibrary library(where, {"libnvidia-ml.so.1"}, directories,
                              {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"});
  if (!library) return report;
  const Nvml nvml(library);
  if (nvml.init == nullptr || nvml.count == nullptr || nvml.handle == nullptr ||
      nvml.pci == nullptr) {
    report.problem = "NVML lacks functions that every version since 2016 has";
    return report;
  }
  unsigned count = 0;
  if (const int error = nvml.init(); error != 0) {
    report.problem = fmt::format("NVML cannot be used: nvmlInit_v2 returned {}", error);
    return report;
  }
  if (const int error = nvml.count(&count); error != 0) {
    report.problem = fmt::format("NVML does not say how many GPUs there are: error {}", error);
    return report;
  }
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    Device device = nullptr;
    PciInfo pci{};
    int error = nvml.handle(i, &device);
    if (error == 0) error = nvml.pci(device, &pci);
    if (error != 0) {
      report.problem += fmt::format("{}NVML does not answer for GPU {}: error {}",
                                    report.problem.empty() ? "" : "; ", i, error);
      continue;
    }
    NvmlGpu& gpu = report.gpus.emplace_back();
    gpu.address = addressOf(pci);
    gpu.number = static_cast<int32_t>(i);
    const auto text = [&](int (*ask_for)(Device, char*, unsigned)) -> std::string {
      char bytes[96] = {};
      if (ask_for == nullptr || ask_for(device, bytes, sizeof bytes) != 0) return {};
      return {bytes, strnlen(bytes, sizeof bytes)};
    };
    gpu.name = text(nvml.name);
    gpu.uuid = text(nvml.uuid);
    Memory memory{};
    if (nvml.memory != nullptr && nvml.memory(device, &memory) == 0) {
      gpu.memory_bytes = memory.total;
    }
    int major = 0, minor = 0;
    if (nvml.capability != nullptr && nvml.capability(device, &major, &minor) == 0) {
      gpu.compute_capability = major * 10 + minor;
    }
    askLinks(nvml, device, gpu);
  }
  return report;
}

void putAddress(Bytes& out, const topology::PciAddress& address) {
  putFixed(out, address.domain);
  for (const uint8_t part : {address.bus, address.device, address.function}) putFixed(out, part);
}
topology::PciAddress takeAddress(ByteReader& in) {
  topology::PciAddress address;
  address.domain = in.fixed<uint32_t>();
  address.bus = in.fixed<uint8_t>();
  address.device = in.fixed<uint8_t>();
  address.function = in.fixed<uint8_t>();
  return address;
}

Bytes encode(const NvmlReport& report) {
  Bytes out;
  putText(out, report.problem);
  putFixed(out, static_cast<uint32_t>(report.gpus.size()));
  for (const NvmlGpu& gpu : report.gpus) {
    putAddress(out, gpu.address);
    putText(out, gpu.name);
    putText(out, gpu.uuid);
    putFixed(out, gpu.memory_bytes);
    putFixed(out, gpu.number);
    putFixed(out, gpu.compute_capability);
    putFixed(out, static_cast<uint32_t>(gpu.links.size()));
    for (const NvmlLink& link : gpu.links) {
      putFixed(out, static_cast<uint8_t>(link.remote));
      putAddress(out, link.address);
      putFixed(out, link.generation);
    }
  }
  putFixed(out, kComplete);
  return out;
}

bool decode(ByteView bytes, NvmlReport& report) {
  ByteReader in(bytes);
  report.problem = takeText(in);
  const uint32_t gpus = std::min(in.fixed<uint32_t>(), kMostGpus);
  for (uint32_t i = 0; i < gpus && in.ok(); ++i) {
    NvmlGpu& gpu = report.gpus.emplace_back();
    gpu.address = takeAddress(in);
    gpu.name = takeText(in);
    gpu.uuid = takeText(in);
    gpu.memory_bytes = in.fixed<uint64_t>();
    gpu.number = in.fixed<int32_t>();
    gpu.compute_capability = in.fixed<int32_t>();
    const uint32_t links = std::min(in.fixed<uint32_t>(), uint32_t{kMostLinks});
    for (uint32_t k = 0; k < links && in.ok(); ++k) {
      NvmlLink& link = gpu.links.emplace_back();
      link.remote = static_cast<NvmlLink::Remote>(std::min<uint8_t>(in.fixed<uint8_t>(), 3));
      link.address = takeAddress(in);
      link.generation = in.fixed<int32_t>();
    }
  }
  return in.fixed<uint8_t>() == kComplete && in.ok();
}

}  // namespace

NvmlReport nvmlGpus(const std::vector<std::string>& directories, int64_t timeout_ms) {
  const ChildReply reply =
      askInChildren({[&] { return encode(ask(directories)); }}, timeout_ms).at(0);
  NvmlReport report;
  if (decode(reply.bytes, report)) return report;
  return {{},
          reply.failure.empty() ? "NVML " + reply.problem : "cannot ask NVML: " + reply.failure};
}

}  // namespace tracesmith
