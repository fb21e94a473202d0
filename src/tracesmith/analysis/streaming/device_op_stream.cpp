// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/device_op_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <utility>

#include "tracesmith/base/spare_objects.hpp"

namespace tracesmith {
namespace {

constexpr std::array<TableId, 3> kWorkTables = {TableId::kKernel, TableId::kCopy, TableId::kFill};

uint64_t placeOf(TableId table, uint64_t row) {
  return uint64_t{static_cast<uint16_t>(table)} << 48 | row;
}

/// Classes of kernels by name.
class KernelClasses {
 public:
  explicit KernelClasses(TraceScan& scan) : tables_(scan.tables()) {
    classes_.assign(tables_.strings.size() + 1, kNotKnown);
    for (const StringId name : scan.reader().kernelNames()) {
      const auto id = static_cast<size_t>(name);
      if (id < classes_.size()) {
        classes_[id] = static_cast<int8_t>(classOfKernel(tables_.text(name)));
      }
    }
  }
  WorkClass of(StringId name) const {
    const auto id = static_cast<size_t>(name);
    if (id >= classes_.size()) return WorkClass::kCompute;
    if (classes_[id] == kNotKnown) return classOfKernel(tables_.text(name));
    return static_cast<WorkClass>(classes_[id]);
  }

 private:
  static constexpr int8_t kNotKnown = -1;
  const Trace& tables_;
  std::vector<int8_t> classes_;
};

template <class Table>
void appendOps(const Table& table, uint64_t first_row, const KernelClasses& classes,
               const LaunchTimes& launches, bool& is_repeated, std::vector<StreamedOp>& out) {
  out.reserve(out.size() + table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    if ((table.flags[i] & op_flags::kHostSide) != 0 ||
        !hasDeviceTimes(table.flags[i], table.start_ns[i], table.duration_ns[i])) {
      continue;
    }
    StreamedOp op;
    op.begin_ns = table.start_ns[i];
    op.end_ns = endOf(table.start_ns[i], table.duration_ns[i]);
    op.place = placeOf(Table::kId, first_row + i);
    op.stream = table.stream_id[i];
    op.process = table.process_id[i];
    op.table = Table::kId;
    op.work = WorkClass::kMemory;
    if constexpr (std::is_same_v<Table, KernelTable>) {
      op.name = table.name[i];
      op.work = classes.of(op.name);
    } else {
      op.bytes = table.bytes[i];
    }
    if constexpr (std::is_same_v<Table, CopyTable>) op.copy_kind = table.kind[i];
    const LaunchTimes::Call call = launches.find(op.process, table.correlation_id[i], is_repeated);
    op.launch_ns = call.start_ns;
    op.launch_end_ns = call.end_ns;
    out.push_back(op);
  }
}

/// Those of the process. They are never destroyed: threads may still use them when it ends.
SpareObjects<std::vector<StreamedOp>>& spareRuns() {
  static auto* const runs = new SpareObjects<std::vector<StreamedOp>>(2);
  return *runs;
}

}  // namespace

void OpMerger::release(Run& run) {
  constexpr size_t kMostOps = 256 << 10;
  std::vector<StreamedOp> ops = std::exchange(run, {}).ops;
  ops.clear();
  if (ops.capacity() <= kMostOps) spareRuns().keep(std::move(ops));
}

void OpMerger::add(std::vector<StreamedOp>&& sorted) {
  if (sorted.empty()) return;
  uint32_t place = static_cast<uint32_t>(runs_.size());
  if (free_.empty()) {
    runs_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  runs_[place] = {std::move(sorted), 0};
  heads_.push({runs_[place].ops.front(), place});
}

Result<LaunchTimes> readLaunchTimes(TraceScan& scan, bool keeps_ends) {
  constexpr std::array<TableId, 1> kCalls = {TableId::kHostCall};
  // start_ns, process_id, correlation_id, duration_ns
  std::vector<uint16_t> columns = {1, 4, 7};
  if (keeps_ends) columns.push_back(2);
  LaunchTimes launches;
  TS_CHECK_OK(scan.forEach(
      scan.blocksOf(kCalls), columns,
      [&](const Trace& rows, const ScanBlock&, unsigned) {
        return LaunchTimes::blockOf(rows.host_call, keeps_ends);
      },
      [&](LaunchTimes::Block&& block) { launches.add(std::move(block)); }));
  launches.finish();
  return launches;
}

Result<StreamEnd> streamDeviceOps(TraceScan& scan, const LaunchTimes& launches,
                                  const std::function<void(const WorkBlock&)>& on_block,
                                  const std::function<void(const StreamedOp&)>& on_op) {
  // start_ns, duration_ns, name or kind, process_id, stream_id, correlation_id, bytes, flags, and
  // of copies source_device_id and destination_device_id
  constexpr std::array<uint16_t, 10> kColumns = {1, 2, 3, 4, 6, 7, 8, 9, 17, 18};
  const std::vector<ScanBlock> blocks = scan.blocksOf(kWorkTables);
  const KernelClasses classes(scan);
  std::atomic<bool> needs_whole{false};
  OpMerger merger;
  size_t taken = 0;
  int64_t final_before = INT64_MIN;
  TS_CHECK_OK(scan.forEach(
      blocks, kColumns,
      [&](const Trace& rows, const ScanBlock& block, unsigned thread) {
        std::vector<StreamedOp> ops = spareRuns().take();
        if (needs_whole) return ops;
        bool is_repeated = false;
        appendOps(rows.kernel, block.first_row, classes, launches, is_repeated, ops);
        appendOps(rows.copy, block.first_row, classes, launches, is_repeated, ops);
        appendOps(rows.fill, block.first_row, classes, launches, is_repeated, ops);
        if (is_repeated) needs_whole = true;
        if (on_block) on_block({rows, ops, thread});
        if (!std::is_sorted(ops.begin(), ops.end())) std::sort(ops.begin(), ops.end());
        return ops;
      },
      [&](std::vector<StreamedOp>&& ops) {
        ++taken;
        if (!ops.empty() && ops.front().begin_ns < final_before) needs_whole = true;
        if (needs_whole) return;
        merger.add(std::move(ops));
        if (taken < blocks.size()) {
          final_before = std::max(final_before, blocks[taken].min_ns);
          merger.takeBefore(final_before, on_op);
        }
      }));
  if (needs_whole) return StreamEnd::kNeedsWholeTrace;
  merger.takeAll(on_op);
  return StreamEnd::kComplete;
}

StreamedOp streamedOpOf(const Trace& trace, const DeviceOps& ops, const DeviceOp& op) {
  StreamedOp streamed;
  streamed.begin_ns = op.begin_ns;
  streamed.end_ns = op.end_ns;
  if (op.launch != DeviceOp::kNone) {
    streamed.launch_ns = ops.calls.beginNs(op.launch);
    streamed.launch_end_ns = ops.calls.endNs(op.launch);
  }
  streamed.place = placeOf(op.table, op.row);
  streamed.stream = op.stream;
  streamed.process = op.process;
  streamed.table = op.table;
  streamed.work = op.work;
  if (op.table == TableId::kKernel) streamed.name = op.name;
  if (op.table == TableId::kCopy) {
    streamed.bytes = trace.copy.bytes[op.row];
    streamed.copy_kind = trace.copy.kind[op.row];
  }
  if (op.table == TableId::kFill) streamed.bytes = trace.fill.bytes[op.row];
  return streamed;
}

std::vector<StreamedOp> streamedOpsOf(const Trace& trace, const DeviceOps& ops) {
  std::vector<StreamedOp> out;
  out.reserve(ops.ops.size());
  for (const DeviceOp& op : ops.ops) out.push_back(streamedOpOf(trace, ops, op));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tracesmith
