// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/catalog/catalog.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "tracesmith/model/trace_event.hpp"
#include "tracesmith/query/catalog/views.hpp"
#include "tracesmith/query/columns/column_rules.hpp"
#include "tracesmith/query/columns/computed_column.hpp"
#include "tracesmith/query/columns/frame_column.hpp"
#include "tracesmith/query/columns/kernel_name_column.hpp"
#include "tracesmith/query/columns/schema_column.hpp"
#include "tracesmith/query/columns/stacked_table.hpp"
#include "tracesmith/query/columns/step_table.hpp"

namespace tracesmith {
namespace {

template <class T>
constexpr bool kIsId = std::is_enum_v<T> && sizeof(T) == 4 && !std::is_same_v<T, StringId>;
template <class T>
constexpr bool kIsKind = std::is_enum_v<T> && sizeof(T) == 1;

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

void sortByRank(std::vector<std::unique_ptr<SqlColumn>>& columns) {
  std::stable_sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) {
    return query_rules::rankOf(a->name()) < query_rules::rankOf(b->name());
  });
}

/// Creates columns, knowing of the table only its id and the columns that it is given: a template
/// for each table would compile the same code thirty times.
class ColumnMaker {
 public:
  ColumnMaker(const Trace& trace, TableId table, std::span<const ColumnInfo> schema, SqlTable& out)
      : trace_(trace), table_(table), schema_(schema), out_(out) {}

 protected:
  SqlColumn* last() { return out_.mutableColumns().back().get(); }

  /// Declares the schema columns from which the last added column is computed.
  void sourceColumns(std::initializer_list<std::string_view> names) {
    last()->setSourceColumns(query_rules::numbersOf(schema_, names));
  }

  template <class F>
  SqlColumn* add(std::string name, ColumnRole role, std::string meaning, F f,
                 const char* type = "INTEGER") {
    out_.add(std::make_unique<ComputedColumn<F>>(std::move(name), type, role, std::move(meaning),
                                                 std::move(f)));
    return last();
  }

  template <class T>
  void addReading(const ColumnInfo& info, const Column<T>& column) {
    const std::string name(query_rules::sqlName(table_, info.name));
    if constexpr (std::is_same_v<T, StringId>) {
      out_.add(std::make_unique<TextColumn>(name, info.meaning, out_, trace_.strings, column));
    } else if constexpr (kIsKind<T>) {
      out_.add(std::make_unique<KindColumn<T>>(name, info.meaning, out_, column));
    } else if constexpr (kIsId<T>) {
      const bool key = isKeyed(table_) && std::string_view(info.name) == "id";
      SqlColumn* made = addNumber(name, key ? ColumnRole::kRowId : ColumnRole::kReference,
                                  info.meaning, column, true);
      if (key) out_.setPresence(made);
    } else {
      const ColumnRole role =
          query_rules::isReference(info.name) ? ColumnRole::kReference : ColumnRole::kPlain;
      addNumber(name, role, info.meaning, column, query_rules::zeroIsNull(table_, info.name));
    }
  }

  template <class T>
  SqlColumn* addNumber(std::string name, ColumnRole role, std::string meaning,
                       const Column<T>& column, bool zero_is_null,
                       const Column<uint32_t>* flags = nullptr) {
    out_.add(std::make_unique<NumberColumn<T>>(std::move(name), role, std::move(meaning), column,
                                               zero_is_null, flags));
    last()->setNeverNull(!zero_is_null && flags == nullptr);
    return last();
  }

  /// Adds the id of a dictionary: its row number, which is not a column of the schema.
  void addNumberedId() {
    add("id", ColumnRole::kRowId, "id of this row",
        [](uint64_t row) { return Value::ofUnsigned(row + 1); });
  }

  void addFlags(const Column<uint32_t>& flags) {
    const auto columns = query_rules::flagColumns(table_);
    for (size_t i = 0; i < columns.count; ++i) {
      const uint32_t bit = columns.first[i].bit;
      add(columns.first[i].name, ColumnRole::kPlain, columns.first[i].meaning,
          [&flags, bit](uint64_t row) { return flag((flags[row] & bit) != 0); });
      sourceColumns({"flags"});
    }
  }

