// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/source_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tracesmith::sbt {
namespace {

uint16_t number(SourceColumn column) { return static_cast<uint16_t>(column); }

bool isText(char letter) {
  return letter == static_cast<char>(SourceGap::kText) ||
         letter == static_cast<char>(SourceGap::kJson);
}

}  // namespace

size_t SourceBlockWriter::fill(BlockBuilder& builder, const SourceRows& sources,
                               const SourceTable& rows, const Piece& piece) {
  used_leaves_ = 0;
  shapes_.assign(sources.shapes.size(), {});
  std::fill(leaf_of_name_.begin(), leaf_of_name_.end(), 0);
  shape_words_.clear();
  // The number of a shape's leaves is limited so that one row fits into a block.
  const auto learn = [&](uint32_t shape) {
    ShapeLeaves& known = shapes_[shape];
    for (const StringId name : sources.shapes[shape].leaves) {
      const auto id = static_cast<size_t>(name);
      if (leaf_of_name_.size() <= id) leaf_of_name_.resize(id + 1, 0);
      if (leaf_of_name_[id] == 0) {
        if (leaves_.size() == used_leaves_) leaves_.emplace_back();
        leaves_[used_leaves_].name = name;
        leaves_[used_leaves_].words.clear();
        leaf_of_name_[id] = static_cast<uint32_t>(++used_leaves_);
      }
      known.leaves.push_back(leaf_of_name_[id] - 1);
    }
    known.known = true;
  };
  size_t next = piece.next;
  for (; next < piece.count; ++next) {
    const size_t row = piece.begin + (piece.order == nullptr ? next : piece.order[next]);
    const uint32_t shape = rows.shape[row];
    if (!shapes_[shape].known) {
      if (used_leaves_ + sources.shapes[shape].leaves.size() > kMostLeaves && next > piece.next) {
        break;
      }
      learn(shape);
    }
    shape_words_.push_back(static_cast<uint64_t>(sources.shapes[shape].text));
    const int64_t* value = rows.value.data() + rows.values[row];
    for (const uint32_t leaf : shapes_[shape].leaves) {
      leaves_[leaf].words.push_back(static_cast<uint64_t>(*value++));
    }
  }
  const size_t taken = next - piece.next;
  builder.begin(static_cast<uint32_t>(taken), static_cast<uint16_t>(TableId::kSource));
  const std::vector<uint64_t> table(taken, static_cast<uint64_t>(piece.table));
  const std::vector<uint64_t> first(taken, piece.first_row);
  builder.addWords(number(SourceColumn::kTable), ElementType::kU32, table);
  builder.addWords(number(SourceColumn::kFirstRow), ElementType::kU64, first);
  builder.addWords(number(SourceColumn::kShape), ElementType::kU32, shape_words_);
  Bytes names(used_leaves_ * kMaxVarintBytes);
  uint8_t* end = names.data();
  for (size_t i = 0; i < used_leaves_; ++i) {
    end = putVarint(end, static_cast<uint64_t>(leaves_[i].name));
  }
  names.resize(static_cast<size_t>(end - names.data()));
  builder.addBytes(number(SourceColumn::kLeaves), names);
  for (size_t i = 0; i < used_leaves_; ++i) {
    builder.addLeaf(
        static_cast<uint16_t>(number(SourceColumn::kFirstLeaf) + i), ElementType::kI64,
        leaves_[i].words,
        static_cast<uint32_t>(piece.table) << 24 ^ static_cast<uint32_t>(leaves_[i].name));
  }
  return taken;
}

namespace {

/// Reads the block in `contents` into `out`, column by column.
class SourceBlockReader {
 public:
  SourceBlockReader(BlockContents& contents, const StringTable& strings, SourceShapes& shapes,
                    SourceBlock& out)
      : contents_(contents), strings_(strings), shapes_(shapes), out_(out) {}
  Problem read();

 private:
  Problem readConstant(SourceColumn column, uint64_t& value);
  Problem readShapes();
  Problem readLeafNames();
  Problem countValues(std::vector<size_t>& counts);
  Problem findLeaves(const SourceShape& shape, std::vector<uint32_t>& places) const;
  Problem readValues(size_t leaf, size_t count);

