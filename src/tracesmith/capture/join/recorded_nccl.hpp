// SPDX-License-Identifier: Apache-2.0
// Makes rows of the NCCL events of one process: a row of `comm` for each collective and message
// when it was enqueued, and rows of `comm_work` when its channels, or its proxies, have ended.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/clocks/device_clock.hpp"
#include "tracesmith/capture/join/recorded_stacks.hpp"
#include "tracesmith/capture/protocol/nccl_records.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SharedRows;

class RecordedNccl {
 public:
  RecordedNccl(SharedRows& shared, RecordedStacks& stacks, ProcessId process,
               std::function<int64_t(int64_t)> host_ns)
      : shared_(shared), stacks_(stacks), process_(process), host_ns_(std::move(host_ns)) {}

  static bool isOne(arena::RecordKind kind) {
    return kind >= arena::RecordKind::kNcclStart && kind <= arena::RecordKind::kNcclCommunicator;
  }
  /// First pass: takes communicators, calls and what they enqueue. False when the record is
  /// invalid.
  bool define(ByteView record);
  /// Takes the ends of events, and makes rows of what is complete. False when the record is
  /// invalid.
  bool join(ByteView record, ThreadId thread);
  /// Makes the rows of operations whose number of channels is unknown and that have ended long ago.
  void endPass();
  /// Makes the rows of what has not ended: calls that never returned, kernels that still run.
  /// The process was recorded until `end_ns`.
  void finish(int64_t end_ns);

  /// Adds the snapshots of the devices' clocks that are new.
  void writeClocks(bool finish);

  /// Another collector's communicator.
  void restoreCommunicator(const CommunicatorRow& row);

  /// Events that belong to another one of which the start is missing.
  uint64_t withoutParent() const { return without_parent_; }

 private:
  /// A call of the API.
  struct Call {
    arena::NcclCallPart part{};
    arena::NcclEvent event{};
    uint32_t context = 0;
    uint64_t group = 0;  // of its group's call; 0: unknown
    int64_t start = 0;   // host ns, as all times here
    int64_t end = 0;
    ThreadId thread{};
    bool has_operation = false;
  };
  /// A channel of an operation, as it runs on the device.
  struct Channel {
    int64_t seen_start = 0;  // when a thread of NCCL noticed
    int64_t seen_end = 0;
    int64_t device_start = 0;  // 0: not told
    int64_t device_end = 0;
  };
  /// A collective or a message.
  struct Operation {
    arena::NcclTransferPart part{};
    arena::NcclEvent event{};
    uint32_t context = 0;
    uint64_t sequence = 0;  // of a collective, from 1 on; 0: unknown
    uint64_t correlation = 0;
    int64_t start = 0;
    int64_t not_before = 0;  // its kernel was launched after this
    int64_t called = 0;      // start of the call
    uint64_t stream = 0;
    uint32_t stack = 0;
    bool is_captured = false;
    bool is_written = false;  // its row of comm
    ThreadId thread{};
    std::map<uint32_t, Channel> channels;
    uint32_t ended_channels = 0;
    int64_t last_end = 0;
  };
  struct Proxy {
    arena::NcclProxyPart part{};
    uint64_t correlation = 0;
    int64_t start = 0;
    uint64_t bytes = 0;
    uint32_t steps = 0;
    int64_t gpu_wait = 0, peer_wait = 0, network_wait = 0;
  };
  struct Step {
    uint64_t proxy = 0;
    int64_t since = 0;  // of its state
    uint32_t state = 0;
    uint64_t bytes = 0;
  };
  /// The collectives of one function in a communicator.
  struct Numbers {
    uint64_t last = 0;
    bool has_unnumbered = false;  // calls that returned and of which NCCL reported no operation
  };
  /// A communicator, and the clock of its device.
  struct Context {
    CommunicatorRow row;
    DeviceClock clock;
    ClockDomainId clock_domain{};  // of the same clock, in the file
    uint32_t contradictions = 0;   // in a row
    int64_t last_enqueued = 0;
    std::map<std::string, Numbers, std::less<>> numbers;  // by function
  };

  static std::string_view textIn(const char (&name)[arena::kNcclNameBytes]) {
    return {name, strnlen(name, sizeof name)};
  }

  bool defineCommunicator(ByteView record);
  bool defineStart(ByteView record);
  void defineOperation(uint64_t id, const arena::NcclStartRecord& start,
                       const arena::NcclTransferPart& part);
  bool joinStart(ByteView record, ThreadId thread);
  bool joinStop(ByteView record);
  bool joinState(ByteView record);
  void startChannel(const arena::NcclStartRecord& start, const arena::NcclChannelPart& part);
  void endChannel(const arena::NcclStopRecord& stop);
  void endProxy(uint64_t id, int64_t time);
  void changeStep(uint64_t id, uint32_t state, uint64_t bytes, int64_t time);
  /// Adds what it waited for in its state to its proxy's times.
  void addWait(const Step& step, int64_t time);

  /// NCCL ends the event of a call before it connects and launches: what takes long, or for ever,
  /// is in the call of the group.
  bool hasReturned(const Call& call) const {
    return call.end != 0 && !open_groups_.contains(call.group);
  }
  void writeCall(uint64_t id, const Call& call);
  void writeWithoutOperation(uint64_t id, const Call& call);
  void writeComm(Operation& operation, int64_t end, CommState state);
  void addBytes(const Operation& operation, CommRow& row) const;
  /// Of all channels that were seen to end.
  void writeWork(const Operation& operation);
  bool observeClock(Context& context, int64_t not_before, int64_t seen, int64_t device_time);
  void forgetOldest();
  void finishProxies(int64_t end_ns);

  SharedRows& shared_;
  RecordedStacks& stacks_;
  ProcessId process_;
  std::function<int64_t(int64_t)> host_ns_;
  std::unordered_map<uint32_t, Context> contexts_;  // by number
  std::unordered_map<uint64_t, Call> calls_;
  std::unordered_set<uint64_t> open_groups_;
  std::unordered_map<ThreadId, uint64_t> last_groups_;  // that each thread has opened
  std::deque<uint64_t> ended_calls_;                    // of which nothing is enqueued yet
  std::unordered_map<uint64_t, Operation> operations_;
  std::deque<uint64_t> unended_;  // operations, in the order of their rows
  std::deque<uint64_t> unknown_;  // operations with an ended channel and no number of channels
  /// Events under way, and their ids in the order of their starts.
  template <class Event>
  struct Started {
    std::unordered_map<uint64_t, Event> events;
    std::deque<uint64_t> order;
    void add(uint64_t id, Event event) {
      events.insert_or_assign(id, std::move(event));
      order.push_back(id);
    }
  };
  Started<std::pair<uint64_t, uint32_t>> channels_;  // operation, channel
  Started<Proxy> proxies_;
  Started<Step> steps_;
  uint64_t without_parent_ = 0;
  int64_t newest_ = 0;
};

}  // namespace tracesmith
