// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/catalog.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/query/column_rules.hpp"

namespace tracesmith {
namespace {

/// A column whose cells a function of the row number gives.
template <class F>
class ComputedColumn final : public SqlColumn {
 public:
  ComputedColumn(std::string name, const char* type, ColumnRole role, std::string meaning, F f)
      : SqlColumn(std::move(name), type, role, std::move(meaning)), f_(std::move(f)) {}
  Value at(uint64_t row) const override { return f_(row); }

 private:
  F f_;
};

/// A column of text ids.
class TextColumn final : public SqlColumn {
 public:
  TextColumn(std::string name, std::string meaning, const Trace& trace, const TextRanks& ranks,
             const Column<StringId>& ids)
      : SqlColumn(std::move(name), "TEXT", ColumnRole::kText, std::move(meaning)),
        trace_(trace),
        ranks_(ranks),
        ids_(ids) {}
  Value at(uint64_t row) const override {
    const StringId id = ids_[row];
    const auto i = static_cast<uint32_t>(id);
    return i == 0 || i > trace_.strings.size() ? Value{} : Value::ofText(trace_.text(id));
  }
  uint64_t rank(uint64_t row) const override { return ranks_.of(ids_[row]); }

 private:
  const Trace& trace_;
  const TextRanks& ranks_;
  const Column<StringId>& ids_;
};

/// A column of a small vocabulary, shown by name.
template <class E>
class KindColumn final : public SqlColumn {
 public:
  KindColumn(std::string name, std::string meaning, const Column<E>& kinds)
      : SqlColumn(std::move(name), "TEXT", ColumnRole::kText, std::move(meaning)), kinds_(kinds) {
    // Numbers that this version does not know are all named "unknown", like the first of them.
    size_t known = 1;
    while (toString(static_cast<E>(known)) != "unknown") ++known;
    for (size_t v = 0; v <= known; ++v) {
      for (size_t other = 0; other <= known; ++other) {
        const bool lower = toString(static_cast<E>(other)) < toString(static_cast<E>(v));
        ranks_[v] = static_cast<uint8_t>(ranks_[v] + (lower ? 1 : 0));
      }
    }
    std::fill(ranks_.begin() + static_cast<ptrdiff_t>(known), ranks_.end(), ranks_[known]);
  }
  Value at(uint64_t row) const override { return Value::ofText(toString(kinds_[row])); }
  uint64_t rank(uint64_t row) const override { return ranks_[static_cast<uint8_t>(kinds_[row])]; }

 private:
  const Column<E>& kinds_;
  std::array<uint8_t, 256> ranks_{};
};

template <class T>
constexpr bool kIsId = std::is_enum_v<T> && sizeof(T) == 4 && !std::is_same_v<T, StringId>;
template <class T>
constexpr bool kIsKind = std::is_enum_v<T> && sizeof(T) == 1;

template <class T>
Value number(T v) {
  if constexpr (std::is_same_v<T, double>) {
    return Value::ofReal(v);
  } else if constexpr (std::is_enum_v<T>) {
    return Value::ofInteger(static_cast<int64_t>(static_cast<std::underlying_type_t<T>>(v)));
  } else if constexpr (std::is_unsigned_v<T>) {
    return Value::ofUnsigned(v);
  } else {
    return Value::ofInteger(v);
  }
}

Value flag(bool v) { return Value::ofInteger(v ? 1 : 0); }

const char* tableNameOf(uint32_t number) {
  switch (static_cast<TableId>(number)) {
#define TS_Y(id, Name, name, columns) \
  case TableId::k##Name:              \
    return #name;
    TS_TABLES(TS_Y)
#undef TS_Y
    default:
      return nullptr;
  }
}

/// Makes the columns of one table.
template <class Table>
class TableMaker {
 public:
  TableMaker(const Trace& trace, const TextRanks& ranks, const Table& rows, SqlTable& out)
      : trace_(trace), ranks_(ranks), t_(rows), out_(out) {}

  void make() {
    out_.setRows(t_.size());
    addNumberedId();
    Table::visitColumns(
        t_, [&](const ColumnInfo& info, const auto& column) { addSchemaColumn(info, column); });
    addFlags();
    addTimes();
    addPlaces();
    if constexpr (Table::kId == TableId::kKernel) addKernelShape();
    if constexpr (Table::kId == TableId::kClockDomain) addTickRate();
    std::stable_sort(out_.mutableColumns().begin(), out_.mutableColumns().end(),
                     [](const auto& a, const auto& b) {
                       return query_rules::rankOf(a->name()) < query_rules::rankOf(b->name());
                     });
    addAlias();
  }

