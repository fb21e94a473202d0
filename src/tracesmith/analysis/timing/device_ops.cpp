// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/model/collective_names.hpp"

namespace tracesmith {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool beginsWithAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.starts_with(part); });
}

/// HTA's classes, which go by names alone: of 0.5.0 (hta/utils/utils.py).
WorkClass classByHta(std::string_view name) {
  if (name.starts_with("nccl") && holds(name.substr(4), "Kernel")) {
    return WorkClass::kCommunication;
  }
  if (beginsWithAny(name, {"Memcpy", "Memset", "dma"})) return WorkClass::kMemory;
  return holds(name, "Memcpy") || holds(name, "Sync") ? WorkClass::kOther : WorkClass::kCompute;
}

/// The same of its main branch (hta/common/types.py).
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

/// Times as HTA has them: doubles of microseconds, starts rounded up, ends down.
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
  DeviceOps out;
  const HostCallTable& calls = trace.host_call;
  out.call_begin_ns.resize(calls.size());
  out.call_end_ns.resize(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const int64_t start = calls.start_ns[i];
    out.call_begin_ns[i] = options.as_hta ? HtaRounding::begin(start) : start;
    out.call_end_ns[i] = options.as_hta ? HtaRounding::end(start, calls.duration_ns[i])
                                        : endOf(start, calls.duration_ns[i]);
  }
  // HTA: with several steps only what was launched before the last one began.
  bool by_steps = false;
  int64_t before_ns = INT64_MIN;
  if (options.as_hta) {
    StringId first{};
    const RangeTable& ranges = trace.range;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges.kind[i] != RangeKind::kRange ||
          !trace.text(ranges.name[i]).starts_with("ProfilerStep")) {
        continue;
      }
      if (first == StringId::kNone) first = ranges.name[i];
      by_steps = by_steps || ranges.name[i] != first;
      before_ns = std::max(before_ns, HtaRounding::begin(ranges.start_ns[i]));
    }
  }
  if (by_steps) out.until_ns = before_ns;
  const LaunchIndex launches(trace);
  std::vector<int8_t> classes(trace.strings.size() + 1, -1);
  const auto classOf = [&](StringId name, TableId table) {
    if (!options.as_hta) {
      if (table == TableId::kCopy || table == TableId::kFill) return WorkClass::kMemory;
      if (table == TableId::kSync) return WorkClass::kOther;
    }
    const auto id = static_cast<size_t>(name);
    if (id >= classes.size()) return WorkClass::kCompute;
    if (classes[id] < 0) {
      const std::string_view text = trace.text(name);
      classes[id] = static_cast<int8_t>(!options.as_hta    ? classOfKernel(text)
                                        : options.hta_main ? classByHtaMain(text)
                                                           : classByHta(text));
    }
    return static_cast<WorkClass>(classes[id]);
  };
  forEachTable(trace, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (std::is_same_v<Table, KernelTable> || std::is_same_v<Table, CopyTable> ||
                  std::is_same_v<Table, FillTable> || std::is_same_v<Table, SyncTable>) {
      for (size_t i = 0; i < table.size(); ++i) {
        if ((table.flags[i] & (op_flags::kDeviceClock | op_flags::kNoDeviceTime)) != 0) continue;
        if (!options.as_hta && (table.flags[i] & op_flags::kHostSide) != 0) continue;
        // What no clock can have given would make sums of times overflow.
        constexpr int64_t kLastNs = int64_t{1} << 61;
        if (table.start_ns[i] < -kLastNs ||
            endOf(table.start_ns[i], table.duration_ns[i]) > kLastNs) {
          continue;
        }
        DeviceOp op;
        op.table = Table::kId;
        op.row = static_cast<uint32_t>(i);
        op.name = table.name[i];
        op.stream = table.stream_id[i];
        op.device = trace.deviceOf(op.stream);
        op.process = table.process_id[i];
        op.correlation_id = table.correlation_id[i];
        op.launch = launches.find(op.process, op.correlation_id);
        op.work = classOf(op.name, Table::kId);
        const int64_t start = table.start_ns[i];
        if (options.as_hta) {
          // A wait of the whole device is on no stream.
          const auto s = static_cast<size_t>(op.stream);
          if (Table::kId == TableId::kSync && s != 0 && s <= trace.stream.size() &&
              static_cast<int64_t>(trace.stream.handle[s - 1]) < 0) {
            continue;
          }
          if (by_steps &&
              (op.launch == DeviceOp::kNone || out.call_begin_ns[op.launch] >= before_ns)) {
            continue;
          }
          op.begin_ns = HtaRounding::begin(start);
          op.end_ns = HtaRounding::end(start, table.duration_ns[i]);
        } else {
          if (op.work == WorkClass::kOther) continue;
          op.begin_ns = start;
          op.end_ns = endOf(start, table.duration_ns[i]);
        }
        out.ops.push_back(op);
      }
    }
  });
  const auto earlier = [](const DeviceOp& a, const DeviceOp& b) {
    return std::tie(a.stream, a.begin_ns) < std::tie(b.stream, b.begin_ns);
  };
  if (!std::is_sorted(out.ops.begin(), out.ops.end(), earlier)) {
    std::stable_sort(out.ops.begin(), out.ops.end(), earlier);
  }
  for (size_t i = 0; i < out.ops.size(); ++i) {
    if (out.streams.empty() || out.streams.back().stream != out.ops[i].stream) {
      out.streams.push_back({out.ops[i].stream, out.ops[i].device, static_cast<uint32_t>(i), 0});
    }
    out.streams.back().end = static_cast<uint32_t>(i) + 1;
  }
  return out;
}

}  // namespace tracesmith
