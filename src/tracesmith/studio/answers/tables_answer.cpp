// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

constexpr uint64_t kMostTableRows = 10'000;

std::string_view wordOf(Quantity quantity) {
  switch (quantity) {
    case Quantity::kText:
      return "text";
    case Quantity::kCount:
      return "count";
    case Quantity::kNs:
      return "ns";
    case Quantity::kTimeNs:
      return "time_ns";
    case Quantity::kShare:
      return "share";
    case Quantity::kProbability:
      return "probability";
    case Quantity::kBytes:
      return "bytes";
    case Quantity::kBytesPerSecond:
      return "bytes_per_second";
    case Quantity::kNumber:
      break;
  }
  return "number";
}

void writeValue(const ReportValue& value, JsonWriter& out) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.value(*text);
  } else if (const auto* integer = std::get_if<int64_t>(&value)) {
    out.value(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.value(*real);
  } else {
    out.null();
  }
}

Result<AnalysisPart> partOf(std::string_view name) {
  for (size_t i = 0; i < kAnalysisParts; ++i) {
    const auto part = static_cast<AnalysisPart>(i);
    if (toString(part) == name) return part;
  }
  return fail(ErrorCode::kInvalidArgument, "is no part of an analysis", std::string(name));
}

Result<std::vector<AnalysisPart>> partsOf(const std::string& names) {
  std::vector<AnalysisPart> parts;
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    TS_TRY(const AnalysisPart part, partOf(std::string_view(names).substr(at, end - at)));
    parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

}  // namespace

void writeTableAnswer(const ReportTable& table, JsonWriter& out) {
  out.beginObject().field("key", table.key).field("title", table.title).field("note", table.note);
  out.key("columns").beginArray();
  for (const ReportColumn& column : table.columns) {
    out.beginObject().field("key", column.key).field("title", column.header);
    out.field("quantity", wordOf(column.quantity)).endObject();
  }
  out.endArray().key("rows").beginArray();
  for (const std::vector<ReportValue>& row : table.rows) {
    out.beginArray();
    for (const ReportValue& value : row) writeValue(value, out);
    out.endArray();
  }
  out.endArray().endObject();
}

std::string tablesAnswer(std::span<const ReportTable> tables) {
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("tables").beginArray();
    for (const ReportTable& table : tables) writeTableAnswer(table, out);
    out.endArray().endObject();
  });
}

std::string findingsAnswer(const StudioTrace& of) { return tablesAnswer(of.findings()); }

std::string partsAnswer() {
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("parts").beginArray();
    for (size_t i = 0; i < kAnalysisParts; ++i) {
      const std::string_view key = toString(static_cast<AnalysisPart>(i));
      std::string title(key);
      std::replace(title.begin(), title.end(), '-', ' ');
      out.beginObject().field("key", key).field("title", title).endObject();
    }
    out.endArray().endObject();
  });
}

Result<std::string> analysisAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_CHECK_OK(haveOneClock(of.trace()));
  ReportOptions options;
  TS_TRY(options.parts, partsOf(values.text("parts").value_or("")));
  TS_TRY(const std::optional<uint64_t> limit, values.number("limit", kMostTableRows));
  options.limit = options.longest = limit.value_or(100);
  options.short_names = true;
  TS_TRY(const std::optional<uint64_t> from, values.number("from_ns"));
  TS_TRY(const std::optional<uint64_t> to, values.number("to_ns"));
  if (!from && !to) return tablesAnswer(analyze(of.trace(), options));
  const int64_t zero = of.rows().zero_ns;
  options.from_ns = endOf(zero, static_cast<int64_t>(from.value_or(0)));
  options.to_ns = endOf(zero, static_cast<int64_t>(to.value_or(INT64_MAX)));
  if (options.to_ns <= options.from_ns) {
    return fail(ErrorCode::kInvalidArgument, "must be less than to_ns", "from_ns");
  }
  TS_TRY(const NamePattern all_names, NamePattern::parse("", "name"));
  const Selection selection(of.trace(), options.from_ns, options.to_ns, {});
  const RowChoice everything{all_names, true, true};
  return tablesAnswer(analyze(partOf(of.trace(), selection, everything), options));
}

}  // namespace tracesmith::studio
