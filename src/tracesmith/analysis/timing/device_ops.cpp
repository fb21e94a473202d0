// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool beginsWithAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.starts_with(part); });
}

/// HTA's classification, by name only: of 0.5.0 (hta/utils/utils.py).
WorkClass classByHta(std::string_view name) {
  if (name.starts_with("nccl") && holds(name.substr(4), "Kernel")) {
    return WorkClass::kCommunication;
  }
  if (beginsWithAny(name, {"Memcpy", "Memset", "dma"})) return WorkClass::kMemory;
  return holds(name, "Memcpy") || holds(name, "Sync") ? WorkClass::kOther : WorkClass::kCompute;
}

/// HTA's classification on its main branch (hta/common/types.py).
WorkClass classByHtaMain(std::string_view name) {
  if (beginsWithAny(name, {"nccl", "hip", "hccl"}) || holds(name, "ncclKernel")) {
    return WorkClass::kCommunication;
  }
  if (beginsWithAny(name, {"Memcpy", "Memset", "dma"})) return WorkClass::kMemory;
  const bool launch = holds(name, "cuda") && holds(name.substr(name.find("cuda")), "LaunchKernel");
  const bool other =
      holds(name, "Memcpy") || holds(name, "Memset") || holds(name, "dma") || holds(name, "Sync") ||
      launch ||
      beginsWithAny(name, {"Stream Wait Event", "runFunction", "job_exe", "packet", "pe_exe",
                           "cpum_exe_subgraph", "collective_subgraph_execution"});
  return other ? WorkClass::kOther : WorkClass::kCompute;
}

/// Times as in HTA: doubles of microseconds, starts rounded up, ends down.
struct HtaRounding {
  static double micros(int64_t ns) {
    return static_cast<double>(static_cast<long double>(ns) / 1000.0L);
  }
  static int64_t begin(int64_t start_ns) {
    return static_cast<int64_t>(std::ceil(micros(start_ns))) * 1000;
  }
  static int64_t end(int64_t start_ns, int64_t duration_ns) {
    return static_cast<int64_t>(std::floor(micros(start_ns) + micros(duration_ns))) * 1000;
  }
};

/// HTA: with several steps, only work launched before the start of the last one counts. Returns
/// that start; nullopt: there are not several steps.
std::optional<int64_t> lastStepBegin(const Trace& trace) {
  bool several = false;
  int64_t last_ns = INT64_MIN;
  StringId first{};
  const RangeTable& ranges = trace.range;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges.kind[i] != RangeKind::kRange ||
        !trace.text(ranges.name[i]).starts_with("ProfilerStep")) {
      continue;
    }
    if (first == StringId::kNone) first = ranges.name[i];
    several = several || ranges.name[i] != first;
    last_ns = std::max(last_ns, HtaRounding::begin(ranges.start_ns[i]));
  }
  return several ? std::optional(last_ns) : std::nullopt;
}

/// Finds the device work of a trace, table by table.
class DeviceWorkFinder {
 public:
  DeviceWorkFinder(const Trace& trace, const AnalysisOptions& options)
      : trace_(trace),
        options_(options),
        launches_(trace),
        classes_(trace.strings.size() + 1, kNotKnown) {}

  DeviceOps find();

 private:
  static constexpr int8_t kNotKnown = -1;

  void setCallTimes();
  template <class Table>
  void add(const Table& table);
  template <class Table>
  bool isDeviceWork(const Table& table, size_t row) const;
  // A template by table, so that each table gets its own compiled loop.
  template <TableId kTable>
  bool setTimes(DeviceOp& op, int64_t start_ns, int64_t duration_ns) const;
  template <TableId kTable>
  WorkClass classOf(StringId name);
  void sortByStream();

  const Trace& trace_;
  const AnalysisOptions& options_;
  const LaunchIndex launches_;
  std::vector<int8_t> classes_;  // class by name
  DeviceOps out_;
};

DeviceOps DeviceWorkFinder::find() {
  setCallTimes();
  if (options_.as_hta) out_.until_ns = lastStepBegin(trace_);
  out_.ops.reserve(trace_.kernel.size() + trace_.copy.size() + trace_.fill.size());
  forEachTable(trace_, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (std::is_same_v<Table, KernelTable> || std::is_same_v<Table, CopyTable> ||
                  std::is_same_v<Table, FillTable> || std::is_same_v<Table, SyncTable>) {
      add(table);
    }
  });
  sortByStream();
  return std::move(out_);
}

