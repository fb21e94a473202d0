// SPDX-License-Identifier: Apache-2.0
// Dialects of Chrome's JSON format, other than Kineto's: Ascend's profilers (msprof_*.json of the
// command, trace_view.json of PyTorch and MindSpore) and MetaX's mcTracer (tracer_out-PID.json).
//
//   Ascend   device work has no category but an argument "Task Type", and its times are
//            quoted; calls of the runtime (CANN) have arguments "level" and "Mode";
//            "connection_id" joins both
//   mcTracer times are whole nanoseconds; kernels have "grid" and "block" as {"x": …} and "mem"
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::import {

enum class ChromeDialect : uint8_t { kCommon, kAscend, kMcTracer };

/// The table for the row of an Ascend task of that type.
TableId ascendTaskTable(std::string_view task_type);
CopyKind ascendCopyKind(std::string_view name, std::string_view task_type);
SyncKind ascendSyncKind(std::string_view task_type);
/// The number in a label such as "NPU 3"; -1 for any other label.
int64_t ascendDevice(std::string_view label);

/// The table for a span of mcTracer: kRange if it is neither device work nor a runtime call.
TableId mcTracerTable(std::string_view name, std::string_view category, bool has_grid);

extern const Importer kAscendImporter;
extern const Importer kMcTracerImporter;

}  // namespace tracesmith::import
