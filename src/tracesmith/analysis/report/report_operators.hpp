// SPDX-License-Identifier: Apache-2.0
// Host and device time by operator, module, family, call path, step, stream or device, as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracesmith/analysis/operators/operator_tree.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// What one row of the table stands for.
enum class OperatorsBy : uint8_t { kOperator, kModule, kFamily, kStack, kStep, kStream, kDevice };
constexpr size_t kOperatorsBy = 7;
/// Name on the command line: "operator".
std::string_view toString(OperatorsBy by);
/// Fails with kInvalidArgument, and lists the names that there are. Likewise operatorsSortOf().
Result<OperatorsBy> operatorsByOf(std::string_view name);

/// By which column the rows are sorted, the largest first.
enum class OperatorsSort : uint8_t { kDeviceSelf, kDeviceTotal, kHostSelf, kHostTotal, kCalls };
constexpr size_t kOperatorsSorts = 5;
/// Name on the command line: "device-self".
std::string_view toString(OperatorsSort sort);
Result<OperatorsSort> operatorsSortOf(std::string_view name);

/// The sum of the device self times of all rows is the sum of the durations of all kernels, copies
/// and fills. Steps are in order of time, and have only device times, as families, streams and
/// devices have. Without `sort`: by device self time, or by host self time if there is no device
/// work; columns of device times are then left out, unless `whole_paths` is set. Uses `analysis`,
/// `limit` and `whole_paths` of the options.
ReportTable operatorTable(const Trace& trace, OperatorsBy by,
                          std::optional<OperatorsSort> sort = std::nullopt,
                          const ReportOptions& options = {});

/// "outer > inner"; unless `whole`, only the innermost names.
std::string pathText(const OperatorTree& tree, uint32_t node, bool whole);

}  // namespace tracesmith
