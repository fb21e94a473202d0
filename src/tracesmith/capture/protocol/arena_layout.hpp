// SPDX-License-Identifier: Apache-2.0
// Layout shared by agent and collector: the arena file and the records in its rings. An agent
// includes this file, the ring and the clock (base/record_ring.hpp, base/linux/clock_source.hpp),
// and nothing else of TraceSmith.
//
// An arena is a file in the session directory, mapped by both sides. A process has one arena, or
// several when it has many threads:
//
//   +-----------------+ 0
//   | ArenaHeader     |
//   +-----------------+ 4096
//   | RingHeader [n]  |
//   +-----------------+ data_offset (page)
//   | ring 0 data     |  ring_bytes, a power of two
//   | ring 1 data     |
//   | ...             |
//   +-----------------+
//
// Each ring is a base/record_ring.hpp ring; a thread of the program writes it and the collector
// reads it. The reader publishes `tail` only after the records are in the trace file, so the
// records between tail and head survive the death of either side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracesmith::arena {

constexpr uint64_t kMagic = 0x314e455241535354;  // "TSSAREN1"
constexpr uint32_t kVersion = 3;
constexpr uint32_t kHeaderBytes = 4096;
constexpr uint32_t kRingsPerArena = 4;  // in the first arenas of a process, see ringCountOf()
constexpr uint32_t kMaxArenasPerProcess = 512;
constexpr uint64_t kMinRingBytes = 64u << 10;
constexpr uint64_t kMaxRingBytes = 1u << 30;
constexpr size_t kMaxRecordBytes = 16u << 10;

// Environment variables that the launcher sets for the program.
constexpr const char* kEnvSession = "TRACESMITH_SESSION";  // session directory
constexpr const char* kEnvRingBytes = "TRACESMITH_RING_BYTES";
constexpr const char* kEnvOverflow = "TRACESMITH_OVERFLOW";  // "block" or "drop"
constexpr const char* kEnvCapture = "TRACESMITH_CAPTURE";    // "off": capture starts disabled
constexpr const char* kArenaSuffix = ".arena";
constexpr const char* kEnvStacks = "TRACESMITH_STACKS";           // "native", "python" or "both"
constexpr const char* kEnvStackDepth = "TRACESMITH_STACK_DEPTH";  // frames
constexpr const char* kEnvUnifiedMemory = "TRACESMITH_UNIFIED_MEMORY";  // set: record it
constexpr const char* kEnvCudaCalls = "TRACESMITH_CUDA_CALLS";          // set: record all calls
constexpr const char* kEnvCudaLatency = "TRACESMITH_CUDA_LATENCY";      // set: queueing times too
constexpr const char* kEnvCudaGraphs = "TRACESMITH_CUDA_GRAPHS";        // "node" or "graph"
constexpr const char* kEnvCudaClock = "TRACESMITH_CUDA_CLOCK";          // CUPTI's: "ns" or "ticks"
constexpr const char* kEnvNcclEvents = "TRACESMITH_NCCL";  // "light", "default" or "full"
/// NCCL_PROFILER_PLUGIN as the user has set it; not set: not at all.
constexpr const char* kEnvNcclNextPlugin = "TRACESMITH_NCCL_NEXT_PLUGIN";
/// The complete value of OPENCL_LAYERS, which the ICD loader truncates.
constexpr const char* kEnvOpenClLayers = "TRACESMITH_OPENCL_LAYERS";
// Empty file "PID.ERRNO.unrecorded": a process could not create its arena and is not recorded.
constexpr const char* kUnrecordedSuffix = ".unrecorded";

/// Clock of the time stamps in records.
enum class StampClockKind : uint32_t { kMonotonicNs = 0, kTimeStampCounter = 1 };

enum class Overflow : uint32_t { kDrop = 0, kBlock = 1 };

struct ArenaHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t ring_count;
  uint32_t arena_number;  // 0: the process's first arena; only there are the counters below used
  uint64_t ring_bytes;
  uint64_t data_offset;
  uint64_t file_bytes;
  uint32_t pid;
  uint32_t parent_pid;
  uint64_t start_ticks;    // field 22 of /proc/PID/stat
  uint64_t pid_namespace;  // inode of /proc/self/ns/pid
  int64_t created_ns;      // CLOCK_MONOTONIC
  int64_t paired_ns;       // CLOCK_MONOTONIC, read together with paired_stamp
  int64_t paired_stamp;    // the stamp clock
  StampClockKind stamp_clock;
  char agent[16];
  char boot_id[40];
  char executable[512];
  uint32_t command_line_bytes;  // NUL-separated, as in /proc/PID/cmdline
  char command_line[2048];

  alignas(64) std::atomic<uint64_t> next_correlation;
  std::atomic<uint64_t> dropped_without_ring;  // calls of threads that could not get a ring
  std::atomic<uint64_t> dropped_reentrant;  // calls from a signal handler that interrupted a record
  std::atomic<uint64_t> command_buffers;    // enqueued ones; their commands are not recorded
  alignas(64) std::atomic<int64_t> collector_heartbeat_ns;
  std::atomic<uint32_t> capture_enabled;
  // Pid of the process as the collector sees it, if the process is in another pid namespace that
  // the collector can see. A collector that takes over the trace needs it. 0: `pid` is valid for
  // the collector, or the process is not visible to it.
  std::atomic<uint32_t> seen_pid;
};
static_assert(sizeof(ArenaHeader) <= kHeaderBytes);

