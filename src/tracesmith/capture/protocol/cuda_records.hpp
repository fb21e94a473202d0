// SPDX-License-Identifier: Apache-2.0
// Records of the CUDA agent, in an arena's rings (arena_layout.hpp) and in the file shared by the
// agents of a process (cuda_layout.hpp). Correlation ids are CUPTI's, extended to 64 bits. A time
// of 0 is unknown.
#pragma once

#include <cstdint>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::arena {

enum class CudaText : uint8_t {
  kKernel = 0,    // aux: number of a kernel name
  kFunction = 1,  // aux: number of an API function
  kDevice = 2,    // aux: the device's ordinal
  kProblem = 3,   // aux: 0 nothing is captured, 1 some of it is not
  // NVTX:
  kNvtxName = 4,      // aux: number of a name
  kNvtxDomain = 5,    // aux: number of a domain, from 1 on
  kNvtxCategory = 6,  // aux: the program's number for a category
  kOtherTools = 7,    // other CUPTI tools loaded in the process when its capture ended
};
struct CudaTextRecord {
  RecordHeader header;
  uint32_t bytes;      // of the text
  uint32_t call_kind;  // functions: CallKind of the model; categories: their domain
};

/// In kCudaCall: the launch was captured as a node of a graph, and does no work now.
constexpr uint8_t kFlagCaptured = 1;
/// The call launches a kernel, whether or not the kernel's name is known.
constexpr uint8_t kFlagKernel = 2;

/// API functions are numbered by CUPTI's domain and callback number. CallRecord::stream is the
/// number of the kernel's name, or 0.
constexpr uint32_t cudaFunction(uint32_t domain, uint32_t number) { return domain << 24 | number; }

struct CudaKernelRecord {
  RecordHeader header;  // aux: number of its name
  uint64_t correlation;
  int64_t start;
  int64_t end;
  int64_t queued;
  int64_t submitted;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t registers;
  uint32_t grid[3];   // blocks
  uint32_t block[3];  // threads
  uint32_t static_shared;
  uint32_t dynamic_shared;
  uint32_t local_per_thread;
  uint32_t graph;
  uint64_t graph_node;
  uint32_t cluster[3];  // blocks; 0: none
  uint32_t reserved;
};
static_assert(sizeof(CudaKernelRecord) == 128);

struct CudaCopyRecord {
  RecordHeader header;
  uint64_t correlation;
  int64_t start;
  int64_t end;
  uint64_t bytes;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t devices;  // copyDevices() of a copy from one device to another, else 0
};
static_assert(sizeof(CudaCopyRecord) == 56);

constexpr uint32_t copyDevices(uint32_t source, uint32_t destination) {
  return source >= 0xffff || destination >= 0xffff ? 0 : (source + 1) | (destination + 1) << 16;
}
/// Inverse of copyDevices(), where that is not 0.
constexpr uint32_t sourceDevice(uint32_t devices) { return (devices & 0xffff) - 1; }
constexpr uint32_t destinationDevice(uint32_t devices) { return (devices >> 16) - 1; }

struct CudaFillRecord {
  RecordHeader header;
  uint64_t correlation;
  int64_t start;
  int64_t end;
  uint64_t bytes;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t value;
};

/// CudaEventRecord::event_sync is missing: this CUPTI has none, or the record is not about an
/// event.
constexpr uint64_t kNoEventSync = ~uint64_t{0};

struct CudaSyncRecord {
  RecordHeader header;
  uint64_t correlation;
  int64_t start;
  int64_t end;
  uint32_t context;
  uint32_t stream;  // ~0: none
  uint32_t event;
  uint32_t reserved;
  uint64_t event_sync;  // id of the CudaEventRecord that was waited for
};
static_assert(sizeof(CudaSyncRecord) == 56);

/// An event was recorded on a stream.
struct CudaEventRecord {
  RecordHeader header;  // aux: the event's number
  uint64_t correlation;
  uint64_t event_sync;
  uint32_t context;
  uint32_t stream;
};
static_assert(sizeof(CudaEventRecord) == 32);

struct CudaMemoryRecord {
  RecordHeader header;  // aux: CUPTI's kind of memory
  uint64_t correlation;
  int64_t time;
  uint64_t address;
  uint64_t bytes;
  uint32_t device;
  uint32_t context;
  uint64_t pool;  // its address; 0: none
  // State of the pool after the event; both 0 if the pool is another process's, or CUPTI does not
  // say.
  uint64_t pool_bytes;
  uint64_t pool_used;
};
static_assert(sizeof(CudaMemoryRecord) == 72);

