// SPDX-License-Identifier: Apache-2.0
// The device work of a trace in the form that all analyses use: by stream and time, classified,
// with the host call that launched it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/timing/analysis_options.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class WorkClass : uint8_t {
  kCompute,
  kCommunication,  ///< kernels of collectives and of point-to-point transfers between devices
  kMemory,         ///< copies and fills
  kOther,          ///< waits and markers: the device does nothing
};
constexpr size_t kWorkClasses = 4;
std::string_view toString(WorkClass c);

/// Class of a kernel, by its name. Communication: kernels of NCCL, RCCL, HCCL and oneCCL, and the
/// all-reduce of vLLM and SGLang.
WorkClass classOfKernel(std::string_view name);

/// Whether a row of device work has times that can be added up.
inline bool hasDeviceTimes(uint32_t flags, int64_t start_ns, int64_t duration_ns) {
  constexpr int64_t kLastNs = int64_t{1} << 61;  // sums of later times would overflow
  return (flags & (op_flags::kDeviceClock | op_flags::kNoDeviceTime)) == 0 &&
         start_ns >= -kLastNs && endOf(start_ns, duration_ns) <= kLastNs;
}

/// One piece of device work.
struct DeviceOp {
  static constexpr uint32_t kNone = ~uint32_t{0};
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  ///< may precede the start because of rounding (AnalysisOptions::as_hta)
  StringId name{};
  StreamId stream{};  ///< its device: Trace::deviceOf()
  ProcessId process{};
  uint32_t launch = kNone;  ///< row of host_call
  uint32_t row = 0;         ///< row in `table`
  TableId table{};
  WorkClass work{};
};

/// Ops [begin, end) of one stream.
struct StreamOps {
  StreamId stream{};
  DeviceId device{};
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Times of the rows of host_call, rounded as AnalysisOptions demand. The table must outlive it;
/// its trace may be moved.
class HostCallTimes {
 public:
  HostCallTimes() = default;
  HostCallTimes(const HostCallTable& calls, const AnalysisOptions& options)
      : starts_(calls.start_ns.data()),
        durations_(calls.duration_ns.data()),
        as_hta_(options.as_hta) {}
  int64_t beginNs(size_t row) const { return as_hta_ ? roundedBegin(row) : starts_[row]; }
  int64_t endNs(size_t row) const {
    return as_hta_ ? roundedEnd(row) : endOf(starts_[row], durations_[row]);
  }
  /// Brings the times of a row near the processor; any number is allowed.
  void prefetch(size_t row) const {
    const auto prefetchIn = [row](const int64_t* column) {  // the row may lie outside of it
      __builtin_prefetch(reinterpret_cast<const void*>(     // NOLINT(performance-no-int-to-ptr)
          reinterpret_cast<uintptr_t>(column) + row * sizeof(int64_t)));
    };
    prefetchIn(starts_);
    prefetchIn(durations_);
  }

 private:
  int64_t roundedBegin(size_t row) const;
  int64_t roundedEnd(size_t row) const;

  const int64_t* starts_ = nullptr;
  const int64_t* durations_ = nullptr;
  bool as_hta_ = false;
};

struct DeviceOps {
  Column<DeviceOp> ops;  ///< by stream, then start
  std::vector<StreamOps> streams;
  HostCallTimes calls;
  std::vector<uint32_t> call_of_sync;  ///< by row of sync: the host call; DeviceOp::kNone: unknown
  /// AnalysisOptions::as_hta: the start of the last ProfilerStep, if there are several. Work
  /// launched later is not among `ops`, and calls that start later do not count.
  std::optional<int64_t> until_ns;

  std::vector<uint32_t> stream_by_id;  ///< index in `streams` by StreamId, as far as it reaches

  /// Index in `streams` of the stream of an op.
  uint32_t streamIndexOf(uint32_t op) const {
    const auto id = static_cast<size_t>(ops[op].stream);
    return id < stream_by_id.size() ? stream_by_id[id] : searchStreamOf(op);
  }
  uint32_t searchStreamOf(uint32_t op) const;
  /// On at most `threads` threads; 0: as many as there are processors.
  static DeviceOps of(const Trace& trace, const AnalysisOptions& options = {},
                      unsigned threads = 0);
};

}  // namespace tracesmith
