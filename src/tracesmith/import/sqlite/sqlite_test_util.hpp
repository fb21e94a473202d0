// SPDX-License-Identifier: Apache-2.0
// For tests of database importers: creates databases from SQL, runs SQL for comparison, and reads
// the source rows that a trace has kept.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/model/source_rows.hpp"

namespace tracesmith::test {

/// A database for writing, by path.
class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK) << path;
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql) const {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << (message != nullptr ? message : "") << " in " << sql;
    sqlite3_free(message);
  }
  /// Each row as {column: value}; a blob is {"blob": "<hexadecimal>"}.
  std::vector<nlohmann::json> rows(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    std::vector<nlohmann::json> rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      nlohmann::json row = nlohmann::json::object();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        row[sqlite3_column_name(statement, i)] = value(statement, i);
      }
      rows.push_back(std::move(row));
    }
    sqlite3_finalize(statement);
    return rows;
  }
  /// The first value of the first row.
  int64_t number(const std::string& sql) const {
    const auto found = rows(sql);
    if (found.empty() || found[0].empty() || !found[0].begin()->is_number()) return 0;
    return found[0].begin()->get<int64_t>();
  }
  /// Every row of every table in the form that importers keep: {"TABLE": {…}}, sorted.
  std::vector<std::string> everything() const {
    std::vector<std::string> all;
    for (const auto& table : rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name "
                                  "NOT LIKE 'sqlite~_%' ESCAPE '~'")) {
      const auto name = table["name"].get<std::string>();
      std::string quoted;
      for (const char c : name) quoted += std::string(c == '"' ? 2 : 1, c);
      for (const auto& row : rows("SELECT * FROM \"" + quoted + "\"")) {
        all.push_back(nlohmann::json{{name, row}}.dump());
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  static nlohmann::json value(sqlite3_stmt* statement, int i) {
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, i));
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_INTEGER:
        return sqlite3_column_int64(statement, i);
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement, i);
      case SQLITE_TEXT:
        return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, i)), size);
      case SQLITE_BLOB: {
        const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(statement, i));
        std::string text;
        for (size_t at = 0; at < size; ++at) {
          text += "0123456789abcdef"[bytes[at] >> 4];
          text += "0123456789abcdef"[bytes[at] & 15];
        }
        return {{"blob", text}};
      }
      default:
        return nullptr;
    }
  }
  sqlite3* db_ = nullptr;
};

/// Values of a row's columns that fill gaps of its source.
struct RowValues {
  int64_t start = 0;
  int64_t end = 0;
  uint64_t correlation = 0;
  uint64_t bytes = 0;
};

inline RowValues columnValues(const Trace& trace, TableId table, uint64_t row) {
  RowValues values;
  forEachTable(trace, [&](const auto& t) {
    if (std::decay_t<decltype(t)>::kId != table || row >= t.size()) return;
    if constexpr (requires { t.start_ns; }) values.start = t.start_ns[row];
    if constexpr (requires { t.time_ns; }) values.start = t.time_ns[row];
    values.end = values.start;
    if constexpr (requires { t.duration_ns; }) {
      values.end = endOf(values.start, t.duration_ns[row]);
    }
    if constexpr (requires { t.correlation_id; }) values.correlation = t.correlation_id[row];
    if constexpr (requires { t.bytes; }) values.bytes = t.bytes[row];
  });
  return values;
}

/// `value`: the kept value, for gaps without a column.
inline std::string gapText(const Trace& trace, SourceGap gap, int64_t value, const RowValues& row) {
  const std::string_view string = trace.text(StringId{static_cast<uint32_t>(value)});
  switch (gap) {
    case SourceGap::kTimeNanos:
      return std::to_string(row.start);
    case SourceGap::kEndNanos:
      return std::to_string(row.end);
    case SourceGap::kCorrelation:
      return std::to_string(row.correlation);
    case SourceGap::kBytes:
      return std::to_string(row.bytes);
    case SourceGap::kInteger:
      return std::to_string(value);
    case SourceGap::kDecimal:
      return nlohmann::json(static_cast<double>(value) / 1000).dump();
    case SourceGap::kText:
      return nlohmann::json(string).dump();
    case SourceGap::kJson:
      return std::string(string);
    default:
      ADD_FAILURE() << "a gap that no importer of databases makes";
      return {};
  }
}

/// The source rows that the trace at `path` has kept, sorted.
inline std::vector<std::string> keptRows(const std::string& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader);
  const Trace whole = reader->read().value();
  SourceShapes shapes(whole.strings);
  std::vector<std::string> all;
  for (size_t b = 0; b < reader->blocks().size(); ++b) {
    SourceBlock block;
    if (reader->blocks()[b].table != TableId::kSource) continue;
    if (!reader->readSources(b, whole.strings, shapes, block)) {
      ADD_FAILURE() << "sources cannot be read";
      continue;
    }
    std::vector<size_t> next(block.leaves.size(), 0);
    for (size_t i = 0; i < block.shape.size(); ++i) {
      const SourceShape* shape = shapes.at(block.shape[i]);
      if (shape == nullptr) {
        ADD_FAILURE() << "a row without a source";
        continue;
      }
      const RowValues row = columnValues(whole, block.table, block.first_row + i);
      const std::vector<uint32_t>& places = block.places.at(block.shape[i]);
      size_t kept = 0;
      std::string text;
      for (size_t part = 0; part < shape->between.size(); ++part) {
        text += shape->between[part];
        if (part >= shape->gaps.size()) continue;
        const SourceGap kind = shape->gaps[part].kind;
        int64_t value = 0;
        if (isKept(kind)) {
          const uint32_t leaf = places[kept++];
          value = block.leaves[leaf].values[next[leaf]++];
        }
        text += gapText(whole, kind, value, row);
      }
      all.push_back(nlohmann::json::parse(text).dump());
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

struct ImportedDatabase {
  Result<import::ImportReport> report = fail(ErrorCode::kInternal, "not run");
  Trace trace;
  std::vector<std::string> kept;
};

inline ImportedDatabase importedDatabase(const std::string& path, bool with_sources = true) {
  const TempFile output;
  ImportedDatabase got;
  got.report = import::importTrace(path, output.path());
  EXPECT_TRUE(got.report) << got.report.error().toString();
  if (!got.report) return got;
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  got.trace = reader->read().value();
  if (with_sources) got.kept = keptRows(output.path());
  return got;
}

/// A file below TRACESMITH_TEST_DATA, unpacked; empty if it is absent.
inline std::string unpackedTestData(const std::string& name, const TempFile& into) {
  const char* data = std::getenv("TRACESMITH_TEST_DATA");
  if (data == nullptr) return {};
  std::string path = std::string(data) + "/traces/" + name;
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) return {};
  const auto source = import::ByteSource::open(path);
  if (!source) return {};
  Bytes content(64u << 20);
  content.resize((*source)->read(content).value());
  into.write(content);
  return path;
}

}  // namespace tracesmith::test
