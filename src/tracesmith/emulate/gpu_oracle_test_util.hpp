// SPDX-License-Identifier: Apache-2.0
// For tests: a small simulated GPU that runs a program and produces a trace. Only the oracle knows
// its launch costs, the number of blocks on the device, and its copy speed.
//
// It advances from moment to moment and examines everything each time: slow, and different from the
// emulator in every way. Kernels consist of blocks that take slots, first come, first served; the
// emulator only approximates this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith::test {

struct OracleParameters {
  int64_t launch_call_ns = 4'000;
  int64_t launch_latency_ns = 6'500;  ///< from the start of the call
  int64_t stream_gap_ns = 900;        ///< between two operations in a stream
  int64_t sync_call_ns = 1'500;
  int64_t sync_return_ns = 3'000;
  int64_t copy_latency_ns = 1'200;
  std::array<double, 2> bytes_per_ns = {12, 10};  ///< to the device, from the device
  uint32_t slots = 16;                            ///< concurrent blocks
  size_t queue_room = 1'000'000;                  ///< launches not yet started
  int64_t queue_return_ns = 2'000;
};

struct OracleAction {
  enum class What : uint8_t { kHostWork, kKernel, kCopy, kSyncStream, kSyncDevice, kEvent };
  What what = What::kHostWork;
  int64_t ns = 0;  ///< host work; kernels: duration of a block
  std::string name;
  uint32_t stream = 0;  ///< kEvent: the stream that waits
  uint32_t other = 0;   ///< kEvent: the stream waited for
  uint32_t blocks = 1;
  uint64_t bytes = 0;
  bool to_device = true;
  bool blocking = false;
};

struct OracleRun {
  SampleTrace trace;
  int64_t makespan_ns = 0;
  std::vector<int64_t> ends_ns;  ///< ends of operations, in launch order
};

class GpuOracle {
 public:
  static constexpr int64_t kBegin = 1'000'000'000;
  GpuOracle(OracleParameters parameters, uint32_t streams)
      : p_(parameters), streams_(streams), last_(streams, kNone), pending_event_(streams) {}

