// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

constexpr auto kMostTime = std::chrono::seconds(60);
constexpr uint64_t kMostSqlRows = 100'000;
constexpr uint64_t kMostBytes = 64 << 20;

std::string_view quantityOf(const std::string& type) {
  return type == "INTEGER" || type == "REAL" ? "number" : "text";
}

void writeValue(const Value& value, JsonWriter& out) {
  switch (value.type) {
    case ValueType::kInteger:
      out.value(value.integer);
      return;
    case ValueType::kReal:
      out.value(value.real);
      return;
    case ValueType::kText:
      out.value(value.text);
      return;
    default:
      out.null();
  }
}

}  // namespace

Result<std::string> schemaAnswer(const StudioTrace& of) {
  return of.withEngine([](QueryEngine& engine) -> Result<std::string> {
    return jsonAnswer([&](JsonWriter& out) {
      out.beginObject().key("tables").beginArray();
      for (const auto& table : engine.catalog().tables()) {
        out.beginObject().field("name", table->name()).key("columns").beginArray();
        for (const auto& column : table->columns()) out.value(column->name());
        out.endArray().endObject();
      }
      out.endArray().endObject();
    });
  });
}

Result<std::string> sqlAnswer(const StudioTrace& of, const SqlRequest& request,
                              const std::function<bool()>& gone) {
  return of.withEngine([&](QueryEngine& engine) -> Result<std::string> {
    const uint64_t limit = std::min(request.limit, kMostSqlRows);
    const auto end = std::chrono::steady_clock::now() + kMostTime;
    std::string text;
    Output output = Output::toString(&text);
    JsonWriter out(output);
    bool more = false;
    uint64_t rows = 0;
    const QuerySink sink{
        .columns =
            [&](std::span<const QueryColumn> columns) {
              out.beginObject().key("columns").beginArray();
              for (const QueryColumn& column : columns) {
                out.beginObject().field("key", column.name).field("title", column.name);
                out.field("quantity", quantityOf(column.type)).endObject();
              }
              out.endArray().key("rows").beginArray();
            },
        .row =
            [&](std::span<const Value> values) {
              more = rows == limit || output.bytesWritten() > kMostBytes;
              if (more) return false;
              out.beginArray();
              for (const Value& value : values) writeValue(value, out);
              out.endArray();
              ++rows;
              return true;
            }};
    const auto cancelled = [&] {
      return std::chrono::steady_clock::now() > end || (gone && gone());
    };
    const Result<uint64_t> done = engine.run(request.sql, sink, {.cancelled = cancelled});
    if (!done) {
      if (std::chrono::steady_clock::now() > end) {
        return fail(ErrorCode::kUnsupported, "the query was ended after 60 s", "");
      }
      return tl::unexpected<Error>(done.error());
    }
    out.endArray().field("more", more).endObject();
    TS_CHECK_OK(output.finish());
    return text;
  });
}

}  // namespace tracesmith::studio
