// SPDX-License-Identifier: Apache-2.0
// Views that answer common questions: named SELECTs, evaluated on each use.
#pragma once

#include <sqlite3.h>

#include <span>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

struct ViewColumn {
  const char* name;
  const char* type;  ///< INTEGER, REAL or TEXT
  const char* meaning;
};

struct View {
  const char* name;
  const char* meaning;
  const char* select;
  std::span<const ViewColumn> columns;
};

std::span<const View> views();
const View* findView(std::string_view name);  ///< nullptr if there is none

/// Creates the views in `db`, which must have the tables.
Status registerViews(sqlite3* db);

}  // namespace tracesmith
