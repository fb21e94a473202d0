// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/arrow/arrow_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/query/columns/utf8.hpp"

namespace tracesmith {
namespace {

constexpr size_t kRowsToExamine = 4096;
constexpr size_t kBatchRows = 65536;
/// Text offsets have 32 bits, and one text may have 64 MiB.
constexpr size_t kBatchBytes = size_t{1} << 28;

enum class ArrowType : uint8_t { kInt64, kFloat64, kUtf8 };

const char* formatOf(ArrowType type) {
  return type == ArrowType::kInt64 ? "l" : type == ArrowType::kFloat64 ? "g" : "u";
}

/// The values of one column of a batch, in Arrow's layout.
struct ColumnBuffers {
  ArrowType type = ArrowType::kInt64;
  std::vector<uint8_t> valid;  // one bit per row
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<int32_t> offsets = {0};
  std::vector<char> text;
  int64_t rows = 0;
  int64_t nulls = 0;
  const void* buffers[3] = {};

  /// False if the value does not fit.
  bool add(const Value& v) {
    const bool is_text = v.type == ValueType::kText || v.type == ValueType::kLarge;
    if (type == ArrowType::kInt64 && !v.isNull() && v.type != ValueType::kInteger) return false;
    if (type == ArrowType::kFloat64 && is_text) return false;
    if (rows % 8 == 0) valid.push_back(0);
    if (v.isNull()) {
      ++nulls;
    } else {
      valid.back() = static_cast<uint8_t>(valid.back() | 1u << (rows % 8));
    }
    if (type == ArrowType::kInt64) {
      integers.push_back(v.isNull() ? 0 : v.integer);
    } else if (type == ArrowType::kFloat64) {
      reals.push_back(v.type == ValueType::kInteger ? static_cast<double>(v.integer) : v.real);
    } else {
      if (v.type == ValueType::kText) {
        appendUtf8(text, v.text);
      } else {
        const std::string digits = toText(v);
        text.insert(text.end(), digits.begin(), digits.end());
      }
      offsets.push_back(static_cast<int32_t>(text.size()));
    }
    ++rows;
    return true;
  }

  void moveTo(ArrowArray& out);
};

void releaseColumn(ArrowArray* array) {
  delete static_cast<ColumnBuffers*>(array->private_data);
  array->release = nullptr;
}

void ColumnBuffers::moveTo(ArrowArray& out) {
  auto own = std::make_unique<ColumnBuffers>(std::move(*this));
  static constexpr char kNothing[8] = {};  // the texts of an empty batch
  own->buffers[0] = own->nulls == 0 ? nullptr : own->valid.data();
  if (own->type == ArrowType::kUtf8) {
    own->buffers[1] = own->offsets.data();
    own->buffers[2] = own->text.empty() ? kNothing : own->text.data();
  } else if (own->type == ArrowType::kInt64) {
    own->buffers[1] = own->integers.data();
  } else {
    own->buffers[1] = own->reals.data();
  }
  out = {};
  out.length = own->rows;
  out.null_count = own->nulls;
  out.n_buffers = own->type == ArrowType::kUtf8 ? 3 : 2;
  out.buffers = own->buffers;
  out.release = releaseColumn;
  out.private_data = own.release();
}

/// Owned by the array of a batch: the arrays of its columns.
struct BatchArrays {
  std::vector<ArrowArray> columns;
  std::vector<ArrowArray*> pointers;
  const void* buffers[1] = {};  // rows themselves are never NULL

  ~BatchArrays() {
    // Arrays taken by the consumer have no release function any more.
    for (ArrowArray& column : columns) {
      if (column.release != nullptr) column.release(&column);
    }
  }
};

void releaseBatch(ArrowArray* array) {
  delete static_cast<BatchArrays*>(array->private_data);
  array->release = nullptr;
}

struct SchemaTexts {
  std::vector<ArrowSchema> columns;
  std::vector<ArrowSchema*> pointers;
  std::string name;

