// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/catalog/trace_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tracesmith/base/memory_limit.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/model/clock_map.hpp"
#include "tracesmith/query/columns/column_rules.hpp"

namespace tracesmith {
namespace {

using ColumnNumbers = std::vector<uint16_t>;

ColumnNumbers allNumbersOf(std::span<const ColumnInfo> columns) {
  ColumnNumbers numbers;
  for (const ColumnInfo& info : columns) numbers.push_back(info.number);
  return numbers;
}

bool intersect(const ColumnNumbers& a, const ColumnNumbers& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

struct TraceTables::Impl {
  explicit Impl(TraceReader of) : reader(std::move(of)) {}

  TraceReader reader;
  std::shared_ptr<Loaded> now;
  std::map<TableId, std::set<uint16_t>> there;  // event columns that have been read
  std::set<TableId> in_host_time;               // tables whose times are known to be host times
  std::set<TableId> converted;                  // those whose times were of a device's clock
  std::set<TableId> checked;                    // tables known to have all their rows
  bool whole = false;                           // everything has been read

  Status readBase();
  Status readAllBlocks();
  /// Fails with kDamaged if readAllBlocks() is needed.
  template <class Table>
  Status readColumns(Table& table, const ColumnNumbers& wanted);
  template <class Table>
  Status readThese(Table& table, const ColumnNumbers& wanted);
  Status readOf(TableId table, const std::optional<ColumnNumbers>& wanted);
  /// Verifies that all rows of all tables can be read.
  Status checkAllRows();
  /// The same; of a damaged file reads everything again.
  Result<std::shared_ptr<const Loaded>> need(TableId table,
                                             const std::optional<ColumnNumbers>& wanted);
};

Status TraceTables::Impl::readBase() {
  ReadOptions options;
  options.tables = {TableId::kMetadata};
  TS_TRY(Trace trace, reader.read(options));
  auto loaded = std::make_shared<Loaded>();
  loaded->trace = std::move(trace);
  try {
    forEachTable(loaded->trace, [&](auto& table) {
      constexpr TableId kId = std::decay_t<decltype(table)>::kId;
      if (!sbt::isAlwaysRead(kId)) table.resize(static_cast<size_t>(reader.rows(kId)));
    });
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kNoSpace, "it has more rows than fit into memory");
  }
  loaded->catalog = std::make_unique<Catalog>(loaded->trace);
  now = std::move(loaded);
  return {};
}

Status TraceTables::Impl::readAllBlocks() {
  TS_TRY(Trace trace, reader.read());
  auto loaded = std::make_shared<Loaded>();
  loaded->trace = std::move(trace);
  loaded->catalog = std::make_unique<Catalog>(loaded->trace);
  now = std::move(loaded);  // arrays of the previous one live as long as they are used
  whole = true;
  return {};
}

template <class Table>
Status TraceTables::Impl::readThese(Table& table, const ColumnNumbers& wanted) {
  std::set<uint16_t>& known = there[Table::kId];
  ColumnNumbers missing;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(missing),
               [&](uint16_t number) { return known.count(number) == 0; });
  if (missing.empty()) return {};
  uint64_t row_bytes = 0;
  Table::visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
    if (std::find(missing.begin(), missing.end(), info.number) == missing.end()) return;
    row_bytes += sizeof(typename std::decay_t<decltype(column)>::value_type);
  });
  const uint64_t limit = memoryBudget();
  if (table.size() > limit / row_bytes) {
    return fail(
        ErrorCode::kNoSpace,
        fmt::format("{} columns of {} rows take {} MiB of memory, more than the {} MiB that "
                    "can be taken here now; request fewer columns, or use a machine with more "
                    "free memory",
                    missing.size(), table.size(), (table.size() >> 10) * row_bytes >> 10,
                    limit >> 20));
  }
  TS_CHECK_OK(reader.readColumns(Table::kId, missing, now->trace));
  known.insert(missing.begin(), missing.end());
  return {};
}

