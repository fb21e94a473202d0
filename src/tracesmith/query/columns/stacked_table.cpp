// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/stacked_table.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "tracesmith/model/names/collective_names.hpp"
#include "tracesmith/query/columns/dictionary_column.hpp"

namespace tracesmith {
namespace {

constexpr size_t kStackBlock = 256;

/// One of the tables that are concatenated.
struct Part {
  const SqlTable* table = nullptr;
  const Column<StringId>* names = nullptr;
  /// The number of the word used as name of a row that has none.
  std::function<uint32_t(uint64_t row)> word;
  /// Which rows are included; nullptr: all.
  std::function<bool(uint64_t row)> takes;
};

/// Maps rows of the concatenated table to rows of its parts.
class Stack {
 public:
  void add(Part part) { parts_.push_back(std::move(part)); }
  const std::vector<Part>& parts() const { return parts_; }

  uint64_t rowsAtMost() const {
    uint64_t rows = 0;
    for (const Part& part : parts_) rows += part.table->rows();
    return rows;
  }
  uint64_t rows() const {
    build();
    return starts_.back();
  }
  /// Calls f(part, rows, n, first) for runs of `rows` that belong to one part. The rows passed are
  /// row numbers in that part; `first` is their index in `rows`.
  template <class F>
  void forEachRun(const uint64_t* rows, size_t n, F&& f) const {
    build();
    uint64_t own[kStackBlock];
    for (size_t i = 0; i < n;) {
      const size_t part = partOf(rows[i]);
      const size_t first = i;
      size_t size = 0;
      for (; i < n && size < kStackBlock && rows[i] >= starts_[part] && rows[i] < starts_[part + 1];
           ++i) {
        const uint64_t row = rows[i] - starts_[part];
        own[size++] = chosen_[part] ? (*chosen_[part])[row] : row;
      }
      f(part, own, size, first);
    }
  }

 private:
  size_t partOf(uint64_t row) const {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) -
                               starts_.begin() - 1);
  }
  /// Built on first use, so that other queries do not pay for it.
  void build() const {
    if (!starts_.empty()) return;
    std::vector<uint64_t> starts = {0};
    for (const Part& part : parts_) {
      const uint64_t all = part.table->rows();
      std::optional<std::vector<uint32_t>> chosen;
      if (part.takes && all <= RowOrder::kMaxRows) {
        std::vector<uint32_t> rows;
        for (uint64_t row = 0; row < all; ++row) {
          if (part.takes(row)) rows.push_back(static_cast<uint32_t>(row));
        }
        if (rows.size() != all) chosen = std::move(rows);
      }
      starts.push_back(starts.back() + (chosen ? chosen->size() : all));
      chosen_.push_back(std::move(chosen));
    }
    starts_ = std::move(starts);
  }

  std::vector<Part> parts_;
  mutable std::vector<uint64_t> starts_;  // first row of each part, and the end
  mutable std::vector<std::optional<std::vector<uint32_t>>> chosen_;
};

/// A number that a part has under this name, or does not have.
class StackedColumn final : public SqlColumn {
 public:
  StackedColumn(std::string name, ColumnRole role, std::string meaning,
                std::shared_ptr<const Stack> stack)
      : SqlColumn(name, "INTEGER", role, std::move(meaning)), stack_(std::move(stack)) {
    for (const Part& part : stack_->parts()) {
      const auto& columns = part.table->columns();
      const auto it = std::find_if(columns.begin(), columns.end(), [&](const auto& column) {
        return column->name() == name && !column->hidden();
      });
      columns_.push_back(it == columns.end() ? nullptr : it->get());
    }
    setNeverNull(std::all_of(columns_.begin(), columns_.end(), [](const SqlColumn* column) {
      return column != nullptr && column->neverNull();
    }));
  }

