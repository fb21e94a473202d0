// SPDX-License-Identifier: Apache-2.0
// The schema: every table of a trace and its columns, defined once, here and for events in
// event_columns.hpp. From these lists come columns in memory (KernelTable), rows (KernelRow), the
// format on disk, SQL tables and exports.
//
// Table and column numbers are on disk: append, never renumber, never change a type. An absent
// column reads as zeros ("none", "unknown").
//   X(column number, type, name, encoding, meaning)
// The encoding says what kind of values a column has. A reader may omit damaged columns of ids.
//   kTime   increases from row to row             kId     refers to a dictionary, or an enum
//   kCount  any non-negative number               kReal   a double
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracesmith/model/column.hpp"
#include "tracesmith/model/event_columns.hpp"
#include "tracesmith/model/ids.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

enum class Encoding : uint8_t { kTime, kId, kCount, kReal };

/// Describes a column, for code that handles all tables alike.
struct ColumnInfo {
  uint16_t number;
  const char* name;
  Encoding encoding;
  const char* meaning;
};

/// How much of each ring of each arena has been written to the file.
#define TS_COMMIT_COLUMNS(X)                                           \
  X(1, StringId, arena, kId, "file name of the arena")                 \
  X(2, uint32_t, ring, kId, "number of the ring in it")                \
  X(3, uint64_t, position, kTime, "bytes of it that are in this file") \
  X(4, uint64_t, events, kTime, "records of it that are in this file") \
  X(5, uint32_t, tid, kId, "thread that was writing at that position")

/// API objects by handle, in the order of their creation. Drivers reuse handles.
#define TS_OBJECT_COLUMNS(X)                                            \
  X(1, ProcessId, process_id, kId, "process")                           \
  X(2, ObjectKind, kind, kId, "what it is")                             \
  X(3, uint64_t, handle, kCount, "the API's handle")                    \
  X(4, int64_t, created_ns, kTime, "host time at which it was created") \
  X(5, StringId, name, kId, "name, for kernels")                        \
  X(6, uint64_t, parent, kCount, "handle of its parent object")         \
  X(7, uint64_t, bytes, kCount, "size, for memory")                     \
  X(8, uint32_t, id, kId, "its DeviceId, ContextId or StreamId")        \
  X(9, int64_t, created_stamp, kTime, "the same time, as stamped by the agent")

// --- Dictionaries: the id of a row is its number, from 1; rows are only appended ---------------

#define TS_LAUNCH_SHAPE_COLUMNS(X)                                                           \
  X(1, uint32_t, dimensions, kId, "1 to 3")                                                  \
  X(2, uint64_t, global_x, kCount, "work-items (threads) in x")                              \
  X(3, uint64_t, global_y, kCount, "in y")                                                   \
  X(4, uint64_t, global_z, kCount, "in z")                                                   \
  X(5, uint32_t, local_x, kCount, "work-items of a group (block) in x; 0: the driver chose") \
  X(6, uint32_t, local_y, kCount, "in y")                                                    \
  X(7, uint32_t, local_z, kCount, "in z")                                                    \
  X(8, uint64_t, offset_x, kCount, "global offset in x")                                     \
  X(9, uint64_t, offset_y, kCount, "in y")                                                   \
  X(10, uint64_t, offset_z, kCount, "in z")                                                  \
  X(11, uint32_t, static_shared_bytes, kCount, "static shared (local) memory of a group")    \
  X(12, uint32_t, dynamic_shared_bytes, kCount, "dynamic shared memory of a group")          \
  X(13, uint32_t, registers_per_thread, kCount, "registers")                                 \
  X(14, uint32_t, local_bytes_per_thread, kCount, "spill memory")                            \
  X(15, uint32_t, cluster_x, kCount, "groups of a cluster in x")                             \
  X(16, uint32_t, cluster_y, kCount, "in y")                                                 \
  X(17, uint32_t, cluster_z, kCount, "in z")

