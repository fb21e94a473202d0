// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/host_waits.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tracesmith {
namespace {

constexpr uint32_t kNoWait = ~uint32_t{0};

/// An action of the host: a launch at its start, or a wait at its end.
struct Act {
  int64_t time;
  uint32_t op;
  bool wait;
};

std::vector<Act> actsOf(const std::vector<Operation>& operations) {
  std::vector<Act> acts;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    if (op.host_wait) {
      acts.push_back({op.end_ns, static_cast<uint32_t>(i), true});
    } else if (op.launched_ns != INT64_MIN) {
      acts.push_back({op.launched_ns, static_cast<uint32_t>(i), false});
    }
  }
  std::sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) {
    return std::tie(a.time, a.wait, a.op) < std::tie(b.time, b.wait, b.op);
  });
  return acts;
}

class HostWaits {
 public:
  HostWaits(const Trace& trace, const std::vector<Operation>& operations,
            const std::function<void(uint32_t, uint32_t, Dependency::Why)>& depends)
      : trace_(trace), operations_(operations), depends_(depends) {}

  void launch(uint32_t number) {
    const Operation& op = operations_[number];
    Stream& stream = streams_[{op.process, op.stream}];
    const auto wait = waits_.find(op.thread);
    if (wait != waits_.end() && stream.linked_to != wait->second) {
      depends_(wait->second, number, Dependency::Why::kLaunchedAfterWait);
      stream.linked_to = wait->second;
    }
    stream.last = number;
    stream.waited_for = false;
    const Launched launched{op.end_ns, number};
    of_processes_[op.process].push(launched);
    of_devices_[{op.process, trace_.deviceOf(op.stream)}].push(launched);
  }

  void wait(uint32_t number) {
    const Operation& op = operations_[number];
    if (op.table == TableId::kSync) waitForStreams(number, trace_.sync.kind[op.row]);
    if (op.thread != ThreadId::kNone) waits_[op.thread] = number;
  }

 private:
  struct Stream {
    uint32_t last = kNoWait;       // last operation launched
    uint32_t linked_to = kNoWait;  // wait already linked to its later work
    bool waited_for = false;       // the last operation was waited for
  };
  using Launched = std::pair<int64_t, uint32_t>;  // its end and the operation
  using ByEnd = std::priority_queue<Launched, std::vector<Launched>, std::greater<>>;

  void waitForStreams(uint32_t number, SyncKind kind) {
    const Operation& op = operations_[number];
    if (kind == SyncKind::kStreamWait && op.stream != StreamId::kNone) {
      const auto stream = streams_.find({op.process, op.stream});
      if (stream != streams_.end()) waitFor(stream->second, number);
      return;
    }
    if (kind != SyncKind::kDeviceWait && kind != SyncKind::kStreamWait) return;
    const DeviceId device = trace_.deviceOf(op.stream);
    waitForAll(
        device == DeviceId::kNone ? of_processes_[op.process] : of_devices_[{op.process, device}],
        number);
  }

  /// Takes out each launch once, whatever the number of streams and waits. A launch that is no
  /// longer its stream's last is followed by one that is.
  void waitForAll(ByEnd& launched, uint32_t wait) {
    while (!launched.empty() && launched.top().first <= operations_[wait].end_ns) {
      const uint32_t number = launched.top().second;
      launched.pop();
      Stream& stream = streams_[{operations_[number].process, operations_[number].stream}];
      if (stream.last == number) waitFor(stream, wait);
    }
  }

  void waitFor(Stream& stream, uint32_t wait) {
    if (stream.waited_for || operations_[stream.last].end_ns > operations_[wait].end_ns) return;
    depends_(stream.last, wait, Dependency::Why::kHostWaitedForIt);
    stream.waited_for = true;
  }

  const Trace& trace_;
  const std::vector<Operation>& operations_;
  const std::function<void(uint32_t, uint32_t, Dependency::Why)>& depends_;
  std::map<std::pair<ProcessId, StreamId>, Stream> streams_;
  std::map<ProcessId, ByEnd> of_processes_;
  std::map<std::pair<ProcessId, DeviceId>, ByEnd> of_devices_;
  std::unordered_map<ThreadId, uint32_t> waits_;  // last wait of each thread
};

}  // namespace

void forEachHostWait(const Trace& trace, const std::vector<Operation>& operations,
                     const std::function<void(uint32_t, uint32_t, Dependency::Why)>& depends) {
  if (std::none_of(operations.begin(), operations.end(),
                   [](const Operation& op) { return op.host_wait; })) {
    return;
  }
  HostWaits waits(trace, operations, depends);
  for (const Act& act : actsOf(operations)) {
    act.wait ? waits.wait(act.op) : waits.launch(act.op);
  }
}

}  // namespace tracesmith
