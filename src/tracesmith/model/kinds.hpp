// SPDX-License-Identifier: Apache-2.0
// Enumerations used by table columns. Their numbers are on disk: append, never renumber.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// The API through which a device is used; also the argument of createProfiler().
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

/// The subject of a host call.
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
  kBarrier = 2,     ///< device side: the following commands wait for it
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
  kGraphNode = 11,    ///< a node of a CUDA graph; `id` is the call path that created it
};
/// The clock of a ClockDomain. kBracketed: an unknown clock, known only through host times taken
/// just before and after.
enum class ClockKind : uint8_t {
  kHostMonotonic = 0,
  kHostMonotonicRaw = 1,
  kHostRealtime = 2,
  kHostBoottime = 3,
  kBracketed = 4,
  kVendorPair = 5,        ///< sampled with a vendor call that returns device and host time together
  kTimeStampCounter = 6,  ///< the processor's; agents stamp host calls with it
  /// Times that the vendor's library has already converted to host time, as CUPTI does. Its
  /// snapshots bound the difference between that clock and the host's. The accuracy of the
  /// library's conversion is unknown.
  kConverted = 7,
};

/// A node of a machine's topology.
enum class TopologyNodeKind : uint8_t {
  kUnknown = 0,
  kMachine = 1,
  kNuma = 2,        ///< a NUMA node: processors and the memory beside them
  kHostBridge = 3,  ///< where a PCIe hierarchy joins the processors
  kPciSwitch = 4,
  kGpu = 5,
  kNic = 6,
  kNvSwitch = 7,
  kPciDevice = 8,  ///< a PCI function of which the source does not say what it is
};
/// A connection of two of them.
enum class TopologyLinkType : uint8_t {
  kUnknown = 0,
  kInternal = 1,  ///< within a chip or package: no bandwidth is known
  kPcie = 2,
  kNvLink = 3,
  kC2c = 4,   ///< NVLink-C2C, between a GPU and the processor of its module
  kXgmi = 5,  ///< AMD Infinity Fabric
  kMxLink = 6,
};

/// What says the number of a rank.
enum class RankSource : uint8_t { kUnknown = 0, kTrace = 1, kFileName = 2, kPosition = 3 };

/// What a call of a communication library does.
enum class CommKind : uint8_t {
  kOther = 0,
  kCollective = 1,  ///< all ranks of the communicator take part
  kSend = 2,
  kReceive = 3,
  kExchange = 4,    ///< sends and receives
  kCompletion = 5,  ///< of a request that an earlier call started
  kProbe = 6,       ///< looks for a message
  kSetup = 7,       ///< creates or frees communicators, starts or ends the library
};
/// How far a call got when the program was looked at.
enum class CommState : uint8_t {
  kUnknown = 0,
  kScheduled = 1,  ///< it was enqueued
  kStarted = 2,    ///< the device has begun with it
  kCompleted = 3,
  kCalled = 4,  ///< the call is in the library, and nothing is enqueued yet
};
/// What a row of `comm_work` is about.
enum class CommWorkKind : uint8_t {
  kOperation = 0,  ///< all that the call had to do
  kChannel = 1,    ///< one channel of it, on the device
  kSend = 2,       ///< what a thread of the library sent for it to one peer, by one channel
  kReceive = 3,
};
/// Whose clock the times of a row are from.
enum class TimingSource : uint8_t {
  kUnknown = 0,
  kDevice = 1,        ///< the device's, read in the kernel
  kHost = 2,          ///< the host's, when a thread of the library noticed
  kDeviceEvents = 3,  ///< the duration is between two events of the device, the start of the host
};

/// What a processor was doing.
enum class CpuMode : uint8_t { kUnknown = 0, kUser = 1, kKernel = 2 };
/// What the scheduler had done with a thread.
enum class RunState : uint8_t {
  kUnknown = 0,
  kRunning = 1,
  kRunnable = 2,  ///< it could run, but had no processor
  kSleeping = 3,  ///< it waits, and a signal would wake it
  kDiskWait = 4,  ///< it waits, and nothing else wakes it: for a disk, or a page
  kStopped = 5,   ///< by a signal or a debugger
  kWaiting = 6,   ///< sleeping, in disk wait or stopped, and maybe runnable at the end: who records
                  ///< may not see which
};

/// Bits of the `flags` column of kernel, copy, fill and sync rows.
namespace op_flags {
constexpr uint32_t kDeviceClock = 1;    ///< on disk: start is in the clock of the row's device
constexpr uint32_t kFirstLaunch = 2;    ///< includes the kernel's just-in-time compilation
constexpr uint32_t kQueueTimes = 4;     ///< queued_before_ns and submitted_before_ns are known
constexpr uint32_t kFailed = 8;         ///< the device reported an error
constexpr uint32_t kNoDeviceTime = 16;  ///< completed, but the driver gave no time stamps
constexpr uint32_t kBlocking = 32;      ///< the host call waited for completion
constexpr uint32_t kHostSide = 64;      ///< sync rows: the host waited; it is not device work
constexpr uint32_t kSynthetic = 128;    ///< generated by the simulation, not measured
/// Created from a TraceEvent: missing values are not filled in.
constexpr uint32_t kFromEvent = 256;
}  // namespace op_flags

namespace process_flags {
constexpr uint32_t kAgent = 1;  ///< a TraceSmith agent ran in it
/// May have used a GPU unseen: static program, or environment cleared.
constexpr uint32_t kUnobserved = 2;
constexpr uint32_t kStillRunning = 4;  ///< outlived the recording
constexpr uint32_t kForkedChild = 8;   ///< a fork that has not (yet) called exec
constexpr uint32_t kSignalled = 16;    ///< exit_code is the number of the signal that ended it
constexpr uint32_t kRoot = 32;         ///< the profiled command
// 64: kTrackGroup (model/track_groups.hpp)
constexpr uint32_t kOutOfMemory = 128;  ///< the system killed it since memory was short
}  // namespace process_flags

namespace stream_flags {
constexpr uint32_t kOutOfOrder = 1;
constexpr uint32_t kApplicationProfiling = 2;  ///< the program itself enabled profiling
constexpr uint32_t kDefault = 4;
}  // namespace stream_flags

/// Bits of the `flags` column of frames that were captured as plain addresses.
namespace frame_flags {
/// The address is that of an instruction. Without this bit it is a return address, which may
/// already belong to another line or function, so address - 1 is looked up.
constexpr uint32_t kExact = 1;
constexpr uint32_t kGuessed = 2;  ///< found by frame pointer, not by the module's unwind rules
constexpr uint32_t kTruncatedBelow = 4;  ///< its outer callers are missing from the stack
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
std::string_view toString(RankSource v);
std::string_view toString(CommKind v);
std::string_view toString(CommState v);
std::string_view toString(CommWorkKind v);
std::string_view toString(TimingSource v);
std::string_view toString(CpuMode v);
std::string_view toString(RunState v);
std::string_view toString(TopologyNodeKind v);
std::string_view toString(TopologyLinkType v);

}  // namespace tracesmith