#define TS_CALL_PATH_COLUMNS(X)                                                    \
  X(1, CallPathId, parent, kId, "the caller's path; none for the outermost frame") \
  X(2, FrameId, frame, kId, "innermost frame of this path")

/// The names of a frame captured as a plain address (module and offset) are in `symbol`.
#define TS_FRAME_COLUMNS(X)                                                                       \
  X(1, uint64_t, address, kCount, "code address")                                                 \
  X(2, StringId, function, kId, "function name")                                                  \
  X(3, StringId, file, kId, "source file")                                                        \
  X(4, uint32_t, line, kCount, "source line")                                                     \
  X(5, StringId, module, kId, "library or executable")                                            \
  X(6, uint64_t, module_offset, kCount, "the address in the module's file (ELF virtual address)") \
  X(7, StringId, build_id, kId, "build-id of the module in hexadecimal, if it has one")           \
  X(8, uint32_t, flags, kId, "frame_flags")

#define TS_COUNTER_TRACK_COLUMNS(X)                                 \
  X(1, StringId, name, kId, "name")                                 \
  X(2, StringId, unit, kId, "unit")                                 \
  X(3, ProcessId, process_id, kId, "process, if it belongs to one") \
  X(4, DeviceId, device_id, kId, "device, if it belongs to one")    \
  X(5, ThreadId, thread_id, kId, "thread, if it belongs to one")

/// Executables and libraries of processes, if frames lie in them.
#define TS_MODULE_COLUMNS(X)                                            \
  X(1, ProcessId, process_id, kId, "process")                           \
  X(2, uint64_t, begin_address, kCount, "first address of it")          \
  X(3, uint64_t, end_address, kCount, "first address after it")         \
  X(4, uint64_t, bias, kCount, "address minus the address in its file") \
  X(5, StringId, path, kId, "file")                                     \
  X(6, StringId, build_id, kId, "GNU build id in hexadecimal, if it has one")

// --- Symbols: what was found out later about frames; rows are only appended -------------------

/// Consecutive rows of one frame with rising levels form one answer: the functions that contain the
/// address, from the innermost inlined function to the one that has the code. A later answer for a
/// frame replaces earlier ones and the names in the frame's own row.
#define TS_SYMBOL_COLUMNS(X)                                                                       \
  X(1, FrameId, frame, kId, "frame that it names")                                                 \
  X(2, uint32_t, inline_level, kCount, "0: innermost function; the last one is the real function") \
  X(3, StringId, function, kId, "function name")                                                   \
  X(4, StringId, file, kId, "source file")                                                         \
  X(5, uint32_t, line, kCount, "source line; for outer levels, that of the call")

// --- Keyed tables: the first column is the id; a later row with the same id replaces it ------

