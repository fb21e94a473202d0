// SPDX-License-Identifier: Apache-2.0
// Columns read one by one, in any order, compared with the same trace read as a whole.
#include "tracesmith/query/catalog/trace_tables.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tracesmith/format/trace_mutation_test_util.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/query/arrow/arrow_table.hpp"
#include "tracesmith/query/catalog/column_array.hpp"
#include "tracesmith/query/columns/utf8.hpp"

namespace tracesmith {
namespace {

std::string textOf(const Cell& cell) {
  switch (cell.type) {
    case ValueType::kInteger:
      return std::to_string(cell.integer);
    case ValueType::kLarge:
      return std::to_string(static_cast<uint64_t>(cell.integer));
    case ValueType::kReal:
      return std::to_string(std::bit_cast<uint64_t>(cell.real));
    case ValueType::kText: {
      std::vector<char> text;
      appendUtf8(text, {cell.text, cell.bytes});
      return std::string(text.begin(), text.end());
    }
    default:
      return "NULL";
  }
}

std::string textOf(const ColumnArray& array, uint64_t row) {
  if (!array.valid.empty() && (array.valid[row / 8] >> row % 8 & 1) == 0) return "NULL";
  switch (array.format) {
    case 'I':
      return std::to_string(static_cast<const uint32_t*>(array.data)[row]);
    case 'L':
      return std::to_string(static_cast<const uint64_t*>(array.data)[row]);
    case 'l':
      return std::to_string(static_cast<const int64_t*>(array.data)[row]);
    case 'g':
      return std::to_string(std::bit_cast<uint64_t>(static_cast<const double*>(array.data)[row]));
    default: {
      const auto number = static_cast<size_t>(static_cast<const int32_t*>(array.data)[row]);
      return std::string(array.texts.data() + array.text_ends[number],
                         array.texts.data() + array.text_ends[number + 1]);
    }
  }
}

const SqlColumn& columnOf(const SqlTable& table, const std::string& name) {
  for (const auto& column : table.columns()) {
    if (column->name() == name) return *column;
  }
  ADD_FAILURE() << name;
  return table.column(0);
}

/// Requests one column from `tables` and compares it with the whole trace.
void expectSame(TraceTables& tables, const Catalog& whole, const std::string& table_name,
                const std::string& name) {
  SCOPED_TRACE(table_name + "." + name);
  const std::vector<std::string> names = {name};
  const auto loaded = tables.need(table_name, names);
  ASSERT_TRUE(loaded) << loaded.error().toString();
  const SqlTable& table = *(*loaded)->catalog->find(table_name);
  const ColumnArray array = columnArray(*loaded, table, columnOf(table, name));
  const SqlTable& expected = *whole.find(table_name);
  uint64_t place = 0;
  for (uint64_t row = 0; row < expected.rows(); ++row) {
    if (!expected.hasRow(row)) continue;
    ASSERT_LT(place, array.rows);
    Cell cell;
    columnOf(expected, name).read(&row, 1, &cell);
    ASSERT_EQ(textOf(array, place), textOf(cell)) << "row " << row;
    ++place;
  }
  EXPECT_EQ(place, array.rows);
  std::string before;
  for (size_t i = 1; i < array.text_ends.size(); ++i) {  // texts are distinct and sorted
    const std::string text(array.texts.data() + array.text_ends[i - 1],
                           array.texts.data() + array.text_ends[i]);
    ASSERT_TRUE(i == 1 || before < text);
    before = text;
  }
  EXPECT_EQ(place, presentRows(table));
}

/// All columns in random order, from files that are reopened after a few columns.
void expectSameColumns(const std::string& path, std::mt19937_64& random) {
  Result<TraceReader> reader = TraceReader::open(path);
  if (!reader) {
    EXPECT_FALSE(TraceReader::open(path));
    return;
  }
  const Result<Trace> trace = reader->read();
  ASSERT_TRUE(trace);
  const Catalog whole(*trace);
  std::vector<std::pair<std::string, std::string>> columns;
  for (const auto& table : whole.tables()) {
    for (const auto& column : table->columns()) columns.emplace_back(table->name(), column->name());
  }
  std::shuffle(columns.begin(), columns.end(), random);
  std::unique_ptr<TraceTables> tables;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (tables == nullptr || random() % 50 == 0) {
      Result<TraceTables> opened = TraceTables::open(*TraceReader::open(path));
      ASSERT_TRUE(opened) << opened.error().toString();
      tables = std::make_unique<TraceTables>(std::move(*opened));
    }
    ASSERT_NO_FATAL_FAILURE(expectSame(*tables, whole, columns[i].first, columns[i].second));
  }
}

TEST(TraceTables, ColumnsOneByOneAreThoseOfTheWhole) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const test::TempFile file;
    ASSERT_NO_FATAL_FAILURE(test::writeRandomTrace(file.path(), random, true));
    ASSERT_NO_FATAL_FAILURE(expectSameColumns(file.path(), random));
  }
}

