// SPDX-License-Identifier: Apache-2.0
// Field numbers of the Perfetto messages that the exporter writes. They come from Perfetto's public
// .proto files (protos/perfetto/trace/**, as of v58); docs/perfetto.md documents the use of each.
// Perfetto never reuses numbers, so older viewers skip fields they do not know.
#pragma once

#include <cstdint>

namespace tracesmith::perfetto {

namespace trace {
constexpr uint32_t kPacket = 1;
}

namespace packet {
constexpr uint32_t kFtraceEvents = 1, kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10,
                   kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13, kGpuCounterEvent = 52,
                   kGpuRenderStageEvent = 53, kTimestampClockId = 58, kDefaults = 59,
                   kTrackDescriptor = 60, kFirstOnSequence = 87, kTraceAttributes = 126,
                   kGpuInfo = 128;
constexpr uint64_t kIncrementalStateCleared = 1, kNeedsIncrementalState = 2;
}  // namespace packet

namespace defaults {
constexpr uint32_t kTrackEventDefaults = 11, kTimestampClockId = 58;
constexpr uint32_t kTrackUuid = 11;  // of TrackEventDefaults
}  // namespace defaults

/// Events as the kernel's ftrace writes them: times are CLOCK_BOOTTIME, pids are those of threads.
namespace ftrace {
constexpr uint32_t kCpu = 1, kEvent = 2;                                           // of the bundle
constexpr uint32_t kTimestamp = 1, kPid = 2, kSchedSwitch = 4, kSchedWaking = 20;  // of an event
namespace sched_switch {
constexpr uint32_t kPreviousName = 1, kPreviousPid = 2, kPreviousPriority = 3, kPreviousState = 4,
                   kNextName = 5, kNextPid = 6, kNextPriority = 7;
}
namespace sched_waking {
constexpr uint32_t kName = 1, kPid = 2, kPriority = 3, kSuccess = 4, kTargetCpu = 5;
}
}  // namespace ftrace

namespace clock {
constexpr uint32_t kClocks = 1, kPrimaryTraceClock = 2;             // of ClockSnapshot
constexpr uint32_t kClockId = 1, kTimestamp = 2, kIncremental = 3;  // of Clock
constexpr uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
constexpr uint64_t kTraceFile = 11;  // the file's own clock, unrelated to host clocks
constexpr uint64_t kDelta = 64;      // the first id of clocks that belong to one sequence
}  // namespace clock

namespace track {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParentUuid = 5, kCounter = 8,
                   kDescription = 14;
namespace process {
constexpr uint32_t kPid = 1, kCommandLine = 2, kName = 6, kLabels = 8;
}
namespace thread {
constexpr uint32_t kPid = 1, kTid = 2, kName = 5;
}
namespace counter {
constexpr uint32_t kUnit = 3, kUnitName = 6;
constexpr uint64_t kUnitTimeNs = 1, kUnitCount = 2, kUnitBytes = 3;
}  // namespace counter
}  // namespace track

namespace event {
constexpr uint32_t kCategoryIids = 3, kDebugAnnotations = 4, kType = 9, kNameIid = 10,
                   kTrackUuid = 11, kName = 23, kCounterValue = 30, kDoubleCounterValue = 44,
                   kFlowIds = 47, kTerminatingFlowIds = 48, kCallstackIid = 56,
                   kGpuCorrelation = 3000;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
namespace annotation {
constexpr uint32_t kNameIid = 1, kUint = 3, kInt = 4, kString = 6, kName = 10;
}
namespace gpu_correlation {
constexpr uint32_t kSubmitted = 1, kWaitedFor = 2;  // event ids of render stages
}
}  // namespace event

namespace interned {
constexpr uint32_t kEventCategories = 1, kEventNames = 2, kAnnotationNames = 3, kFunctionNames = 5,
                   kFrames = 6, kCallstacks = 7, kBuildIds = 16, kMappingPaths = 17,
                   kSourcePaths = 18, kMappings = 19, kGraphicsContexts = 23,
                   kGpuSpecifications = 24, kGpuCounterDescriptors = 47, kComputeKernels = 1000,
                   kComputeArgNames = 1001;
constexpr uint32_t kIid = 1, kName = 2;  // of most entries
namespace graphics_context {
constexpr uint32_t kPid = 2, kApi = 3;
constexpr uint64_t kVulkan = 2, kOpenCl = 3, kCuda = 4, kHip = 5;
}  // namespace graphics_context
namespace specification {
constexpr uint32_t kDescription = 3, kCategory = 4;
constexpr uint64_t kOther = 0, kCompute = 2;
}  // namespace specification
namespace frame {
constexpr uint32_t kFunctionName = 2, kMapping = 3, kRelativePc = 4, kSourcePath = 5,
                   kLineNumber = 6, kKind = 7;
constexpr uint64_t kInterpreted = 3;
}  // namespace frame
namespace callstack {
constexpr uint32_t kFrames = 2;  // outermost first
}
namespace mapping {
constexpr uint32_t kBuildId = 2, kPath = 7;
}
namespace kernel {
constexpr uint32_t kDemangledName = 3, kArch = 4, kArgs = 5;
}
}  // namespace interned

namespace stage {
constexpr uint32_t kEventId = 1, kDuration = 2, kContext = 5, kExtraData = 6, kGpuId = 11,
                   kQueueIid = 13, kStageIid = 14, kWaitIds = 18, kKernelIid = 19, kNameIid = 20,
                   kLaunch = 21;
namespace extra {
constexpr uint32_t kName = 1, kValue = 2;
}
namespace launch {
constexpr uint32_t kGrid = 1, kWorkgroup = 2, kArgs = 3;
constexpr uint32_t kX = 1, kY = 2, kZ = 3;  // of Dim3
}  // namespace launch
namespace arg {
constexpr uint32_t kNameIid = 1, kUint = 4, kString = 6;
}
}  // namespace stage

namespace gpu {
constexpr uint32_t kGpus = 1;
constexpr uint32_t kName = 1, kVendor = 2, kModel = 3, kArchitecture = 4, kUuid = 5, kExtraInfo = 6,
                   kPciAddress = 7;
constexpr uint32_t kKey = 1, kValue = 2;  // of ExtraInfo
}  // namespace gpu

namespace attributes {
constexpr uint32_t kAttribute = 1;
constexpr uint32_t kKey = 1, kLong = 2, kString = 3;
}  // namespace attributes

}  // namespace tracesmith::perfetto
