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
  uint64_t correlation_id = 0;
  StringId name{};
  StreamId stream{};
  DeviceId device{};
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

struct DeviceOps {
  std::vector<DeviceOp> ops;  ///< by stream, then start
  std::vector<StreamOps> streams;
  /// Times of host_call rows, rounded as `options` demand.
  std::vector<int64_t> call_begin_ns, call_end_ns;
  /// AnalysisOptions::as_hta: the start of the last ProfilerStep, if there are several. Work
  /// launched later is not among `ops`, and calls that start later do not count.
  std::optional<int64_t> until_ns;

  static DeviceOps of(const Trace& trace, const AnalysisOptions& options = {});
};

}  // namespace tracesmith