  ~SchemaTexts() {
    for (ArrowSchema& column : columns) {
      if (column.release != nullptr) column.release(&column);
    }
  }
};

void releaseSchema(ArrowSchema* schema) {
  delete static_cast<SchemaTexts*>(schema->private_data);
  schema->release = nullptr;
}

int errnoOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnsupported:  // "interrupted"
      return ECANCELED;
    case ErrorCode::kNoSpace:
      return ENOMEM;
    case ErrorCode::kInvalidArgument:
      return EINVAL;
    default:
      return EIO;
  }
}

class AnswerStream {
 public:
  explicit AnswerStream(QueryCursor cursor) : cursor_(std::move(cursor)) {}

  /// Reads the first rows and determines the types. `engine` can run `sql` again.
  Status begin(QueryEngine& engine, std::string_view sql, const QueryOptions& options) {
    std::vector<std::vector<QueryResult::Cell>> first;
    while (first.size() < kRowsToExamine) {
      TS_TRY(const bool any, cursor_.next());
      if (!any) break;
      auto& row = first.emplace_back();
      for (const Value& v : cursor_.row()) {
        row.push_back({v.type, v.integer, v.real, std::string(v.text)});
      }
    }
    std::vector<std::optional<ArrowType>> types;
    for (size_t c = 0; c < cursor_.columns().size(); ++c) types.push_back(typeOf(c, first));
    if (first.size() == kRowsToExamine && contains(types, std::nullopt)) {
      TS_TRY(QueryCursor ahead, engine.start(sql, options));
      TS_CHECK_OK(inferTypes(ahead, types));
    }
    for (const auto& type : types) types_.push_back(type.value_or(ArrowType::kUtf8));
    startBatch();
    for (const auto& row : first) {
      for (size_t c = 0; c < row.size(); ++c) {
        const Value v = {row[c].type, row[c].integer, row[c].real, row[c].text};
        if (!batch_[c].add(v)) return doesNotFit(c);
      }
    }
    return {};
  }

  int schema(ArrowSchema* out) {
    auto texts = std::make_unique<SchemaTexts>();
    texts->columns.resize(types_.size());
    for (size_t c = 0; c < types_.size(); ++c) {
      auto own = std::make_unique<SchemaTexts>();
      own->name = cursor_.columns()[c].name;
      ArrowSchema& column = texts->columns[c];
      column = {};
      column.format = formatOf(types_[c]);
      column.name = own->name.c_str();
      column.flags = ARROW_FLAG_NULLABLE;
      column.release = releaseSchema;
      column.private_data = own.release();
      texts->pointers.push_back(&column);
    }
    *out = {};
    out->format = "+s";
    out->name = "";
    out->n_children = static_cast<int64_t>(types_.size());
    out->children = texts->pointers.data();
    out->release = releaseSchema;
    out->private_data = texts.release();
    return 0;
  }

  int next(ArrowArray* out) {
    *out = {};
    if (ended_) return 0;  // end of stream: an array without a release function
    while (rows() < kBatchRows && bytes() < kBatchBytes) {
      const Result<bool> any = cursor_.next();
      if (!any) return failed(any.error().toString(), errnoOf(any.error().code));
      if (!*any) {
        ended_ = true;
        break;
      }
      const std::span<const Value> row = cursor_.row();
      for (size_t c = 0; c < row.size(); ++c) {
        if (!batch_[c].add(row[c])) return failed(doesNotFit(c).value().message, EINVAL);
      }
    }
    if (rows() == 0) return 0;
    auto arrays = std::make_unique<BatchArrays>();
    arrays->columns.resize(batch_.size());
    const int64_t count = batch_[0].rows;
    for (size_t c = 0; c < batch_.size(); ++c) {
      batch_[c].moveTo(arrays->columns[c]);
      arrays->pointers.push_back(&arrays->columns[c]);
    }
    out->length = count;
    out->n_buffers = 1;
    out->buffers = arrays->buffers;
    out->n_children = static_cast<int64_t>(arrays->pointers.size());
    out->children = arrays->pointers.data();
    out->release = releaseBatch;
    out->private_data = arrays.release();
    startBatch();
    return 0;
  }

