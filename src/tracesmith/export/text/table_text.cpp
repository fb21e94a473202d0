// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/table_text.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <type_traits>

#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith {
namespace {

/// Writes rows cell by cell as CSV.
class CsvRows {
 public:
  explicit CsvRows(Output& out) : out_(out) {}
  void beginTable(const std::vector<std::string>& columns) {
    for (const std::string& name : columns) text({}, name);
    endRow();
  }
  void beginRow() {}
  void endRow() {
    line_ += "\n";
    out_.write(line_);
    line_.clear();
    first_ = true;
  }
  void endTable() {}
  void text(std::string_view, std::string_view v) {
    separate();
    appendCsvField(line_, v);
  }
  template <class Int>
  void number(std::string_view, Int v) {
    separate();
    char digits[24];
    line_.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  void real(std::string_view, double v) {
    separate();
    if (!std::isfinite(v)) return;
    char digits[40];
    line_.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  void none(std::string_view) { separate(); }

 private:
  void separate() {
    if (!first_) line_ += ',';
    first_ = false;
  }
  Output& out_;
  std::string line_;
  bool first_ = true;
};

/// Writes rows as an array of objects.
class JsonRows {
 public:
  explicit JsonRows(JsonWriter& json) : json_(json) {}
  void beginTable(const std::vector<std::string>&) { json_.beginArray(); }
  void beginRow() { json_.beginObject(); }
  void endRow() { json_.endObject(); }
  void endTable() { json_.endArray(); }
  void text(std::string_view column, std::string_view v) { json_.field(column, v); }
  template <class Int>
  void number(std::string_view column, Int v) {
    json_.field(column, v);
  }
  void real(std::string_view column, double v) { json_.field(column, v); }
  void none(std::string_view column) { json_.key(column).null(); }

 private:
  JsonWriter& json_;
};

template <class T>
concept NamedEnum = requires(T v) {
  { toString(v) } -> std::convertible_to<std::string_view>;
};

template <class Rows, class T>
void cell(Rows& rows, const Trace& trace, std::string_view column, const T& v) {
  if constexpr (std::is_same_v<T, StringId>) {
    rows.text(column, trace.text(v));
  } else if constexpr (NamedEnum<T>) {
    rows.text(column, toString(v));
  } else if constexpr (std::is_enum_v<T>) {
    const auto id = static_cast<uint64_t>(v);
    if (id == 0) {
      rows.none(column);
    } else {
      rows.number(column, id);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    rows.real(column, v);
  } else if constexpr (std::is_signed_v<T>) {
    rows.number(column, static_cast<int64_t>(v));
  } else {
    rows.number(column, static_cast<uint64_t>(v));
  }
}

/// Dictionaries whose ids are row numbers.
constexpr bool isNumbered(TableId id) {
  return id == TableId::kLaunchShape || id == TableId::kCallPath || id == TableId::kFrame ||
         id == TableId::kCounterTrack;
}

template <class Table>
bool takes(const Table& table, size_t i, const Selection& selection) {
  if constexpr (requires {
                  table.start_ns;
                  table.duration_ns;
                }) {
    if (!selection.span(table.start_ns[i], table.duration_ns[i])) return false;
  } else if constexpr (Table::kId == TableId::kMemoryEvent || Table::kId == TableId::kCounter) {
    if (!selection.instant(table.time_ns[i])) return false;
  }
  if constexpr (requires { table.stream_id; } && static_cast<int>(Table::kId) >= 32) {
    if (!selection.stream(table.stream_id[i])) return false;
  }
  return true;
}

/// What writes the cell of a row in one column. A column missing in the source reads as zeros.
template <class Rows, class T>
std::function<void(size_t)> cellOf(Rows& rows, const Trace& trace, std::string_view name,
                                   const Column<T>& column) {
  return [&rows, &trace, &column, name](size_t i) {
    cell(rows, trace, name, i < column.size() ? column[i] : T{});
  };
}

/// What writes the system's number of a process or thread.
template <class Rows, class Id, class Number>
std::function<void(size_t)> numberCell(Rows& rows, const char* name, const Column<Id>& ids,
                                       const Column<Number>& numbers) {
  return [&rows, &ids, &numbers, name](size_t i) {
    const auto id = static_cast<size_t>(ids[i]);
    if (id == 0 || id > numbers.size()) return rows.none(name);
    rows.number(name, numbers[id - 1]);
  };
}

/// What writes the device of a stream: its id and its name.
template <class Rows>
std::function<void(size_t)> deviceCells(Rows& rows, const Trace& trace,
                                        const Column<StreamId>& streams) {
  return [&rows, &trace, &streams](size_t i) {
    const auto device = static_cast<size_t>(trace.deviceOf(streams[i]));
    if (device == 0 || device > trace.device.size()) {
      rows.none("device_id");
      rows.none("device_name");
      return;
    }
    rows.number("device_id", static_cast<uint64_t>(device));
    rows.text("device_name", trace.text(trace.device.name[device - 1]));
  };
}

template <class Rows, class Table>
void writeRows(Rows& rows, const Trace& trace, const Table& table, const Selection* selection,
               const Output& out) {
  constexpr bool kOfProcess = requires { table.process_id; }
  &&static_cast<int>(Table::kId) >= 32;
  constexpr bool kOfThread = requires { table.thread_id; };
  constexpr bool kOfStream = requires { table.stream_id; };

  std::vector<std::string> names;
  std::vector<std::function<void(size_t)>> cells;
  if constexpr (isNumbered(Table::kId)) {
    names.emplace_back("id");
    cells.emplace_back([&rows](size_t i) { rows.number("id", static_cast<uint64_t>(i + 1)); });
  }
  Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
    names.emplace_back(info.name);
    cells.push_back(cellOf(rows, trace, info.name, column));
  });
  if constexpr (kOfProcess) {
    names.emplace_back("pid");
    cells.push_back(numberCell(rows, "pid", table.process_id, trace.process.pid));
  }
  if constexpr (kOfThread) {
    names.emplace_back("tid");
    cells.push_back(numberCell(rows, "tid", table.thread_id, trace.thread.tid));
  }
  if constexpr (kOfStream) {
    names.emplace_back("device_id");
    names.emplace_back("device_name");
    cells.push_back(deviceCells(rows, trace, table.stream_id));
  }

  rows.beginTable(names);
  for (size_t i = 0; i < table.size() && !out.failed(); ++i) {
    if (selection != nullptr && !takes(table, i, *selection)) continue;
    rows.beginRow();
    for (const auto& write : cells) write(i);
    rows.endRow();
  }
  rows.endTable();
}

template <class F>
bool withTable(const Trace& trace, TableId id, F&& f) {
  bool found = false;
  forEachTable(trace, [&](const auto& table) {
    if (std::decay_t<decltype(table)>::kId != id) return;
    found = true;
    f(table);
  });
  return found;
}

tl::unexpected<Error> unknownTable() {
  return fail(ErrorCode::kNotFound, "there is no table with this number");
}

}  // namespace

void appendCsvField(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::vector<std::string_view> tableNames() {
  std::vector<std::string_view> names;
#define TS_Y(number, Name, name, columns) names.emplace_back(Name##Table::kName);
  TS_TABLES(TS_Y)
#undef TS_Y
  return names;
}

Result<TableId> tableByName(std::string_view name) {
#define TS_Y(number, Name, sql_name, columns) \
  if (name == Name##Table::kName) return Name##Table::kId;
  TS_TABLES(TS_Y)
#undef TS_Y
  std::string known;
  for (std::string_view table : tableNames()) {
    if (!known.empty()) known += ", ";
    known += table;
  }
  return fail(ErrorCode::kNotFound, "no such table; there are: " + known, std::string(name));
}

std::vector<TableId> eventTables(const Trace& trace) {
  std::vector<TableId> tables;
  forEachTable(trace, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if (static_cast<int>(Table::kId) >= static_cast<int>(TableId::kHostCall) && !table.empty()) {
      tables.push_back(Table::kId);
    }
  });
  return tables;
}

Status writeTable(const Trace& trace, TableId id, TextFormat format, Output& out,
                  const Selection* selection) {
  const bool found = withTable(trace, id, [&](const auto& table) {
    if (format == TextFormat::kCsv) {
      CsvRows rows(out);
      writeRows(rows, trace, table, selection, out);
    } else {
      JsonWriter json(out);
      JsonRows rows(json);
      writeRows(rows, trace, table, selection, out);
      out.put('\n');
    }
  });
  if (!found) return unknownTable();
  return {};
}

Status writeTablesJson(const Trace& trace, const std::vector<TableId>& tables, Output& out,
                       const Selection* selection) {
  JsonWriter json(out);
  json.beginObject();
  for (TableId id : tables) {
    const bool found = withTable(trace, id, [&](const auto& table) {
      json.key(std::decay_t<decltype(table)>::kName);
      JsonRows rows(json);
      writeRows(rows, trace, table, selection, out);
    });
    if (!found) return unknownTable();
  }
  json.endObject();
  out.put('\n');
  return {};
}

Status exportTable(const Trace& trace, TableId table, TextFormat format, const std::string& path,
                   const Selection* selection) {
  TS_TRY(Output out, Output::toFile(path));
  TS_CHECK_OK(writeTable(trace, table, format, out, selection));
  return out.finish();
}

}  // namespace tracesmith
