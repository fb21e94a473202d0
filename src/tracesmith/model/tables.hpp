// SPDX-License-Identifier: Apache-2.0
// The schema: every table of a trace and its columns, defined once. From these lists come columns
// in memory (KernelTable), rows (KernelRow), the format on disk, SQL tables and exports.
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

// --- Events ---------------------------------------------------------------------------------

// Times of device work (kernel, copy, fill, sync without kHostSide) are stored in the device's own
// clock if kDeviceClock is set. In a loaded Trace they are in host ns and the bit is clear.

#define TS_HOST_CALL_COLUMNS(X)                                                        \
  X(1, int64_t, start_ns, kTime, "host time at which the call started")                \
  X(2, int64_t, duration_ns, kCount, "how long the call took")                         \
  X(3, StringId, name, kId, "name of the API function")                                \
  X(4, ProcessId, process_id, kId, "calling process")                                  \
  X(5, ThreadId, thread_id, kId, "calling thread")                                     \
  X(6, StreamId, stream_id, kId, "stream it addressed, if any")                        \
  X(7, uint64_t, correlation_id, kTime, "links the call to the device work it caused") \
  X(8, int64_t, result, kCount, "return code of the API; 0 is success")                \
  X(9, CallKind, kind, kId, "what the call is about")                                  \
  X(10, CallPathId, call_path_id, kId, "host call stack, if captured")                 \
  X(11, uint32_t, flags, kId, "op_flags")                                              \
  X(12, StringId, subject, kId, "its kernel or object, if no device row has it")       \
  X(13, ShapeId, shape_id, kId, "launch shape, if no device row has it")

#define TS_KERNEL_COLUMNS(X)                                                           \
  X(1, int64_t, start_ns, kTime, "time at which it started on the device")             \
  X(2, int64_t, duration_ns, kCount, "how long it ran on the device")                  \
  X(3, StringId, name, kId, "kernel name")                                             \
  X(4, ProcessId, process_id, kId, "process that launched it")                         \
  X(5, ThreadId, thread_id, kId, "thread that launched it")                            \
  X(6, StreamId, stream_id, kId, "stream (queue) it ran in")                           \
  X(7, uint64_t, correlation_id, kTime, "links it to its host call")                   \
  X(8, ShapeId, shape_id, kId, "global and local size, memory and registers")          \
  X(9, uint32_t, flags, kId, "op_flags")                                               \
  X(10, int64_t, queued_before_ns, kCount, "start minus the time it was queued")       \
  X(11, int64_t, submitted_before_ns, kCount, "start minus the time it was submitted") \
  X(12, StringId, arguments, kId, "kinds of its arguments")                            \
  X(13, CallPathId, call_path_id, kId, "host call stack of the launch")                \
  X(14, int64_t, status, kCount, "the driver's completion status; 0 is complete")

#define TS_COPY_COLUMNS(X)                                                             \
  X(1, int64_t, start_ns, kTime, "time at which it started on the device")             \
  X(2, int64_t, duration_ns, kCount, "how long it took")                               \
  X(3, CopyKind, kind, kId, "direction")                                               \
  X(4, ProcessId, process_id, kId, "process that requested it")                        \
  X(5, ThreadId, thread_id, kId, "thread that requested it")                           \
  X(6, StreamId, stream_id, kId, "stream (queue) it ran in")                           \
  X(7, uint64_t, correlation_id, kTime, "links it to its host call")                   \
  X(8, uint64_t, bytes, kCount, "size")                                                \
  X(9, uint32_t, flags, kId, "op_flags")                                               \
  X(10, int64_t, queued_before_ns, kCount, "start minus the time it was queued")       \
  X(11, int64_t, submitted_before_ns, kCount, "start minus the time it was submitted") \
  X(12, uint64_t, source, kCount, "address or handle of the source")                   \
  X(13, uint64_t, destination, kCount, "address or handle of the destination")         \
  X(14, CallPathId, call_path_id, kId, "host call stack of the call")                  \
  X(15, StringId, name, kId, "name, if the trace's source has one")                    \
  X(16, int64_t, status, kCount, "the driver's completion status; 0 is complete")      \
  X(17, DeviceId, source_device_id, kId, "device whose memory it read, if named")      \
  X(18, DeviceId, destination_device_id, kId, "device whose memory it wrote, if named")

