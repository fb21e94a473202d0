// SPDX-License-Identifier: Apache-2.0
// The driver's virtual memory functions whose parameters the agent reads, and how. CUPTI's memory
// records are not documented to cover these functions, so the agent reads the parameters in their
// callbacks. The structs are the first parts of the vendor's (generated_cuda_meta.h, cuda.h);
// tests/cuda/programs/agent_layout_check.cpp compares them with the headers.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent::cupti {

// Parameters of functions. Pointers are the program's own, and are valid if the call succeeded.
struct MemoryLocation {
  int32_t type;
  union {
    int32_t id;
    uint8_t device_of_domain;  // used with kLocalityDomain
  };
};
constexpr int32_t kLocationDevice = 1;
constexpr int32_t kLocationLocalityDomain = 6;  // a part of a device's memory; since CUDA 13

struct AllocationProperties {
  int32_t type;
  int32_t handle_types;
  MemoryLocation location;
};

struct MemCreateParams {
  const uint64_t* handle;
  size_t bytes;
  const AllocationProperties* properties;
};
struct MemReleaseParams {
  uint64_t handle;
};
struct MemMapParams {
  uint64_t address;
  size_t bytes;
  size_t offset;
  uint64_t handle;
};
struct MemUnmapParams {
  uint64_t address;
  size_t bytes;
};
struct MemRetainParams {
  const uint64_t* handle;
  uint64_t address;
};
/// Of cuMemImportFromShareableHandle and cuMulticastCreate.
struct MemImportParams {
  const uint64_t* handle;
};
static_assert(offsetof(MemMapParams, handle) == 24 &&
              offsetof(AllocationProperties, location) == 8);

/// The operation on physical memory; kNone: none, or it is another function.
inline arena::VirtualMemoryCall virtualMemoryOperation(const char* function) {
  using arena::VirtualMemoryCall;
  constexpr struct {
    const char* function;
    VirtualMemoryCall operation;
  } kOperations[] = {
      {"cuMemCreate", VirtualMemoryCall::kCreate},
      {"cuMemRelease", VirtualMemoryCall::kRelease},
      {"cuMemMap", VirtualMemoryCall::kMap},
      {"cuMemUnmap", VirtualMemoryCall::kUnmap},
      {"cuMemRetainAllocationHandle", VirtualMemoryCall::kRetain},
      {"cuMemImportFromShareableHandle", VirtualMemoryCall::kImport},
      // Such a handle is mapped and released like others, but has no memory of its own.
      {"cuMulticastCreate", VirtualMemoryCall::kImport},
  };
  for (const auto& known : kOperations) {
    if (strcmp(known.function, function) == 0) return known.operation;
  }
  return VirtualMemoryCall::kNone;
}

/// The device of memory with these properties; arena::kNoDevice for host memory.
inline uint32_t deviceOf(const AllocationProperties* properties) {
  if (properties == nullptr) return arena::kNoDevice;
  const MemoryLocation& at = properties->location;
  if (at.type == kLocationDevice) return static_cast<uint32_t>(at.id);
  if (at.type == kLocationLocalityDomain) return at.device_of_domain;
  return arena::kNoDevice;
}

/// Reads the parameters of a successful call: handle, address, bytes, offset, device.
inline void readVirtualMemory(arena::VirtualMemoryCall operation, const void* parameters,
                              arena::CudaVirtualMemoryRecord& r) {
  using arena::VirtualMemoryCall;
  r.device = arena::kNoDevice;
  switch (operation) {
    case VirtualMemoryCall::kCreate: {
      const auto& p = *static_cast<const MemCreateParams*>(parameters);
      r.handle = *p.handle;
      r.bytes = p.bytes;
      r.device = deviceOf(p.properties);
      return;
    }
    case VirtualMemoryCall::kRelease:
      r.handle = static_cast<const MemReleaseParams*>(parameters)->handle;
      return;
    case VirtualMemoryCall::kMap: {
      const auto& p = *static_cast<const MemMapParams*>(parameters);
      r.handle = p.handle;
      r.address = p.address;
      r.bytes = p.bytes;
      r.offset = p.offset;
      return;
    }
    case VirtualMemoryCall::kUnmap: {
      const auto& p = *static_cast<const MemUnmapParams*>(parameters);
      r.address = p.address;
      r.bytes = p.bytes;
      return;
    }
    case VirtualMemoryCall::kRetain: {
      const auto& p = *static_cast<const MemRetainParams*>(parameters);
      r.handle = *p.handle;
      r.address = p.address;
      return;
    }
    case VirtualMemoryCall::kImport:
      r.handle = *static_cast<const MemImportParams*>(parameters)->handle;
      return;
    case VirtualMemoryCall::kNone:
      return;
  }
}

}  // namespace tracesmith::agent::cupti