struct RingHeader {
  // Written by the program's thread.
  alignas(64) std::atomic<uint64_t> head;
  uint64_t cached_tail;
  std::atomic<uint64_t> emitted;     // events that happened, recorded or not
  std::atomic<uint64_t> dropped;     // events lost because the ring was full
  std::atomic<uint64_t> blocked_ns;  // time the thread waited for space
  std::atomic<uint64_t> tracked;     // device commands whose completion is awaited
  std::atomic<uint64_t> completed;   // completions seen by this thread
  // The call that the thread is in and that is to be recorded, if the agent stores that; 0: none.
  std::atomic<uint64_t> in_call;
  // Written by the collector.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<uint32_t> damaged;  // 1: the ring cannot be read any more; tail no longer moves
  // Written when a thread takes or releases the ring.
  alignas(64) std::atomic<uint32_t> owned;
  uint32_t tid;
};
static_assert(sizeof(RingHeader) == 192);

constexpr uint64_t dataOffset(uint32_t ring_count) {
  const uint64_t end = kHeaderBytes + ring_count * sizeof(RingHeader);
  return (end + 4095) & ~uint64_t{4095};
}

/// The more threads a process has, the more rings its next arenas have, and the smaller these rings
/// are. With 4 MiB each, a thousand rings would take 4 GB and be slow to allocate; like this they
/// take 41 arenas and 276 MiB.
constexpr uint32_t kArenasOfOneSize = 8;
constexpr uint32_t kArenaSizes = 5;
constexpr uint32_t arenaSize(uint32_t arena_number) {
  const uint32_t size = arena_number / kArenasOfOneSize;
  return size < kArenaSizes ? size : kArenaSizes - 1;
}
constexpr uint32_t ringCountOf(uint32_t arena_number) {
  return kRingsPerArena << arenaSize(arena_number);
}
constexpr uint64_t ringBytesOf(uint32_t arena_number, uint64_t first_ring_bytes) {
  const uint64_t bytes = first_ring_bytes >> 2 * arenaSize(arena_number);
  return bytes > kMinRingBytes ? bytes : kMinRingBytes;
}
constexpr uint32_t mostRings() {
  uint32_t rings = 0;
  for (uint32_t n = 0; n < kMaxArenasPerProcess; ++n) rings += ringCountOf(n);
  return rings;
}

// --- Records. Their times are stamps of ArenaHeader::stamp_clock ------------------------------

