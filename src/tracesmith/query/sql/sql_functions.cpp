// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/sql/sql_functions.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <string_view>
#include <vector>

#include "tracesmith/query/columns/value.hpp"

namespace tracesmith {
namespace {

struct Samples {
  std::vector<int64_t> integers;
  std::vector<double> reals;  // used from the first non-integer value on
  double percent = -1;
  bool all_integers = true;
};

void percentileStep(sqlite3_context* context, int argc, sqlite3_value** argv) {
  auto** slot = static_cast<Samples**>(sqlite3_aggregate_context(context, sizeof(Samples*)));
  if (slot == nullptr) return sqlite3_result_error_nomem(context);
  try {
    if (*slot == nullptr) *slot = new Samples();
    Samples& n = **slot;
    const double percent = argc > 1 ? sqlite3_value_double(argv[1]) : 50.0;
    const bool number = argc < 2 || sqlite3_value_numeric_type(argv[1]) == SQLITE_INTEGER ||
                        sqlite3_value_numeric_type(argv[1]) == SQLITE_FLOAT;
    if (!number || !(percent >= 0 && percent <= 100)) {
      sqlite3_result_error(context, "percentile(): the second argument must be 0 to 100", -1);
      return;
    }
    if (n.percent >= 0 && n.percent != percent) {
      sqlite3_result_error(context,
                           "percentile(): the second argument must be the same for all rows", -1);
      return;
    }
    n.percent = percent;
    const int type = sqlite3_value_numeric_type(argv[0]);
    if (type == SQLITE_NULL) return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
      sqlite3_result_error(context, "percentile(): the first argument must be a number", -1);
      return;
    }
    if (type == SQLITE_INTEGER && n.all_integers) {
      n.integers.push_back(sqlite3_value_int64(argv[0]));
      return;
    }
    if (n.all_integers) {
      n.reals.assign(n.integers.begin(), n.integers.end());
      n.integers = {};
      n.all_integers = false;
    }
    n.reals.push_back(sqlite3_value_double(argv[0]));
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

template <class T>
T nearestRank(std::vector<T>& values, double percent) {
  // Whole percents are exact here. kHair compensates for percents such as 99.9, which are stored
  // slightly too high.
  constexpr double kHair = 1e-14;
  const double rank = std::ceil(percent * static_cast<double>(values.size()) / 100 * (1 - kHair));
  const auto place = static_cast<size_t>(std::max(1.0, rank)) - 1;
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::min(place, values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void percentileFinal(sqlite3_context* context) {
  auto** slot = static_cast<Samples**>(sqlite3_aggregate_context(context, 0));
  if (slot == nullptr || *slot == nullptr) return sqlite3_result_null(context);
  Samples& n = **slot;
  if (!n.integers.empty()) {
    sqlite3_result_int64(context, nearestRank(n.integers, n.percent));
  } else if (!n.reals.empty()) {
    sqlite3_result_double(context, nearestRank(n.reals, n.percent));
  } else {
    sqlite3_result_null(context);
  }
  delete *slot;
  *slot = nullptr;
}

std::optional<TableId> tableByName(std::string_view name) {
#define TS_Y(number, Name, sql_name, columns) \
  if (name == #sql_name) return TableId::k##Name;
  TS_TABLES(TS_Y)
#undef TS_Y
  return std::nullopt;
}

void sourceJson(sqlite3_context* context, int, sqlite3_value** argv) {
  const auto& source = *static_cast<const SourceOfRow*>(sqlite3_user_data(context));
  if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) {
    return;  // NULL
  }
  const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(argv[0]));
  const std::optional<TableId> table = tableByName(name == nullptr ? "" : name);
  if (!table) {
    sqlite3_result_error(context, "source_json(): the first argument must name a table of events",
                         -1);
    return;
  }
  const int64_t row = sqlite3_value_int64(argv[1]);
  if (!source || row < 0) return;
  try {
    if (const std::optional<std::string> text = source(*table, static_cast<uint64_t>(row))) {
      sqlite3_result_text64(context, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

Status registerSourceJson(sqlite3* db, const SourceOfRow& source) {
  const int rc = sqlite3_create_function_v2(db, "source_json", 2, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                            const_cast<SourceOfRow*>(&source), sourceJson, nullptr,
                                            nullptr, nullptr);
  if (rc != SQLITE_OK) return fail(ErrorCode::kInternal, sqlite3_errmsg(db), "source_json");
  return {};
}

Status registerSqlFunctions(sqlite3* db) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  struct Function {
    const char* name;
    int arguments;
  };
  for (const Function& f : {Function{"percentile", 2}, Function{"median", 1}}) {
    const int rc = sqlite3_create_function_v2(db, f.name, f.arguments, kFlags, nullptr, nullptr,
                                              percentileStep, percentileFinal, nullptr);
    if (rc != SQLITE_OK) return fail(ErrorCode::kInternal, sqlite3_errmsg(db), f.name);
  }
  return {};
}

}  // namespace tracesmith
