// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/work_trace.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "tracesmith/analysis/timing/device_ops_maker.hpp"
#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/base/memory_limit.hpp"

namespace tracesmith {
namespace {

/// The blocks of one table, by row.
std::vector<ScanBlock> blocksByRow(TraceScan& scan, TableId table) {
  std::vector<ScanBlock> blocks = scan.blocksOf(std::span(&table, 1));
  std::sort(blocks.begin(), blocks.end(),
            [](const ScanBlock& a, const ScanBlock& b) { return a.first_row < b.first_row; });
  return blocks;
}

/// Whether each row of the table is in one of its blocks.
bool isGapless(const std::vector<ScanBlock>& blocks) {
  uint64_t rows = 0;
  for (const ScanBlock& block : blocks) {
    if (block.first_row != rows) return false;
    rows += block.rows;
  }
  return rows < LaunchIndex::kNone;
}

/// timeRange() of these rows; nullopt: they have no times.
std::optional<TimeRange> rangeOf(const Trace& rows) {
  const bool has_times = !rows.host_call.empty() || !rows.kernel.empty() || !rows.copy.empty() ||
                         !rows.fill.empty() || !rows.sync.empty() || !rows.program_build.empty() ||
                         !rows.range.empty() || !rows.memory_event.empty() || !rows.counter.empty();
  return has_times ? std::optional(timeRange(rows)) : std::nullopt;
}

class WorkTraceReader {
 public:
  using OnKernels = std::function<void(const KernelTable& rows, unsigned thread)>;

  WorkTraceReader(TraceScan& scan, const OnKernels& on_kernels, WorkTrace& out)
      : scan_(scan),
        on_kernels_(on_kernels),
        out_(out),
        trace_(out.trace),
        path_costs_(scan.tables().call_path.size()) {}

  /// False: the trace must be read as a whole.
  Result<bool> read() {
    if (!fits()) return false;  // the reader of whole traces says so
    TS_CHECK_OK(readOtherTables());
    const auto& flows = trace_.flow.kind;
    if (std::find(flows.begin(), flows.end(), FlowKind::kWait) != flows.end()) return false;
    extend(rangeOf(trace_));  // has no calls and kernels yet
    TS_TRY(const bool has_calls, readCalls());
    if (!has_calls) return false;
    LaunchIndex launches(trace_);
    if (launches.hasRepeatedIds()) return false;
    if (trace_.comm.empty()) {  // nothing else looks for ids of calls
      trace_.host_call.correlation_id = {};
      trace_.host_call.correlation_id.resize(trace_.host_call.size());
    }
    OpsByStream ops(trace_, scan_.threads());
    TS_TRY(const bool has_kernels, countOps(ops));
    if (!has_kernels) return false;
    TS_TRY(const bool has_all, readKernels(launches, ops));
    if (!has_all) return false;
    finish(launches, ops);
    TS_CHECK_OK(readOtherTimes());
    out_.range = range_.value_or(TimeRange());
    return true;
  }

 private:
  /// Whether memory suffices for this, so that the attempt does not end the program.
  bool fits() {
    // With the index of launches, orders, and what analyses take at most. TraceReader::read()
    // checks other tables, but not the operators of ranges.
    constexpr uint64_t kBytesOfCall = 41 + 12, kBytesOfKernel = sizeof(DeviceOp) + 40;
    constexpr uint64_t kBytesOfRange = 48;
    TraceReader& reader = scan_.reader();
    const uint64_t bytes = reader.rows(TableId::kHostCall) * kBytesOfCall +
                           reader.rows(TableId::kKernel) * kBytesOfKernel +
                           reader.rows(TableId::kRange) * kBytesOfRange;
    return bytes <= memoryBudget();
  }

