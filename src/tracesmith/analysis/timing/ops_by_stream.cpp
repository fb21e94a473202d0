// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/ops_by_stream.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "tracesmith/base/natural_sort.hpp"

namespace tracesmith {
namespace {

/// Calls f(i) for each i below `parts`, on several threads if there are many ops.
template <class F>
void inParallel(size_t parts, size_t ops, unsigned most_threads, F&& f) {
  constexpr size_t kMany = size_t{1} << 20;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < parts; i = next++) f(i);
  };
  std::vector<std::future<void>> others;
  try {
    if (most_threads == 0) most_threads = std::thread::hardware_concurrency();
    const size_t threads = ops < kMany ? 1 : most_threads;
    for (size_t i = 1; i < std::min(threads, parts); ++i) {
      others.push_back(std::async(std::launch::async, work));
    }
  } catch (const std::system_error&) {  // no more threads: this one does it
  }
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace

OpsByStream::Counts OpsByStream::RowCounter::slots() const {
  Counts out;
  for (size_t stream = 0; stream < few_.size(); ++stream) {
    if (few_[stream] > 0) {
      out.push_back({.stream = static_cast<StreamId>(stream), .rows = few_[stream]});
    }
  }
  for (const auto& [stream, rows] : many_) out.push_back({.stream = stream, .rows = rows});
  return out;
}

OpsByStream::Slot* OpsByStream::slotOf(Counts& part, StreamId stream) {
  const auto found =
      std::lower_bound(part.begin(), part.end(), stream,
                       [](const Slot& slot, StreamId id) { return slot.stream < id; });
  return found != part.end() && found->stream == stream ? &*found : nullptr;
}

void OpsByStream::makeRoom() {
  for (const Counts& part : parts_) {
    for (const Slot& slot : part) sizes_[slot.stream] += slot.rows;
  }
  std::map<StreamId, size_t> next;
  size_t end = 0;
  for (const auto& [stream, size] : sizes_) {
    next[stream] = end;
    end += size;
  }
  for (Counts& part : parts_) {
    for (Slot& slot : part) {
      size_t& begin = next[slot.stream];
      slot.begin = slot.end = begin;
      begin += slot.rows;
    }
  }
  ops_.resize(end);
}

/// Not all rows that were counted need be device work.
void OpsByStream::closeGaps() {
  size_t all = 0, written = 0;
  for (auto& [stream, size] : sizes_) all += std::exchange(size, 0);
  std::map<StreamId, std::vector<const Slot*>> slots;
  for (const Counts& part : parts_) {
    for (const Slot& slot : part) {
      written += slot.end - slot.begin;
      sizes_[slot.stream] += slot.end - slot.begin;
      slots[slot.stream].push_back(&slot);
    }
  }
  if (written == all) return;
  size_t to = 0;
  for (const auto& [stream, of_stream] : slots) {
    for (const Slot* const slot : of_stream) {
      const size_t size = slot->end - slot->begin;
      if (to != slot->begin && size > 0) {
        std::memmove(&ops_[to], &ops_[slot->begin], size * sizeof(DeviceOp));
      }
      to += size;
    }
  }
  ops_.resize(to);
  std::erase_if(sizes_, [](const auto& stream) { return stream.second == 0; });
}

void OpsByStream::finish(DeviceOps& out) {
  closeGaps();
  out.ops = std::move(ops_);
  sortStreams(out);
  parts_.clear();
  sizes_.clear();
}

void OpsByStream::sortStreams(DeviceOps& out) const {
  std::vector<std::pair<size_t, size_t>> ranges;  // of the known streams, and of all others
  size_t end = 0;
  for (const auto& [stream, size] : sizes_) {
    ranges.emplace_back(end, end + size);
    end += size;
  }
  DeviceOp* const ops = out.ops.data();
  inParallel(ranges.size(), end, threads_, [&](size_t i) {
    naturalSort(ops + ranges[i].first, ops + ranges[i].second,
                [](const DeviceOp& a, const DeviceOp& b) {
                  return std::tie(a.stream, a.begin_ns) < std::tie(b.stream, b.begin_ns);
                });
  });
  for (const auto& [first, last] : ranges) {
    for (size_t i = first; i < last;) {
      const StreamId id = ops[i].stream;
      const auto index = static_cast<size_t>(id);
      if (index <= trace_.stream.size()) {
        out.stream_by_id.resize(index + 1);
        out.stream_by_id[index] = static_cast<uint32_t>(out.streams.size());
      }
      size_t next = last;  // a known stream has the range alone
      if (index > trace_.stream.size()) {
        next = i + 1;
        while (next < last && ops[next].stream == id) ++next;
      }
      out.streams.push_back(
          {id, trace_.deviceOf(id), static_cast<uint32_t>(i), static_cast<uint32_t>(next)});
      i = next;
    }
  }
}

}  // namespace tracesmith
