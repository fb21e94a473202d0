// SPDX-License-Identifier: Apache-2.0
// Collects the device work of a trace by stream, and sorts each stream by start. Each piece of work
// is written once, to its place, by any number of threads: so the rows of each stream are counted
// first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {

class OpsByStream {
  /// What a part has of one stream: ops [begin, end) are written.
  struct Slot {
    StreamId stream{};
    uint32_t rows = 0;
    size_t begin = 0, end = 0;
  };

 public:
  /// By stream: rows of a table, or of a part of one.
  using Counts = std::vector<Slot>;

  /// `trace` has the streams. finish() sorts on this many threads; 0: as many as there are
  /// processors.
  explicit OpsByStream(const Trace& trace, unsigned threads = 0)
      : trace_(trace), threads_(threads) {}

  /// Counts the rows for which counts(row) is true. [any thread]
  template <class Predicate>
  Counts count(const Column<StreamId>& streams, Predicate&& counts) const {
    RowCounter rows;
    for (size_t i = 0; i < streams.size(); ++i) {
      if (counts(i)) rows.add(keyOf(streams[i]));
    }
    return rows.slots();
  }
  /// Adds a part. They are in the order of tables and rows.
  void add(Counts counts) { parts_.push_back(std::move(counts)); }
  /// Makes room for the parts that were added.
  void makeRoom();

  /// Writes the ops of a part: of each stream as many as were counted.
  class Writer {
   public:
    void write(const DeviceOp& op) {
      const StreamId stream = of_.keyOf(op.stream);
      if (last_ == nullptr || last_->stream != stream) last_ = slotOf(part_, stream);
      if (last_ == nullptr || last_->end == last_->begin + last_->rows) {
        has_more_ = true;
      } else {
        ops_[last_->end++] = op;
      }
    }
    /// Whether there were more than were counted, which are left out.
    bool hasMore() const { return has_more_; }

   private:
    friend class OpsByStream;
    Writer(const OpsByStream& of, Counts& part, DeviceOp* ops) : of_(of), part_(part), ops_(ops) {}

    const OpsByStream& of_;
    Counts& part_;
    DeviceOp* const ops_;
    Slot* last_ = nullptr;
    bool has_more_ = false;
  };
  /// Writes a part, by its number in the order of add(). [any thread, each part once]
  Writer writer(size_t part) { return {*this, parts_[part], ops_.data()}; }

  /// Sets `ops` and what concerns streams. Has nothing afterwards.
  void finish(DeviceOps& out);

 private:
  /// All streams that the trace does not have are one.
  StreamId keyOf(StreamId stream) const {
    const auto unknown = static_cast<StreamId>(trace_.stream.size() + 1);
    return stream < unknown ? stream : unknown;
  }
  class RowCounter {
   public:
    void add(StreamId stream) {
      ++(static_cast<size_t>(stream) < few_.size() ? few_[static_cast<size_t>(stream)]
                                                   : many_[stream]);
    }
    Counts slots() const;

   private:
    std::array<uint32_t, 256> few_{};  // by id
    std::map<StreamId, uint32_t> many_;
  };
  /// nullptr: the part has none.
  static Slot* slotOf(Counts& part, StreamId stream);
  void closeGaps();
  void sortStreams(DeviceOps& out) const;

  const Trace& trace_;
  const unsigned threads_;
  Column<DeviceOp> ops_;
  std::vector<Counts> parts_;
  std::map<StreamId, size_t> sizes_;  // of the streams
};

}  // namespace tracesmith
