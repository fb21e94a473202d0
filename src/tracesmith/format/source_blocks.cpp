// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/source_blocks.hpp"

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
  // Every shape has at most so many leaves that one row fits into a block.
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

Problem readSourceBlock(BlockContents& contents, const StringTable& strings, SourceShapes& shapes,
                        SourceBlock& out) {
  const size_t rows = contents.rows();
  out = {};
  if (rows == 0) return {};
  std::vector<uint64_t> words(rows);
  const auto constant = [&](SourceColumn column, uint64_t& value) -> Problem {
    value = 0;
    const ColumnEntry* entry = contents.find(number(column));
    if (entry == nullptr) return {};
    if (Problem problem = contents.words(*entry, words)) return problem;
    value = words[0];
    return {};
  };
  uint64_t table = 0;
  if (Problem problem = constant(SourceColumn::kTable, table)) return problem;
  if (table > UINT16_MAX) return damaged("it names no table");
  out.table = static_cast<TableId>(table);
  if (Problem problem = constant(SourceColumn::kFirstRow, out.first_row)) return problem;
  out.shape.resize(rows);
  if (const ColumnEntry* entry = contents.find(number(SourceColumn::kShape)); entry != nullptr) {
    if (Problem problem = contents.words(*entry, words)) return problem;
    for (size_t i = 0; i < rows; ++i) {
      if (words[i] > strings.size()) return damaged("it refers to strings that are not there");
      out.shape[i] = StringId{static_cast<uint32_t>(words[i])};
    }
  }
  std::unordered_map<std::string_view, uint32_t> place_of_leaf;
  if (const ColumnEntry* entry = contents.find(number(SourceColumn::kLeaves)); entry != nullptr) {
    ByteView names;
    if (Problem problem = contents.bytes(*entry, names)) return problem;
    ByteReader reader(names);
    while (reader.remaining() > 0) {
      const uint64_t name = reader.varint();
      if (!reader.ok() || name == 0 || name > strings.size() || out.leaves.size() >= kMostLeaves) {
        return damaged("the names of its leaves make no sense");
      }
      const StringId id{static_cast<uint32_t>(name)};
      place_of_leaf.emplace(strings.at(id), static_cast<uint32_t>(out.leaves.size()));
      out.leaves.push_back({.name = id, .values = {}});
    }
  }
  // How many values each leaf has follows from the shapes.
  std::vector<size_t> counts(out.leaves.size(), 0);
  for (const StringId id : out.shape) {
    if (id == StringId::kNone) continue;
    auto it = out.places.find(id);
    if (it == out.places.end()) {
      const SourceShape* shape = shapes.at(id);
      if (shape == nullptr) return damaged("it refers to a shape that is none");
      it = out.places.emplace(id, std::vector<uint32_t>{}).first;
      for (const SourceShape::Gap& gap : shape->gaps) {
        if (!isKept(gap.kind)) continue;
        const auto place = place_of_leaf.find(leafName(gap.kind, gap.key));
        if (place == place_of_leaf.end()) return damaged("a leaf of one of its shapes is missing");
        it->second.push_back(place->second);
      }
    }
    for (const uint32_t place : it->second) ++counts[place];
  }
  for (size_t i = 0; i < out.leaves.size(); ++i) {
    if (counts[i] > rows) return damaged("a leaf has more values than there are rows");
    Column<int64_t>& values = out.leaves[i].values;
    values.resize(counts[i]);
    const ColumnEntry* entry =
        contents.find(static_cast<uint16_t>(number(SourceColumn::kFirstLeaf) + i));
    if (entry == nullptr || counts[i] == 0) continue;
    words.resize(counts[i]);
    if (Problem problem = contents.words(*entry, std::span<uint64_t>(words))) {
      problem.text = fmt::format("leaf {}: {}", strings.at(out.leaves[i].name), problem.text);
      return problem;
    }
    const bool text = isText(strings.at(out.leaves[i].name)[0]);
    for (size_t k = 0; k < counts[i]; ++k) {
      if (text && words[k] > strings.size()) {
        return damaged("it refers to strings that are not there");
      }
      values[k] = static_cast<int64_t>(words[k]);
    }
  }
  return {};
}

}  // namespace tracesmith::sbt