  OracleRun run(const std::vector<OracleAction>& program) {
    program_ = &program;
    while (true) {
      bool again = true;
      while (again) again = hostActs() || deviceActs();
      const int64_t next = nextMoment();
      if (next == INT64_MAX) break;
      now_ = next;
    }
    return finish();
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct Op {
    const OracleAction* action;
    int64_t ready;
    int64_t call;
    size_t before;              // previous operation in its stream
    std::vector<size_t> waits;  // events
    int64_t queued = -1;        // entered the device's own queues
    int64_t begin = -1;
    int64_t end = -1;
    uint32_t left = 0;  // blocks not yet assigned
    uint32_t running = 0;
  };
  struct Call {
    std::string name;
    CallKind kind;
    int64_t begin;
    int64_t end;
    uint32_t stream;
    size_t op;
    bool device = false;
  };

  bool hostActs() {
    if (host_at_ > now_ || next_ == program_->size()) return false;
    const OracleAction& a = (*program_)[next_];
    switch (a.what) {
      case OracleAction::What::kHostWork:
        host_at_ += a.ns;
        break;
      case OracleAction::What::kEvent:
        if (last_[a.other] != kNone) pending_event_[a.stream].push_back(last_[a.other]);
        break;
      case OracleAction::What::kSyncStream:
      case OracleAction::What::kSyncDevice:
        if (!sync(a)) return false;
        break;
      default:
        if (!launch(a)) return false;
    }
    ++next_;
    return true;
  }

  bool launch(const OracleAction& a) {
    if (!issued_) {
      if (begun_ < 0) begun_ = now_;
      ops_.push_back({&a, now_ + p_.launch_latency_ns, now_, last_[a.stream], {}});
      Op& op = ops_.back();
      op.waits.swap(pending_event_[a.stream]);
      op.left = a.what == OracleAction::What::kKernel ? a.blocks : 0;
      last_[a.stream] = ops_.size() - 1;
      calls_.push_back({a.what == OracleAction::What::kKernel ? "cudaLaunchKernel"
                        : a.blocking                          ? "cudaMemcpy"
                                                              : "cudaMemcpyAsync",
                        a.what == OracleAction::What::kKernel ? CallKind::kLaunch : CallKind::kCopy,
                        now_, now_ + p_.launch_call_ns, a.stream, ops_.size() - 1});
      issued_ = true;
      const bool full = waiting() > p_.queue_room;
      if (!full && !a.blocking) return launched(now_ + p_.launch_call_ns);
    }
    if (a.blocking) {
      const Op& own = ops_[calls_.back().op];
      if (own.end < 0 || own.end > now_) return false;
      return launched(own.end + p_.sync_return_ns);
    }
    if (waiting() > p_.queue_room) return false;
    return launched(std::max(now_ + p_.queue_return_ns, calls_.back().end));
  }
  bool launched(int64_t end) {
    calls_.back().end = host_at_ = end;
    issued_ = false;
    return true;
  }
  size_t waiting() const {
    return static_cast<size_t>(
        std::count_if(ops_.begin(), ops_.end(), [&](const Op& op) { return op.begin < 0; }));
  }

  bool sync(const OracleAction& a) {
    if (!issued_) {
      if (begun_ < 0) begun_ = now_;
      const bool device = a.what == OracleAction::What::kSyncDevice;
      calls_.push_back({device ? "cudaDeviceSynchronize" : "cudaStreamSynchronize", CallKind::kSync,
                        now_, 0, a.stream, kNone, device});
      issued_ = true;
    }
    int64_t over = INT64_MIN;
    for (uint32_t s = 0; s < streams_; ++s) {
      if (!calls_.back().device && s != a.stream) continue;
      if (last_[s] == kNone) continue;
      const int64_t end = ops_[last_[s]].end;
      if (end < 0 || end > now_) return false;
      over = std::max(over, end);
    }
    const int64_t begin = calls_.back().begin;
    host_at_ = calls_.back().end =
        over > begin ? over + p_.sync_return_ns : begin + p_.sync_call_ns;
    issued_ = false;
    return true;
  }

  /// Earliest start of an operation with respect to streams and events; -1: not known yet.
  int64_t allowed(const Op& op) const {
    int64_t at = op.ready;
    if (op.before != kNone) {
      if (ops_[op.before].end < 0) return -1;
      at = std::max(at, ops_[op.before].end + p_.stream_gap_ns);
    }
    for (const size_t w : op.waits) {
      if (ops_[w].end < 0) return -1;
      at = std::max(at, ops_[w].end + p_.stream_gap_ns);
    }
    return at;
  }

  bool deviceActs() {
    bool acted = false;
    while (!block_ends_.empty() && block_ends_.begin()->first <= now_) {
      Op& op = ops_[block_ends_.begin()->second];
      block_ends_.erase(block_ends_.begin());
      --used_;
      if (--op.running == 0 && op.left == 0) op.end = now_;
      acted = true;
    }
    // Sorted by the time at which they became allowed.
    std::vector<std::pair<int64_t, size_t>> fresh;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].queued >= 0) continue;
      const int64_t at = allowed(ops_[i]);
      if (at >= 0 && at <= now_) fresh.emplace_back(at, i);
    }
    std::sort(fresh.begin(), fresh.end());
    for (const auto& [at, i] : fresh) {
      ops_[i].queued = now_;
      const bool kernel = ops_[i].action->what == OracleAction::What::kKernel;
      if (kernel) {
        kernels_.push_back(i);
      } else {
        copies_[ops_[i].action->to_device ? 0 : 1].push_back(i);
      }
      acted = true;
    }
    while (!kernels_.empty() && used_ < p_.slots) {
      Op& op = ops_[kernels_.front()];
      if (op.begin < 0) op.begin = now_;
      block_ends_.emplace(now_ + op.action->ns, kernels_.front());
      ++used_;
      ++op.running;
      if (--op.left == 0) kernels_.pop_front();
      acted = true;
    }
    for (size_t d = 0; d < 2; ++d) {
      if (copies_[d].empty() || engine_free_[d] > now_) continue;
      Op& op = ops_[copies_[d].front()];
      copies_[d].pop_front();
      op.begin = now_;
      op.end = now_ + p_.copy_latency_ns +
               static_cast<int64_t>(static_cast<double>(op.action->bytes) / p_.bytes_per_ns[d]);
      engine_free_[d] = op.end;
      acted = true;
    }
    return acted;
  }

  int64_t nextMoment() const {
    int64_t next = INT64_MAX;
    const auto consider = [&](int64_t t) {
      if (t > now_) next = std::min(next, t);
    };
    if (next_ < program_->size()) consider(host_at_);
    if (!block_ends_.empty()) consider(block_ends_.begin()->first);
    for (const Op& op : ops_) {
      if (op.end > now_) consider(op.end);
      if (op.queued < 0) consider(allowed(op));
    }
    for (const int64_t free : engine_free_) consider(free);
    return next;
  }

  OracleRun finish() {
    OracleRun out;
    SampleTrace& t = out.trace;
    const ProcessId process = t.process(10, "./oracle");
    const ThreadId thread = t.thread(process, 11);
    const DeviceId device = t.device("Oracle", PlatformType::Simulation);
    auto& units = t.trace.device;
    units.compute_units[0] = p_.slots;
    units.warp_size[0] = 32;
    units.max_threads_per_unit[0] = 1024;  // one block per unit
    std::vector<StreamId> ids;
    for (uint32_t s = 0; s < streams_; ++s) ids.push_back(t.stream(device, process));
    int64_t last = begun_;
    uint64_t correlation = 0;
    std::vector<uint64_t> correlation_of(ops_.size());
    for (const Call& call : calls_) {
      ++correlation;
      last = std::max(last, call.end);
      t.hostCall(call.name, call.kind, thread, StreamId::kNone, kBegin + call.begin,
                 call.end - call.begin, correlation);
      if (call.op != kNone) correlation_of[call.op] = correlation;
      if (call.kind == CallKind::kSync) {
        t.trace.sync.push({.start_ns = kBegin + call.begin,
                           .duration_ns = call.end - call.begin,
                           .kind = call.device ? SyncKind::kDeviceWait : SyncKind::kStreamWait,
                           .process_id = process,
                           .thread_id = thread,
                           .stream_id = ids[call.stream],
                           .correlation_id = correlation,
                           .flags = op_flags::kHostSide});
      }
    }
    for (size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      last = std::max(last, op.end);
      out.ends_ns.push_back(op.end);
      const StreamId stream = ids[op.action->stream];
      if (op.action->what == OracleAction::What::kKernel) {
        t.kernel(op.action->name, stream, kBegin + op.begin, op.end - op.begin, correlation_of[i],
                 t.shape(uint64_t{op.action->blocks} * 1024, 1024));
      } else {
        t.copy(op.action->to_device ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost, stream,
               kBegin + op.begin, op.end - op.begin, op.action->bytes, correlation_of[i]);
      }
      for (const size_t w : op.waits) {
        t.trace.flow.push({.process_id = process,
                           .from_correlation_id = correlation_of[w],
                           .to_correlation_id = correlation_of[i],
                           .kind = FlowKind::kWait});
      }
    }
    out.makespan_ns = last - begun_;
    return out;
  }

  OracleParameters p_;
  uint32_t streams_;
  const std::vector<OracleAction>* program_ = nullptr;
  size_t next_ = 0;
  bool issued_ = false;
  int64_t now_ = 0;
  int64_t host_at_ = 0;
  int64_t begun_ = -1;
  std::vector<Op> ops_;
  std::vector<Call> calls_;
  std::vector<size_t> last_;
  std::vector<std::vector<size_t>> pending_event_;
  std::multiset<std::pair<int64_t, size_t>> block_ends_;
  uint32_t used_ = 0;
  std::deque<size_t> kernels_;
  std::array<std::deque<size_t>, 2> copies_;
  std::array<int64_t, 2> engine_free_ = {0, 0};
};