  /// `flags`: of device work, which may have no device times; else nullptr.
  void addEnd(const Column<int64_t>& start_ns, const Column<int64_t>& duration_ns,
              const Column<uint32_t>* flags) {
    add("end_ns", ColumnRole::kPlain, "start_ns + duration_ns",
        [&start_ns, &duration_ns, flags](uint64_t row) {
          if (flags != nullptr && ((*flags)[row] & op_flags::kNoDeviceTime) != 0) return Value{};
          int64_t end = 0;
          const bool overflow = __builtin_add_overflow(start_ns[row], duration_ns[row], &end);
          return overflow ? Value{} : numberValue(end);
        });
    sourceColumns({"start_ns", "duration_ns", "flags"});
  }

  /// Adds how long before its start work was queued or submitted, as the trace has it.
  void addLead(const std::string& name, const char* meaning, const Column<int64_t>& before_ns,
               const Column<uint32_t>& flags) {
    add(name, ColumnRole::kPlain, meaning, [&before_ns, &flags](uint64_t row) {
      return (flags[row] & op_flags::kQueueTimes) != 0 ? numberValue(before_ns[row]) : Value{};
    });
  }

  /// Adds the host time of the same moment.
  void addBefore(const char* name, const char* meaning, std::string_view source,
                 const Column<int64_t>& start_ns, const Column<int64_t>& before_ns,
                 const Column<uint32_t>& flags) {
    add(name, ColumnRole::kPlain, meaning, [&start_ns, &before_ns, &flags](uint64_t row) {
      int64_t time = 0;
      const bool known = (flags[row] & op_flags::kQueueTimes) != 0 &&
                         !__builtin_sub_overflow(start_ns[row], before_ns[row], &time);
      return known ? numberValue(time) : Value{};
    });
    sourceColumns({"start_ns", source, "flags"});
  }

  /// Adds the system's number of a process or thread: `numbers` at the ids in `ids`, 0 if unknown.
  template <class Id, class Number>
  void addSystemNumber(const char* name, const char* meaning, std::string_view source,
                       const Column<Id>& ids, const Column<Number>& numbers) {
    add(name, ColumnRole::kReference, meaning, [&ids, &numbers](uint64_t row) {
      const auto i = static_cast<size_t>(ids[row]);
      return i == 0 || i > numbers.size() || numbers[i - 1] == 0 ? Value{}
                                                                 : numberValue(numbers[i - 1]);
    });
    sourceColumns({source});
  }

  /// Adds the device and the context of a stream.
  void addPlaceOfStream(const Column<StreamId>& streams) {
    const Trace* trace = &trace_;
    add("device_id", ColumnRole::kReference, "device of the stream",
        [trace, &streams](uint64_t row) {
          const DeviceId id = trace->deviceOf(streams[row]);
          return id == DeviceId::kNone ? Value{} : numberValue(id);
        });
    sourceColumns({"stream_id"});
    add("context_id", ColumnRole::kReference, "context of the stream",
        [trace, &streams](uint64_t row) {
          const ContextId id = trace->contextOf(streams[row]);
          return id == ContextId::kNone ? Value{} : numberValue(id);
        });
    sourceColumns({"stream_id"});
  }

  void addKernelNames(const KernelLabels* labels) {
    out_.add(std::make_unique<KernelFamilyColumn>(
        "family", "kind of work, by the name: gemm, attention, copy, ...", out_, trace_));
    sourceColumns({"name"});
    out_.add(std::make_unique<KernelLabelColumn>(
        "short_name", "the name as tables show it; distinct kernels stay distinct", out_, trace_,
        labels));
    sourceColumns({"name"});
  }

