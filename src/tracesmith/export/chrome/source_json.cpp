// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/chrome/source_json.hpp"

#include <array>
#include <map>
#include <unordered_map>

#include "tracesmith/export/chrome/json_event.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/select/document_events.hpp"
#include "tracesmith/export/select/event_filter.hpp"

namespace tracesmith {
namespace {

constexpr std::string_view kMember = "source.";
constexpr std::string_view kMemberPart = "source_part.";  // see import/json/source_member.hpp

/// Columns whose values fill the gaps of a source shape.
struct RowColumns {
  const int64_t* start_ns = nullptr;
  const int64_t* duration_ns = nullptr;
  const StringId* name = nullptr;
  const StreamId* stream = nullptr;
  const uint64_t* correlation = nullptr;
  const uint64_t* bytes = nullptr;
  const uint64_t* flow = nullptr;
  size_t rows = 0;
};

template <class Table>
RowColumns columnsOf(const Table& t) {
  RowColumns c;
  c.rows = t.size();
  if constexpr (requires { t.start_ns; }) c.start_ns = t.start_ns.data();
  if constexpr (requires { t.time_ns; }) c.start_ns = t.time_ns.data();
  if constexpr (requires { t.duration_ns; }) c.duration_ns = t.duration_ns.data();
  if constexpr (requires { t.name; }) c.name = t.name.data();
  if constexpr (requires { t.stream_id; }) c.stream = t.stream_id.data();
  if constexpr (requires { t.correlation_id; }) c.correlation = t.correlation_id.data();
  if constexpr (requires { t.flow_id; }) c.flow = t.flow_id.data();
  if constexpr (requires { t.bytes; }) c.bytes = t.bytes.data();
  return c;
}

class SourceJsonWriter {
 public:
  SourceJsonWriter(TraceReader& reader, const Trace& known, const Selection& selection, Output& out,
                   RowChoice choice = {})
      : reader_(reader),
        known_(known),
        choice_(std::move(choice)),
        everything_(selection.everything() && choice_.everything()),
        rows_wanted_(known, selection, choice_),
        document_events_(known, selection, choice_),
        out_(out),
        quoted_(known.strings),
        shapes_(known.strings) {}

  SourceJsonWriter(const SourceJsonWriter&) = delete;  // members refer to other members
  SourceJsonWriter& operator=(const SourceJsonWriter&) = delete;

  uint64_t run();

 protected:
  void findBlocks();
  void members();
  bool rowsOf(const SourceBlock& block, RowColumns& columns, size_t& first);
  void events(const SourceBlock& block);
  void event(const SourceShape& shape, const std::vector<int64_t>& kept, const RowColumns& columns,
             size_t row);