/// Builds a program, one line per action.
struct OracleProgram {
  std::vector<OracleAction> actions;
  OracleProgram& work(int64_t ns) {
    actions.push_back({.ns = ns});
    return *this;
  }
  OracleProgram& kernel(const std::string& name, uint32_t stream, uint32_t blocks, int64_t ns) {
    actions.push_back({.what = OracleAction::What::kKernel,
                       .ns = ns,
                       .name = name,
                       .stream = stream,
                       .blocks = blocks});
    return *this;
  }
  OracleProgram& copy(uint32_t stream, bool to_device, uint64_t bytes, bool blocking = false) {
    actions.push_back({.what = OracleAction::What::kCopy,
                       .stream = stream,
                       .bytes = bytes,
                       .to_device = to_device,
                       .blocking = blocking});
    return *this;
  }
  OracleProgram& sync(uint32_t stream) {
    actions.push_back({.what = OracleAction::What::kSyncStream, .stream = stream});
    return *this;
  }
  OracleProgram& syncAll() {
    actions.push_back({.what = OracleAction::What::kSyncDevice});
    return *this;
  }
  OracleProgram& waitFor(uint32_t stream, uint32_t other) {
    actions.push_back({.what = OracleAction::What::kEvent, .stream = stream, .other = other});
    return *this;
  }
};

}  // namespace tracesmith::test