#define TS_FILL_COLUMNS(X)                                                             \
  X(1, int64_t, start_ns, kTime, "time at which it started on the device")             \
  X(2, int64_t, duration_ns, kCount, "how long it took")                               \
  X(4, ProcessId, process_id, kId, "process that requested it")                        \
  X(5, ThreadId, thread_id, kId, "thread that requested it")                           \
  X(6, StreamId, stream_id, kId, "stream (queue) it ran in")                           \
  X(7, uint64_t, correlation_id, kTime, "links it to its host call")                   \
  X(8, uint64_t, bytes, kCount, "size")                                                \
  X(9, uint32_t, flags, kId, "op_flags")                                               \
  X(10, int64_t, queued_before_ns, kCount, "start minus the time it was queued")       \
  X(11, int64_t, submitted_before_ns, kCount, "start minus the time it was submitted") \
  X(13, uint64_t, destination, kCount, "address or handle")                            \
  X(14, CallPathId, call_path_id, kId, "host call stack of the call")                  \
  X(15, StringId, name, kId, "name, if the trace's source has one")                    \
  X(16, int64_t, status, kCount, "the driver's completion status; 0 is complete")

#define TS_SYNC_COLUMNS(X)                                                             \
  X(1, int64_t, start_ns, kTime, "start time")                                         \
  X(2, int64_t, duration_ns, kCount, "how long it took")                               \
  X(3, SyncKind, kind, kId, "marker, barrier, or what the host waited for")            \
  X(4, ProcessId, process_id, kId, "process that requested it")                        \
  X(5, ThreadId, thread_id, kId, "thread that requested it")                           \
  X(6, StreamId, stream_id, kId, "stream (queue)")                                     \
  X(7, uint64_t, correlation_id, kTime, "links it to its host call")                   \
  X(9, uint32_t, flags, kId, "op_flags; kHostSide: a host wait, not a device command") \
  X(10, int64_t, queued_before_ns, kCount, "start minus the time it was queued")       \
  X(11, int64_t, submitted_before_ns, kCount, "start minus the time it was submitted") \
  X(14, CallPathId, call_path_id, kId, "host call stack of the call")                  \
  X(15, StringId, name, kId, "name, if the trace's source has one")                    \
  X(16, int64_t, status, kCount, "the driver's completion status; 0 is complete")

#define TS_MEMORY_EVENT_COLUMNS(X)                                                      \
  X(1, int64_t, time_ns, kTime, "host time")                                            \
  X(2, MemoryKind, kind, kId, "alloc or free")                                          \
  X(3, ProcessId, process_id, kId, "process")                                           \
  X(4, ThreadId, thread_id, kId, "thread")                                              \
  X(5, ContextId, context_id, kId, "context")                                           \
  X(6, DeviceId, device_id, kId, "device, if the API ties memory to one")               \
  X(7, uint64_t, address, kCount, "address or handle; equal for an alloc and its free") \
  X(8, uint64_t, bytes, kCount, "size")                                                 \
  X(9, uint64_t, correlation_id, kTime, "links it to its host call")                    \
  X(10, StringId, name, kId, "API function or allocator")                               \
  X(11, CallPathId, call_path_id, kId, "host call stack")

#define TS_FLOW_COLUMNS(X)                                                        \
  X(1, ProcessId, process_id, kId, "process of the source")                       \
  X(2, uint64_t, from_correlation_id, kTime, "work that came first")              \
  X(3, uint64_t, to_correlation_id, kTime, "work that waited for it")             \
  X(4, FlowKind, kind, kId, "kind of dependency")                                 \
  X(5, ProcessId, to_process_id, kId, "process of the target, if different")      \
  X(6, uint64_t, flow_id, kCount, "the source format's own number of this arrow") \
  X(7, StreamId, from_stream_id, kId,                                             \
    "stream on which the call from_correlation_id recorded an event, if it did")