 private:
  template <class F>
  SqlColumn* add(std::string name, ColumnRole role, std::string meaning, F f,
                 const char* type = "INTEGER") {
    out_.add(std::make_unique<ComputedColumn<F>>(std::move(name), type, role, std::move(meaning),
                                                 std::move(f)));
    return out_.mutableColumns().back().get();
  }

  template <class T>
  void addSchemaColumn(const ColumnInfo& info, const Column<T>& column) {
    const std::string name(query_rules::sqlName(Table::kId, info.name));
    const bool nullable = query_rules::zeroIsNull(Table::kId, info.name);
    const std::string_view raw = info.name;
    if constexpr (std::is_same_v<T, StringId>) {
      out_.add(std::make_unique<TextColumn>(name, info.meaning, trace_, ranks_, column));
    } else if constexpr (kIsKind<T>) {
      out_.add(std::make_unique<KindColumn<T>>(name, info.meaning, column));
    } else if constexpr (kIsId<T>) {
      const bool key = isKeyed(Table::kId) && raw == "id";
      SqlColumn* made =
          add(name, key ? ColumnRole::kRowId : ColumnRole::kReference, info.meaning,
              [&column](uint64_t row) {
                return static_cast<uint32_t>(column[row]) == 0 ? Value{} : number(column[row]);
              });
      if (key) out_.setPresence(made);
    } else if (!addSpecialColumn(raw, name, info.meaning)) {
      const ColumnRole role =
          query_rules::isReference(raw) ? ColumnRole::kReference : ColumnRole::kPlain;
      const char* type = std::is_same_v<T, double> ? "REAL" : "INTEGER";
      if (nullable) {
        add(
            name, role, info.meaning,
            [&column](uint64_t row) { return column[row] == T{} ? Value{} : number(column[row]); },
            type);
      } else {
        add(
            name, role, info.meaning, [&column](uint64_t row) { return number(column[row]); },
            type);
      }
    }
  }

