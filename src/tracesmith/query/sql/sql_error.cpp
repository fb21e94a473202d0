// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/sql/sql_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include "tracesmith/query/catalog/views.hpp"

namespace tracesmith {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Levenshtein distance in which a swap of neighbours also costs 1.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> older(b.size() + 1), old(b.size() + 1), now(b.size() + 1);
  std::iota(old.begin(), old.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], older[j - 2] + 1);
      }
    }
    older.swap(old);
    old.swap(now);
  }
  return old[b.size()];
}

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The words of the query that are table names.
std::set<std::string> tablesIn(const Catalog& catalog, std::string_view sql) {
  std::set<std::string> found;
  for (size_t i = 0; i < sql.size();) {
    size_t end = i;
    while (end < sql.size() && isWord(sql[end])) ++end;
    const std::string word = lower(sql.substr(i, end - i));
    if (!word.empty() && (catalog.find(word) != nullptr || findView(word) != nullptr)) {
      found.insert(word);
    }
    i = std::max(end, i + 1);
  }
  return found;
}

std::vector<std::string> columnsOf(const Catalog& catalog, const std::set<std::string>& tables) {
  std::vector<std::string> names;
  for (const auto& table : catalog.tables()) {
    if (!tables.empty() && tables.count(table->name()) == 0) continue;
    for (const auto& column : table->columns()) names.push_back(column->name());
  }
  for (const View& view : views()) {
    if (!tables.empty() && tables.count(view.name) == 0) continue;
    for (const ViewColumn& column : view.columns) names.emplace_back(column.name);
  }
  return names;
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string after(std::string_view message, std::string_view prefix) {
  return message.substr(0, prefix.size()) == prefix ? std::string(message.substr(prefix.size()))
                                                    : "";
}

}  // namespace

std::string nearestName(std::string_view typed, const std::vector<std::string>& candidates) {
  if (typed.empty() || typed.size() > 100) return "";
  const std::string wanted = lower(typed);
  std::string best;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    size_t d = distance(wanted, candidate);
    const size_t shared = std::min(wanted.size(), candidate.size());
    const bool begins = shared >= 3 && wanted.compare(0, shared, candidate, 0, shared) == 0;
    if (begins) d = std::min<size_t>(d, 1);
    if (d > std::max<size_t>(1, std::max(wanted.size(), candidate.size()) / 3)) continue;
    if (d >= candidate.size()) continue;
    if (best.empty() || d < best_distance ||
        (d == best_distance && candidate.size() < best.size())) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string explainSqlError(const Catalog& catalog, std::string_view sql, std::string_view message,
                            int offset) {
  std::string text(message);
  if (offset >= 0 && static_cast<size_t>(offset) <= sql.size()) {
    const std::string_view before = sql.substr(0, static_cast<size_t>(offset));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const size_t column = static_cast<size_t>(offset) - line_start + 1;
    text += line == 1 ? fmt::format(", at column {}", column)
                      : fmt::format(", at line {}, column {}", line, column);
  }
  if (const std::string name = after(message, "no such table: "); !name.empty()) {
    std::vector<std::string> names;
    for (const auto& table : catalog.tables()) names.push_back(table->name());
    for (const View& view : views()) names.emplace_back(view.name);
    const std::string near = nearestName(name, names);
    return text + (near.empty() ? "; there are " + join(names) : "; did you mean " + near + "?");
  }
  if (std::string name = after(message, "no such column: "); !name.empty()) {
    if (offset >= 0 && static_cast<size_t>(offset) < sql.size() &&
        sql[static_cast<size_t>(offset)] == '"') {
      return text + "; put text in single quotes";
    }
    if (const size_t dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
    const std::set<std::string> tables = tablesIn(catalog, sql);
    std::string near = nearestName(name, columnsOf(catalog, tables));
    if (!near.empty()) return text + "; did you mean " + near + "?";
    if (tables.size() == 1) {
      return text + "; " + *tables.begin() + " has " + join(columnsOf(catalog, tables));
    }
    return text + "; SELECT * FROM schema lists tables and columns";
  }
  if (const std::string name = after(message, "no such function: "); !name.empty()) {
    const std::string near = nearestName(
        name, {"percentile", "median", "count",    "sum",    "avg",    "min",     "max",
               "total",      "round",  "abs",      "length", "substr", "printf",  "group_concat",
               "lower",      "upper",  "coalesce", "iif",    "instr",  "replace", "row_number",
               "lag",        "lead",   "rank",     "hex"});
    return near.empty() ? text : text + "; did you mean " + near + "()?";
  }
  return text;
}

}  // namespace tracesmith
