// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops_maker.hpp"

#include <utility>

#include "tracesmith/analysis/timing/hta_rules.hpp"
#include "tracesmith/analysis/timing/launch_index.hpp"

namespace tracesmith {

DeviceOpsMaker::DeviceOpsMaker(const Trace& trace, const AnalysisOptions& options)
    : trace_(trace),
      options_(options),
      calls_(trace.host_call, options),
      until_ns_(options.as_hta ? hta::lastStepBegin(trace) : std::nullopt),
      classes_(trace.strings.size() + 1, kNotKnown) {}

template <class Table>
OpsByStream::Counts DeviceOpsMaker::countsOf(const Table& rows, const OpsByStream& ops) const {
  return ops.count(rows.stream_id, [&](size_t i) { return mayCount(rows, i); });
}

template <class Table>
bool DeviceOpsMaker::writeOps(const Table& rows, std::span<const uint32_t> launches,
                              uint32_t first_row, OpsByStream::Writer out) {
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (!mayCount(rows, i)) continue;
    if (!hasDeviceTimes(rows.flags[i], rows.start_ns[i], rows.duration_ns[i])) continue;
    DeviceOp op;
    op.table = Table::kId;
    op.row = first_row + i;
    op.name = rows.name[i];
    op.stream = rows.stream_id[i];
    op.process = rows.process_id[i];
    op.launch = launches[i];
    op.work = classOf<Table::kId>(op.name);
    if (setTimes<Table::kId>(op, rows.start_ns[i], rows.duration_ns[i])) out.write(op);
  }
  return !out.hasMore();
}

template <class Table>
bool DeviceOpsMaker::mayCount(const Table& rows, size_t row) const {
  if ((rows.flags[row] & (op_flags::kDeviceClock | op_flags::kNoDeviceTime)) != 0) return false;
  return options_.as_hta ||
         (Table::kId != TableId::kSync && (rows.flags[row] & op_flags::kHostSide) == 0);
}

#define TS_FOR_TABLE(Table)                                                                      \
  template OpsByStream::Counts DeviceOpsMaker::countsOf(const Table&, const OpsByStream&) const; \
  template bool DeviceOpsMaker::writeOps(const Table&, std::span<const uint32_t>, uint32_t,      \
                                         OpsByStream::Writer);
TS_FOR_TABLE(KernelTable)
TS_FOR_TABLE(CopyTable)
TS_FOR_TABLE(FillTable)
TS_FOR_TABLE(SyncTable)
#undef TS_FOR_TABLE

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
  op.begin_ns = hta::beginOf(start_ns);
  op.end_ns = hta::endOf(start_ns, duration_ns);
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
    classes_[id] = static_cast<int8_t>(options_.as_hta ? hta::classOf(text, options_.hta_main)
                                                       : classOfKernel(text));
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

DeviceOps DeviceOps::of(const Trace& trace, const AnalysisOptions& options, unsigned threads) {
  DeviceOpsMaker maker(trace, options);
  OpsByStream ops(trace, threads);
  const auto count = [&](const auto& table) { ops.add(maker.countsOf(table, ops)); };
  count(trace.kernel);
  count(trace.copy);
  count(trace.fill);
  count(trace.sync);
  ops.makeRoom();
  const LaunchIndex index(trace);
  size_t part = 0;
  const auto write = [&](const auto& table) {
    std::vector<uint32_t> launches = index.launchesOf(table);
    maker.writeOps(table, launches, 0, ops.writer(part++));
    return launches;
  };
  write(trace.kernel);
  write(trace.copy);
  write(trace.fill);
  std::vector<uint32_t> call_of_sync = write(trace.sync);
  DeviceOps out = maker.finish(std::move(ops));
  out.call_of_sync = std::move(call_of_sync);
  return out;
}

}  // namespace tracesmith
