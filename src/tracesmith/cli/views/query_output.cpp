// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/query_output.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/table_text.hpp"

namespace tracesmith::cli {
namespace {

constexpr size_t kAlignedRows = 5000;

class AlignedTable : public QueryOutput {
 public:
  AlignedTable(const TerminalStyle& style, Output& out) : style_(style), out_(out) {}

  void columns(std::span<const QueryColumn> columns) override {
    for (const QueryColumn& column : columns) names_.push_back(printable(column.name));
  }
  void row(std::span<const Value> values) override {
    std::vector<std::string>& cells = rows_.emplace_back();
    numeric_.resize(names_.size(), true);
    for (size_t i = 0; i < values.size(); ++i) {
      cells.push_back(values[i].isNull() ? "NULL" : printable(toText(values[i])));
      if (!values[i].isNull() && !values[i].isNumber()) numeric_[i] = false;
    }
    if (rows_.size() == kAlignedRows) flush();
  }
  void end() override {
    if (!rows_.empty() || !shown_) flush();
  }

 private:
  void flush() {
    std::vector<TextTable::Column> columns;
    for (size_t i = 0; i < names_.size(); ++i) {
      const bool right = !rows_.empty() && numeric_[i];
      columns.push_back(
          {names_[i], right ? TextTable::Align::kRight : TextTable::Align::kLeft, !right});
    }
    TextTable table(std::move(columns));
    for (std::vector<std::string>& cells : rows_) table.add(std::move(cells));
    out_.write(table.render(style_));
    rows_.clear();
    shown_ = true;
  }

  TerminalStyle style_;
  Output& out_;
  std::vector<std::string> names_;
  std::vector<bool> numeric_;
  std::vector<std::vector<std::string>> rows_;
  bool shown_ = false;
};

class Csv : public QueryOutput {
 public:
  explicit Csv(Output& out) : out_(out) {}

  void columns(std::span<const QueryColumn> columns) override {
    for (const QueryColumn& column : columns) add(column.name);
    finishLine();
  }
  void row(std::span<const Value> values) override {
    for (const Value& value : values) add(toText(value));
    finishLine();
  }
  void end() override {}

 private:
  void add(std::string_view text) {
    if (fields_++ > 0) line_ += ',';
    appendCsvField(line_, text);
  }
  void finishLine() {
    if (line_.empty()) line_ = "\"\"";  // an empty line would not be a row
    line_ += '\n';
    out_.write(line_);
    line_.clear();
    fields_ = 0;
  }

  Output& out_;
  std::string line_;
  size_t fields_ = 0;
};

class Json : public QueryOutput {
 public:
  explicit Json(Output& out) : json_(out), out_(out) {}

  void columns(std::span<const QueryColumn> columns) override {
    // Two columns may have the same name; members of an object must not.
    std::set<std::string> taken;
    for (const QueryColumn& column : columns) {
      std::string name = column.name;
      for (int i = 2; !taken.insert(name).second; ++i) name = column.name + "_" + std::to_string(i);
      names_.push_back(name);
    }
    json_.beginArray();
  }
  void row(std::span<const Value> values) override {
    json_.beginObject();
    for (size_t i = 0; i < values.size(); ++i) {
      json_.key(names_[i]);
      switch (values[i].type) {
        case ValueType::kNull:
          json_.null();
          break;
        case ValueType::kInteger:
          json_.value(values[i].integer);
          break;
        case ValueType::kReal:
          json_.value(values[i].real);
          break;
        default:
          json_.value(values[i].text);
      }
    }
    json_.endObject();
  }
  void end() override {
    json_.endArray();
    out_.put('\n');
  }

 private:
  JsonWriter json_;
  Output& out_;
  std::vector<std::string> names_;
};

class Lines : public QueryOutput {
 public:
  explicit Lines(Output& out) : out_(out) {}

  void columns(std::span<const QueryColumn> columns) override {
    for (const QueryColumn& column : columns) names_.push_back(printable(column.name));
    for (const std::string& name : names_) widest_ = std::max(widest_, displayWidth(name));
  }
  void row(std::span<const Value> values) override {
    if (rows_++ > 0) out_.put('\n');
    for (size_t i = 0; i < values.size(); ++i) {
      out_.write(std::string(static_cast<size_t>(widest_ - displayWidth(names_[i])), ' '));
      out_.write(names_[i] + " = ");
      out_.write((values[i].isNull() ? "NULL" : printable(toText(values[i]))) + "\n");
    }
  }
  void end() override {}

 private:
  Output& out_;
  std::vector<std::string> names_;
  int widest_ = 0;
  uint64_t rows_ = 0;
};

class Markdown : public QueryOutput {
 public:
  explicit Markdown(Output& out) : out_(out) {}

  void columns(std::span<const QueryColumn> columns) override {
    for (const QueryColumn& column : columns) add(column.name);
    out_.write("|\n");
    for (size_t i = 0; i < columns.size(); ++i) out_.write("|---");
    out_.write("|\n");
  }
  void row(std::span<const Value> values) override {
    for (const Value& value : values) add(value.isNull() ? "NULL" : toText(value));
    out_.write("|\n");
  }
  void end() override {}

 private:
  /// A cell; a bar within it would start the next one.
  void add(std::string_view text) {
    std::string cell;
    for (const char c : printable(text)) {
      if (c == '|' || c == '\\') cell += '\\';
      cell += c;
    }
    out_.write("| " + cell + " ");
  }

  Output& out_;
};

}  // namespace

std::unique_ptr<QueryOutput> makeQueryOutput(QueryFormat format, const TerminalStyle& style,
                                             Output& out) {
  switch (format) {
    case QueryFormat::kCsv:
      return std::make_unique<Csv>(out);
    case QueryFormat::kJson:
      return std::make_unique<Json>(out);
    case QueryFormat::kLine:
      return std::make_unique<Lines>(out);
    case QueryFormat::kMarkdown:
      return std::make_unique<Markdown>(out);
    default:
      return std::make_unique<AlignedTable>(style, out);
  }
}

}  // namespace tracesmith::cli