/// Arrows end by end, as the trace's source gave them; most repeat what correlation ids say.
#define TS_FLOW_EVENT_COLUMNS(X)                                          \
  X(1, int64_t, time_ns, kTime, "host time")                              \
  X(2, FlowEnd, end, kId, "start, step or end of the arrow")              \
  X(3, uint64_t, flow_id, kCount, "equal for the ends of one arrow")      \
  X(4, StringId, name, kId, "name")                                       \
  X(5, StringId, category, kId, "category")                               \
  X(6, ProcessId, process_id, kId, "process given by the trace's source") \
  X(7, ThreadId, thread_id, kId, "thread (or stream) given by the trace's source")

#define TS_PROGRAM_BUILD_COLUMNS(X)                                      \
  X(1, int64_t, start_ns, kTime, "host time at which the build started") \
  X(2, int64_t, duration_ns, kCount, "how long it took")                 \
  X(3, BuildKind, kind, kId, "build, compile or link")                   \
  X(4, ProcessId, process_id, kId, "process")                            \
  X(5, ThreadId, thread_id, kId, "thread")                               \
  X(6, ContextId, context_id, kId, "context")                            \
  X(7, uint64_t, correlation_id, kTime, "links it to its host call")     \
  X(8, uint64_t, program, kCount, "handle of the program")               \
  X(9, int64_t, result, kCount, "return code; 0 is success")             \
  X(10, uint64_t, log_bytes, kCount, "length of the build log")          \
  X(11, StringId, options, kId, "build options")                         \
  X(12, uint32_t, flags, kId, "1: asynchronous, the duration is that of the call alone")

#define TS_COUNTER_COLUMNS(X)                          \
  X(1, int64_t, time_ns, kTime, "host time")           \
  X(2, CounterTrackId, track_id, kId, "which counter") \
  X(3, double, value, kReal, "value from this time on")

#define TS_RANGE_COLUMNS(X)                                                \
  X(1, int64_t, start_ns, kTime, "host time")                              \
  X(2, int64_t, duration_ns, kCount, "length; 0 for an instant")           \
  X(3, RangeKind, kind, kId, "range, instant, or one end of a range")      \
  X(4, StringId, name, kId, "name")                                        \
  X(5, StringId, category, kId, "category or domain")                      \
  X(6, ProcessId, process_id, kId, "process")                              \
  X(7, ThreadId, thread_id, kId, "thread")                                 \
  X(8, StreamId, stream_id, kId, "stream, if it belongs to one")           \
  X(9, uint64_t, correlation_id, kTime, "correlation id, if it has one")   \
  X(10, uint32_t, event_type, kId, "EventType of the original TraceEvent") \
  X(11, CallPathId, call_path_id, kId, "host call stack")                  \
  X(12, uint64_t, sequence_number, kTime,                                  \
    "1 + PyTorch's number, which an operator and its backward share")      \
  X(13, uint32_t, forward_thread, kId, "of backward: the operator's thread, as PyTorch counts")

#define TS_ATTRIBUTE_COLUMNS(X)                                                               \
  X(1, uint32_t, table, kId, "number of the described row's table")                           \
  X(2, uint64_t, row_number, kTime, "row in that table, counted from 0 over the whole trace") \
  X(3, StringId, key, kId, "key")                                                             \
  X(4, StringId, value, kId, "value as text")

