// SPDX-License-Identifier: Apache-2.0
// Everything: #include <tracesmith/tracesmith.hpp>
#pragma once

// Programs of the request print with std::cout and include nothing else.
#include <iostream>

#include "tracesmith/analysis/memory/memory_profiler.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/timing/kernel_stats.hpp"
#include "tracesmith/capture/cupti_profiler.hpp"
#include "tracesmith/capture/profiler.hpp"
#include "tracesmith/capture/session/tracing_session.hpp"
#include "tracesmith/common/ring_buffer.hpp"
#include "tracesmith/common/stack_capture.hpp"
#include "tracesmith/common/types.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/export/text/human_units.hpp"
#include "tracesmith/format/sbt_format.hpp"
#include "tracesmith/import/xray/xray_importer.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/sql/query_engine.hpp"
#include "tracesmith/replay/determinism_checker.hpp"
#include "tracesmith/replay/operation_executor.hpp"
#include "tracesmith/replay/replay_config.hpp"
#include "tracesmith/replay/replay_engine.hpp"
#include "tracesmith/replay/stream_operations.hpp"
#include "tracesmith/replay/stream_scheduler.hpp"
#include "tracesmith/state/gpu_state_machine.hpp"
#include "tracesmith/state/instruction_stream.hpp"
#include "tracesmith/state/perfetto_exporter.hpp"
#include "tracesmith/state/timeline_builder.hpp"
#include "tracesmith/state/timeline_viewer.hpp"