#define TS_PROCESS_COLUMNS(X)                                                                  \
  X(1, ProcessId, id, kTime, "id of this row")                                                 \
  X(2, uint32_t, pid, kCount, "the system's process number")                                   \
  X(3, uint32_t, parent_pid, kCount, "the parent's")                                           \
  X(4, StringId, boot_id, kId, "which boot of which machine")                                  \
  X(5, uint64_t, pid_namespace, kCount, "inode of the pid namespace")                          \
  X(6, uint64_t, start_ticks, kCount, "start time in system ticks; distinguishes reused pids") \
  X(7, int64_t, start_ns, kTime, "host time of the start, as far as known")                    \
  X(8, int64_t, end_ns, kTime, "host time of the end; 0: unknown")                             \
  X(9, StringId, command_line, kId, "command line")                                            \
  X(10, StringId, executable, kId, "path of the executable")                                   \
  X(11, int64_t, exit_code, kCount, "exit code, or signal number with kSignalled")             \
  X(12, uint32_t, flags, kId, "process_flags")                                                 \
  X(13, StringId, seen_by, kId, "how it was noticed: agent, connector, preload, launcher")     \
  X(14, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

#define TS_THREAD_COLUMNS(X)                                \
  X(1, ThreadId, id, kTime, "id of this row")               \
  X(2, ProcessId, process_id, kId, "process")               \
  X(3, uint32_t, tid, kCount, "the system's thread number") \
  X(4, StringId, name, kId, "name")

#define TS_DEVICE_COLUMNS(X)                                                                \
  X(1, DeviceId, id, kTime, "id of this row")                                               \
  X(2, PlatformType, backend, kId, "API it is used through")                                \
  X(3, uint32_t, ordinal, kCount, "number of the device within its platform, from 0")       \
  X(4, StringId, name, kId, "name")                                                         \
  X(5, StringId, vendor, kId, "vendor")                                                     \
  X(6, StringId, platform, kId, "platform")                                                 \
  X(7, StringId, driver_version, kId, "driver version")                                     \
  X(8, StringId, api_version, kId, "version of the API it offers")                          \
  X(9, DeviceKind, kind, kId, "CPU, GPU, accelerator")                                      \
  X(10, uint64_t, memory_bytes, kCount, "global memory")                                    \
  X(11, uint32_t, compute_units, kCount, "compute units (multiprocessors)")                 \
  X(12, uint32_t, clock_mhz, kCount, "highest core clock")                                  \
  X(13, uint32_t, max_work_group_size, kCount, "work-items of a group at most")             \
  X(14, uint32_t, warp_size, kCount, "work-items that run in step; 0: unknown")             \
  X(15, uint32_t, memory_clock_mhz, kCount, "memory clock")                                 \
  X(16, uint32_t, memory_bus_bits, kCount, "memory bus width")                              \
  X(17, uint32_t, compute_major, kCount, "compute capability, major")                       \
  X(18, uint32_t, compute_minor, kCount, "minor")                                           \
  X(19, StringId, pci_address, kId, "PCI address")                                          \
  X(20, StringId, uuid, kId, "UUID")                                                        \
  X(21, ClockDomainId, clock_domain_id, kId, "clock of its time stamps")                    \
  X(22, uint32_t, max_threads_per_unit, kCount, "resident work-items of a compute unit")    \
  X(23, uint64_t, registers_per_unit, kCount, "registers of a compute unit")                \
  X(24, uint64_t, shared_bytes_per_unit, kCount, "shared (local) memory of a compute unit") \
  X(25, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

#define TS_CONTEXT_COLUMNS(X)                                          \
  X(1, ContextId, id, kTime, "id of this row")                         \
  X(2, ProcessId, process_id, kId, "process")                          \
  X(3, uint64_t, handle, kCount, "the API's handle")                   \
  X(4, uint32_t, ordinal, kCount, "number within the process, from 0") \
  X(5, DeviceId, device_id, kId, "its (first) device")                 \
  X(6, int64_t, created_ns, kTime, "host time of its creation")        \
  X(7, int64_t, released_ns, kTime, "host time of its release; 0: never")

#define TS_STREAM_COLUMNS(X)                                           \
  X(1, StreamId, id, kTime, "id of this row")                          \
  X(2, ProcessId, process_id, kId, "process")                          \
  X(3, ContextId, context_id, kId, "context")                          \
  X(4, DeviceId, device_id, kId, "device")                             \
  X(5, uint64_t, handle, kCount, "the API's handle")                   \
  X(6, uint32_t, ordinal, kCount, "number within the process, from 0") \
  X(7, StringId, name, kId, "name, if the program gave one")           \
  X(8, uint32_t, flags, kId, "stream_flags")                           \
  X(9, int64_t, created_ns, kTime, "host time of its creation")        \
  X(10, int64_t, released_ns, kTime, "host time of its release; 0: never")

#define TS_CLOCK_DOMAIN_COLUMNS(X)                                                   \
  X(1, ClockDomainId, id, kTime, "id of this row")                                   \
  X(2, ClockKind, kind, kId, "kind of clock")                                        \
  X(3, StringId, name, kId, "name for people")                                       \
  X(4, uint64_t, tick_numerator, kCount, "ns per tick, numerator; 0 reads as 1")     \
  X(5, uint64_t, tick_denominator, kCount, "ns per tick, denominator; 0 reads as 1") \
  X(6, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

#define TS_CLOCK_SNAPSHOT_COLUMNS(X)                                                \
  X(1, ClockDomainId, domain_id, kId, "clock")                                      \
  X(2, int64_t, host_ns, kTime, "host time")                                        \
  X(3, int64_t, clock_value, kTime, "the clock's value at that time, in its ticks") \
  X(4, int64_t, error_ns, kCount, "host_ns is right within +- this and the rank's clock_error_ns")

/// Every loss is counted: written + dropped = emitted, per source and process. If a file is
/// damaged, the number of its events may be unknown: emitted is then 0, less than written.
#define TS_LOSS_COLUMNS(X)                                                            \
  X(1, LossId, id, kTime, "id of this row")                                           \
  X(2, StringId, source, kId, "what was counted, e.g. \"OpenCL calls\"")              \
  X(3, ProcessId, process_id, kId, "process")                                         \
  X(4, uint64_t, emitted, kCount, "events that happened; less than written: unknown") \
  X(5, uint64_t, written, kCount, "events in this file")                              \
  X(6, uint64_t, dropped, kCount, "events lost on the way")                           \
  X(7, uint64_t, unresolved, kCount, "written events whose other half is missing")    \
  X(8, StringId, reason, kId, "why, if any were lost")                                \
  X(9, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

/// The ranks of a merged trace; other traces have none.
#define TS_RANK_COLUMNS(X)                                                          \
  X(1, RankId, id, kTime, "id of this row")                                         \
  X(2, uint32_t, number, kCount, "its number in the job, from 0")                   \
  X(3, RankSource, number_from, kId, "trace, file_name or position")                \
  X(4, uint32_t, world_size, kCount, "ranks of the job; 0: unknown")                \
  X(5, StringId, file, kId, "file that it was merged from")                         \
  X(6, RankId, clock_rank_id, kId, "rank whose clock its times are of; 0: its own") \
  X(7, uint64_t, clock_error_ns, kCount, "its times are at most this far off that clock")

/// The GPUs, network adapters and processors of the host. A node and its parent are connected by
/// its uplink. Rates are those of the standards, per direction; 0: unknown.
#define TS_TOPOLOGY_NODE_COLUMNS(X)                                                          \
  X(1, TopologyNodeId, id, kTime, "id of this row")                                          \
  X(2, TopologyNodeKind, kind, kId, "machine, numa, host_bridge, pci_switch, gpu, nic, ...") \
  X(3, TopologyNodeId, parent_id, kId, "node towards the machine")                           \
  X(4, int64_t, number, kCount, "of a GPU, adapter or NUMA node on its host; -1: none")      \
  X(5, StringId, name, kId, "model or name")                                                 \
  X(6, StringId, vendor, kId, "vendor")                                                      \
  X(7, StringId, pci_address, kId, "PCI address")                                            \
  X(8, StringId, cpus, kId, "processors of a NUMA node, as a list")                          \
  X(9, TopologyLinkType, uplink_type, kId, "connection to the parent")                       \
  X(10, StringId, uplink, kId, "the same for people")                                        \
  X(11, uint64_t, uplink_bytes_per_s, kCount, "rate of that connection, per direction")      \
  X(12, uint64_t, network_bytes_per_s, kCount, "rate of an adapter's ports together")        \
  X(13, uint32_t, compute_capability, kCount, "of an NVIDIA GPU: 90 for 9.0")                \
  X(14, uint64_t, memory_bytes, kCount, "memory of a GPU")                                   \
  X(15, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

/// Connections beside the tree of parents: NVLink, Infinity Fabric and the like.
#define TS_TOPOLOGY_LINK_COLUMNS(X)                                               \
  X(1, TopologyNodeId, from_id, kId, "one end")                                   \
  X(2, TopologyNodeId, to_id, kId, "other end")                                   \
  X(3, TopologyLinkType, type, kId, "kind of link")                               \
  X(4, uint32_t, count, kCount, "parallel links")                                 \
  X(5, uint64_t, bytes_per_s, kCount, "rate of all of them together, from to to") \
  X(6, uint64_t, bytes_per_s_back, kCount, "the same the other way")              \
  X(7, uint32_t, generation, kCount, "of NVLink")                                 \
  X(8, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

/// By how much the clock of another host was ahead of this one's (`--sync-with`).
#define TS_CLOCK_OFFSET_COLUMNS(X)                                                       \
  X(1, int64_t, host_ns, kTime, "host time")                                             \
  X(2, StringId, peer, kId, "the other host, as it was given")                           \
  X(3, StringId, peer_clock_id, kId, "its clock: metadata clock_id of the traces there") \
  X(4, int64_t, low_ns, kTime, "its clock minus this one was at least this")             \
  X(5, int64_t, high_ns, kTime, "and at most this")                                      \
  X(6, RankId, rank_id, kId, "rank of a merged trace that it belongs to")

/// The communicators of a process: groups of ranks that call a communication library together.
#define TS_COMMUNICATOR_COLUMNS(X)                                                                 \
  X(1, CommunicatorId, id, kTime, "id of this row")                                                \
  X(2, ProcessId, process_id, kId, "process")                                                      \
  X(3, StringId, name, kId, "name, as MPI_COMM_WORLD")                                             \
  X(4, uint64_t, key, kCount, "equal for all members of one communicator; 0: unknown")             \
  X(5, uint32_t, ranks, kCount, "how many it has, of the remote group between two groups")         \
  X(6, int64_t, rank, kCount, "rank of this process in it")                                        \
  X(7, StringId, members, kId, "its ranks' numbers in the job, in order, as 0-3,7; none: unknown") \
  X(8, int64_t, created_ns, kTime, "host time at which it was first seen")                         \
  X(9, uint32_t, ordinal, kCount, "number within the process, from 1")                             \
  X(10, StringId, library, kId, "MPI, NCCL, gloo, ...")                                            \
  X(11, uint32_t, nodes, kCount, "hosts that its ranks are on; 0: unknown")

/// How often a process called the system, short calls included.
#define TS_SYSTEM_CALL_COUNT_COLUMNS(X)               \
  X(1, ProcessId, process_id, kId, "calling process") \
  X(2, StringId, name, kId, "name, as futex")         \
  X(3, uint64_t, calls, kCount, "how often")          \
  X(4, uint64_t, total_ns, kCount, "time in them, in sum")

#define TS_METADATA_COLUMNS(X)                                    \
  X(1, StringId, key, kId, "key; the last value of a key counts") \
  X(2, StringId, value, kId, "value")

/// All tables except `string` and `source`: Y(number, C++ name, SQL name, column list).
#define TS_TABLES(Y)                                                      \
  Y(2, Metadata, metadata, TS_METADATA_COLUMNS)                           \
  Y(3, Process, process, TS_PROCESS_COLUMNS)                              \
  Y(4, Thread, thread, TS_THREAD_COLUMNS)                                 \
  Y(5, Device, device, TS_DEVICE_COLUMNS)                                 \
  Y(6, Context, context, TS_CONTEXT_COLUMNS)                              \
  Y(7, Stream, stream, TS_STREAM_COLUMNS)                                 \
  Y(8, LaunchShape, launch_shape, TS_LAUNCH_SHAPE_COLUMNS)                \
  Y(9, CallPath, call_path, TS_CALL_PATH_COLUMNS)                         \
  Y(10, Frame, frame, TS_FRAME_COLUMNS)                                   \
  Y(11, ClockDomain, clock_domain, TS_CLOCK_DOMAIN_COLUMNS)               \
  Y(12, ClockSnapshot, clock_snapshot, TS_CLOCK_SNAPSHOT_COLUMNS)         \
  Y(13, CounterTrack, counter_track, TS_COUNTER_TRACK_COLUMNS)            \
  Y(14, Loss, loss, TS_LOSS_COLUMNS)                                      \
  Y(15, Object, object, TS_OBJECT_COLUMNS)                                \
  Y(16, Commit, commit_mark, TS_COMMIT_COLUMNS)                           \
  Y(17, Pending, pending, TS_PENDING_COLUMNS)                             \
  Y(23, Symbol, symbol, TS_SYMBOL_COLUMNS)                                \
  Y(24, Module, module, TS_MODULE_COLUMNS)                                \
  Y(25, Rank, rank, TS_RANK_COLUMNS)                                      \
  Y(26, TopologyNode, topology_node, TS_TOPOLOGY_NODE_COLUMNS)            \
  Y(27, TopologyLink, topology_link, TS_TOPOLOGY_LINK_COLUMNS)            \
  Y(28, ClockOffset, clock_offset, TS_CLOCK_OFFSET_COLUMNS)               \
  Y(29, Communicator, communicator, TS_COMMUNICATOR_COLUMNS)              \
  Y(30, SystemCallCount, system_call_count, TS_SYSTEM_CALL_COUNT_COLUMNS) \
  Y(32, HostCall, host_call, TS_HOST_CALL_COLUMNS)                        \
  Y(33, Kernel, kernel, TS_KERNEL_COLUMNS)                                \
  Y(34, Copy, copy, TS_COPY_COLUMNS)                                      \
  Y(35, Fill, fill, TS_FILL_COLUMNS)                                      \
  Y(36, Sync, sync, TS_SYNC_COLUMNS)                                      \
  Y(37, MemoryEvent, memory_event, TS_MEMORY_EVENT_COLUMNS)               \
  Y(38, Flow, flow, TS_FLOW_COLUMNS)                                      \
  Y(39, ProgramBuild, program_build, TS_PROGRAM_BUILD_COLUMNS)            \
  Y(40, Counter, counter, TS_COUNTER_COLUMNS)                             \
  Y(41, Range, range, TS_RANGE_COLUMNS)                                   \
  Y(42, Attribute, attribute, TS_ATTRIBUTE_COLUMNS)                       \
  Y(43, FlowEvent, flow_event, TS_FLOW_EVENT_COLUMNS)                     \
  Y(44, Comm, comm, TS_COMM_COLUMNS)                                      \
  Y(45, CommWork, comm_work, TS_COMM_WORK_COLUMNS)                        \
  Y(46, CpuSample, cpu_sample, TS_CPU_SAMPLE_COLUMNS)                     \
  Y(47, ThreadState, thread_state, TS_THREAD_STATE_COLUMNS)               \
  Y(48, Wakeup, wakeup, TS_WAKEUP_COLUMNS)                                \
  Y(49, SystemCall, system_call, TS_SYSTEM_CALL_COLUMNS)

enum class TableId : uint16_t {
  kString = 1,
  kSource = 18,  // model/source_rows.hpp
  // Tables of recordings, which have their own reader: recording/recording_file.hpp.
  kRecordedProcess = 19,
  kRecordedCommand = 20,
  kRecordedContent = 21,
  kRecordedPlace = 22,
#define TS_Y(number, Name, name, columns) k##Name = number,
  TS_TABLES(TS_Y)
#undef TS_Y
};

/// Tables that have their own reader and are not columns of a Trace.
constexpr bool isReadApart(TableId id) {
  return id >= TableId::kSource && id <= TableId::kRecordedPlace;
}

// For each table NameRow (one row, for convenience) and NameTable (the columns): column.hpp.
TS_TABLES(TS_TABLE)

}  // namespace tracesmith
