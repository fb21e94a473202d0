// SPDX-License-Identifier: Apache-2.0
// Makes rows of a trace from the records of the CUDA agent in one process: host calls, and what the
// device did, which CUPTI delivers later and on threads of its own. A correlation id brings them
// together; a launch of a graph has many kernels of one id.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/capture/arena_layout.hpp"
#include "tracesmith/capture/recorded_stacks.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct SharedRows;

/// What CUPTI could not deliver, and what it did to the program.
struct CudaTotals {
  uint64_t dropped = 0;       // records, by CUPTI itself
  uint64_t untimed = 0;       // records without times: the device had no room for them
  uint64_t without_call = 0;  // device work whose host call was not recorded
  uint64_t overhead_ns = 0;   // of the driver and of CUPTI, for our sake
};

class RecordedCuda {
 public:
  RecordedCuda(SharedRows& shared, RecordedStacks& stacks, ProcessId process,
               std::function<int64_t(int64_t)> host_ns)
      : shared_(shared), stacks_(stacks), process_(process), host_ns_(std::move(host_ns)) {}

  /// True for a record that is to be given to define() and join().
  static bool isOne(arena::RecordKind kind) {
    return kind >= arena::RecordKind::kCudaText && kind <= arena::RecordKind::kCudaDropped;
  }
  // As those of RecordJoiner: names, devices and contexts, then the rest. False when the record
  // makes no sense.
  bool define(ByteView record);
  bool join(ByteView record, ThreadId thread);
  /// Device work whose call has been seen by now makes its rows.
  void endPass();
  /// Makes the rows of what is left.
  void finish();

  bool any() const { return any_; }
  const CudaTotals& totals() const { return totals_; }
  /// Why nothing, or less, was captured; "" when all is well.
  const std::string& problem() const { return problem_; }

 private:
  struct Call {
    ThreadId thread{};
    uint32_t stack = 0;
  };
  struct Function {
    StringId name{};
    CallKind kind{};
  };
  struct Work {  // a device record that waits for its call
    Bytes record;
    uint64_t correlation = 0;
  };
  bool defineText(ByteView record);
  void hostCall(const arena::CallRecord& call, ThreadId thread);
  const Call* callOf(uint64_t correlation) const;
  void row(const Work& work, const Call* call);
  void kernel(const arena::CudaKernelRecord& k, const Call& call);
  void copy(const arena::CudaCopyRecord& c, const Call& call);
  void fill(const arena::CudaFillRecord& f, const Call& call);
  void sync(const arena::CudaSyncRecord& s, const Call& call);
  bool timed(int64_t start, int64_t end);
  DeviceId device(uint32_t ordinal);
  ContextId context(uint32_t number);
  StreamId stream(uint32_t context, uint32_t number);

  SharedRows& shared_;
  RecordedStacks& stacks_;
  ProcessId process_;
  std::function<int64_t(int64_t)> host_ns_;
  bool any_ = false;
  std::string problem_;
  CudaTotals totals_;
  std::unordered_map<uint32_t, Function> functions_;
  std::unordered_map<uint32_t, StringId> kernel_names_;
  std::map<uint32_t, DeviceRow> described_;  // devices by ordinal
  std::map<uint32_t, DeviceId> devices_;
  std::map<uint32_t, ContextId> contexts_;
  std::map<uint32_t, uint32_t> context_devices_;
  std::map<std::pair<uint32_t, uint32_t>, StreamId> streams_;  // context, number
  std::unordered_map<uint64_t, Call> calls_;                   // by correlation id
  std::deque<uint64_t> call_order_;
  std::deque<Work> waiting_;
};

}  // namespace tracesmith
