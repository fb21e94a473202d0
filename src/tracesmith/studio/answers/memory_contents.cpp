// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/memory_contents.hpp"

#include <fcntl.h>
#include <simdjson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tracesmith/replay/check/typed_difference.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

constexpr uint64_t kMostValues = 10'000;
constexpr uint64_t kMostCells = 512;  // in each direction
constexpr uint64_t kMostChannels = 4;

struct MappedFile {
  void* data = MAP_FAILED;
  size_t size = 0;
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data != MAP_FAILED) munmap(data, size);
  }
};

Result<std::shared_ptr<MappedFile>> mapFile(const std::string& path) {
  auto out = std::make_shared<MappedFile>();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat state {};
  if (file >= 0 && fstat(file, &state) == 0) out->size = static_cast<size_t>(state.st_size);
  if (out->size > 0) out->data = mmap(nullptr, out->size, PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  if (out->data == MAP_FAILED) {
    return fail(ErrorCode::kNotFound, "the run left no content of memory", path);
  }
  return out;
}

Result<ElementType> typeOf(const QueryValues& values, const std::string& argument_type) {
  const std::optional<std::string> asked = values.text("type");
  const ElementType type = elementTypeOf(asked.value_or(argument_type));
  if (asked && type == ElementType::kBytes) {
    return fail(ErrorCode::kInvalidArgument, "is no type of elements", *asked);
  }
  return type == ElementType::kBytes ? ElementType::kU8 : type;
}

void writeValues(const char* key, ByteView bytes, ElementType type, uint64_t from, uint64_t end,
                 JsonWriter& out) {
  out.key(key);
  if (bytes.empty()) {
    out.null();
    return;
  }
  const uint64_t size = elementBytes(type);
  out.beginArray();
  for (uint64_t i = from; i < std::min<uint64_t>(end, bytes.size() / size); ++i) {
    out.value(elementText(bytes.subspan(i * size, size), type));
  }
  out.endArray();
}

void writeDifference(ByteView before, ByteView after, ElementType type, JsonWriter& out) {
  out.key("difference");
  if (before.empty() || after.empty()) {
    out.null();
    return;
  }
  const TypedDifference d = compareTyped(before, after, type);
  out.beginObject().field("differing", d.differing).field("first_element", d.first_element);
  out.field("most_ulps", d.most_ulps).field("nan_in_one", d.nan_in_one).endObject();
}

/// Sums of cells.
class CellGrid {
 public:
  CellGrid(uint64_t pixels, uint64_t width, uint64_t channels)
      : width_(width), rows_in_((pixels + width - 1) / width), channels_(channels) {
    columns_ = std::min(width_, kMostCells);
    rows_ = std::min(rows_in_, kMostCells);
    sums_.resize(columns_ * rows_ * channels_);
    counts_.resize(sums_.size());
  }

  void add(uint64_t pixel, uint64_t channel, double value) {
    if (std::isfinite(value)) {
      low_ = std::min(low_, value);
      high_ = std::max(high_, value);
    }
    const uint64_t column = pixel % width_ * columns_ / width_;
    const uint64_t row = pixel / width_ * rows_ / rows_in_;
    const size_t cell = static_cast<size_t>((row * columns_ + column) * channels_ + channel);
    sums_[cell] += value;
    ++counts_[cell];
  }

  std::string bytes() const {
    std::string out;
    const auto put = [&](const auto& value) {
      out.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    const auto last = std::find_if(counts_.rbegin(), counts_.rend(),
                                   [](uint32_t elements) { return elements > 0; });
    const auto empty = static_cast<uint64_t>(last - counts_.rbegin());
    for (const uint64_t number : {columns_, rows_, channels_, empty}) {
      put(static_cast<uint32_t>(number));
    }
    put(low_ > high_ ? 0.0 : low_);
    put(low_ > high_ ? 0.0 : high_);
    for (size_t i = 0; i < sums_.size(); ++i) {
      put(counts_[i] == 0 ? std::numeric_limits<float>::quiet_NaN()
                          : static_cast<float>(sums_[i] / counts_[i]));
    }
    return out;
  }

 private:
  uint64_t width_, rows_in_, channels_;
  uint64_t columns_ = 0, rows_ = 0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  std::vector<double> sums_;
  std::vector<uint32_t> counts_;
};

}  // namespace

Result<MemoryContents> MemoryContents::open(const std::string& report, const std::string& file) {
  TS_TRY(const std::shared_ptr<MappedFile> mapped, mapFile(file));
  const ByteView all(static_cast<const uint8_t*>(mapped->data), mapped->size);
  MemoryContents out;
  out.file_ = mapped;
  simdjson::dom::parser parser;
  simdjson::dom::array rows;
  if (parser.parse(simdjson::padded_string(report))["dumps"].get(rows) != simdjson::SUCCESS) {
    return fail(ErrorCode::kNotFound, "the run left no content of memory", file);
  }
  for (const simdjson::dom::element row : rows) {
    uint64_t buffer = 0, offset = 0, bytes = 0;
    std::string_view memory, when, type;
    const bool known = row["buffer"].get(buffer) == simdjson::SUCCESS &&
                       row["offset"].get(offset) == simdjson::SUCCESS &&
                       row["bytes"].get(bytes) == simdjson::SUCCESS &&
                       row["memory"].get(memory) == simdjson::SUCCESS &&
                       row["when"].get(when) == simdjson::SUCCESS &&
                       row["type"].get(type) == simdjson::SUCCESS;
    if (!known || offset > all.size() || bytes > all.size() - offset) continue;
    auto content = std::find_if(out.contents_.begin(), out.contents_.end(),
                                [&](const Content& c) { return c.buffer == buffer; });
    if (content == out.contents_.end()) {
      content = out.contents_.insert(
          content, Content{buffer, std::string(memory), std::string(type), {}, {}});
    }
    (when == "before" ? content->before : content->after) = all.subspan(offset, bytes);
  }
  return out;
}

Result<const MemoryContents::Content*> MemoryContents::contentOf(const QueryValues& values) const {
  TS_TRY(const uint64_t buffer, values.needNumber("buffer"));
  for (const Content& content : contents_) {
    if (content.buffer == buffer) return &content;
  }
  return fail(ErrorCode::kNotFound, "the run did not keep this memory", std::to_string(buffer));
}

Result<std::string> MemoryContents::valuesAnswer(const QueryValues& values) const {
  TS_TRY(const Content* content, contentOf(values));
  TS_TRY(const ElementType type, typeOf(values, content->argument_type));
  TS_TRY(const std::optional<uint64_t> from, values.number("from"));
  TS_TRY(const std::optional<uint64_t> count, values.number("count", kMostValues));
  const uint64_t bytes = std::max(content->before.size(), content->after.size());
  const uint64_t elements = bytes / elementBytes(type);
  const uint64_t first = std::min(from.value_or(0), elements);
  const uint64_t end = std::min(first + count.value_or(1000), elements);
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("memory", content->memory).field("bytes", bytes);
    out.field("argument_type", content->argument_type).field("type", toString(type));
    out.field("elements", elements).field("from", first);
    writeValues("before", content->before, type, first, end, out);
    writeValues("after", content->after, type, first, end, out);
    writeDifference(content->before, content->after, type, out);
    out.endObject();
  });
}