  TraceReader& reader_;
  const Trace& known_;
  const RowChoice choice_;
  const bool everything_;
  RowFilter rows_wanted_;
  DocumentEvents document_events_;
  Output& out_;
  QuotedStrings quoted_;
  SourceShapes shapes_;
  std::map<TableId, std::vector<size_t>> blocks_;  // block numbers per table, in row order
  Trace part_;                                     // the table block read last
  size_t part_block_ = ~size_t{0};
  bool any_ = false;
  uint64_t lost_ = 0;
};

void SourceJsonWriter::members() {
  std::unordered_map<std::string_view, size_t> last;  // the last value of a key counts
  const MetadataTable& metadata = known_.metadata;
  for (size_t i = 0; i < metadata.size(); ++i) last[known_.text(metadata.key[i])] = i;
  for (size_t i = 0; i < metadata.size(); ++i) {
    const std::string_view key = known_.text(metadata.key[i]);
    const std::string first_part = std::string(kMemberPart) + "0.";
    const bool in_parts = key.starts_with(first_part);
    if ((!in_parts && !key.starts_with(kMember)) || last[key] != i) continue;
    const std::string name(key.substr(in_parts ? first_part.size() : kMember.size()));
    // The name is stored as in the document, including escapes.
    out_.put('"');
    out_.write(name);
    out_.write("\": ");
    out_.write(known_.text(metadata.value[i]));
    for (size_t part = 1; in_parts; ++part) {
      const std::string next = std::string(kMemberPart) + std::to_string(part) + "." + name;
      const auto found = last.find(next);
      if (found == last.end()) break;
      out_.write(known_.text(metadata.value[found->second]));
    }
    out_.write(",\n");
  }
}

/// Loads the columns that belong to a block of sources. `first`: row in them of the block's first
/// row. Returns false if they cannot be loaded.
bool SourceJsonWriter::rowsOf(const SourceBlock& block, RowColumns& columns, size_t& first) {
  for (const size_t index : blocks_[block.table]) {
    const BlockInfo& info = reader_.blocks()[index];
    const uint64_t offset = block.first_row - info.first_row;
    if (block.first_row < info.first_row || offset > info.rows ||
        block.shape.size() > info.rows - offset) {
      continue;
    }
    if (part_block_ != index) {
      forEachTable(part_, [](auto& table) { table.clear(); });
      part_block_ = index;
      if (!reader_.readBlock(index, part_)) return false;
    }
    forEachTable(part_, [&](const auto& table) {
      if (std::decay_t<decltype(table)>::kId == block.table) columns = columnsOf(table);
    });
    first = static_cast<size_t>(block.first_row - info.first_row);
    return columns.rows == info.rows;  // else an unknown set of rows is missing
  }
  return false;
}

void SourceJsonWriter::event(const SourceShape& shape, const std::vector<int64_t>& kept,
                             const RowColumns& columns, size_t row) {
  const auto decimal = [&](int64_t thousandths) {
    char* const begin = reinterpret_cast<char*>(out_.reserve(24));
    out_.commit(reinterpret_cast<uint8_t*>(putMicroseconds(begin, thousandths)));
  };
  const auto integer = [&](auto value) {
    char* const begin = reinterpret_cast<char*>(out_.reserve(24));
    out_.commit(reinterpret_cast<uint8_t*>(putDecimal(begin, value)));
  };
  const int64_t* next = kept.data();
  for (size_t i = 0; i < shape.between.size(); ++i) {
    out_.write(shape.between[i]);
    if (i >= shape.gaps.size()) continue;
    switch (shape.gaps[i].kind) {
      case SourceGap::kTimeMicros:
        integer(columns.start_ns == nullptr ? 0 : columns.start_ns[row] / 1000);
        break;
      case SourceGap::kTimeDecimal:
        decimal(columns.start_ns == nullptr ? 0 : columns.start_ns[row]);
        break;
      case SourceGap::kDurationMicros:
        integer(columns.duration_ns == nullptr ? 0 : columns.duration_ns[row] / 1000);
        break;
      case SourceGap::kDurationDecimal:
        decimal(columns.duration_ns == nullptr ? 0 : columns.duration_ns[row]);
        break;
      case SourceGap::kName:
        out_.write(columns.name == nullptr ? "\"\"" : quoted_.at(columns.name[row]));
        break;
      case SourceGap::kCorrelation:
        integer(columns.correlation == nullptr ? uint64_t{0} : columns.correlation[row]);
        break;
      case SourceGap::kBytes:
        integer(columns.bytes == nullptr ? uint64_t{0} : columns.bytes[row]);
        break;
      case SourceGap::kFlowId:
        integer(columns.flow == nullptr ? uint64_t{0} : columns.flow[row]);
        break;
      case SourceGap::kTimeNanos:
        integer(columns.start_ns == nullptr ? 0 : columns.start_ns[row]);
        break;
      case SourceGap::kEndNanos:
        integer(columns.duration_ns == nullptr
                    ? 0
                    : endOf(columns.start_ns[row], columns.duration_ns[row]));
        break;
      case SourceGap::kDurationNanos:
        integer(columns.duration_ns == nullptr ? 0 : columns.duration_ns[row]);
        break;
      case SourceGap::kInteger:
        integer(*next++);
        break;
      case SourceGap::kDecimal:
        decimal(*next++);
        break;
      case SourceGap::kText:
        out_.write(quoted_.at(StringId{static_cast<uint32_t>(*next++)}));
        break;
      case SourceGap::kJson:
        out_.write(known_.text(StringId{static_cast<uint32_t>(*next++)}));
        break;
    }
  }
}

void SourceJsonWriter::events(const SourceBlock& block) {
  RowColumns columns;
  size_t first = 0;
  const bool alone = block.table == SourceRows::kNone;
  if (!alone && !rowsOf(block, columns, first)) {
    for (const StringId id : block.shape) lost_ += id == StringId::kNone ? 0 : 1;
    return;
  }
  std::vector<bool> wanted;
  if (!alone && !everything_) {
    wanted = rows_wanted_.takes(part_, block.table, first, block.shape.size());
  }
  std::vector<size_t> next(block.leaves.size(), 0);
  std::vector<int64_t> kept;
  StringId last{};
  const SourceShape* shape = nullptr;
  const std::vector<uint32_t>* places = nullptr;
  for (size_t i = 0; i < block.shape.size() && !out_.failed(); ++i) {
    const StringId id = block.shape[i];
    if (id == StringId::kNone) continue;
    if (id != last || shape == nullptr) {
      shape = shapes_.at(id);
      places = &block.places.at(id);
      last = id;
    }
    kept.clear();
    for (const uint32_t leaf : *places) kept.push_back(block.leaves[leaf].values[next[leaf]++]);
    if (alone ? !document_events_.take(id, *shape, kept) : !everything_ && !wanted[i]) continue;
    if (any_) out_.write(",\n");
    any_ = true;
    event(*shape, kept, columns, first + i);
  }
}

void SourceJsonWriter::findBlocks() {
  for (size_t i = 0; i < reader_.blocks().size(); ++i) {
    blocks_[reader_.blocks()[i].table].push_back(i);
  }
}

uint64_t SourceJsonWriter::run() {
  findBlocks();
  const bool bare = known_.metadataValue("source_form") == "array";
  if (!bare) {
    out_.write("{\n");
    members();
    out_.write("\"traceEvents\": ");
  }
  out_.write("[\n");
  SourceBlock block;
  const std::vector<size_t> sources = blocks_[TableId::kSource];
  for (const size_t index : sources) {
    if (!reader_.readSources(index, known_.strings, shapes_, block)) continue;
    events(block);
    if (out_.failed()) break;
  }
  out_.write(bare ? "\n]\n" : "\n]}\n");
  return lost_;
}

/// Reads single events by row; caches the block read last.
class EventsByRow : private SourceJsonWriter {
 public:
  EventsByRow(TraceReader& reader, const Trace& known, const Selection& everything, Output& out)
      : SourceJsonWriter(reader, known, everything, out) {}