void DeviceWorkFinder::setCallTimes() {
  const HostCallTable& calls = trace_.host_call;
  out_.call_begin_ns.resize(calls.size());
  out_.call_end_ns.resize(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const int64_t start = calls.start_ns[i];
    out_.call_begin_ns[i] = options_.as_hta ? HtaRounding::begin(start) : start;
    out_.call_end_ns[i] = options_.as_hta ? HtaRounding::end(start, calls.duration_ns[i])
                                          : endOf(start, calls.duration_ns[i]);
  }
}

template <class Table>
void DeviceWorkFinder::add(const Table& table) {
  const std::vector<uint32_t> launches = launches_.launchesOf(table);
  for (size_t i = 0; i < table.size(); ++i) {
    if (!isDeviceWork(table, i)) continue;
    DeviceOp op;
    op.table = Table::kId;
    op.row = static_cast<uint32_t>(i);
    op.name = table.name[i];
    op.stream = table.stream_id[i];
    op.device = trace_.deviceOf(op.stream);
    op.process = table.process_id[i];
    op.correlation_id = table.correlation_id[i];
    op.launch = launches[i];
    op.work = classOf<Table::kId>(op.name);
    if (setTimes<Table::kId>(op, table.start_ns[i], table.duration_ns[i])) out_.ops.push_back(op);
  }
}

template <class Table>
bool DeviceWorkFinder::isDeviceWork(const Table& table, size_t row) const {
  if (!options_.as_hta && (table.flags[row] & op_flags::kHostSide) != 0) return false;
  return hasDeviceTimes(table.flags[row], table.start_ns[row], table.duration_ns[row]);
}

/// False: the row does not count.
template <TableId kTable>
bool DeviceWorkFinder::setTimes(DeviceOp& op, int64_t start_ns, int64_t duration_ns) const {
  if (!options_.as_hta) {
    op.begin_ns = start_ns;
    op.end_ns = endOf(start_ns, duration_ns);
    return op.work != WorkClass::kOther;
  }
  // A wait of the whole device has no stream.
  const auto s = static_cast<size_t>(op.stream);
  if (kTable == TableId::kSync && s != 0 && s <= trace_.stream.size() &&
      static_cast<int64_t>(trace_.stream.handle[s - 1]) < 0) {
    return false;
  }
  if (out_.until_ns &&
      (op.launch == DeviceOp::kNone || out_.call_begin_ns[op.launch] >= *out_.until_ns)) {
    return false;
  }
  op.begin_ns = HtaRounding::begin(start_ns);
  op.end_ns = HtaRounding::end(start_ns, duration_ns);
  return true;
}

template <TableId kTable>
WorkClass DeviceWorkFinder::classOf(StringId name) {
  if (!options_.as_hta) {
    if (kTable == TableId::kCopy || kTable == TableId::kFill) return WorkClass::kMemory;
    if (kTable == TableId::kSync) return WorkClass::kOther;
  }
  const auto id = static_cast<size_t>(name);
  if (id >= classes_.size()) return WorkClass::kCompute;
  if (classes_[id] == kNotKnown) {
    const std::string_view text = trace_.text(name);
    classes_[id] = static_cast<int8_t>(!options_.as_hta    ? classOfKernel(text)
                                       : options_.hta_main ? classByHtaMain(text)
                                                           : classByHta(text));
  }
  return static_cast<WorkClass>(classes_[id]);
}

void DeviceWorkFinder::sortByStream() {
  std::vector<DeviceOp>& ops = out_.ops;
  const auto earlier = [](const DeviceOp& a, const DeviceOp& b) {
    return std::tie(a.stream, a.begin_ns) < std::tie(b.stream, b.begin_ns);
  };
  if (!std::is_sorted(ops.begin(), ops.end(), earlier)) {
    std::stable_sort(ops.begin(), ops.end(), earlier);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (out_.streams.empty() || out_.streams.back().stream != ops[i].stream) {
      out_.streams.push_back({ops[i].stream, ops[i].device, static_cast<uint32_t>(i), 0});
    }
    out_.streams.back().end = static_cast<uint32_t>(i) + 1;
  }
}

}  // namespace

std::string_view toString(WorkClass c) {
  constexpr std::array<std::string_view, kWorkClasses> kNames = {"compute", "communication",
                                                                 "memory", "other"};
  return kNames[static_cast<size_t>(c)];
}

WorkClass classOfKernel(std::string_view name) {
  return isCollectiveKernel(name) ? WorkClass::kCommunication : WorkClass::kCompute;
}

DeviceOps DeviceOps::of(const Trace& trace, const AnalysisOptions& options) {
  return DeviceWorkFinder(trace, options).find();
}

}  // namespace tracesmith