struct CudaPoolRecord {
  RecordHeader header;  // aux: device
  uint64_t correlation;
  int64_t time;
  uint64_t address;
  uint64_t bytes;
  uint64_t used;
  uint64_t release_threshold;
  uint64_t kept_bytes;  // trim: minimum that is kept
  uint32_t pool_kind;   // CUPTI's: 1 of this process, 2 of another
  uint32_t reserved;
};
static_assert(sizeof(CudaPoolRecord) == 72);

/// In kCudaModule: kFlagUnload: unloaded, otherwise loaded; kFlagInCall: the call was recorded.
constexpr uint8_t kFlagUnload = 1;
constexpr uint8_t kFlagInCall = 2;
struct CudaModuleRecord {
  RecordHeader header;   // aux: its call stack, or 0
  uint64_t correlation;  // without kFlagInCall: any id of this life
  int64_t time;
  uint64_t bytes;  // size of its image
  uint32_t module;
  uint32_t context;  // ~0: not known
};
static_assert(sizeof(CudaModuleRecord) == 40);

/// What a call of CUDA's virtual memory API did to physical memory.
enum class VirtualMemoryCall : uint8_t {
  kNone = 0,
  kCreate = 1,   // handle, bytes, device: physical memory was created
  kRelease = 2,  // handle: drops one reference
  kMap = 3,      // handle, address, bytes, offset
  kUnmap = 4,    // address, bytes: all mappings in this range
  kRetain = 5,   // handle, address: adds a reference to the memory mapped at the address
  kImport = 6,   // handle: of memory that this process did not allocate
};
constexpr uint32_t kNoDevice = ~0u;

/// A successful call of CUDA's virtual memory API. Its CallRecord follows in the ring.
struct CudaVirtualMemoryRecord {
  RecordHeader header;   // aux: call stack, or 0
  uint64_t correlation;  // of the call
  // kRelease and kUnmap: start of the call, because another thread may get the same handle or
  // address before the call ends. Others: end of the call.
  int64_t time;
  uint64_t handle;
  uint64_t address;
  uint64_t bytes;
  uint64_t offset;
  uint32_t device;  // ordinal; kNoDevice: host memory
  uint32_t reserved;
};
static_assert(sizeof(CudaVirtualMemoryRecord) == 64);

/// A graph node was created, or copied with its graph.
struct CudaGraphNodeRecord {
  RecordHeader header;  // aux: call stack of the creation, or 0
  uint64_t node;
  uint64_t original;     // the node it is a copy of; else 0
  uint64_t correlation;  // any id of this life
};

/// A launch of a graph whose nodes are not recorded.
struct CudaGraphRecord {
  RecordHeader header;  // aux: the graph's number
  uint64_t correlation;
  int64_t start;
  int64_t end;
  uint32_t device;   // of its first node; kHostNode: that node runs on the host
  uint32_t context;  // of its first node
  uint32_t stream;
  uint32_t reserved;
};
static_assert(sizeof(CudaGraphRecord) == 48);
constexpr uint32_t kHostNode = 0x7fffffff;

struct CudaJitRecord {
  RecordHeader header;  // aux: CUPTI's kind of input and output
  uint64_t correlation;
  int64_t start;
  int64_t end;
};

struct CudaUnifiedRecord {
  RecordHeader header;
  int64_t start;
  int64_t end;
  uint64_t value;  // bytes, or number of faults
  uint64_t address;
  uint32_t source;  // devices
  uint32_t destination;
  uint64_t first_correlation;  // first id of this life
};

struct CudaDeviceRecord {
  RecordHeader header;  // aux: ordinal
  uint64_t memory_bytes;
  uint32_t multiprocessors;
  uint32_t clock_mhz;
  uint32_t warp_size;
  uint32_t threads_per_block;
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t threads_per_multiprocessor;
  uint32_t registers_per_multiprocessor;
  uint32_t shared_bytes_per_multiprocessor;
  uint32_t memory_clock_mhz;  // 0: unknown, as in records of CUPTI
  uint32_t memory_bus_bits;
  uint32_t pci;  // pciLocation(); 0: unknown, as in records of CUPTI
  uint8_t uuid[16];
};
static_assert(sizeof(CudaDeviceRecord) == 80);

/// A PCI address as a number that is not 0: domain, bus and device in the bits that PCI gives them,
/// and the lowest bit. 0 for a domain of more than 16 bits.
constexpr uint32_t pciLocation(uint32_t domain, uint32_t bus, uint32_t device) {
  return domain > 0xffff ? 0 : domain << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | 1;
}

struct CudaContextRecord {
  RecordHeader header;  // aux: the context's number
  uint64_t device;
};

struct CudaOverheadRecord {
  RecordHeader header;   // aux: CUPTI's kind of overhead
  uint64_t correlation;  // of the call that caused it; 0: unknown
  int64_t start;
  int64_t end;
};

struct CudaDroppedRecord {
  RecordHeader header;
  uint64_t records;  // number lost since the last such record
};

}  // namespace tracesmith::arena