  /// Adds the launch shape as columns of the kernel.
  void addLaunchShape(const Column<ShapeId>& shapes) {
    const LaunchShapeTable& s = trace_.launch_shape;
    addGrid("grid_x", "work-groups (blocks) in x; NULL if the driver chose their size", shapes,
            s.global_x, s.local_x);
    addGrid("grid_y", "in y", shapes, s.global_y, s.local_y);
    addGrid("grid_z", "in z", shapes, s.global_z, s.local_z);
    addShape("block_x", "work-items of a group in x; 0: the driver chose", shapes, s.local_x);
    addShape("block_y", "in y", shapes, s.local_y);
    addShape("block_z", "in z", shapes, s.local_z);
    addShape("global_x", "work-items (threads) in x", shapes, s.global_x);
    addShape("global_y", "in y", shapes, s.global_y);
    addShape("global_z", "in z", shapes, s.global_z);
    addShape("static_shared_bytes", "static shared (local) memory of a group", shapes,
             s.static_shared_bytes);
    addShape("dynamic_shared_bytes", "dynamic shared memory of a group", shapes,
             s.dynamic_shared_bytes);
    addShape("registers_per_thread", "registers", shapes, s.registers_per_thread);
  }

  template <class T>
  void addShape(const char* name, const char* meaning, const Column<ShapeId>& shapes,
                const Column<T>& column) {
    add(name, ColumnRole::kPlain, meaning, [&shapes, &column](uint64_t row) {
      const auto i = static_cast<size_t>(shapes[row]);
      return i == 0 || i > column.size() ? Value{} : numberValue(column[i - 1]);
    });
    sourceColumns({"shape_id"});
  }

  void addGrid(const char* name, const char* meaning, const Column<ShapeId>& shapes,
               const Column<uint64_t>& global, const Column<uint32_t>& local) {
    add(name, ColumnRole::kPlain, meaning, [&shapes, &global, &local](uint64_t row) {
      const auto i = static_cast<size_t>(shapes[row]);
      if (i == 0 || i > global.size() || local[i - 1] == 0) return Value{};
      const uint64_t block = local[i - 1];
      return Value::ofUnsigned(global[i - 1] / block + (global[i - 1] % block != 0 ? 1 : 0));
    });
    sourceColumns({"shape_id"});
  }

  const Trace& trace_;
  const TableId table_;
  const std::span<const ColumnInfo> schema_;
  SqlTable& out_;
};

/// Creates the columns of one table.
template <class Table>
class TableMaker : private ColumnMaker {
 public:
  TableMaker(const Trace& trace, const Table& rows, const KernelLabels* kernel_labels,
             SqlTable& out)
      : ColumnMaker(trace, Table::kId, Table::kColumns, out),
        t_(rows),
        kernel_labels_(kernel_labels) {}

  void make() {
    out_.setRows(t_.size());
    if (Table::kId == TableId::kFrame || Table::kId == TableId::kSymbol) {
      labels_ = std::make_shared<FrameLabels>(trace_);
    }
    if constexpr (Table::kId == TableId::kLaunchShape || Table::kId == TableId::kCallPath ||
                  Table::kId == TableId::kFrame || Table::kId == TableId::kCounterTrack) {
      addNumberedId();
    }
    Table::visitColumns(
        t_, [&](const ColumnInfo& info, const auto& column) { addSchemaColumn(info, column); });
    if constexpr (requires { t_.flags; }) addFlags(t_.flags);
    addTimes();
    addPlaces();
    if constexpr (Table::kId == TableId::kKernel) {
      addKernelNames(kernel_labels_);
      addLaunchShape(t_.shape_id);
    }
    if constexpr (Table::kId == TableId::kClockDomain) addTickRate();
    if constexpr (Table::kId == TableId::kFrame || Table::kId == TableId::kSymbol) addSymbols();
    sortByRank(out_.mutableColumns());
    addAlias();
  }

 private:
  static constexpr bool kIsDeviceWork = requires(Table t) { t.queued_before_ns; };

  template <class T>
  void addSchemaColumn(const ColumnInfo& info, const Column<T>& column) {
    if (!addPlaceOfFrame(info.name, info.meaning) &&
        !addSpecialColumn(info.name, std::string(query_rules::sqlName(Table::kId, info.name)),
                          info.meaning)) {
      addReading(info, column);
    }
    if constexpr (kIsDeviceWork) {
      sourceColumns({info.name, "flags"});
    } else {
      sourceColumns({info.name});
    }
  }