  Value at(uint64_t row) const override {
    Value value;
    stack_->forEachRun(&row, 1, [&](size_t part, const uint64_t* rows, size_t, size_t) {
      if (columns_[part] != nullptr) value = columns_[part]->at(rows[0]);
    });
    return value;
  }
  void read(const uint64_t* rows, size_t n, Cell* out) const override {
    stack_->forEachRun(rows, n, [&](size_t part, const uint64_t* own, size_t size, size_t at) {
      if (columns_[part] == nullptr) {
        std::fill_n(out + at, size, Cell{});
      } else {
        columns_[part]->read(own, size, out + at);
      }
    });
  }

 private:
  std::shared_ptr<const Stack> stack_;
  std::vector<const SqlColumn*> columns_;
};

/// The number of the row in its own table.
class RowNumberColumn final : public SqlColumn {
 public:
  explicit RowNumberColumn(std::shared_ptr<const Stack> stack)
      : SqlColumn("row_number", "INTEGER", ColumnRole::kReference,
                  "rowid in the table of its kind"),
        stack_(std::move(stack)) {}

  Value at(uint64_t row) const override {
    Value value;
    stack_->forEachRun(&row, 1, [&](size_t, const uint64_t* rows, size_t, size_t) {
      value = Value::ofUnsigned(rows[0]);
    });
    return value;
  }
  void read(const uint64_t* rows, size_t n, Cell* out) const override {
    stack_->forEachRun(rows, n, [&](size_t, const uint64_t* own, size_t size, size_t at) {
      for (size_t i = 0; i < size; ++i) out[at + i] = Cell::of(Value::ofUnsigned(own[i]));
    });
  }

 private:
  std::shared_ptr<const Stack> stack_;
};

/// Texts: first the strings of the trace, then words defined here.
class StackedTextColumn final : public DictionaryColumn {
 public:
  using Numbers =
      std::function<void(const Stack&, size_t part, const uint64_t* rows, size_t n, uint32_t* out)>;
  StackedTextColumn(std::string name, std::string meaning, const SqlTable& table,
                    std::shared_ptr<const Stack> stack, const StringTable& strings,
                    std::vector<std::string_view> words, Numbers numbers)
      : DictionaryColumn(std::move(name), std::move(meaning), table),
        stack_(std::move(stack)),
        strings_(strings),
        words_(std::move(words)),
        numbers_(std::move(numbers)) {}

 protected:
  uint32_t count() const override { return static_cast<uint32_t>(strings_.size() + words_.size()); }
  std::string_view textOf(uint32_t number) const override {
    const size_t strings = strings_.size();
    return number <= strings ? strings_.at(static_cast<StringId>(number))
                             : words_[number - strings - 1];
  }
  void numbers(const uint64_t* rows, size_t n, uint32_t* out) const override {
    stack_->forEachRun(rows, n, [&](size_t part, const uint64_t* own, size_t size, size_t at) {
      numbers_(*stack_, part, own, size, out + at);
    });
  }

 private:
  std::shared_ptr<const Stack> stack_;
  const StringTable& strings_;
  std::vector<std::string_view> words_;
  Numbers numbers_;
};

const SqlTable* find(const std::vector<std::unique_ptr<SqlTable>>& tables, std::string_view name) {
  for (const auto& table : tables) {
    if (table->name() == name) return table.get();
  }
  return nullptr;
}

/// Words for rows without a name; their numbers follow those of the trace's strings.
class Words {
 public:
  explicit Words(const StringTable& strings) : first_(static_cast<uint32_t>(strings.size()) + 1) {}
  uint32_t numberOf(std::string_view word) {
    const auto it = std::find(words_.begin(), words_.end(), word);
    const auto place = static_cast<uint32_t>(it - words_.begin());
    if (it == words_.end()) words_.push_back(word);
    return first_ + place;
  }
  const std::vector<std::string_view>& all() const { return words_; }

 private:
  uint32_t first_;
  std::vector<std::string_view> words_;
};