/// Converts all times in the clock of a device together, because the bit in `flags` that says
/// whether they need it is cleared afterwards.
template <class Table>
Status TraceTables::Impl::readColumns(Table& table, const ColumnNumbers& wanted) {
  if constexpr (std::is_same_v<Table, CommWorkTable>) {
    const ColumnNumbers times = query_rules::numbersOf(
        Table::kColumns, {"start_ns", "error_ns", "device_start", "clock_domain_id"});
    if (in_host_time.count(Table::kId) == 0 && intersect(wanted, times)) {
      TS_CHECK_OK(readThese(table, times));
      convertToHostTime(now->trace, Table::kId);
      converted.insert(Table::kId);
      in_host_time.insert(Table::kId);
    }
  }
  if constexpr (sbt::kIsDeviceWork<Table>) {
    const ColumnNumbers times = query_rules::numbersOf(
        Table::kColumns, {"start_ns", "duration_ns", "queued_before_ns", "submitted_before_ns"});
    const ColumnNumbers flags = query_rules::numbersOf(Table::kColumns, {"flags"});
    if (in_host_time.count(Table::kId) == 0 &&
        (intersect(wanted, times) || intersect(wanted, flags))) {
      TS_CHECK_OK(readThese(table, flags));
      const bool any = std::any_of(table.flags.begin(), table.flags.end(), [](uint32_t of_row) {
        return (of_row & op_flags::kDeviceClock) != 0;
      });
      if (any) {
        TS_CHECK_OK(readThese(table, query_rules::numbersOf(Table::kColumns, {"stream_id"})));
        TS_CHECK_OK(readThese(table, times));
        convertToHostTime(now->trace, Table::kId);
        converted.insert(Table::kId);
      }
      in_host_time.insert(Table::kId);
    }
  }
  return readThese(table, wanted);
}

/// Without `wanted`: all columns.
Status TraceTables::Impl::readOf(TableId id, const std::optional<ColumnNumbers>& wanted) {
  Status status;
  forEachTable(now->trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    constexpr TableId kId = Table::kId;
    if (kId != id || sbt::isAlwaysRead(kId)) return;
    if (wanted && wanted->empty()) {  // only the number of rows is needed
      if (checked.count(kId) == 0) status = reader.readColumns(kId, {}, now->trace);
    } else {
      status = readColumns(table, wanted ? *wanted : allNumbersOf(Table::kColumns));
    }
    if (status) checked.insert(kId);
  });
  return status;
}

Status TraceTables::Impl::checkAllRows() {
  Status status;
  forEachTable(now->trace, [&](const auto& table) {
    if (status && checked.count(table.kId) == 0) status = readOf(table.kId, ColumnNumbers());
  });
  return status;
}

Result<std::shared_ptr<const TraceTables::Loaded>> TraceTables::Impl::need(
    TableId id, const std::optional<ColumnNumbers>& wanted) {
  if (whole) return now;
  // Attributes of lost rows are left out, so they depend on every other table.
  Status status = id == TableId::kAttribute ? checkAllRows() : Status();
  if (status) status = readOf(id, wanted);
  if (!status && status.error().code == ErrorCode::kDamaged) status = readAllBlocks();
  if (!status) return tl::unexpected(status.error());
  return now;
}

