// SPDX-License-Identifier: Apache-2.0
// Answers to the usual questions, as views: a name for a SELECT, which is worked out anew each
// time.
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
const View* findView(std::string_view name);  ///< nullptr when there is none

/// Makes them in `db`, which has the tables.
Status registerViews(sqlite3* db);

}  // namespace tracesmith