/// The word for each value of an enum.
template <class Kind>
std::function<uint32_t(uint64_t)> wordsOf(const Column<Kind>& kinds, Words& words) {
  std::array<uint32_t, 256> numbers{};
  for (size_t v = 0; v < numbers.size(); ++v) {
    numbers[v] = words.numberOf(toString(static_cast<Kind>(v)));
  }
  return [&kinds, numbers](uint64_t row) { return numbers[static_cast<uint8_t>(kinds[row])]; };
}

void addNumbers(SqlTable& table, const std::shared_ptr<const Stack>& stack) {
  struct Number {
    const char* name;
    ColumnRole role;
    const char* meaning;
  };
  constexpr Number kNumbers[] = {
      {"start_ns", ColumnRole::kReference, "start time"},
      {"duration_ns", ColumnRole::kReference, "how long it took"},
      {"end_ns", ColumnRole::kPlain, "start_ns + duration_ns"},
      {"process_id", ColumnRole::kReference, "process"},
      {"pid", ColumnRole::kReference, "the system's process number"},
      {"thread_id", ColumnRole::kReference, "thread"},
      {"tid", ColumnRole::kReference, "the system's thread number"},
      {"device_id", ColumnRole::kReference, "device of the stream"},
      {"stream_id", ColumnRole::kReference, "stream (queue)"},
      {"correlation_id", ColumnRole::kReference, "links device work and its host call"},
  };
  for (const Number& n : kNumbers) {
    table.add(std::make_unique<StackedColumn>(n.name, n.role, n.meaning, stack));
  }
}

/// The `kind` column: the table to which a row belongs.
std::unique_ptr<SqlColumn> kindColumn(const SqlTable& table,
                                      const std::shared_ptr<const Stack>& stack,
                                      const StringTable& strings) {
  std::vector<std::string_view> words;
  for (const Part& part : stack->parts()) words.push_back(part.table->name());
  const auto first = static_cast<uint32_t>(strings.size()) + 1;
  return std::make_unique<StackedTextColumn>(
      "kind", "table of the row", table, stack, strings, std::move(words),
      [first](const Stack&, size_t part, const uint64_t*, size_t n, uint32_t* out) {
        std::fill_n(out, n, first + static_cast<uint32_t>(part));
      });
}

std::unique_ptr<SqlColumn> nameColumn(const SqlTable& table,
                                      const std::shared_ptr<const Stack>& stack,
                                      const StringTable& strings,
                                      std::vector<std::string_view> words) {
  return std::make_unique<StackedTextColumn>(
      "name", "name; for a copy, wait or build without a name, its kind", table, stack, strings,
      std::move(words),
      [](const Stack& s, size_t part, const uint64_t* rows, size_t n, uint32_t* out) {
        const Part& p = s.parts()[part];
        for (size_t i = 0; i < n; ++i) {
          out[i] = p.names == nullptr ? 0 : static_cast<uint32_t>((*p.names)[rows[i]]);
          if (out[i] == 0 && p.word) out[i] = p.word(rows[i]);
        }
      });
}

std::unique_ptr<SqlTable> makeSpans(const Trace& trace,
                                    const std::vector<std::unique_ptr<SqlTable>>& tables) {
  auto stack = std::make_shared<Stack>();
  Words words(trace.strings);
  const uint32_t fill = words.numberOf("fill");
  stack->add({find(tables, "kernel"), &trace.kernel.name, nullptr, nullptr});
  stack->add({find(tables, "copy"), &trace.copy.name, wordsOf(trace.copy.kind, words), nullptr});
  stack->add({find(tables, "fill"), &trace.fill.name, [fill](uint64_t) { return fill; }, nullptr});
  stack->add({find(tables, "sync"), &trace.sync.name, wordsOf(trace.sync.kind, words), nullptr});
  stack->add({find(tables, "host_call"), &trace.host_call.name, nullptr, nullptr});
  stack->add(
      {find(tables, "program_build"), nullptr, wordsOf(trace.program_build.kind, words), nullptr});
  stack->add({find(tables, "range"), &trace.range.name, nullptr,
              [&trace](uint64_t row) { return trace.range.kind[row] == RangeKind::kRange; }});
  auto table = std::make_unique<SqlTable>(
      "span", "everything with a start and a duration, of all tables (instants are in range)");
  table->setRows(stack->rowsAtMost(), [stack] { return stack->rows(); });
  table->add(kindColumn(*table, stack, trace.strings));
  table->add(std::make_unique<RowNumberColumn>(stack));
  table->add(nameColumn(*table, stack, trace.strings, words.all()));
  addNumbers(*table, stack);
  return table;
}