TEST(TraceTables, OfDamagedFilesToo) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const test::TempFile file;
    file.write(test::makeDamagedSeed(seed, random));
    ASSERT_NO_FATAL_FAILURE(expectSameColumns(file.path(), random));
  }
}

TEST(TraceTables, AttributesOfLostRowsAreLeftOut) {
  const test::TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace trace;
  for (int i = 0; i < 10; ++i) trace.kernel.push({.start_ns = 100 * i, .duration_ns = 10});
  trace.attribute.push({.table = static_cast<uint16_t>(TableId::kKernel), .row_number = 3});
  ASSERT_TRUE(writer->write(trace));
  ASSERT_TRUE(writer->finish());
  const auto blocks = TraceReader::open(file.path())->blocks();
  const auto kernels = std::find_if(blocks.begin(), blocks.end(), [](const BlockInfo& block) {
    return block.table == TableId::kKernel;
  });
  ASSERT_NE(kernels, blocks.end());
  Bytes bytes = file.bytes();
  // In the directory of columns, which is read only with the block.
  bytes[static_cast<size_t>(kernels->offset) + sbt::kBlockHeaderBytes] ^= 1;
  file.write(bytes);
  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(file.path()));
  ASSERT_TRUE(tables);
  EXPECT_EQ(presentRows(*tables->loaded()->catalog->find("attribute")), 1u);
  const auto loaded = tables->need("attribute", std::vector<std::string>{"row_number"});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(presentRows(*(*loaded)->catalog->find("attribute")), 0u);
}

TEST(TraceTables, TimesOfADeviceClockAreHostTime) {
  const test::TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace trace;
  trace.clock_domain.push({.id = ClockDomainId{1}});
  trace.clock_snapshot.push({.domain_id = ClockDomainId{1}, .host_ns = 1000, .clock_value = 0});
  trace.clock_snapshot.push({.domain_id = ClockDomainId{1}, .host_ns = 2000, .clock_value = 500});
  trace.device.push({.id = DeviceId{1}, .clock_domain_id = ClockDomainId{1}});
  trace.stream.push({.id = StreamId{1}, .device_id = DeviceId{1}});
  trace.kernel.push({.start_ns = 250,
                     .duration_ns = 10,
                     .stream_id = StreamId{1},
                     .flags = op_flags::kDeviceClock});
  ASSERT_TRUE(writer->write(trace));
  ASSERT_TRUE(writer->finish());
  for (const char* first : {"flags", "duration_ns", "start_ns", "stream_id", "queued_ns"}) {
    Result<TraceTables> tables = TraceTables::open(*TraceReader::open(file.path()));
    ASSERT_TRUE(tables);
    for (const char* name : {first, "start_ns"}) {
      ASSERT_TRUE(tables->need("kernel", std::vector<std::string>{name}));
    }
    EXPECT_EQ(tables->loaded()->trace.kernel.start_ns[0], 1500) << first;
    EXPECT_EQ(tables->loaded()->trace.kernel.flags[0], 0u);
  }
}

TEST(TraceTables, WhatThereIsNot) {
  const test::TempFile file;
  file.write(test::makeSeed(1));
  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(file.path()));
  ASSERT_TRUE(tables);
  const auto none = tables->need("kernal", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  const auto no_column = tables->need("kernel", std::vector<std::string>{"nme"});
  ASSERT_FALSE(no_column);
  EXPECT_EQ(no_column.error().message, "table 'kernel' has no column 'nme'");
}

TEST(ArrowTable, IsReleasedWhateverWasTaken) {
  const test::TempFile file;
  file.write(test::makeSeed(5));
  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(file.path()));
  ASSERT_TRUE(tables);
  for (int taken = 0; taken < 4; ++taken) {
    const auto loaded = tables->needAll();
    ASSERT_TRUE(loaded);
    const SqlTable& table = *(*loaded)->catalog->find("schema");
    std::vector<std::pair<std::string, ColumnArray>> columns;
    for (const auto& column : table.columns()) {
      columns.emplace_back(column->name(), columnArray(*loaded, table, *column));
    }
    ArrowArrayStream stream;
    startArrowTable(presentRows(table), std::move(columns), &stream);
    ArrowSchema schema;
    ArrowArray batch;
    if (taken > 0) {
      ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
      EXPECT_STREQ(schema.children[0]->format, "i");
      EXPECT_STREQ(schema.children[0]->dictionary->format, "U");
      schema.release(&schema);
    }
    if (taken > 1) {
      ASSERT_EQ(stream.get_next(&stream, &batch), 0);
      EXPECT_EQ(batch.length, static_cast<int64_t>(presentRows(table)));
      ArrowArray moved = *batch.children[0];  // consumers take a child out like this
      batch.children[0]->release = nullptr;
      batch.release(&batch);
      EXPECT_GT(moved.dictionary->length, 0);
      moved.release(&moved);
    }
    if (taken > 2) {
      ASSERT_EQ(stream.get_next(&stream, &batch), 0);
      EXPECT_EQ(batch.release, nullptr);
    }
    stream.release(&stream);
    EXPECT_EQ(stream.release, nullptr);
  }
}

}  // namespace
}  // namespace tracesmith
