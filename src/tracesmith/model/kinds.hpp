// SPDX-License-Identifier: Apache-2.0
// The small vocabularies that columns refer to. The numbers are on disk: append, never renumber.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// The API through which a device is used; also what createProfiler() is asked for.
enum class PlatformType : uint8_t {
  Unknown = 0,
  CUDA = 1,
  ROCm = 2,
  Metal = 3,
  MACA = 4,
  Ascend = 5,
  OpenCL = 6,
  Vulkan = 7,
  Simulation = 8,
};

enum class DeviceKind : uint8_t { kUnknown = 0, kCpu = 1, kGpu = 2, kAccelerator = 3 };

/// What a host call is about.
enum class CallKind : uint8_t {
  kOther = 0,
  kLaunch = 1,  ///< starts a kernel
  kCopy = 2,    ///< starts a copy (or map)
  kFill = 3,    ///< starts a fill
  kSync = 4,    ///< waits, or inserts a barrier or marker
  kMemory = 5,  ///< allocates or frees
  kBuild = 6,   ///< builds a program
  kSetup = 7,   ///< contexts, queues, kernels
};

enum class CopyKind : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kHostToHost = 4,
  kPeerToPeer = 5,
  kMap = 6,  ///< makes device memory visible to the host
  kUnmap = 7,
  kMigrate = 8,
};

enum class SyncKind : uint8_t {
  kUnknown = 0,
  kMarker = 1,      ///< device side: an empty command that completes after its predecessors
  kBarrier = 2,     ///< device side: holds back what follows
  kStreamWait = 3,  ///< host side: waits for a stream (clFinish, cudaStreamSynchronize)
  kDeviceWait = 4,  ///< host side: waits for a whole device
  kEventWait = 5,   ///< host side: waits for events
  kEventRecord = 6,
  kFlush = 7,
};

enum class MemoryKind : uint8_t { kUnknown = 0, kAlloc = 1, kFree = 2 };
enum class FlowKind : uint8_t {
  kUnknown = 0,
  kWait = 1,
  kFwdBwd = 2,
  kAsyncCpuGpu = 3,
  kCustom = 4
};
enum class FlowEnd : uint8_t { kUnknown = 0, kBegin = 1, kStep = 2, kEnd = 3 };
enum class BuildKind : uint8_t { kUnknown = 0, kBuild = 1, kCompile = 2, kLink = 3 };
enum class RangeKind : uint8_t { kRange = 0, kInstant = 1, kBegin = 2, kEnd = 3 };
enum class ObjectKind : uint8_t {
  kUnknown = 0,
  kKernel = 1,
  kMemory = 2,
  kProgram = 3,
  kEvent = 4,
  kStream = 5,
  kContext = 6,
  kDevice = 7,
  kCallPath = 8,      ///< not a handle: an agent's number for a call path
  kPythonCode = 9,    ///< an agent's number for a code object; its name is "file:name"
  kXRayProgram = 10,  ///< the program whose functions were traced; its name is its path
  kGraphNode = 11,    ///< a node of a CUDA graph; `id` is the call path at which it was made
};
/// Which clock a ClockDomain is. kBracketed: an unknown clock, known only through host brackets.
enum class ClockKind : uint8_t {
  kHostMonotonic = 0,
  kHostMonotonicRaw = 1,
  kHostRealtime = 2,
  kHostBoottime = 3,
  kBracketed = 4,
  kVendorPair = 5,        ///< sampled with the vendor's own device-and-host-time call
  kTimeStampCounter = 6,  ///< the processor's; agents stamp host calls with it
  /// Times that the vendor's library has converted to host time (CUPTI does). Its snapshots bound
  /// that clock's distance from the host's; how well the library converts is not known.
  kConverted = 7,
};

/// Bits of the `flags` column of kernel, copy, fill and sync rows.
namespace op_flags {
constexpr uint32_t kDeviceClock = 1;    ///< on disk: start is in the clock of the row's device
constexpr uint32_t kFirstLaunch = 2;    ///< carries the kernel's just-in-time compile
constexpr uint32_t kQueueTimes = 4;     ///< queued_before_ns and submitted_before_ns are known
constexpr uint32_t kFailed = 8;         ///< the device reported an error for it
constexpr uint32_t kNoDeviceTime = 16;  ///< completed, but the driver gave no time stamps
constexpr uint32_t kBlocking = 32;      ///< the host call waited for it
constexpr uint32_t kHostSide = 64;      ///< sync rows: the host waited; it is not device work
constexpr uint32_t kSynthetic = 128;    ///< made up by the simulation, never measured
constexpr uint32_t kFromEvent = 256;    ///< made from a TraceEvent: nothing is filled in for it
}  // namespace op_flags

namespace process_flags {
constexpr uint32_t kAgent = 1;       ///< an agent of ours ran in it
constexpr uint32_t kUnobserved = 2;  ///< may have used a GPU unseen: environment scrubbed or static
constexpr uint32_t kStillRunning = 4;  ///< outlived the recording
constexpr uint32_t kForkedChild = 8;   ///< a fork that has not (yet) called exec
constexpr uint32_t kSignalled = 16;    ///< exit_code is the number of the signal that ended it
constexpr uint32_t kRoot = 32;         ///< the command that was profiled
}  // namespace process_flags

namespace stream_flags {
constexpr uint32_t kOutOfOrder = 1;
constexpr uint32_t kApplicationProfiling = 2;  ///< the program itself asked for profiling
constexpr uint32_t kDefault = 4;
}  // namespace stream_flags

/// Bits of the `flags` column of frames that were captured as bare addresses.
namespace frame_flags {
/// The address is that of an instruction. Otherwise it is a return address, which may already be
/// another line or function: address - 1 is what is looked up.
constexpr uint32_t kExact = 1;
constexpr uint32_t kGuessed = 2;  ///< found by frame pointer, not by the module's unwind rules
constexpr uint32_t kTruncatedBelow = 4;  ///< callers of it were there, and are not known
}  // namespace frame_flags

std::string_view toString(PlatformType v);
std::string_view toString(DeviceKind v);
std::string_view toString(CallKind v);
std::string_view toString(CopyKind v);
std::string_view toString(SyncKind v);
std::string_view toString(MemoryKind v);
std::string_view toString(FlowKind v);
std::string_view toString(FlowEnd v);
std::string_view toString(BuildKind v);
std::string_view toString(RangeKind v);
std::string_view toString(ObjectKind v);
std::string_view toString(ClockKind v);

}  // namespace tracesmith
