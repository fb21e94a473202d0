// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/sql_completion.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/catalog/views.hpp"

namespace tracesmith::cli {
namespace {

// Keywords of queries that only read (https://sqlite.org/lang_keywords.html).
constexpr std::array<std::string_view, 60> kKeywords = {
    "ALL",       "AND",    "AS",      "ASC",     "BETWEEN",   "BY",        "CASE",      "CAST",
    "COLLATE",   "CROSS",  "CURRENT", "DESC",    "DISTINCT",  "ELSE",      "END",       "ESCAPE",
    "EXCEPT",    "EXISTS", "FILTER",  "FIRST",   "FOLLOWING", "FROM",      "FULL",      "GLOB",
    "GROUP",     "HAVING", "IN",      "INNER",   "INTERSECT", "IS",        "JOIN",      "LAST",
    "LEFT",      "LIKE",   "LIMIT",   "NATURAL", "NOT",       "NULL",      "NULLS",     "OFFSET",
    "ON",        "OR",     "ORDER",   "OUTER",   "OVER",      "PARTITION", "PRECEDING", "RANGE",
    "RECURSIVE", "ROWS",   "SELECT",  "THEN",    "UNBOUNDED", "UNION",     "USING",     "VALUES",
    "WHEN",      "WHERE",  "WINDOW",  "WITH"};

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool startsWith(std::string_view word, std::string_view typed) {
  return word.size() >= typed.size() && lower(word.substr(0, typed.size())) == lower(typed);
}

bool isKeyword(std::string_view word) {
  return std::any_of(kKeywords.begin(), kKeywords.end(), [&](std::string_view keyword) {
    return keyword.size() == word.size() && startsWith(keyword, word);
  });
}

/// The words and punctuation of a statement, without texts and comments.
struct Tokens {
  std::vector<std::string> words;  ///< lower case; punctuation is one character
  bool ends_in_text = false;       ///< the end lies within a text or comment
};

/// Position after the text or comment that starts at `at`; npos if it does not end; `at` if there
/// is none.
size_t skipOpaque(std::string_view sql, size_t at) {
  const auto after = [&](std::string_view mark, size_t from) {
    const size_t end = sql.find(mark, from);
    return end == std::string_view::npos ? end : end + mark.size();
  };
  if (sql[at] == '\'' || sql[at] == '"') return after(sql.substr(at, 1), at + 1);
  if (sql.substr(at, 2) == "--") return after("\n", at + 2);
  if (sql.substr(at, 2) == "/*") return after("*/", at + 2);
  return at;
}

Tokens tokensOf(std::string_view sql) {
  Tokens out;
  for (size_t at = 0; at < sql.size();) {
    const size_t after = skipOpaque(sql, at);
    if (after == std::string_view::npos) {
      out.ends_in_text = true;
      return out;
    }
    if (after != at) {
      at = after;
      continue;
    }
    size_t end = at;
    while (end < sql.size() && isWordChar(sql[end])) ++end;
    if (end > at) {
      out.words.push_back(lower(sql.substr(at, end - at)));
      at = end;
      continue;
    }
    if (sql[at] == ';') {
      out.words.clear();  // an earlier statement on the line
    } else if (std::isspace(static_cast<unsigned char>(sql[at])) == 0) {
      out.words.emplace_back(1, sql[at]);
    }
    ++at;
  }
  return out;
}

/// Whether the word after words[0..n) names a table.
bool expectsTable(const std::vector<std::string>& words, size_t n) {
  for (size_t i = n; i > 0; --i) {
    const std::string& word = words[i - 1];
    if (word == "from" || word == "join") return i == n || words[n - 1] == ",";
    if (word != "," && isKeyword(word) && word != "as") return false;
    if (word == "(" || word == ")") return false;
  }
  return false;
}

/// Pairs of a name in the statement (table or alias) and the table.
std::vector<std::pair<std::string, std::string>> namedTables(
    const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!isWordChar(words[i][0]) || isKeyword(words[i]) || !expectsTable(words, i)) continue;
    out.emplace_back(words[i], words[i]);
    const size_t alias = i + 1 < words.size() && words[i + 1] == "as" ? i + 2 : i + 1;
    if (alias < words.size() && isWordChar(words[alias][0]) && !isKeyword(words[alias])) {
      out.emplace_back(words[alias], words[i]);
    }
  }
  return out;
}