enum class RecordKind : uint8_t {
  kPad = 0,        // fills the end of the ring, see ring::padWord
  kThread = 1,     // ThreadRecord: the thread that wrote the following records
  kCall = 2,       // CallRecord: a host call
  kKernel = 3,     // CallRecord + KernelPart + u64[] (see KernelPart)
  kTransfer = 4,   // CallRecord + TransferPart + u64 wait handles: copies and fills
  kSync = 5,       // CallRecord + SyncPart + u64 wait handles
  kComplete = 6,   // CompleteRecord: device times of a command
  kObject = 7,     // ObjectRecord + name
  kMemory = 8,     // CallRecord + MemoryPart: allocation
  kFree = 9,       // FreeRecord
  kBuild = 10,     // CallRecord + BuildPart + options
  kDevice = 11,    // DeviceRecord + NUL-separated texts
  kArgument = 12,  // ArgumentRecord
  kPath = 13,      // PathRecord + u64 frame words (stacks/unwind/packed_frame.hpp), outermost first
  kModule = 14,    // ModuleRecord + build id + path
  kPythonCode = 15,         // PythonCodeRecord + name + file + line table
  kPythonInterpreter = 16,  // PythonInterpreterRecord
  kFunction = 17,           // FunctionRecord; flags: FunctionEvent
  kXRayProgram = 18,        // XRayProgramRecord + path; flags: XRayState
  kCudaText = 19,           // CudaTextRecord + text; flags: CudaText
  kCudaCall = 20,           // CallRecord; aux: see cudaFunction()
  kCudaKernel = 21,         // CudaKernelRecord
  kCudaCopy = 22,           // CudaCopyRecord; flags: CUPTI's kind of copy
  kCudaFill = 23,           // CudaFillRecord
  kCudaSync = 24,           // CudaSyncRecord; flags: CUPTI's type of synchronisation
  kCudaDevice = 25,         // CudaDeviceRecord
  kCudaContext = 26,        // CudaContextRecord
  kCudaOverhead = 27,       // CudaOverheadRecord: work of the driver for the capture
  kCudaDropped = 28,        // CudaDroppedRecord
  kCudaMemory = 29,         // CudaMemoryRecord; flags: 1 allocation, 2 release
  kCudaGraphNode = 30,      // CudaGraphNodeRecord
  kCudaJit = 31,            // CudaJitRecord; flags: CUPTI's kind of operation
  kCudaUnified = 32,        // CudaUnifiedRecord; flags: CUPTI's kind of counter
  kNvtx = 33,               // NvtxRecord and what follows it; flags: NvtxEvent and more
  kCudaEvent = 34,          // CudaEventRecord: a CUDA event was recorded on a stream
  kCudaPool = 35,           // CudaPoolRecord; flags: CUPTI's kind of operation
  kCudaModule = 36,         // CudaModuleRecord; flags: see CudaModuleRecord
  kCudaGraph = 37,          // CudaGraphRecord: a graph traced as a whole
  kCudaVirtualMemory = 38,  // CudaVirtualMemoryRecord; flags: VirtualMemoryCall
  kUnwrappedLoader = 39,    // UnwrappedLoaderRecord + path; flags: UnwrappedLoader
  kMpiCall = 40,            // CallRecord + MpiCallPart + MpiDone[]
  kMpiCommunicator = 41,    // MpiCommunicatorRecord + MpiRun[] + name
  kNcclStart = 42,          // NcclStartRecord and what follows it; flags: NcclEvent
  kNcclStop = 43,           // NcclStopRecord
  kNcclState = 44,          // NcclStateRecord
  kNcclCommunicator = 45,   // NcclCommunicatorRecord + name
};

/// Header of every record. `words` is the length of the whole record in units of 8 bytes, at least
/// 1.
struct RecordHeader {
  RecordKind kind;
  uint8_t flags;
  uint16_t words;
  uint32_t aux;
};
static_assert(sizeof(RecordHeader) == 8);

constexpr uint8_t kFlagBlocking = 1;
constexpr uint8_t kFlagTracked = 2;   // a CompleteRecord will follow
constexpr uint8_t kFlagNoEvent = 4;   // the API returns no event, so there are no device times
constexpr uint8_t kFlagAsync = 8;     // build: the call returned before the build ended
constexpr uint8_t kFlagWaitCut = 16;  // the wait list was longer than the record can hold

constexpr uint32_t kMaxWaitHandles = 64;

struct ThreadRecord {
  RecordHeader header;  // aux: tid
  int64_t time;
  char name[16];
};

struct CallRecord {
  RecordHeader header;  // aux: number of the API function
  int64_t start;
  int64_t end;
  uint64_t correlation;
  uint64_t stream;  // queue handle, or 0
  int32_t result;
  uint32_t stack;  // path defined by a PathRecord of this process, or 0
};
static_assert(sizeof(CallRecord) == 48);

struct KernelPart {
  uint64_t kernel;
  uint64_t event;  // handle returned to the program, or 0
  uint8_t dimensions;
  uint8_t has_local;
  uint8_t has_offset;
  uint8_t reserved;
  uint32_t wait_count;
  // u64 global[dimensions], local[dimensions] if has_local, offset[dimensions] if has_offset,
  // wait[wait_count]
};
static_assert(sizeof(KernelPart) == 24);

struct TransferPart {
  uint64_t event;
  uint64_t source;
  uint64_t destination;
  uint64_t bytes;
  uint8_t copy_kind;  // CopyKind of the model; 0 if is_fill
  uint8_t is_fill;
  uint16_t reserved;
  uint32_t wait_count;
};
static_assert(sizeof(TransferPart) == 40);

struct SyncPart {
  uint64_t event;
  uint8_t sync_kind;  // SyncKind of the model
  uint8_t reserved[3];
  uint32_t wait_count;
};
static_assert(sizeof(SyncPart) == 16);

struct CompleteRecord {
  RecordHeader header;  // aux: completion status as int32; flags: kFlagNoEvent if without times
  uint64_t correlation;
  int64_t queued;
  int64_t submitted;
  int64_t started;
  int64_t ended;
};
static_assert(sizeof(CompleteRecord) == 48);