  /// All but kernels, host calls and what readWorkTrace() leaves out.
  Status readOtherTables() {
    // Attributes say which ranks did not answer.
    const bool has_comm = scan_.reader().rows(TableId::kComm) > 0;
    // Counters say which limits held threads back.
    const bool has_states = scan_.reader().rows(TableId::kThreadState) > 0;
    ReadOptions options;
    forEachTable(trace_, [&](const auto& table) {
      constexpr TableId kId = std::decay_t<decltype(table)>::kId;
      const bool is_left_out = kId == TableId::kKernel || kId == TableId::kHostCall ||
                               kId == TableId::kProgramBuild || kId == TableId::kFlowEvent ||
                               (kId == TableId::kCounter && !has_states) ||
                               (kId == TableId::kAttribute && !has_comm);
      if (!is_left_out) options.tables.push_back(kId);
    });
    TS_TRY(trace_, scan_.reader().read(options));
    return {};
  }

  /// What one block of calls or kernels leaves.
  struct OfBlock {
    std::optional<TimeRange> range;
    bool is_complete = false;
  };

  Result<bool> readCalls() {
    // start_ns, duration_ns, name, process_id, thread_id, stream_id, correlation_id, kind,
    // call_path_id
    constexpr std::array<uint16_t, 9> kColumns = {1, 2, 3, 4, 5, 6, 7, 9, 10};
    const std::vector<ScanBlock> blocks = blocksByRow(scan_, TableId::kHostCall);
    if (!isGapless(blocks)) return false;
    if (blocks.empty()) return true;
    HostCallTable& calls = trace_.host_call;
    calls.resize(blocks.back().first_row + blocks.back().rows);
    const bool has_stacks = !trace_.call_path.empty();
    bool is_whole = true;
    TS_CHECK_OK(scan_.forEach(
        blocks, kColumns,
        [&](const Trace& rows, const ScanBlock& block, unsigned) {
          const HostCallTable& from = rows.host_call;
          if (from.size() != block.rows) return OfBlock();
          const auto copy = [&](const auto& column, auto& to) {
            std::copy(column.begin(), column.end(), to.data() + block.first_row);
          };
          copy(from.start_ns, calls.start_ns);
          copy(from.duration_ns, calls.duration_ns);
          copy(from.name, calls.name);
          copy(from.process_id, calls.process_id);
          copy(from.thread_id, calls.thread_id);
          copy(from.stream_id, calls.stream_id);
          copy(from.correlation_id, calls.correlation_id);
          copy(from.kind, calls.kind);
          if (has_stacks) copy(from.call_path_id, calls.call_path_id);
          return OfBlock{rangeOf(rows), true};
        },
        [&](const OfBlock& of) {
          is_whole = is_whole && of.is_complete;
          extend(of.range);
        }));
    return is_whole;
  }

  /// Each block of kernels, and each other table of device work, is a part.
  Result<bool> countOps(OpsByStream& ops) {
    constexpr std::array<uint16_t, 2> kColumns = {6, 9};  // stream_id, flags
    kernel_blocks_ = blocksByRow(scan_, TableId::kKernel);
    if (!isGapless(kernel_blocks_)) return false;
    const DeviceOpsMaker maker(trace_);
    bool is_whole = true;
    TS_CHECK_OK(scan_.forEach(
        kernel_blocks_, kColumns,
        [&](const Trace& rows, const ScanBlock& block, unsigned) {
          return rows.kernel.size() == block.rows ? std::optional(maker.countsOf(rows.kernel, ops))
                                                  : std::nullopt;
        },
        [&](std::optional<OpsByStream::Counts>&& counts) {
          is_whole = is_whole && counts;
          if (counts) ops.add(std::move(*counts));
        }));
    ops.add(maker.countsOf(trace_.copy, ops));
    ops.add(maker.countsOf(trace_.fill, ops));
    ops.add(maker.countsOf(trace_.sync, ops));
    ops.makeRoom();
    return is_whole;
  }