  /// Writes the event; returns false if there is none.
  bool write(TableId table, uint64_t row) {
    const Place* place = placeOf(table, row);
    if (place == nullptr || !load(*place)) return false;
    const size_t i = static_cast<size_t>(row - place->first_row);
    const StringId id = block_.shape[i];
    if (id == StringId::kNone) return false;
    const std::vector<int64_t> kept(values_.begin() + static_cast<ptrdiff_t>(starts_[i]),
                                    values_.begin() + static_cast<ptrdiff_t>(starts_[i + 1]));
    event(*shapes_.at(id), kept, columns_, first_ + i);
    return true;
  }

 private:
  struct Place {
    TableId table;
    uint64_t first_row;
    uint64_t rows;
    size_t block;
  };

  /// Finds the block with a row's source. Only the blocks themselves contain this information, so
  /// each is read once.
  const Place* placeOf(TableId table, uint64_t row) {
    if (!indexed_) {
      indexed_ = true;
      findBlocks();
      for (const size_t index : blocks_[TableId::kSource]) {
        if (!reader_.readSources(index, known_.strings, shapes_, block_)) continue;
        places_.push_back({block_.table, block_.first_row, block_.shape.size(), index});
      }
    }
    for (const Place& place : places_) {
      if (place.table == table && row >= place.first_row && row - place.first_row < place.rows) {
        return &place;
      }
    }
    return nullptr;
  }

  /// Kept values are stored by column. The positions of each row's values are computed by counting,
  /// once per block.
  bool load(const Place& place) {
    if (loaded_ == place.block) return true;
    loaded_ = ~size_t{0};
    if (!reader_.readSources(place.block, known_.strings, shapes_, block_)) return false;
    if (!rowsOf(block_, columns_, first_)) return false;
    std::vector<size_t> next(block_.leaves.size(), 0);
    values_.clear();
    starts_.assign(1, 0);
    for (const StringId id : block_.shape) {
      if (id != StringId::kNone) {
        for (const uint32_t leaf : block_.places.at(id)) {
          values_.push_back(block_.leaves[leaf].values[next[leaf]++]);
        }
      }
      starts_.push_back(values_.size());
    }
    loaded_ = place.block;
    return true;
  }

  bool indexed_ = false;
  std::vector<Place> places_;
  size_t loaded_ = ~size_t{0};
  SourceBlock block_;
  RowColumns columns_;
  size_t first_ = 0;
  std::vector<int64_t> values_;
  std::vector<size_t> starts_;
};

}  // namespace

struct SourceLookup::Impl {
  Impl(TraceReader& reader, const Trace& known)
      : everything(known, std::nullopt, std::nullopt, {}),
        out(Output::toString(&text)),
        events(reader, known, everything, out) {}

  Selection everything;
  std::string text;
  Output out;
  EventsByRow events;
};

SourceLookup::SourceLookup(TraceReader& reader, const Trace& known)
    : impl_(std::make_unique<Impl>(reader, known)) {}
SourceLookup::~SourceLookup() = default;

std::optional<std::string> SourceLookup::at(TableId table, uint64_t row) {
  impl_->text.clear();
  if (!impl_->events.write(table, row) || !impl_->out.flush()) return std::nullopt;
  return impl_->text;
}

bool hasSourceJson(const TraceReader& reader, const Trace& known) {
  const std::string_view form = known.metadataValue("source_form");
  if (form != "array" && form != "object") return false;
  // A document may have no events; a part of a damaged trace may have lost its sources.
  bool any = false;
  for (const auto& [name, table] : listableTables()) any = any || reader.rows(table) > 0;
  return reader.rows(TableId::kSource) > 0 || !any;
}

Result<uint64_t> writeSourceJson(TraceReader& reader, const Trace& known,
                                 const Selection& selection, Output& out, const RowChoice& choice) {
  const uint64_t lost = SourceJsonWriter(reader, known, selection, out, choice).run();
  TS_CHECK_OK(out.flush());
  return lost;
}

}  // namespace tracesmith
