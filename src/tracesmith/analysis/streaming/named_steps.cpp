// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/named_steps.hpp"

#include <array>
#include <utility>
#include <vector>

namespace tracesmith {

Result<Steps> readNamedSteps(TraceScan& scan) {
  constexpr std::array<TableId, 1> kRanges = {TableId::kRange};
  const Trace& tables = scan.tables();
  std::vector<bool> names_step(tables.strings.size() + 1);
  for (size_t id = 1; id < names_step.size(); ++id) {
    names_step[id] = canNameStep(tables.text(StringId{static_cast<uint32_t>(id)}));
  }
  Trace named;
  TS_CHECK_OK(scan.forEach(
      scan.blocksOf(kRanges), {},
      [&](const Trace& rows, const ScanBlock&, unsigned) {
        RangeTable out;
        for (size_t i = 0; i < rows.range.size(); ++i) {
          const auto id = static_cast<size_t>(rows.range.name[i]);
          if (id < names_step.size() && names_step[id]) out.push(rows.range.row(i));
        }
        return out;
      },
      [&](RangeTable&& ranges) {
        for (size_t i = 0; i < ranges.size(); ++i) named.range.push(ranges.row(i));
      }));
  if (named.range.empty()) return Steps{};
  named.strings = tables.strings;
  return stepsOf(named, DeviceOps());
}

}  // namespace tracesmith