  /// Columns whose NULL depends on another column, or that read differently than they are kept.
  bool addSpecialColumn(std::string_view raw, const std::string& name, const char* meaning) {
    if constexpr (requires { t_.queued_before_ns; }) {
      if (raw == "queued_before_ns" || raw == "submitted_before_ns") {
        const auto& column = raw[0] == 'q' ? t_.queued_before_ns : t_.submitted_before_ns;
        add(name, ColumnRole::kPlain, meaning, [table = &t_, &column](uint64_t row) {
          return (table->flags[row] & op_flags::kQueueTimes) != 0 ? number(column[row]) : Value{};
        });
        return true;
      }
      if (raw == "duration_ns") {
        add(name, ColumnRole::kReference, meaning, [t = &t_](uint64_t row) {
          return (t->flags[row] & op_flags::kNoDeviceTime) != 0 ? Value{}
                                                                : number(t->duration_ns[row]);
        });
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kProcess) {
      if (raw == "exit_code") {
        add(name, ColumnRole::kPlain, meaning, [t = &t_](uint64_t row) {
          const bool ended =
              t->end_ns[row] != 0 && (t->flags[row] & process_flags::kStillRunning) == 0;
          return ended ? number(t->exit_code[row]) : Value{};
        });
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kAttribute) {
      if (raw == "table") {
        add(
            name, ColumnRole::kPlain, "the table that it describes a row of",
            [t = &t_](uint64_t row) {
              const char* text = tableNameOf(t->table[row]);
              return text == nullptr ? Value{} : Value::ofText(text);
            },
            "TEXT");
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kRange) {
      if (raw == "event_type") {
        add(
            name, ColumnRole::kPlain, meaning,
            [t = &t_](uint64_t row) {
              const uint32_t type = t->event_type[row];
              return type == 0 || type >= kEventTypeCount
                         ? Value{}
                         : Value::ofText(eventTypeToString(static_cast<EventType>(type)));
            },
            "TEXT");
        return true;
      }
    }
    return false;
  }

  /// Dictionaries number their rows; the number is not a column of the schema.
  void addNumberedId() {
    if constexpr (Table::kId == TableId::kLaunchShape || Table::kId == TableId::kCallPath ||
                  Table::kId == TableId::kFrame || Table::kId == TableId::kCounterTrack) {
      add("id", ColumnRole::kRowId, "id of this row",
          [](uint64_t row) { return Value::ofUnsigned(row + 1); });
    }
  }

  void addFlags() {
    if constexpr (requires { t_.flags; }) {
      const auto columns = query_rules::flagColumns(Table::kId);
      for (size_t i = 0; i < columns.count; ++i) {
        const uint32_t bit = columns.first[i].bit;
        add(columns.first[i].name, ColumnRole::kPlain, columns.first[i].meaning,
            [t = &t_, bit](uint64_t row) { return flag((t->flags[row] & bit) != 0); });
      }
    }
  }

  void addTimes() {
    if constexpr (requires { t_.start_ns[0] + t_.duration_ns[0]; }) {
      add("end_ns", ColumnRole::kPlain, "start_ns + duration_ns", [t = &t_](uint64_t row) {
        if constexpr (requires { t->queued_before_ns; }) {
          if ((t->flags[row] & op_flags::kNoDeviceTime) != 0) return Value{};
        }
        int64_t end = 0;
        const bool overflow = __builtin_add_overflow(t->start_ns[row], t->duration_ns[row], &end);
        return overflow ? Value{} : number(end);
      });
    }
    if constexpr (requires { t_.queued_before_ns; }) {
      addBefore("queued_ns", "host time at which it was queued, if known", t_.queued_before_ns);
      addBefore("submitted_ns", "host time at which it was submitted to the device, if known",
                t_.submitted_before_ns);
    }
  }

  void addBefore(const char* name, const char* meaning, const Column<int64_t>& before) {
    add(name, ColumnRole::kPlain, meaning, [t = &t_, &before](uint64_t row) {
      int64_t time = 0;
      const bool known = (t->flags[row] & op_flags::kQueueTimes) != 0 &&
                         !__builtin_sub_overflow(t->start_ns[row], before[row], &time);
      return known ? number(time) : Value{};
    });
  }

  /// The system's numbers, and where a stream lies.
  void addPlaces() {
    const Trace* trace = &trace_;
    if constexpr (Table::kId != TableId::kProcess && requires { t_.process_id; }) {
      add("pid", ColumnRole::kPlain, "the system's process number", [trace, t = &t_](uint64_t row) {
        const auto i = static_cast<size_t>(t->process_id[row]);
        const auto& pids = trace->process.pid;
        return i == 0 || i > pids.size() || pids[i - 1] == 0 ? Value{} : number(pids[i - 1]);
      });
    }
    if constexpr (requires { t_.thread_id; }) {
      add("tid", ColumnRole::kPlain, "the system's thread number", [trace, t = &t_](uint64_t row) {
        const auto i = static_cast<size_t>(t->thread_id[row]);
        const auto& tids = trace->thread.tid;
        return i == 0 || i > tids.size() || tids[i - 1] == 0 ? Value{} : number(tids[i - 1]);
      });
    }
    if constexpr (requires { t_.stream_id; }) {
      add("device_id", ColumnRole::kPlain, "device of the stream", [trace, t = &t_](uint64_t row) {
        const DeviceId id = trace->deviceOf(t->stream_id[row]);
        return id == DeviceId::kNone ? Value{} : number(id);
      });
      add("context_id", ColumnRole::kPlain, "context of the stream",
          [trace, t = &t_](uint64_t row) {
            const ContextId id = trace->contextOf(t->stream_id[row]);
            return id == ContextId::kNone ? Value{} : number(id);
          });
    }
  }

  /// The shape of a launch as columns of the kernel itself.
  void addKernelShape() {
    if constexpr (Table::kId == TableId::kKernel) {
      const LaunchShapeTable& s = trace_.launch_shape;
      addGrid("grid_x", "work-groups (blocks) in x; NULL where the driver chose their size",
              s.global_x, s.local_x);
      addGrid("grid_y", "in y", s.global_y, s.local_y);
      addGrid("grid_z", "in z", s.global_z, s.local_z);
      addShape("block_x", "work-items of a group in x; 0: the driver chose", s.local_x);
      addShape("block_y", "in y", s.local_y);
      addShape("block_z", "in z", s.local_z);
      addShape("global_x", "work-items (threads) in x", s.global_x);
      addShape("global_y", "in y", s.global_y);
      addShape("global_z", "in z", s.global_z);
      addShape("static_shared_bytes", "static shared (local) memory of a group",
               s.static_shared_bytes);
      addShape("dynamic_shared_bytes", "dynamic shared memory of a group", s.dynamic_shared_bytes);
      addShape("registers_per_thread", "registers", s.registers_per_thread);
    }
  }

  template <class T>
  void addShape(const char* name, const char* meaning, const Column<T>& column) {
    add(name, ColumnRole::kPlain, meaning, [t = &t_, &column](uint64_t row) {
      const auto i = static_cast<size_t>(t->shape_id[row]);
      return i == 0 || i > column.size() ? Value{} : number(column[i - 1]);
    });
  }

  void addGrid(const char* name, const char* meaning, const Column<uint64_t>& global,
               const Column<uint32_t>& local) {
    add(name, ColumnRole::kPlain, meaning, [t = &t_, &global, &local](uint64_t row) {
      const auto i = static_cast<size_t>(t->shape_id[row]);
      if (i == 0 || i > global.size() || local[i - 1] == 0) return Value{};
      const uint64_t block = local[i - 1];
      return Value::ofUnsigned(global[i - 1] / block + (global[i - 1] % block != 0 ? 1 : 0));
    });
  }

  void addTickRate() {
    if constexpr (Table::kId == TableId::kClockDomain) {
      add(
          "ns_per_tick", ColumnRole::kPlain, "length of a tick",
          [t = &t_](uint64_t row) {
            const auto numerator =
                static_cast<double>(std::max<uint64_t>(1, t->tick_numerator[row]));
            const auto denominator =
                static_cast<double>(std::max<uint64_t>(1, t->tick_denominator[row]));
            return Value::ofReal(numerator / denominator);
          },
          "REAL");
    }
  }

  void addAlias() {
    const std::string_view alias = query_rules::idAlias(Table::kId);
    if (alias.empty()) return;
    add(std::string(alias), ColumnRole::kRowId, "the same as id, for JOIN ... USING",
        [t = &t_](uint64_t row) {
          if constexpr (isKeyed(Table::kId)) {
            return static_cast<uint32_t>(t->id[row]) == 0 ? Value{} : number(t->id[row]);
          } else {
            (void)t;
            return Value::ofUnsigned(row + 1);
          }
        })
        ->hide();
  }

  const Trace& trace_;
  const TextRanks& ranks_;
  const Table& t_;
  SqlTable& out_;
};

}  // namespace

uint32_t TextRanks::of(StringId id) const {
  if (ranks_.empty()) {
    std::vector<uint32_t> ids(trace_.strings.size());
    std::iota(ids.begin(), ids.end(), 1u);
    auto textOf = [&](uint32_t i) { return trace_.strings.at(static_cast<StringId>(i)); };
    std::sort(ids.begin(), ids.end(),
              [&](uint32_t a, uint32_t b) { return textOf(a) < textOf(b); });
    ranks_.resize(ids.size() + 1);
    uint32_t rank = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i == 0 || textOf(ids[i]) != textOf(ids[i - 1])) ++rank;
      ranks_[ids[i]] = rank;
    }
  }
  const auto i = static_cast<size_t>(id);
  return i < ranks_.size() ? ranks_[i] : 0;
}

Catalog::Catalog(const Trace& trace) : trace_(trace), ranks_(trace) {
  forEachTable(trace_, [&](const auto& rows) {
    using Table = std::decay_t<decltype(rows)>;
    const char* meaning = query_rules::meaningOf(Table::kId);
    if (meaning == nullptr) return;
    auto table = std::make_unique<SqlTable>(Table::kName, meaning);
    TableMaker<Table>(trace_, ranks_, rows, *table).make();
    tables_.push_back(std::move(table));
  });
  addSchemaTable();
}

/// The catalog as a table of its own, so that a query can ask what there is to ask.
void Catalog::addSchemaTable() {
  struct Place {
    const SqlTable* table;
    const SqlColumn* column;
  };
  auto places = std::make_shared<std::vector<Place>>();
  for (const auto& table : tables_) {
    for (const auto& column : table->columns()) {
      if (!column->hidden()) places->push_back({table.get(), column.get()});
    }
  }
  auto schema = std::make_unique<SqlTable>("schema", "the tables and columns themselves");
  schema->setRows(places->size());
  auto add = [&](const char* name, const char* meaning, auto pick) {
    auto cell = [places, pick](uint64_t row) { return Value::ofText(pick((*places)[row])); };
    schema->add(std::make_unique<ComputedColumn<decltype(cell)>>(name, "TEXT", ColumnRole::kPlain,
                                                                 meaning, std::move(cell)));
  };
  using Text = std::string_view;
  add("table_name", "name of the table", [](const Place& p) { return Text(p.table->name()); });
  add("column_name", "name of the column", [](const Place& p) { return Text(p.column->name()); });
  add("type", "INTEGER, REAL or TEXT", [](const Place& p) { return Text(p.column->type()); });
  add("meaning", "what it says", [](const Place& p) { return Text(p.column->meaning()); });
  tables_.push_back(std::move(schema));
}

const SqlTable* Catalog::find(std::string_view name) const {
  for (const auto& table : tables_) {
    if (table->name() == name) return table.get();
  }
  return nullptr;
}

}  // namespace tracesmith
