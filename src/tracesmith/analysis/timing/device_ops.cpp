// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/base/natural_sort.hpp"
#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {
namespace {

/// Calls f(i) for each i below `parts`, on several threads if there are many ops.
template <class F>
void inParallel(size_t parts, size_t ops, F&& f) {
  constexpr size_t kMany = size_t{1} << 20;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < parts; i = next++) f(i);
  };
  std::vector<std::future<void>> others;
  try {
    const size_t threads = ops < kMany ? 1 : std::thread::hardware_concurrency();
    for (size_t i = 1; i < std::min(threads, parts); ++i) {
      others.push_back(std::async(std::launch::async, work));
    }
  } catch (const std::system_error&) {  // no more threads: this one does it
  }
  work();
  for (std::future<void>& other : others) other.get();
}

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

}  // namespace

int64_t HostCallTimes::roundedBegin(size_t row) const { return HtaRounding::begin(starts_[row]); }
int64_t HostCallTimes::roundedEnd(size_t row) const {
  return HtaRounding::end(starts_[row], durations_[row]);
}

std::string_view toString(WorkClass c) {
  constexpr std::array<std::string_view, kWorkClasses> kNames = {"compute", "communication",
                                                                 "memory", "other"};
  return kNames[static_cast<size_t>(c)];
}

WorkClass classOfKernel(std::string_view name) {
  return isCollectiveKernel(name) ? WorkClass::kCommunication : WorkClass::kCompute;
}

DeviceOpsMaker::DeviceOpsMaker(const Trace& trace, const AnalysisOptions& options)
    : trace_(trace),
      options_(options),
      calls_(trace.host_call, options),
      until_ns_(options.as_hta ? lastStepBegin(trace) : std::nullopt),
      classes_(trace.strings.size() + 1, kNotKnown) {}

template <class Table, class Out>
void DeviceOpsMaker::appendOps(const Table& rows, std::span<const uint32_t> launches,
                               uint32_t first_row, Out& out) {
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (!isDeviceWork(rows, i)) continue;
    DeviceOp op;
    op.table = Table::kId;
    op.row = first_row + i;
    op.name = rows.name[i];
    op.stream = rows.stream_id[i];
    op.process = rows.process_id[i];
    op.launch = launches[i];
    op.work = classOf<Table::kId>(op.name);
    if (setTimes<Table::kId>(op, rows.start_ns[i], rows.duration_ns[i])) out.push_back(op);
  }
}
template void DeviceOpsMaker::appendOps(const KernelTable&, std::span<const uint32_t>, uint32_t,
                                        std::vector<DeviceOp>&);
template void DeviceOpsMaker::appendOps(const KernelTable&, std::span<const uint32_t>, uint32_t,
                                        OpsByStream&);
template void DeviceOpsMaker::appendOps(const CopyTable&, std::span<const uint32_t>, uint32_t,
                                        OpsByStream&);
template void DeviceOpsMaker::appendOps(const FillTable&, std::span<const uint32_t>, uint32_t,
                                        OpsByStream&);
template void DeviceOpsMaker::appendOps(const SyncTable&, std::span<const uint32_t>, uint32_t,
                                        OpsByStream&);

template <class Table>
bool DeviceOpsMaker::isDeviceWork(const Table& table, size_t row) const {
  if (!options_.as_hta && (table.flags[row] & op_flags::kHostSide) != 0) return false;
  return hasDeviceTimes(table.flags[row], table.start_ns[row], table.duration_ns[row]);
}

/// False: the row does not count.
template <TableId kTable>
bool DeviceOpsMaker::setTimes(DeviceOp& op, int64_t start_ns, int64_t duration_ns) const {
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
  if (until_ns_ && (op.launch == DeviceOp::kNone || calls_.beginNs(op.launch) >= *until_ns_)) {
    return false;
  }
  op.begin_ns = HtaRounding::begin(start_ns);
  op.end_ns = HtaRounding::end(start_ns, duration_ns);
  return true;
}

