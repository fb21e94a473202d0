// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/diff_run.hpp"

#include <set>
#include <type_traits>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"

namespace tracesmith {
namespace {

template <class Table>
void gather(const Trace& trace, const Table& table, bool keep_durations, DiffRun& out) {
  std::vector<DiffRun::Sample*> by_id(trace.strings.size() + 1, nullptr);
  constexpr uint32_t kNoTime = op_flags::kDeviceClock | op_flags::kNoDeviceTime;
  for (size_t i = 0; i < table.size(); ++i) {
    if (Table::kId != TableId::kHostCall && (table.flags[i] & kNoTime) != 0) continue;
    auto id = static_cast<size_t>(table.name[i]);
    if (id >= by_id.size()) id = 0;
    DiffRun::Sample* sample = by_id[id];
    if (sample == nullptr) {
      std::string name(trace.text(table.name[i]));
      bool of_all = true;
      if constexpr (std::is_same_v<Table, CopyTable>) {
        // Copies without a name are distinguished by direction.
        of_all = !name.empty();
        if (name.empty()) name = toString(table.kind[i]);
      }
      sample = &out.names[{Table::kId, std::move(name)}];
      if (of_all) by_id[id] = sample;
    }
    if (keep_durations) sample->durations.push_back(static_cast<double>(table.duration_ns[i]));
    ++sample->count;
    sample->total += static_cast<double>(table.duration_ns[i]);
  }
}

}  // namespace

DiffRun DiffRun::of(const Trace& trace, bool keep_durations) {
  DiffRun out;
  gather(trace, trace.kernel, keep_durations, out);
  gather(trace, trace.copy, keep_durations, out);
  gather(trace, trace.fill, keep_durations, out);
  gather(trace, trace.host_call, keep_durations, out);
  const DeviceOps ops = DeviceOps::of(trace);
  const TimeBreakdown sum = sumOverDevices(ops);
  out.totals = {{"trace", timeRange(trace).duration()},
                {"device span", sum.span_ns},
                {"device busy", sum.busy_ns},
                {"device idle", sum.idle_ns},
                {"compute", sum.compute_ns},
                {"communication", sum.communication_ns},
                {"copies", sum.memory_ns}};
  std::set<DeviceId> devices;
  for (const StreamOps& s : ops.streams) devices.insert(s.device);
  out.devices = devices.size();
  const Steps steps = stepsOf(trace, ops);
  for (const Step& s : steps.all) out.steps.push_back(static_cast<double>(s.duration()));
  out.steps_basis = steps.basis();
  out.steps_from = static_cast<int>(steps.from);
  return out;
}

}  // namespace tracesmith