Result<std::string> MemoryContents::cells(const QueryValues& values) const {
  TS_TRY(const Content* content, contentOf(values));
  TS_TRY(const ElementType type, typeOf(values, content->argument_type));
  TS_TRY(const uint64_t width, values.needNumber("width", UINT32_MAX));
  TS_TRY(const std::optional<uint64_t> asked, values.number("channels", kMostChannels));
  const uint64_t channels = asked.value_or(1);
  const std::string show = values.text("show").value_or("after");
  const bool differs = show == "difference";
  if (width == 0 || channels == 0 || (!differs && show != "before" && show != "after")) {
    return fail(ErrorCode::kInvalidArgument, "must be before, after or difference", "show");
  }
  const ByteView bytes = show == "before" ? content->before : content->after;
  const uint64_t size = elementBytes(type);
  uint64_t elements = bytes.size() / size;
  if (differs) elements = std::min<uint64_t>(elements, content->before.size() / size);
  CellGrid grid((elements + channels - 1) / channels, width, channels);
  for (uint64_t i = 0; i < elements; ++i) {
    double value = elementValue(bytes.subspan(i * size, size), type);
    if (differs) value -= elementValue(content->before.subspan(i * size, size), type);
    grid.add(i / channels, i % channels, value);
  }
  return grid.bytes();
}

}  // namespace tracesmith::studio