/// A handle was created. `time` is read after the API returned it, before the program has it.
struct ObjectRecord {
  RecordHeader header;  // aux: ObjectKind
  int64_t time;
  uint64_t handle;
  uint64_t parent;      // kernel: program; stream: context; context: (first) device
  uint64_t other;       // stream: device; kernel: context
  uint32_t properties;  // stream: stream_flags
  uint32_t name_bytes;
};
static_assert(sizeof(ObjectRecord) == 48);

struct MemoryPart {
  uint64_t handle;
  uint64_t context;
  uint64_t bytes;
};

struct FreeRecord {
  RecordHeader header;
  int64_t time;
  uint64_t handle;
};

struct BuildPart {
  uint64_t program;
  uint64_t context;
  uint64_t log_bytes;
  uint8_t build_kind;  // BuildKind of the model
  uint8_t reserved[3];
  uint32_t options_bytes;
};

struct DeviceRecord {
  RecordHeader header;
  uint64_t handle;
  uint64_t memory_bytes;
  uint32_t ordinal;
  uint32_t compute_units;
  uint32_t clock_mhz;
  uint32_t max_work_group_size;
  uint32_t device_kind;  // DeviceKind of the model
  uint32_t text_bytes;   // name, vendor, platform, driver version, API version; each ends with NUL
};
static_assert(sizeof(DeviceRecord) == 48);

struct ArgumentRecord {
  RecordHeader header;  // aux: index
  uint64_t kernel;
  uint64_t bytes;
  uint64_t value;  // the first 8 bytes of the argument, or 0 for local memory
  uint32_t is_local;
  uint32_t reserved;
};

/// Defines call paths `header.aux` and the `count` - 1 numbers after it. Each path is the previous
/// one (the first: `parent`, or 0) with one more frame, inwards. Path numbers are unique in a
/// process. A path is defined before any record of the same ring refers to it.
struct PathRecord {
  RecordHeader header;
  uint32_t parent;
  uint32_t count;
};
static_assert(sizeof(PathRecord) == 16);

/// An executable or library that contains frames.
struct ModuleRecord {
  RecordHeader header;
  uint64_t begin;  // addresses [begin, end)
  uint64_t end;
  uint64_t bias;  // address minus the address in its file
  uint32_t id_bytes;
  uint32_t path_bytes;
};
static_assert(sizeof(ModuleRecord) == 40);

/// Defines the code object `header.aux`; the number is unique in a process. It is written before
/// any path that has a frame of this code object.
struct PythonCodeRecord {
  RecordHeader header;
  int32_t first_line;
  uint32_t name_bytes;  // qualified name
  uint32_t file_bytes;
  uint32_t table_bytes;  // co_linetable; only its start if it is too long for a record
};
static_assert(sizeof(PythonCodeRecord) == 24);

struct PythonInterpreterRecord {
  RecordHeader header;  // aux: version, as PY_VERSION_HEX
  uint64_t eval_begin;  // the function that runs Python code: [begin, end)
  uint64_t eval_end;
};
static_assert(sizeof(PythonInterpreterRecord) == 24);

/// The values are XRay's.
enum class FunctionEvent : uint8_t { kEntry = 0, kExit = 1, kTailExit = 2 };

/// First record of the thread: spans still open under its tid belong to an earlier thread.
constexpr uint8_t kFlagFirst = 128;

/// The thread entered or left a function of the program.
struct FunctionRecord {
  RecordHeader header;  // aux: function number, from 1 on; flags: FunctionEvent, kFlagFirst
  int64_t time;
};
static_assert(sizeof(FunctionRecord) == 16);

enum class XRayState : uint8_t {
  kPatching = 0,   // function records may follow
  kPatched = 1,    // never sent: function records imply it
  kNoSymbols = 2,  // the program's symbol table does not name XRay's runtime
  kRefused = 3,    // XRay's runtime could not change the program's code
};

/// Why calls through an OpenCL library are not recorded.
enum class UnwrappedLoader : uint8_t {
  kTooMany = 0,        // the process has more loaders than the agent can wrap
  kWithoutLayers = 1,  // the loader does not support OPENCL_LAYERS, and the agent is a layer
  kInFront = 2,        // the library precedes the preloaded agent in symbol lookup
};

struct UnwrappedLoaderRecord {
  RecordHeader header;  // aux: bytes of the path
};
static_assert(sizeof(UnwrappedLoaderRecord) == 8);

/// A program that was compiled for tracing by XRay.
struct XRayProgramRecord {
  RecordHeader header;  // aux: bytes of the path
};
static_assert(sizeof(XRayProgramRecord) == 8);

}  // namespace tracesmith::arena
