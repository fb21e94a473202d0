// SPDX-License-Identifier: Apache-2.0
// Columns of the tables of events. How the lists are to be read: tables.hpp.
#pragma once

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
  X(8, StringId, instead, kId, "of runnable: the program that had the processor until then")

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