/// Commands whose completion had not been seen when a block was committed, for `recover`.
#define TS_PENDING_COLUMNS(X)                                                  \
  X(1, ProcessId, process_id, kId, "process")                                  \
  X(2, uint64_t, correlation_id, kTime, "correlation id")                      \
  X(3, CallKind, kind, kId, "launch, copy, fill or sync")                      \
  X(4, uint32_t, sub_kind, kId, "CopyKind or SyncKind")                        \
  X(5, ThreadId, thread_id, kId, "thread")                                     \
  X(6, StreamId, stream_id, kId, "stream")                                     \
  X(7, StringId, name, kId, "kernel name")                                     \
  X(8, ShapeId, shape_id, kId, "launch shape")                                 \
  X(9, StringId, arguments, kId, "kinds of its arguments")                     \
  X(10, uint64_t, bytes, kCount, "size")                                       \
  X(11, uint64_t, source, kCount, "address or handle of the source")           \
  X(12, uint64_t, destination, kCount, "address or handle of the destination") \
  X(13, uint32_t, flags, kId, "op_flags")                                      \
  X(14, CallPathId, call_path_id, kId, "host call stack")                      \
  X(15, int64_t, host_start_ns, kTime, "start of the host call")               \
  X(16, int64_t, host_end_ns, kTime, "end of the host call")

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
  X(4, DeviceId, device_id, kId, "device, if it belongs to one")

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

/// Calls of MPI and NCCL. A completion has a row for each request that it completes.
#define TS_COMM_COLUMNS(X)                                                                        \
  X(1, int64_t, start_ns, kTime, "host time at which the call started")                           \
  X(2, int64_t, duration_ns, kCount, "how long the call took; of NCCL, until it was enqueued")    \
  X(3, StringId, function, kId, "name of the function")                                           \
  X(4, ProcessId, process_id, kId, "calling process")                                             \
  X(5, ThreadId, thread_id, kId, "calling thread")                                                \
  X(6, CommunicatorId, communicator_id, kId, "communicator")                                      \
  X(7, CommKind, kind, kId, "collective, send, receive, completion, ...")                         \
  X(8, uint64_t, sequence, kCount,                                                                \
    "of a collective: calls of this function in this communicator so far")                        \
  X(9, int64_t, peer, kCount, "rank in the communicator: the other one, or the root; -1: none")   \
  X(10, int64_t, tag, kCount, "of a message; -1: none")                                           \
  X(11, uint64_t, send_bytes, kCount, "sent by this process")                                     \
  X(12, uint64_t, receive_bytes, kCount,                                                          \
    "received by it; of a request, in the row of its completion")                                 \
  X(13, uint64_t, correlation_id, kTime, "links it to its host call")                             \
  X(14, uint64_t, request, kCount, "of a completion: correlation_id of the call that started it") \
  X(15, uint64_t, element_count, kCount, "elements, as the caller counts them")                   \
  X(16, StringId, data_type, kId, "type of the elements, as float32")                             \
  X(17, StringId, reduction, kId, "how elements are combined, as sum")                            \
  X(18, StringId, algorithm, kId, "that the library chose, as RING")                              \
  X(19, StringId, protocol, kId, "that the library chose, as SIMPLE")                             \
  X(20, uint32_t, channels, kCount, "parts of the work that run side by side")                    \
  X(21, CommState, state, kId, "how far it got, if a snapshot of the program says so")            \
  X(22, uint64_t, stream, kCount, "handle of the stream that it was enqueued on")                 \
  X(23, uint64_t, send_buffer, kCount, "address of what is sent")                                 \
  X(24, uint64_t, receive_buffer, kCount, "address of what is received")                          \
  X(25, uint64_t, group_id, kCount, "equal for calls of one process that were enqueued together") \
  X(26, uint32_t, is_captured, kId, "1: into a graph, which runs it later")