template <TableId kTable>
WorkClass DeviceOpsMaker::classOf(StringId name) {
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

DeviceOps DeviceOpsMaker::finish(OpsByStream ops) const {
  DeviceOps out;
  ops.finish(out);
  out.calls = calls_;
  out.until_ns = until_ns_;
  return out;
}

void OpsByStream::push_back(const DeviceOp& op) {
  constexpr size_t kLargestPart = (size_t{8} << 20) / sizeof(DeviceOp);
  const StreamId stream =
      std::min(op.stream, static_cast<StreamId>(trace_.stream.size() + 1));  // damaged: beyond all
  if (last_ == nullptr || last_stream_ != stream) {
    last_stream_ = stream;
    last_ = &streams_[stream];
  }
  std::vector<Column<DeviceOp>>& parts = last_->parts;
  if (parts.empty() || parts.back().size() == parts.back().capacity()) {
    parts.emplace_back();
    parts.back().reserve(std::clamp<size_t>(last_->size, 16, kLargestPart));
  }
  parts.back().push_back(op);
  ++last_->size;
}

void OpsByStream::finish(DeviceOps& out) {
  struct Copy {
    Column<DeviceOp>* part;
    size_t to;
  };
  std::vector<Copy> copies;
  size_t size = 0;
  for (auto& [id, stream] : streams_) {
    for (Column<DeviceOp>& part : stream.parts) {
      copies.push_back({&part, size});
      size += part.size();
    }
  }
  out.ops.resize(size);
  inParallel(copies.size(), size, [&](size_t i) {
    Column<DeviceOp> part = std::move(*copies[i].part);
    std::copy(part.begin(), part.end(), out.ops.begin() + copies[i].to);
  });
  sortStreams(out);
  streams_.clear();
  last_ = nullptr;
}

void OpsByStream::sortStreams(DeviceOps& out) const {
  std::vector<std::pair<size_t, size_t>> ranges;  // of the known streams, and of all others
  size_t end = 0;
  for (const auto& [id, stream] : streams_) {
    ranges.emplace_back(end, end + stream.size);
    end += stream.size;
  }
  DeviceOp* const ops = out.ops.data();
  inParallel(ranges.size(), end, [&](size_t i) {
    naturalSort(ops + ranges[i].first, ops + ranges[i].second,
                [](const DeviceOp& a, const DeviceOp& b) {
                  return std::tie(a.stream, a.begin_ns) < std::tie(b.stream, b.begin_ns);
                });
  });
  for (const auto& [first, last] : ranges) {
    for (size_t i = first; i < last;) {
      const StreamId id = ops[i].stream;
      const auto index = static_cast<size_t>(id);
      if (index <= trace_.stream.size()) {
        out.stream_by_id.resize(index + 1);
        out.stream_by_id[index] = static_cast<uint32_t>(out.streams.size());
      }
      size_t next = last;  // a known stream has the range alone
      if (index > trace_.stream.size()) {
        next = i + 1;
        while (next < last && ops[next].stream == id) ++next;
      }
      out.streams.push_back(
          {id, trace_.deviceOf(id), static_cast<uint32_t>(i), static_cast<uint32_t>(next)});
      i = next;
    }
  }
}

uint32_t DeviceOps::searchStreamOf(uint32_t op) const {
  const auto after = std::upper_bound(
      streams.begin(), streams.end(), op,
      [](uint32_t index, const StreamOps& stream) { return index < stream.begin; });
  return static_cast<uint32_t>(after - streams.begin()) - 1;
}

DeviceOps DeviceOps::of(const Trace& trace, const AnalysisOptions& options) {
  DeviceOpsMaker maker(trace, options);
  const LaunchIndex index(trace);
  OpsByStream ops(trace);
  const auto append = [&](const auto& table) {
    std::vector<uint32_t> launches = index.launchesOf(table);
    maker.appendOps(table, launches, 0, ops);
    return launches;
  };
  append(trace.kernel);
  append(trace.copy);
  append(trace.fill);
  std::vector<uint32_t> call_of_sync = append(trace.sync);
  DeviceOps out = maker.finish(std::move(ops));
  out.call_of_sync = std::move(call_of_sync);
  return out;
}

}  // namespace tracesmith