TraceTables::TraceTables(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceTables::TraceTables(TraceTables&&) noexcept = default;
TraceTables& TraceTables::operator=(TraceTables&&) noexcept = default;
TraceTables::~TraceTables() = default;

TraceReader& TraceTables::reader() { return impl_->reader; }
std::shared_ptr<const TraceTables::Loaded> TraceTables::loaded() const { return impl_->now; }

Result<TraceTables> TraceTables::open(TraceReader reader) {
  auto impl = std::make_unique<Impl>(std::move(reader));
  if (impl->reader.losses().empty()) TS_CHECK_OK(impl->readBase());
  // Some damage shows only when a block is read. Rows of one table can then be missing because of
  // another one's: attributes of lost rows.
  if (!impl->reader.losses().empty()) TS_CHECK_OK(impl->readAllBlocks());
  return TraceTables(std::move(impl));
}

Result<std::shared_ptr<const TraceTables::Loaded>> TraceTables::need(
    std::string_view table_name, std::span<const std::string> columns) {
  const SqlTable* const table = impl_->now->catalog->find(table_name);
  if (table == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no table '{}'", table_name));
  }
  TableId id{};
  forEachTable(impl_->now->trace, [&](const auto& of) {
    if (of.kName == table_name) id = of.kId;
  });
  std::optional<ColumnNumbers> wanted{std::in_place};
  bool others = id == TableId{};  // computed from other tables
  for (const std::string& name : columns) {
    const auto column = std::find_if(table->columns().begin(), table->columns().end(),
                                     [&](const auto& c) { return c->name() == name; });
    if (column == table->columns().end()) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("table '{}' has no column '{}'", table_name, name));
    }
    const std::vector<uint16_t>& made_of = (*column)->sourceColumns();
    if (made_of.empty()) wanted.reset();
    if (wanted) wanted->insert(wanted->end(), made_of.begin(), made_of.end());
  }
  if (others) return needAll();
  return impl_->need(id, wanted);
}

Result<std::shared_ptr<const TraceTables::Loaded>> TraceTables::need(
    TableId id, std::initializer_list<std::string_view> columns) {
  std::optional<ColumnNumbers> wanted;
  forEachTable(impl_->now->trace, [&](const auto& table) {
    if (table.kId == id) wanted = query_rules::numbersOf(table.kColumns, columns);
  });
  if (!wanted || wanted->size() != columns.size()) {
    return fail(ErrorCode::kNotFound, "the table does not have these columns");
  }
  return impl_->need(id, wanted);
}

void TraceTables::forget(TableId id, std::initializer_list<std::string_view> names) {
  if (impl_->whole || impl_->converted.count(id) != 0) return;
  forEachTable(impl_->now->trace, [&](auto& table) {
    if (table.kId != id || sbt::isAlwaysRead(id)) return;
    const ColumnNumbers numbers = query_rules::numbersOf(table.kColumns, names);
    table.visitColumns(table, [&](const ColumnInfo& info, auto& column) {
      if (std::find(numbers.begin(), numbers.end(), info.number) == numbers.end()) return;
      if (impl_->there[id].erase(info.number) == 0) return;
      const size_t rows = column.size();
      column = {};
      column.resize(rows);
    });
  });
}

uint64_t TraceTables::unreadBytes() const {
  if (impl_->whole) return 0;
  uint64_t bytes = 0;
  forEachTable(impl_->now->trace, [&](auto& table) {
    constexpr TableId kId = std::decay_t<decltype(table)>::kId;
    if (sbt::isAlwaysRead(kId)) return;
    const auto known = impl_->there.find(kId);
    table.visitColumns(table, [&](const ColumnInfo& info, const auto& column) {
      if (known != impl_->there.end() && known->second.count(info.number) != 0) return;
      bytes += column.size() * sizeof(typename std::decay_t<decltype(column)>::value_type);
    });
  });
  return bytes;
}

Result<std::shared_ptr<const TraceTables::Loaded>> TraceTables::needAll() {
  if (impl_->whole) return impl_->now;
  Status status;
  forEachTable(impl_->now->trace, [&](const auto& table) {
    if (status) status = impl_->readOf(table.kId, std::nullopt);
  });
  if (!status && status.error().code == ErrorCode::kDamaged) status = impl_->readAllBlocks();
  if (!status) return tl::unexpected(status.error());
  impl_->whole = true;
  return impl_->now;
}

}  // namespace tracesmith