/// When a row of `comm` moved data, if it did so after the call: on the device, or by threads of
/// the library.
#define TS_COMM_WORK_COLUMNS(X)                                                               \
  X(1, int64_t, start_ns, kTime, "host time at which it started")                             \
  X(2, int64_t, duration_ns, kCount, "how long it took")                                      \
  X(3, ProcessId, process_id, kId, "process")                                                 \
  X(4, uint64_t, correlation_id, kTime, "that of its row in comm")                            \
  X(5, CommWorkKind, kind, kId, "all of it, or a part")                                       \
  X(6, TimingSource, timing_source, kId, "whose clock its times are from")                    \
  X(7, uint32_t, channel, kCount, "of a part: number of the channel")                         \
  X(8, uint32_t, channels, kCount, "of all of it: channels whose end was seen")               \
  X(9, int64_t, peer, kCount, "of a transfer: rank in the communicator; -1: none")            \
  X(10, uint64_t, bytes, kCount, "of a transfer")                                             \
  X(11, uint32_t, steps, kCount, "of a transfer: pieces that it was sent in")                 \
  X(12, int64_t, gpu_wait_ns, kCount, "of a transfer: its pieces waited for the GPU, in sum") \
  X(13, int64_t, peer_wait_ns, kCount, "for the peer's buffers to be free, in sum")           \
  X(14, int64_t, network_wait_ns, kCount, "for the network, in sum")                          \
  X(15, int64_t, device_start, kCount, "start as the device's clock gave it; 0: none did")    \
  X(16, int64_t, error_ns, kCount, "of device times: start_ns is right within +- this")       \
  X(17, ClockDomainId, clock_domain_id, kId,                                                  \
    "on disk: clock of device_start, if start_ns is a first estimate")

/// Where a thread was when it was interrupted, at a fixed rate while it runs.
#define TS_CPU_SAMPLE_COLUMNS(X)                                                            \
  X(1, int64_t, time_ns, kTime, "host time")                                                \
  X(2, ProcessId, process_id, kId, "process")                                               \
  X(3, ThreadId, thread_id, kId, "thread")                                                  \
  X(4, CallPathId, call_path_id, kId, "its stack, with that in the kernel if it was there") \
  X(5, CpuMode, mode, kId, "user or kernel")                                                \
  X(6, uint32_t, cpu, kCount, "number of the processor")                                    \
  X(7, uint32_t, weight_ns, kCount, "processor time that it stands for")

/// What the scheduler did with a thread.
#define TS_THREAD_STATE_COLUMNS(X)                                            \
  X(1, int64_t, start_ns, kTime, "host time")                                 \
  X(2, int64_t, duration_ns, kCount, "how long it was so")                    \
  X(3, RunState, state, kId, "running, runnable, sleeping, disk_wait, ...")   \
  X(4, ProcessId, process_id, kId, "process")                                 \
  X(5, ThreadId, thread_id, kId, "thread")                                    \
  X(6, uint32_t, cpu, kCount, "processor that it ran on, or had run on last") \
  X(7, CallPathId, call_path_id, kId, "of a wait: where it waited")           \
  X(8, StringId, instead, kId, "of runnable: the program that had the processor longest")

/// Who ended the wait of a thread.
#define TS_WAKEUP_COLUMNS(X)                                                             \
  X(1, int64_t, time_ns, kTime, "host time")                                             \
  X(2, ProcessId, process_id, kId, "process that was woken")                             \
  X(3, ThreadId, thread_id, kId, "thread that was woken")                                \
  X(4, ProcessId, waker_process_id, kId, "process of the waker")                         \
  X(5, ThreadId, waker_thread_id, kId, "thread that woke it, if it is one of the trace") \
  X(6, StringId, waker, kId, "what woke it if not: another program, or an interrupt")    \
  X(7, uint32_t, cpu, kCount, "processor that it was to run on")

/// Calls of the system that took long.
#define TS_SYSTEM_CALL_COLUMNS(X)                                                             \
  X(1, int64_t, start_ns, kTime, "host time at which it started")                             \
  X(2, int64_t, duration_ns, kCount, "how long it took")                                      \
  X(3, StringId, name, kId, "name, as futex")                                                 \
  X(4, ProcessId, process_id, kId, "calling process")                                         \
  X(5, ThreadId, thread_id, kId, "calling thread")                                            \
  X(6, int64_t, result, kCount, "what it returned; below 0: minus the error's number")        \
  X(7, StringId, subject, kId, "file or socket that it was about, as far as known")           \
  X(8, int64_t, descriptor, kCount, "file descriptor; -1: none")                              \
  X(9, uint64_t, lock_address, kCount, "of futex: address of the lock")                       \
  X(10, ThreadId, owner_thread_id, kId, "of a mutex: thread that had it when the call began") \
  X(11, CallPathId, call_path_id, kId, "where it was called")

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
