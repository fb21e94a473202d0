// SPDX-License-Identifier: Apache-2.0
// The answers to the questions of Studio's page, as JSON. docs/studio.md lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/answers/request_values.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// What the trace is, and its lanes. `before`: the trace that it is compared with; "": none.
std::string traceAnswer(const StudioTrace& of, std::string_view before = {});
std::string namesAnswer(const StudioTrace& of, std::span<const NameId> ids);
/// Fails if there is no such item.
Result<std::string> itemAnswer(const StudioTrace& of, uint64_t lane, uint64_t item);
/// Items whose name, full or short, contains `text` without regard to case: all are counted, and
/// the first `limit` by start are listed.
std::string searchAnswer(const StudioTrace& of, const std::string& text, uint64_t limit);

std::string findingsAnswer(const StudioTrace& of);
/// Tables with their columns.
std::string tablesAnswer(std::span<const ReportTable> tables);
/// Parts of the analysis that may be asked for.
std::string partsAnswer();
/// Values: "parts" (names, with commas), "limit", "from_ns" and "to_ns" from the start of the
/// trace.
Result<std::string> analysisAnswer(const StudioTrace& of, const QueryValues& values);

/// Idle gaps or the critical path in a part of the time; the longest ones, if there are very many.
/// Values: "kind" (idle, path), "from_ns", "to_ns".
Result<std::string> overlayAnswer(const StudioTrace& of, const QueryValues& values);
/// Values of all counters in a part of the time, in the order of their lanes. Values: "from_ns",
/// "to_ns".
Result<std::string> countersAnswer(const StudioTrace& of, const QueryValues& values);
/// Tables of the comparison of two traces.
Result<std::string> compareAnswer(const StudioTrace& before, const StudioTrace& after);
/// Frames of a flame graph. Values: "by" (device, host, launches, bytes), "reversed" (1),
/// "callers_of" (a frame).
Result<std::string> stacksAnswer(const StudioTrace& of, const QueryValues& values);
/// The functions on the stacks of a thread's calls in a part of the time. Values: "lane" (with the
/// calls), "from_ns", "to_ns".
Result<std::string> stackLanesAnswer(const StudioTrace& of, const QueryValues& values);
/// The prediction of a change: its report, and the work of each stream before and after.
Result<std::string> whatIfAnswer(const StudioTrace& of, const WhatIfRequest& request);
/// Allocated memory over time, and the blocks at the peak and at the end.
Result<std::string> memoryAnswer(const StudioTrace& of);
/// How long the launches of a kernel take. `label`: its short or full name.
Result<std::string> kernelAnswer(const StudioTrace& of, const std::string& label);
/// Tables and columns for SQL.
Result<std::string> schemaAnswer(const StudioTrace& of);
/// Fails with SQLite's message. Queries end after a minute, or once `gone()` is true.
Result<std::string> sqlAnswer(const StudioTrace& of, const SqlRequest& request,
                              const std::function<bool()>& gone = {});

}  // namespace tracesmith::studio