  const char* error() const { return error_.empty() ? nullptr : error_.c_str(); }
  int failed(std::string message, int code) {
    ended_ = true;
    error_ = std::move(message);
    return code;
  }

 private:
  size_t rows() const { return batch_.empty() ? 0 : static_cast<size_t>(batch_[0].rows); }
  size_t bytes() const {
    size_t most = 0;
    for (const ColumnBuffers& column : batch_) most = std::max(most, column.text.size());
    return most;
  }
  void startBatch() {
    batch_.clear();
    batch_.resize(types_.size());
    for (size_t c = 0; c < types_.size(); ++c) batch_[c].type = types_[c];
  }
  static ArrowType typeOf(ValueType type) {
    return type == ValueType::kInteger ? ArrowType::kInt64
           : type == ValueType::kReal  ? ArrowType::kFloat64
                                       : ArrowType::kUtf8;
  }
  static bool contains(const std::vector<std::optional<ArrowType>>& types,
                       std::optional<ArrowType> type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  }
  /// Columns that start with NULLs get the type of their first value. This runs the query a second
  /// time, which takes no memory; storing all rows up to that value would.
  static Status inferTypes(QueryCursor& ahead, std::vector<std::optional<ArrowType>>& types) {
    while (contains(types, std::nullopt)) {
      TS_TRY(const bool any, ahead.next());
      if (!any) break;
      for (size_t c = 0; c < types.size(); ++c) {
        const Value& v = ahead.row()[c];
        if (!types[c] && !v.isNull()) types[c] = typeOf(v.type);
      }
    }
    return {};
  }
  /// Empty for an expression with only NULLs in these rows.
  std::optional<ArrowType> typeOf(size_t c,
                                  const std::vector<std::vector<QueryResult::Cell>>& rows) const {
    const std::string& declared = cursor_.columns()[c].type;
    if (declared == "INTEGER") return ArrowType::kInt64;
    if (declared == "REAL") return ArrowType::kFloat64;
    if (declared == "TEXT") return ArrowType::kUtf8;
    bool any = false;
    bool reals = false;
    for (const auto& row : rows) {
      if (row[c].type == ValueType::kText || row[c].type == ValueType::kLarge) {
        return ArrowType::kUtf8;
      }
      any = any || !row[c].isNull();
      reals = reals || row[c].type == ValueType::kReal;
    }
    if (!any) return std::nullopt;
    return reals ? ArrowType::kFloat64 : ArrowType::kInt64;
  }
  tl::unexpected<Error> doesNotFit(size_t c) const {
    const std::string& name = cursor_.columns()[c].name;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "column {} starts as {} and then has a value of another type; use CAST({} AS {})", name,
            types_[c] == ArrowType::kInt64 ? "whole numbers" : "numbers", name,
            types_[c] == ArrowType::kInt64 ? "REAL or TEXT" : "TEXT"));
  }

  QueryCursor cursor_;
  std::vector<ArrowType> types_;
  std::vector<ColumnBuffers> batch_;
  std::string error_;
  bool ended_ = false;
};

AnswerStream& streamOf(ArrowArrayStream* stream) {
  return *static_cast<AnswerStream*>(stream->private_data);
}

int getSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    return streamOf(stream).schema(out);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int getNext(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    return streamOf(stream).next(out);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace

Status startArrowStream(QueryEngine& engine, std::string_view sql, ArrowArrayStream* out,
                        const QueryOptions& options) {
  TS_TRY(QueryCursor cursor, engine.start(sql, options));
  auto stream = std::make_unique<AnswerStream>(std::move(cursor));
  TS_CHECK_OK(stream->begin(engine, sql, options));
  *out = {};
  out->get_schema = getSchema;
  out->get_next = getNext;
  out->get_last_error = [](ArrowArrayStream* s) { return streamOf(s).error(); };
  out->release = [](ArrowArrayStream* s) {
    delete static_cast<AnswerStream*>(s->private_data);
    s->release = nullptr;
  };
  out->private_data = stream.release();
  return {};
}

}  // namespace tracesmith