  BlockContents& contents_;
  const StringTable& strings_;
  SourceShapes& shapes_;
  SourceBlock& out_;
  std::vector<uint64_t> words_;
  std::unordered_map<std::string_view, uint32_t> place_of_leaf_;
};

Problem SourceBlockReader::read() {
  const size_t rows = contents_.rows();
  words_.resize(rows);
  uint64_t table = 0;
  if (Problem problem = readConstant(SourceColumn::kTable, table)) return problem;
  if (table > UINT16_MAX) return damaged("it names no table");
  out_.table = static_cast<TableId>(table);
  if (Problem problem = readConstant(SourceColumn::kFirstRow, out_.first_row)) return problem;
  if (Problem problem = readShapes()) return problem;
  if (Problem problem = readLeafNames()) return problem;
  std::vector<size_t> counts(out_.leaves.size(), 0);
  if (Problem problem = countValues(counts)) return problem;
  for (size_t i = 0; i < out_.leaves.size(); ++i) {
    if (counts[i] > rows) return damaged("a leaf has more values than there are rows");
    if (Problem problem = readValues(i, counts[i])) return problem;
  }
  return {};
}

/// A column in which all rows are equal.
Problem SourceBlockReader::readConstant(SourceColumn column, uint64_t& value) {
  value = 0;
  const ColumnEntry* entry = contents_.find(number(column));
  if (entry == nullptr) return {};
  if (Problem problem = contents_.words(*entry, words_)) return problem;
  value = words_[0];
  return {};
}

Problem SourceBlockReader::readShapes() {
  out_.shape.resize(contents_.rows());
  const ColumnEntry* entry = contents_.find(number(SourceColumn::kShape));
  if (entry == nullptr) return {};
  if (Problem problem = contents_.words(*entry, words_)) return problem;
  for (size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] > strings_.size()) return damaged("it refers to strings that are not there");
    out_.shape[i] = StringId{static_cast<uint32_t>(words_[i])};
  }
  return {};
}

Problem SourceBlockReader::readLeafNames() {
  const ColumnEntry* entry = contents_.find(number(SourceColumn::kLeaves));
  if (entry == nullptr) return {};
  ByteView names;
  if (Problem problem = contents_.bytes(*entry, names)) return problem;
  ByteReader reader(names);
  while (reader.remaining() > 0) {
    const uint64_t name = reader.varint();
    if (!reader.ok() || name == 0 || name > strings_.size() || out_.leaves.size() >= kMostLeaves) {
      return damaged("the names of its leaves make no sense");
    }
    const StringId id{static_cast<uint32_t>(name)};
    place_of_leaf_.emplace(strings_.at(id), static_cast<uint32_t>(out_.leaves.size()));
    out_.leaves.push_back({.name = id, .values = {}});
  }
  return {};
}

/// Derives the number of values of each leaf from the shapes.
Problem SourceBlockReader::countValues(std::vector<size_t>& counts) {
  for (const StringId id : out_.shape) {
    if (id == StringId::kNone) continue;
    auto it = out_.places.find(id);
    if (it == out_.places.end()) {
      const SourceShape* shape = shapes_.at(id);
      if (shape == nullptr) return damaged("it refers to a shape that is none");
      it = out_.places.emplace(id, std::vector<uint32_t>{}).first;
      if (Problem problem = findLeaves(*shape, it->second)) return problem;
    }
    for (const uint32_t place : it->second) ++counts[place];
  }
  return {};
}

Problem SourceBlockReader::findLeaves(const SourceShape& shape,
                                      std::vector<uint32_t>& places) const {
  for (const SourceShape::Gap& gap : shape.gaps) {
    if (!isKept(gap.kind)) continue;
    const auto place = place_of_leaf_.find(leafName(gap.kind, gap.key));
    if (place == place_of_leaf_.end()) return damaged("a leaf of one of its shapes is missing");
    places.push_back(place->second);
  }
  return {};
}

Problem SourceBlockReader::readValues(size_t leaf, size_t count) {
  Column<int64_t>& values = out_.leaves[leaf].values;
  values.resize(count);
  const ColumnEntry* entry =
      contents_.find(static_cast<uint16_t>(number(SourceColumn::kFirstLeaf) + leaf));
  if (entry == nullptr || count == 0) return {};
  const std::string_view name = strings_.at(out_.leaves[leaf].name);
  words_.resize(count);
  if (Problem problem = contents_.words(*entry, std::span<uint64_t>(words_))) {
    problem.text = fmt::format("leaf {}: {}", name, problem.text);
    return problem;
  }
  const bool text = isText(name[0]);
  for (size_t k = 0; k < count; ++k) {
    if (text && words_[k] > strings_.size()) {
      return damaged("it refers to strings that are not there");
    }
    values[k] = static_cast<int64_t>(words_[k]);
  }
  return {};
}

}  // namespace

Problem readSourceBlock(BlockContents& contents, const StringTable& strings, SourceShapes& shapes,
                        SourceBlock& out) {
  out = {};
  if (contents.rows() == 0) return {};
  return SourceBlockReader(contents, strings, shapes, out).read();
}

}  // namespace tracesmith::sbt