  Result<bool> readKernels(const LaunchIndex& launches, OpsByStream& ops) {
    // start_ns, duration_ns, name, process_id, stream_id, correlation_id, shape_id, flags,
    // call_path_id
    constexpr std::array<uint16_t, 9> kColumns = {1, 2, 3, 4, 6, 7, 8, 9, 13};
    const std::vector<ScanBlock>& blocks = kernel_blocks_;
    if (blocks.empty()) return true;
    KernelTable& kernels = trace_.kernel;
    kernels.resize(blocks.back().first_row + blocks.back().rows);
    std::vector<DeviceOpsMaker> makers(scan_.threads(), DeviceOpsMaker(trace_));
    std::vector<CallPathCosts> costs(scan_.threads(), path_costs_);
    const bool has_stacks = !trace_.call_path.empty();
    bool is_whole = true;
    TS_CHECK_OK(scan_.forEach(
        blocks, kColumns,
        [&](const Trace& rows, const ScanBlock& block, unsigned thread) {
          const KernelTable& from = rows.kernel;
          if (from.size() != block.rows) return OfBlock();
          const std::vector<uint32_t> calls = launches.launchesOf(from);
          const auto part = static_cast<size_t>(&block - blocks.data());
          // The file must not have changed since the rows were counted.
          const bool is_complete = makers[thread].writeOps(
              from, calls, static_cast<uint32_t>(block.first_row), ops.writer(part));
          std::copy(from.shape_id.begin(), from.shape_id.end(),
                    kernels.shape_id.data() + block.first_row);
          if (has_stacks) costs[thread].addWork(from, calls, trace_.host_call);
          on_kernels_(from, thread);
          return OfBlock{rangeOf(rows), is_complete};
        },
        [&](const OfBlock& of) {
          is_whole = is_whole && of.is_complete;
          extend(of.range);
        }));
    for (const CallPathCosts& each : costs) path_costs_.add(each);
    return is_whole;
  }

  void finish(const LaunchIndex& launches, OpsByStream& ops) {
    DeviceOpsMaker maker(trace_);
    const bool has_stacks = !trace_.call_path.empty();
    size_t part = kernel_blocks_.size();
    const auto write = [&](const auto& table) {
      std::vector<uint32_t> calls = launches.launchesOf(table);
      maker.writeOps(table, calls, 0, ops.writer(part++));
      return calls;
    };
    const std::vector<uint32_t> of_copies = write(trace_.copy);
    const std::vector<uint32_t> of_fills = write(trace_.fill);
    std::vector<uint32_t> of_syncs = write(trace_.sync);
    if (has_stacks) {
      path_costs_.addCalls(trace_.host_call);
      path_costs_.addWork(trace_.copy, of_copies, trace_.host_call);
      path_costs_.addWork(trace_.fill, of_fills, trace_.host_call);
      path_costs_.addAllocations(trace_.memory_event);
      out_.call_path_costs = path_costs_.all();
    }
    out_.ops = maker.finish(std::move(ops));
    out_.ops.call_of_sync = std::move(of_syncs);
    out_.orders = OpOrders::of(out_.ops);
  }

  void extend(const std::optional<TimeRange>& by) {
    if (!by) return;
    if (!range_) range_ = by;
    range_ =
        TimeRange{std::min(range_->begin_ns, by->begin_ns), std::max(range_->end_ns, by->end_ns)};
  }

  /// The times of tables that are not in memory.
  Status readOtherTimes() {
    constexpr std::array<TableId, 2> kTables = {TableId::kCounter, TableId::kProgramBuild};
    constexpr std::array<uint16_t, 2> kColumns = {1, 2};  // the time, or start_ns and duration_ns
    return scan_.forEach(
        scan_.blocksOf(kTables), kColumns,
        [](const Trace& rows, const ScanBlock&, unsigned) { return rangeOf(rows); },
        [&](const std::optional<TimeRange>& of) { extend(of); });
  }

  TraceScan& scan_;
  const OnKernels& on_kernels_;
  WorkTrace& out_;
  Trace& trace_;
  CallPathCosts path_costs_;
  std::vector<ScanBlock> kernel_blocks_;  // by row
  std::optional<TimeRange> range_;
};

}  // namespace

Result<std::unique_ptr<WorkTrace>> readWorkTrace(
    TraceScan& scan,
    const std::function<void(const KernelTable& rows, unsigned thread)>& on_kernels) {
  auto out = std::make_unique<WorkTrace>();
  TS_TRY(const bool is_done, WorkTraceReader(scan, on_kernels, *out).read());
  if (!is_done) return std::unique_ptr<WorkTrace>();
  return out;
}

}  // namespace tracesmith
