// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/memory_dependencies.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <vector>

#include "tracesmith/base/interval_tree.hpp"

namespace tracesmith {
namespace {

/// Last use of bytes: disjoint ranges [begin, end).
class LastUse {
 public:
  /// Calls visit(begin, end, op) for the parts within [begin, end).
  template <class Visit>
  void visit(uint64_t begin, uint64_t end, Visit&& visit) const {
    auto it = intervals_.upper_bound(begin);
    if (it != intervals_.begin() && std::prev(it)->second.end > begin) --it;
    for (; it != intervals_.end() && it->first < end; ++it) {
      visit(it->first, it->second.end, it->second.op);
    }
  }
  void erase(uint64_t begin, uint64_t end) {
    cut(begin);
    cut(end);
    intervals_.erase(intervals_.lower_bound(begin), intervals_.lower_bound(end));
  }
  void assign(uint64_t begin, uint64_t end, uint32_t op) {
    erase(begin, end);
    intervals_.emplace(begin, Interval{end, op});
  }

 private:
  struct Interval {
    uint64_t end;
    uint32_t op;
  };
  /// Splits the range that crosses `address`.
  void cut(uint64_t address) {
    auto it = intervals_.lower_bound(address);
    if (it == intervals_.begin()) return;
    --it;
    if (it->second.end <= address) return;
    intervals_.emplace(address, it->second);
    it->second.end = address;
  }
  std::map<uint64_t, Interval> intervals_;
};

/// Intervals of memory that streams have read; they may overlap.
class ReadIntervals {
 public:
  struct Interval {
    uint64_t begin;
    uint64_t end;
    StreamId stream;
  };

  ReadIntervals() = default;
  ~ReadIntervals() { tree_.free(); }
  ReadIntervals(const ReadIntervals&) = delete;
  ReadIntervals& operator=(const ReadIntervals&) = delete;

  void add(const Interval& interval) {
    if (!tree_.add(interval.begin, interval.end, ++number_, interval.stream))
      throw std::bad_alloc();
  }
  /// Removes those that overlap [begin, end), and appends them to `taken`.
  void take(uint64_t begin, uint64_t end, std::vector<Interval>& taken) {
    tree_.take(begin, end, [&](uint64_t from, uint64_t to, StreamId stream) {
      taken.push_back({from, to, stream});
    });
  }

 private:
  IntervalTree<StreamId> tree_;
  uint64_t number_ = 0;
};

/// The memory of one process.
struct Memory {
  LastUse writers;
  std::map<StreamId, LastUse> readers;  ///< since the last write
  /// Union of all readers' ranges, so that few need to be queried.
  ReadIntervals read;
};

class Finder {
 public:
  Finder(const std::vector<Operation>& operations,
         const std::function<void(uint32_t, uint32_t)>& depends)
      : operations_(operations), depends_(depends) {}

  void read(uint32_t op, uint64_t address, uint64_t bytes) {
    const uint64_t end = address + bytes;
    if (address == 0 || end <= address) return;
    Memory& memory = memory_[operations_[op].process];
    const StreamId stream = operations_[op].stream;
    LastUse& mine = memory.readers[stream];
    // Reads of the stream since the last write already waited for that write. So each written range
    // is visited once per stream, however often it is read.
    uint64_t at = address;
    const auto written = [&](uint64_t from, uint64_t to) {
      if (from >= to) return;
      memory.writers.visit(from, to, [&](uint64_t, uint64_t, uint32_t w) { follows(w, op); });
      memory.read.add({from, to, stream});
    };
    mine.visit(address, end, [&](uint64_t from, uint64_t to, uint32_t) {
      written(at, from);
      at = to;
    });
    written(at, end);
    mine.assign(address, end, op);
  }

  void write(uint32_t op, uint64_t address, uint64_t bytes) {
    const uint64_t end = address + bytes;
    if (address == 0 || end <= address) return;
    Memory& memory = memory_[operations_[op].process];
    const auto used = [&](uint64_t, uint64_t, uint32_t earlier) { follows(earlier, op); };
    memory.writers.visit(address, end, used);
    read_.clear();
    memory.read.take(address, end, read_);
    for (const ReadIntervals::Interval& read : read_) {
      LastUse& readers = memory.readers[read.stream];
      const uint64_t from = std::max(read.begin, address);
      const uint64_t to = std::min(read.end, end);
      readers.visit(from, to, used);
      readers.erase(from, to);
      if (read.begin < from) memory.read.add({read.begin, from, read.stream});
      if (read.end > to) memory.read.add({to, read.end, read.stream});
    }
    memory.writers.assign(address, end, op);
  }

  /// Reports the dependencies of the operation processed last.
  void flush(uint32_t op) {
    for (const auto& [stream, earlier] : before_) depends_(earlier, op);
    before_.clear();
  }

 private:
  void follows(uint32_t earlier, uint32_t op) {
    const Operation& e = operations_[earlier];
    if (e.stream == operations_[op].stream || e.end_ns > operations_[op].begin_ns) return;
    const auto [it, fresh] = before_.try_emplace(e.stream, earlier);
    if (!fresh && operations_[it->second].end_ns < e.end_ns) it->second = earlier;
  }

  const std::vector<Operation>& operations_;
  const std::function<void(uint32_t, uint32_t)>& depends_;
  std::map<ProcessId, Memory> memory_;
  std::vector<ReadIntervals::Interval> read_;  // readers of the ranges that a write overwrites
  std::map<StreamId, uint32_t> before_;        // by stream: the last dependency of the operation
};

}  // namespace

void forEachMemoryDependency(const Trace& trace, const std::vector<Operation>& operations,
                             const std::function<void(uint32_t from, uint32_t to)>& depends) {
  Finder finder(operations, depends);
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const uint32_t row = operations[i].row;
    if (operations[i].table == TableId::kCopy) {
      finder.read(i, trace.copy.source[row], trace.copy.bytes[row]);
      finder.write(i, trace.copy.destination[row], trace.copy.bytes[row]);
      finder.flush(i);
    } else if (operations[i].table == TableId::kFill) {
      finder.write(i, trace.fill.destination[row], trace.fill.bytes[row]);
      finder.flush(i);
    }
  }
}

}  // namespace tracesmith
