// SPDX-License-Identifier: Apache-2.0
// The table `step`: the steps found by analysis/timing/steps.hpp, on first use.
#pragma once

#include <memory>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

/// `trace` must outlive it.
std::unique_ptr<SqlTable> makeStepTable(const Trace& trace);

}  // namespace tracesmith
