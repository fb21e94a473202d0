// SPDX-License-Identifier: Apache-2.0
// Field numbers of the Perfetto messages that the importer reads, from Perfetto's public .proto
// files (protos/perfetto/trace/**, as of v58). The exporter has its own list
// (export/perfetto/perfetto_fields.hpp); round-trip tests check one against the other.
#pragma once

#include <cstdint>

namespace tracesmith::import::perfetto_numbers {

constexpr uint32_t kVarintWire = 0, kEightBytesWire = 1, kBytesWire = 2, kFourBytesWire = 5;
constexpr uint64_t kLargestPacket = 1u << 28;  // Perfetto's own are below 64 MB

constexpr uint32_t kPacket = 1;  // of Trace

namespace packet {
constexpr uint32_t kFtrace = 1, kProcessTree = 2, kClockSnapshot = 6, kTimestamp = 8,
                   kSequenceId = 10, kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13,
                   kStateCleared = 41, kDropped = 42, kProcessDescriptor = 43,
                   kThreadDescriptor = 44, kCompressed = 50, kGpuCounterEvent = 52,
                   kGpuRenderStageEvent = 53, kTimestampClockId = 58, kDefaults = 59,
                   kTrackDescriptor = 60, kVulkanApiEvent = 65, kGpuMemTotalEvent = 71,
                   kMachineId = 98, kTraceAttributes = 126, kGpuInfo = 128,
                   kGpuFrequencyEvent = 129, kZstdCompressed = 133;
constexpr uint64_t kCleared = 1, kNeedsState = 2;  // of kSequenceFlags
}  // namespace packet

namespace defaults {
constexpr uint32_t kTrackEvent = 11, kClockId = 58;
constexpr uint32_t kTrackUuid = 11, kExtraTracks = 31, kExtraDoubleTracks = 45;
}  // namespace defaults

namespace clock {
constexpr uint32_t kClocks = 1, kPrimary = 2;
constexpr uint32_t kId = 1, kTimestamp = 2, kIncremental = 3, kMultiplier = 4;
constexpr uint32_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
constexpr uint32_t kFirstOfSequence = 64, kLastOfSequence = 127;
}  // namespace clock

namespace track {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                   kDisallowMerging = 9, kStaticName = 10, kAtraceName = 13;
constexpr uint32_t kPid = 1;
namespace process {
constexpr uint32_t kCommandLine = 2, kName = 6;
}
namespace thread {
constexpr uint32_t kTid = 2, kName = 5, kReferenceTime = 6, kReferenceThreadTime = 7,
                   kReferenceInstructions = 8;
}
namespace counter {
constexpr uint32_t kType = 1, kUnit = 3, kMultiplier = 4, kIncremental = 5, kUnitName = 6;
}
}  // namespace track

namespace event {
constexpr uint32_t kTimeDelta = 1, kThreadTimeDelta = 2, kCategoryIids = 3, kAnnotations = 4,
                   kLegacy = 6, kInstructionsDelta = 8, kType = 9, kNameIid = 10, kTrackUuid = 11,
                   kAbsoluteTime = 16, kAbsoluteThreadTime = 17, kAbsoluteInstructions = 20,
                   kCategories = 22, kName = 23, kCounterValue = 30, kExtraTracks = 31,
                   kExtraValues = 12, kDoubleValue = 44, kExtraDoubleTracks = 45,
                   kExtraDoubleValues = 46, kFlowIdsOld = 36, kEndingFlowIdsOld = 42, kFlowIds = 47,
                   kEndingFlowIds = 48, kCallstack = 55, kCallstackIid = 56, kGpuCorrelation = 3000;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4, kState = 5;
namespace annotation {
constexpr uint32_t kNameIid = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kText = 6,
                   kPointer = 7, kJson = 9, kName = 10, kDict = 11, kArray = 12, kTextIid = 17;
}
namespace callstack {
constexpr uint32_t kFrames = 1;
constexpr uint32_t kFunction = 1, kFile = 2, kLine = 3;  // of a frame
}  // namespace callstack
namespace gpu_correlation {
constexpr uint32_t kSubmitted = 1, kWaitedFor = 2;
}
namespace legacy {
constexpr uint32_t kNameIid = 1, kPhase = 2, kDuration = 3, kThreadDuration = 4, kUnscopedId = 6,
                   kIdScope = 7, kBindId = 8, kUseAsyncThreadTime = 9, kLocalId = 10,
                   kGlobalId = 11, kBindToEnclosing = 12, kFlowDirection = 13, kInstantScope = 14,
                   kInstructionsDelta = 15, kPid = 18, kTid = 19;
constexpr uint64_t kFlowIn = 1, kFlowOut = 2, kFlowInOut = 3;
constexpr uint64_t kGlobalScope = 1, kProcessScope = 2;  // of instants
}  // namespace legacy
}  // namespace event

namespace interned {
constexpr uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kFunctionNames = 5,
                   kFrames = 6, kCallstacks = 7, kBuildIds = 16, kMappingPaths = 17,
                   kSourcePaths = 18, kMappings = 19, kContexts = 23, kSpecifications = 24,
                   kTexts = 29, kCounterDescriptors = 47, kKernels = 1000, kArgumentNames = 1001;
constexpr uint32_t kIid = 1, kName = 2;
namespace frame {
constexpr uint32_t kFunction = 2, kMapping = 3, kRelativePc = 4, kFile = 5, kLine = 6, kKind = 7;
constexpr uint64_t kInterpreted = 3;
}  // namespace frame
namespace callstack {
constexpr uint32_t kFrames = 2;  // outermost first
}
namespace mapping {
constexpr uint32_t kBuildId = 2, kPath = 7;
}
namespace context {
constexpr uint32_t kPid = 2, kApi = 3;
}
namespace specification {
constexpr uint32_t kCategory = 4;
constexpr uint64_t kCompute = 2;
}  // namespace specification
namespace kernel {
constexpr uint32_t kDemangled = 3, kArgs = 5;
}
}  // namespace interned

namespace stage {
constexpr uint32_t kEventId = 1, kDuration = 2, kQueueId = 3, kStageId = 4, kContext = 5,
                   kExtra = 6, kSpecifications = 7, kGpuId = 11, kQueueIid = 13, kStageIid = 14,
                   kName = 17, kWaits = 18, kKernelIid = 19, kNameIid = 20, kLaunch = 21;
constexpr uint32_t kExtraName = 1, kExtraValue = 2;
namespace specifications {
constexpr uint32_t kContext = 1, kQueues = 2, kStages = 3;
constexpr uint32_t kContextNumber = 1, kContextPid = 2;
constexpr uint32_t kName = 1;  // of a queue or stage
}  // namespace specifications
namespace launch {
constexpr uint32_t kGrid = 1, kWorkgroup = 2, kArgs = 3;
}
namespace argument {
constexpr uint32_t kNameIid = 1, kName = 2, kInt = 3, kUint = 4, kDouble = 5, kText = 6,
                   kTextIid = 7;
}
}  // namespace stage

namespace gpu_counter {
constexpr uint32_t kDescriptor = 1, kCounters = 2, kGpuId = 3, kDescriptorIid = 4;
constexpr uint32_t kId = 1, kInt = 2, kDouble = 3;  // of a value
constexpr uint32_t kSpecs = 1;                      // of a descriptor
constexpr uint32_t kSpecId = 1, kSpecName = 2, kNumerator = 7, kDenominator = 8, kDirection = 11;
constexpr uint64_t kForwards = 2;                                // of kDirection
constexpr uint32_t kInternedDescriptor = 2, kInternedGpuId = 3;  // of InternedGpuCounterDescriptor
}  // namespace gpu_counter

namespace gpu {
constexpr uint32_t kGpus = 1;
constexpr uint32_t kName = 1, kVendor = 2, kModel = 3, kUuid = 5, kExtra = 6, kPciAddress = 7;
constexpr uint32_t kKey = 1, kValue = 2;
}  // namespace gpu

namespace attributes {
constexpr uint32_t kAttribute = 1;
constexpr uint32_t kKey = 1, kLong = 2, kText = 3;
}  // namespace attributes

namespace vulkan {
constexpr uint32_t kQueueSubmit = 2;
constexpr uint32_t kDuration = 1, kPid = 2, kTid = 3, kQueue = 4, kCommandBuffers = 6,
                   kSubmission = 7;
}  // namespace vulkan

namespace process_tree {
constexpr uint32_t kProcesses = 1, kThreads = 2;
constexpr uint32_t kPid = 1, kParent = 2, kCommandLine = 3;  // of a process
constexpr uint32_t kTid = 1, kName = 2, kOfProcess = 3;      // of a thread
}  // namespace process_tree

namespace gpu_memory {
constexpr uint32_t kGpuId = 1, kPid = 2, kSize = 3;
}
namespace gpu_frequency {
constexpr uint32_t kGpuId = 1, kKilohertz = 2;
}

}  // namespace tracesmith::import::perfetto_numbers
