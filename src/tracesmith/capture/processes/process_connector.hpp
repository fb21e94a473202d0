// SPDX-License-Identifier: Apache-2.0
// The kernel's process-event connector. It reports every fork, exec and exit on the machine as they
// happen. So even a process is seen that lives for less than a millisecond and never loads a
// library of ours. Needs Linux with CONFIG_PROC_EVENTS and the initial pid and user namespaces;
// before Linux 6.6 also CAP_NET_ADMIN. (Documentation/driver-api/connector.rst,
// include/uapi/linux/cn_proc.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith {

struct ProcessEvent {
  enum class Kind : uint8_t {
    kFork,         ///< a process started; parent_pid is its parent's
    kExec,         ///< a process started to run another program, with one thread
    kThreadStart,  ///< `pid` started another thread
    kThreadEnd,    ///< one thread of `pid` ended; it may be the first (tid == pid)
  };
  Kind kind = Kind::kFork;
  uint32_t pid = 0;  ///< process (thread group), in the initial pid namespace
  uint32_t tid = 0;  ///< the thread that the event is about
  uint32_t parent_pid = 0;
  int64_t time_ns = 0;  ///< CLOCK_MONOTONIC: the kernel stamps events with ktime_get_ns()
  int wait_status = 0;  ///< kThreadEnd: as from wait(2); the last thread's is the process's
};

/// One thread at a time.
class ProcessConnector {
 public:
  using Callback = std::function<void(const ProcessEvent&)>;

  /// Subscribes and waits for the kernel's answer. Errors: kPermission, kUnsupported (no such
  /// kernel feature, or inside a pid or user namespace, where the kernel does not answer), kIo.
  static Result<ProcessConnector> open();

  ProcessConnector(ProcessConnector&& other) noexcept;
  ProcessConnector& operator=(ProcessConnector&& other) noexcept;
  ~ProcessConnector();

  /// Becomes readable (poll) when events wait. Owned by this object.
  int fd() const { return fd_; }

  /// Passes all waiting events to `callback`, in order, without blocking; returns their number.
  Result<size_t> drain(const Callback& callback);

  /// Events that the kernel could not deliver because the receive buffer was full, of any kind and
  /// process on the machine. Counted from the gaps in the kernel's sequence numbers, per processor.
  uint64_t lostEvents() const { return lost_events_; }
  /// Number of times that the kernel reported dropped events (ENOBUFS).
  uint64_t overruns() const { return overruns_; }

  /// Decodes one datagram from the kernel. For drain(), and for tests with arbitrary bytes.
  void decode(ByteView datagram, const Callback& callback);

 private:
  explicit ProcessConnector(int fd) : fd_(fd) {}
  Status subscribe();
  Status awaitAnswer();

  int fd_ = -1;
  uint64_t lost_events_ = 0;
  uint64_t overruns_ = 0;
  std::unordered_map<uint32_t, uint32_t> next_sequence_;  // by processor
  bool answered_ = false;
  int answer_error_ = 0;
};

}  // namespace tracesmith