  /// Adds columns whose NULL depends on another column, or whose values differ from the stored
  /// ones.
  bool addSpecialColumn(std::string_view raw, const std::string& name, const char* meaning) {
    if constexpr (kIsDeviceWork) {
      if (raw == "queued_before_ns" || raw == "submitted_before_ns") {
        const auto& column = raw[0] == 'q' ? t_.queued_before_ns : t_.submitted_before_ns;
        addLead(name, meaning, column, t_.flags);
        return true;
      }
      if (raw == "duration_ns") {
        addNumber(name, ColumnRole::kReference, meaning, t_.duration_ns, false, &t_.flags);
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kProcess) {
      if (raw == "exit_code") {
        add(name, ColumnRole::kPlain, meaning, [t = &t_](uint64_t row) {
          const bool ended =
              t->end_ns[row] != 0 && (t->flags[row] & process_flags::kStillRunning) == 0;
          return ended ? numberValue(t->exit_code[row]) : Value{};
        });
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kLoss) {
      if (raw == "emitted") {
        add(name, ColumnRole::kPlain, meaning, [t = &t_](uint64_t row) {
          return emittedIsKnown(*t, row) ? numberValue(t->emitted[row]) : Value{};
        });
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kAttribute) {
      if (raw == "table") {
        add(
            name, ColumnRole::kPlain, "table of the described row",
            [t = &t_](uint64_t row) {
              const char* text = tableNameOf(t->table[row]);
              return text == nullptr ? Value{} : Value::ofText(text);
            },
            "TEXT");
        return true;
      }
    }
    if constexpr (Table::kId == TableId::kRange) {
      if (raw == "sequence_number") {
        add(name, ColumnRole::kPlain,
            "PyTorch's number of an operator, which its backward operators have too",
            [t = &t_](uint64_t row) {
              const uint64_t stored = t->sequence_number[row];
              return stored == 0 ? Value{} : Value::ofUnsigned(stored - 1);
            });
        return true;
      }
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

  void addTimes() {
    if constexpr (requires { t_.start_ns[0] + t_.duration_ns[0]; }) {
      const Column<uint32_t>* flags = nullptr;
      if constexpr (kIsDeviceWork) flags = &t_.flags;
      addEnd(t_.start_ns, t_.duration_ns, flags);
    }
    if constexpr (kIsDeviceWork) {
      addBefore("queued_ns", "host time at which it was queued, if known", "queued_before_ns",
                t_.start_ns, t_.queued_before_ns, t_.flags);
      addBefore("submitted_ns", "host time at which it was submitted to the device, if known",
                "submitted_before_ns", t_.start_ns, t_.submitted_before_ns, t_.flags);
    }
  }

  /// Adds the system's process and thread numbers, and the device and context of a stream.
  void addPlaces() {
    if constexpr (Table::kId != TableId::kProcess && requires { t_.process_id; }) {
      addSystemNumber("pid", "the system's process number", "process_id", t_.process_id,
                      trace_.process.pid);
    }
    if constexpr (requires { t_.thread_id; }) {
      addSystemNumber("tid", "the system's thread number", "thread_id", t_.thread_id,
                      trace_.thread.tid);
    }
    if constexpr (requires { t_.stream_id; }) addPlaceOfStream(t_.stream_id);
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

  /// Which names apply is decided in one place, for all readers.
  void addSymbols() {
    if constexpr (Table::kId == TableId::kSymbol) {
      add("current", ColumnRole::kPlain, "1: part of the frame's current answer, the last one",
          [labels = labels_](uint64_t row) { return flag(labels->symbols.counts(row)); });
    } else {
      add(
          "name", ColumnRole::kPlain, "innermost function, else the location of the address",
          [labels = labels_](uint64_t row) { return Value::ofText(labels->at(row)); }, "TEXT");
    }
  }

  /// Adds function, file and line of a frame, from the same answer as its name.
  bool addPlaceOfFrame(std::string_view raw, const char* meaning) {
    if constexpr (Table::kId == TableId::kFrame) {
      const SymbolTable& symbols = trace_.symbol;
      const auto addText = [&](const char* name, const auto& of_symbols, const auto& of_frames) {
        out_.add(std::make_unique<PlaceColumn>(name, meaning, out_, trace_, labels_, of_symbols,
                                               of_frames));
        return true;
      };
      if (raw == "function") return addText("function", symbols.function, t_.function);
      if (raw == "file") return addText("file", symbols.file, t_.file);
      if (raw == "line") {
        add("line", ColumnRole::kPlain, meaning,
            [labels = labels_, &symbols, t = &t_](uint64_t row) {
              const auto symbol = labels->symbols.innermostRow(idAt<FrameId>(row));
              const uint32_t line = symbol ? symbols.line[*symbol] : t->line[row];
              return line == 0 ? Value{} : numberValue(line);
            });
        return true;
      }
    }
    (void)raw;
    (void)meaning;
    return false;
  }

  void addAlias() {
    const std::string_view alias = query_rules::idAlias(Table::kId);
    if (alias.empty()) return;
    add(std::string(alias), ColumnRole::kRowId, "the same as id, for JOIN ... USING",
        [t = &t_](uint64_t row) {
          if constexpr (isKeyed(Table::kId)) {
            return static_cast<uint32_t>(t->id[row]) == 0 ? Value{} : numberValue(t->id[row]);
          } else {
            (void)t;
            return Value::ofUnsigned(row + 1);
          }
        })
        ->hide();
  }

  const Table& t_;
  const KernelLabels* kernel_labels_;
  std::shared_ptr<FrameLabels> labels_;  // names of the frames
};

}  // namespace

Catalog::Catalog(const Trace& trace, const KernelLabels* labels) : trace_(trace) {
  forEachTable(trace_, [&](const auto& rows) {
    using Table = std::decay_t<decltype(rows)>;
    const char* meaning = query_rules::meaningOf(Table::kId);
    if (meaning == nullptr) return;
    auto table = std::make_unique<SqlTable>(Table::kName, meaning);
    TableMaker<Table>(trace_, rows, labels, *table).make();
    tables_.push_back(std::move(table));
  });
  for (auto& table : makeStackedTables(trace_, tables_)) tables_.push_back(std::move(table));
  tables_.push_back(makeStepTable(trace_));
  addSchemaTable();
}

/// Adds the catalog itself as a table, so that queries can list tables and columns.
void Catalog::addSchemaTable() {
  struct Place {
    std::string_view table, column, type, meaning;
  };
  auto places = std::make_shared<std::vector<Place>>();
  for (const auto& table : tables_) {
    for (const auto& column : table->columns()) {
      if (column->hidden()) continue;
      places->push_back({table->name(), column->name(), column->type(), column->meaning()});
    }
  }
  for (const View& view : views()) {
    for (const ViewColumn& column : view.columns) {
      places->push_back({view.name, column.name, column.type, column.meaning});
    }
  }
  auto schema = std::make_unique<SqlTable>("schema", "the tables, views and columns themselves");
  schema->setRows(places->size());
  auto add = [&](const char* name, const char* meaning, auto member) {
    auto cell = [places, member](uint64_t row) { return Value::ofText((*places)[row].*member); };
    schema->add(std::make_unique<ComputedColumn<decltype(cell)>>(name, "TEXT", ColumnRole::kPlain,
                                                                 meaning, std::move(cell)));
  };
  add("table_name", "name of the table or view", &Place::table);
  add("column_name", "name of the column", &Place::column);
  add("type", "INTEGER, REAL or TEXT", &Place::type);
  add("meaning", "what it says", &Place::meaning);
  tables_.push_back(std::move(schema));
}

const SqlTable* Catalog::find(std::string_view name) const {
  for (const auto& table : tables_) {
    if (table->name() == name) return table.get();
  }
  return nullptr;
}

}  // namespace tracesmith