Completion matching(const std::vector<std::string>& candidates, std::string_view typed,
                    bool ends_with_space) {
  std::set<std::string> words;
  for (const std::string& candidate : candidates) {
    if (startsWith(candidate, typed)) words.insert(candidate);
  }
  return {typed.size(), {words.begin(), words.end()}, ends_with_space};
}

void append(std::vector<std::string>& to, const std::vector<std::string>& words) {
  to.insert(to.end(), words.begin(), words.end());
}

}  // namespace

SqlCompletion::SqlCompletion(const QueryEngine& engine, std::span<const std::string_view> commands,
                             std::span<const std::string_view> modes)
    : commands_(commands), modes_(modes) {
  for (const auto& table : engine.catalog().tables()) {
    Table& to = tables_.emplace_back(Table{table->name(), {}});
    for (const auto& column : table->columns()) {
      if (!column->hidden()) to.columns.push_back(column->name());
    }
  }
  for (const View& view : views()) {
    Table& to = tables_.emplace_back(Table{view.name, {}});
    for (const ViewColumn& column : view.columns) to.columns.emplace_back(column.name);
  }
  for (const std::string& name : engine.functions()) functions_.push_back(name + "(");
}

const SqlCompletion::Table* SqlCompletion::find(std::string_view name) const {
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const Table& table) { return table.name == name; });
  return found == tables_.end() ? nullptr : &*found;
}

std::vector<std::string> SqlCompletion::tableNames() const {
  std::vector<std::string> names;
  for (const Table& table : tables_) names.push_back(table.name);
  return names;
}

/// `line`: a command up to the word that is being typed.
std::vector<std::string> SqlCompletion::ofCommand(std::string_view line) const {
  const std::string_view name = line.substr(0, line.find(' '));
  if (line.empty()) return {commands_.begin(), commands_.end()};
  if (name == ".schema") return tableNames();
  if (name == ".mode") return {modes_.begin(), modes_.end()};
  return {};
}

Completion SqlCompletion::complete(std::string_view before, std::string_view after) const {
  size_t begin = before.size();
  while (begin > 0 && isWordChar(before[begin - 1])) --begin;
  const std::string_view typed = before.substr(begin);
  const size_t first = before.find_first_not_of(" \t");
  if (first != std::string_view::npos && before[first] == '.') {
    if (begin == first + 1) return matching(ofCommand(""), before.substr(first), true);
    return matching(ofCommand(before.substr(first, begin - first)), typed, true);
  }

  const Tokens tokens = tokensOf(before.substr(0, begin));
  if (tokens.ends_in_text) return {};
  const std::vector<std::string>& words = tokens.words;
  std::vector<std::string> whole = words;
  whole.emplace_back("?");  // the unfinished word, which must not pass for an alias
  const auto* const rest = std::find_if_not(after.begin(), after.end(), isWordChar);
  append(whole, tokensOf({rest, static_cast<size_t>(after.end() - rest)}).words);
  const auto named = namedTables(whole);

  if (begin > 0 && before[begin - 1] == '.') {
    const std::string owner = words.size() >= 2 ? words[words.size() - 2] : "";
    const Table* table = find(owner);
    for (const auto& [name, of] : named) {
      if (name == owner) table = find(of);
    }
    return table == nullptr ? Completion{} : matching(table->columns, typed, false);
  }
  if (expectsTable(words, words.size())) return matching(tableNames(), typed, true);

  std::vector<std::string> candidates = functions_;
  bool known = false;
  for (const auto& [name, of] : named) {
    candidates.push_back(name);
    if (const Table* table = find(of)) {
      append(candidates, table->columns);
      known = true;
    }
  }
  if (!known) {
    for (const Table& table : tables_) append(candidates, table.columns);
  }
  const bool small = !typed.empty() && std::islower(static_cast<unsigned char>(typed[0])) != 0;
  for (const std::string_view keyword : kKeywords) {
    candidates.push_back(small ? lower(keyword) : std::string(keyword));
  }
  return matching(candidates, typed, false);  // a comma or bracket may follow a column
}

}  // namespace tracesmith::cli