/// The operation that each string names, determined once.
class Operations {
 public:
  explicit Operations(const StringTable& strings) : strings_(strings) {}
  CollectiveOp of(StringId id) {
    if (known_.empty()) known_.assign(strings_.size() + 1, kUnseen);
    const auto i = static_cast<size_t>(id);
    if (i >= known_.size()) return CollectiveOp::kNone;
    if (known_[i] == kUnseen) known_[i] = static_cast<uint8_t>(collectiveOf(strings_.at(id)));
    return static_cast<CollectiveOp>(known_[i]);
  }

 private:
  static constexpr uint8_t kUnseen = 255;
  const StringTable& strings_;
  std::vector<uint8_t> known_;
};

std::unique_ptr<SqlTable> makeCollectives(const Trace& trace,
                                          const std::vector<std::unique_ptr<SqlTable>>& tables) {
  auto stack = std::make_shared<Stack>();
  auto operations = std::make_shared<Operations>(trace.strings);
  const auto addPart = [&](const char* name, const Column<StringId>& names,
                           std::function<bool(uint64_t)> also) {
    stack->add({find(tables, name), &names, nullptr,
                [operations, &names, also = std::move(also)](uint64_t row) {
                  return operations->of(names[row]) != CollectiveOp::kNone && (!also || also(row));
                }});
  };
  addPart("kernel", trace.kernel.name, nullptr);
  addPart("range", trace.range.name,
          [&trace](uint64_t row) { return trace.range.kind[row] == RangeKind::kRange; });
  auto table = std::make_unique<SqlTable>(
      "collective", "kernels and ranges whose names are collectives of NCCL or RCCL");
  table->setRows(stack->rowsAtMost(), [stack] { return stack->rows(); });
  table->add(kindColumn(*table, stack, trace.strings));
  table->add(std::make_unique<RowNumberColumn>(stack));
  std::vector<std::string_view> words;
  for (int op = 0; op <= static_cast<int>(CollectiveOp::kBarrier); ++op) {
    words.push_back(toString(static_cast<CollectiveOp>(op)));
  }
  const auto first = static_cast<uint32_t>(trace.strings.size()) + 1;
  table->add(std::make_unique<StackedTextColumn>(
      "operation", "all_reduce, all_gather, send_recv, ...; other: not told by the name", *table,
      stack, trace.strings, std::move(words),
      [first, operations](const Stack& s, size_t part, const uint64_t* rows, size_t n,
                          uint32_t* out) {
        const Column<StringId>& names = *s.parts()[part].names;
        for (size_t i = 0; i < n; ++i) {
          out[i] = first + static_cast<uint32_t>(operations->of(names[rows[i]]));
        }
      }));
  table->add(nameColumn(*table, stack, trace.strings, {}));
  addNumbers(*table, stack);
  return table;
}

}  // namespace

std::vector<std::unique_ptr<SqlTable>> makeStackedTables(
    const Trace& trace, const std::vector<std::unique_ptr<SqlTable>>& tables) {
  std::vector<std::unique_ptr<SqlTable>> made;
  made.push_back(makeSpans(trace, tables));
  made.push_back(makeCollectives(trace, tables));
  return made;
}

}  // namespace tracesmith
