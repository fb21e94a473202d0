// SPDX-License-Identifier: Apache-2.0
// What other writers of Chrome's JSON format than Kineto say in words of their own: Ascend's
// profilers (msprof_*.json of the command, trace_view.json of PyTorch and MindSpore) and MetaX's
// mcTracer (tracer_out-PID.json).
//
//   Ascend   what the device did has no category but "Task Type" among its arguments, and times
//            that stand in quotes; calls of the runtime (CANN) have a "level" and a "Mode";
//            "connection_id" joins both
//   mcTracer times are whole nanoseconds; kernels have "grid" and "block" as {"x": …} and "mem"
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith::import {

enum class ChromeDialect : uint8_t { kCommon, kAscend, kMcTracer };

/// What an Ascend task of that type did: the table of its row.
TableId ascendTaskTable(std::string_view task_type);
CopyKind ascendCopyKind(std::string_view name, std::string_view task_type);
SyncKind ascendSyncKind(std::string_view task_type);
/// The number of "NPU 3"; -1: it is no such label.
int64_t ascendDevice(std::string_view label);

/// A span of mcTracer: kRange where it is neither of the device's nor a call of the runtime.
TableId mcTracerTable(std::string_view name, std::string_view category, bool has_grid);

extern const Importer kAscendImporter;
extern const Importer kMcTracerImporter;

}  // namespace tracesmith::import
