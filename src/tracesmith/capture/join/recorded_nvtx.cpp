// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_nvtx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith {

using arena::CudaText;
using arena::NvtxEvent;
using arena::NvtxPayload;
using arena::RecordKind;

namespace {

constexpr size_t kMostEarly = 1u << 16;
constexpr size_t kMostOpenRanges = 1u << 20;

uint32_t placeOf(uint16_t life, uint16_t domain) { return uint32_t{life} << 16 | domain; }
uint16_t lifeOf(uint32_t place) { return static_cast<uint16_t>(place >> 16); }

std::string payloadText(const arena::NvtxAttributes& a) {
  const auto low = static_cast<uint32_t>(a.payload);
  switch (a.payload_type) {
    case NvtxPayload::kUint64:
      return fmt::format("{}", a.payload);
    case NvtxPayload::kInt64:
      return fmt::format("{}", static_cast<int64_t>(a.payload));
    case NvtxPayload::kDouble:
      return fmt::format("{}", std::bit_cast<double>(a.payload));
    case NvtxPayload::kUint32:
      return fmt::format("{}", low);
    case NvtxPayload::kInt32:
      return fmt::format("{}", static_cast<int32_t>(low));
    case NvtxPayload::kFloat:
      return fmt::format("{}", std::bit_cast<float>(low));
    default:
      return "not recorded: of an extended type";
  }
}

}  // namespace

// --- Definitions --------------------------------------------------------------------------------

bool RecordedNvtx::defines(ByteView record) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  const auto kind = static_cast<CudaText>(header.flags);
  return header.kind == RecordKind::kCudaText &&
         (kind == CudaText::kNvtxName || kind == CudaText::kNvtxDomain ||
          kind == CudaText::kNvtxCategory);
}

bool RecordedNvtx::define(ByteView record, uint64_t first_correlation) {
  arena::CudaTextRecord r;
  if (!takePart(record, r) || r.bytes > record.size()) return false;
  const auto life = static_cast<uint16_t>(first_correlation / cuda_file::kIdsOfLife);
  const StringId text = shared_.delta.strings.intern(asText(record.subspan(0, r.bytes)));
  switch (static_cast<CudaText>(r.header.flags)) {
    case CudaText::kNvtxName:
      names_[uint64_t{life} << 32 | r.header.aux] = text;
      return true;
    case CudaText::kNvtxDomain:
      domains_[placeOf(life, static_cast<uint16_t>(r.header.aux))] = text;
      return true;
    case CudaText::kNvtxCategory:
      categories_[{placeOf(life, static_cast<uint16_t>(r.call_kind)), r.header.aux}] = text;
      return true;
    default:
      return false;
  }
}

StringId RecordedNvtx::nameOf(uint16_t life, uint32_t number) {
  if (number == 0) return StringId::kNone;  // the program gave no name
  const auto found = names_.find(uint64_t{life} << 32 | number);
  if (found != names_.end()) return found->second;
  ++totals_.unnamed;
  return StringId::kNone;
}

StringId RecordedNvtx::categoryOf(uint32_t place) {
  const auto found = domains_.find(place);
  return found != domains_.end() ? found->second : shared_.delta.strings.intern(kCategory);
}

// --- Records ------------------------------------------------------------------------------------

bool RecordedNvtx::join(ByteView record, ThreadId thread,
                        const std::function<void(uint32_t, std::string_view)>& name_thread) {
  arena::NvtxRecord r;
  if (!takePart(record, r)) return false;
  const auto kind = static_cast<NvtxEvent>(r.header.flags & arena::kNvtxEventMask);
  uint64_t id = 0;
  if ((kind == NvtxEvent::kStart || kind == NvtxEvent::kEnd) && !takePart(record, id)) return false;
  Open range{.place = placeOf(r.life, r.domain),
             .level = r.level,
             .start_ns = host_ns_(r.time),
             .thread = thread};
  if ((r.header.flags & arena::kNvtxAttributes) != 0 && !takePart(record, range.attributes)) {
    return false;
  }
  std::string_view text;
  if ((r.header.flags & arena::kNvtxText) != 0) {
    uint32_t bytes = 0;
    if (!takePart(record, bytes) || bytes > record.size()) return false;
    text = asText(record.subspan(0, bytes));
  }
  const auto begin = [&] {
    any_ = true;
    range.name = text.empty() ? nameOf(r.life, r.header.aux) : shared_.delta.strings.intern(text);
  };
  switch (kind) {
    case NvtxEvent::kPush:
      begin();
      push(range);
      return true;
    case NvtxEvent::kPop:
      any_ = true;
      pop(r, thread);
      return true;
    case NvtxEvent::kStart:
      begin();
      start({r.life, id}, range);
      return true;
    case NvtxEvent::kEnd:
      any_ = true;
      end({r.life, id}, {range.start_ns, thread});
      return true;
    case NvtxEvent::kMark:
      begin();
      row(range, RangeKind::kInstant, range.start_ns, thread);
      return true;
    case NvtxEvent::kThreadName:
      name_thread(r.header.aux, text);
      return true;
  }
  return false;
}

/// The nesting level that the program was at reveals ranges whose start or end was lost.
void RecordedNvtx::push(Open range) {
  ++totals_.begun;
  auto& open = threads_[{range.thread, range.place}].ranges;
  if (range.level != arena::kNvtxNoLevel) {
    while (!open.empty() && open.back().level >= range.level) {
      leaveOpen(open.back());
      open.pop_back();
    }
  }
  if (open.size() == kMostOpenRanges) return leaveOpen(range);
  open.push_back(range);
}

void RecordedNvtx::pop(const arena::NvtxRecord& r, ThreadId thread) {
  auto& open = threads_[{thread, placeOf(r.life, r.domain)}].ranges;
  if (r.level != arena::kNvtxNoLevel) {
    while (!open.empty() && open.back().level > r.level &&
           open.back().level != arena::kNvtxNoLevel) {
      leaveOpen(open.back());
      open.pop_back();
    }
  }
  if (open.empty() || (r.level != arena::kNvtxNoLevel && open.back().level < r.level)) {
    ++totals_.without_start;
    return;
  }
  row(open.back(), RangeKind::kRange, host_ns_(r.time), thread);
  open.pop_back();
}

void RecordedNvtx::start(RangeId id, Open range) {
  ++totals_.begun;
  const auto ended = early_.find(id);
  if (ended == early_.end()) {
    started_.insert_or_assign(id, range);
    return;
  }
  row(range, RangeKind::kRange, ended->second.end_ns, ended->second.thread);
  early_.erase(ended);
}

void RecordedNvtx::end(RangeId id, const End& end) {
  const auto begun = started_.find(id);
  if (begun != started_.end()) {
    row(begun->second, RangeKind::kRange, end.end_ns, end.thread);
    started_.erase(begun);
    return;
  }
  // The ring of the thread that started it is read later.
  if (!early_.emplace(id, end).second) {
    ++totals_.without_start;
    return;
  }
  early_order_.push_back(id);
  while (early_order_.size() > kMostEarly) {
    totals_.without_start += early_.erase(early_order_.front());
    early_order_.pop_front();
  }
}

void RecordedNvtx::threadBegins(ThreadId thread) {
  auto at = threads_.lower_bound({thread, 0});
  while (at != threads_.end() && at->first.first == thread) {
    for (const Open& range : at->second.ranges) leaveOpen(range);
    at = threads_.erase(at);
  }
}

void RecordedNvtx::finish() {
  for (const auto& [key, thread] : threads_) {
    for (const Open& range : thread.ranges) leaveOpen(range);
  }
  for (const auto& [id, range] : started_) leaveOpen(range);
  threads_.clear();
  started_.clear();
  totals_.without_start += early_.size();
  early_.clear();
  early_order_.clear();
}

// --- Rows ---------------------------------------------------------------------------------------

void RecordedNvtx::leaveOpen(const Open& range) {
  ++totals_.open;
  row(range, RangeKind::kBegin, range.start_ns, range.thread);
}

void RecordedNvtx::attribute(std::string_view key, std::string_view value) {
  StringTable& strings = shared_.delta.strings;
  shared_.delta.attribute.push({.table = static_cast<uint32_t>(TableId::kRange),
                                .row_number = shared_.nextRange(),
                                .key = strings.intern(key),
                                .value = strings.intern(value)});
}

void RecordedNvtx::row(const Open& range, RangeKind kind, int64_t end_ns, ThreadId end_thread) {
  const arena::NvtxAttributes& a = range.attributes;
  if (a.category != 0) {
    const auto named = categories_.find({range.place, a.category});
    attribute("nvtx_category", named != categories_.end()
                                   ? std::string(shared_.delta.strings.at(named->second))
                                   : std::to_string(a.category));
  }
  if (a.has_color != 0) attribute("color", fmt::format("0x{:08x}", a.color));
  if (a.payload_type != NvtxPayload::kNone) attribute("payload", payloadText(a));
  if (end_thread != range.thread) {
    attribute("end_thread_id", std::to_string(static_cast<uint32_t>(end_thread)));
  }
  ++totals_.rows;
  shared_.delta.range.push({.start_ns = range.start_ns,
                            .duration_ns = std::max<int64_t>(0, end_ns - range.start_ns),
                            .kind = kind,
                            .name = range.name,
                            .category = categoryOf(range.place),
                            .process_id = process_,
                            .thread_id = range.thread});
}

// --- Another collector's ------------------------------------------------------------------------

void RecordedNvtx::writeOpen() {
  const auto write = [&](Open& range, uint64_t id) {
    if (range.is_written) return;
    range.is_written = true;
    const arena::NvtxAttributes& a = range.attributes;
    shared_.delta.pending.push({.process_id = process_,
                                .correlation_id = id,
                                .kind = CallKind::kOther,
                                .sub_kind = kPendingKind,
                                .thread_id = range.thread,
                                .name = range.name,
                                .bytes = a.payload,
                                .source = uint64_t{a.category} << 32 | a.color,
                                .destination = uint64_t{range.level} << 32 | range.place,
                                .flags = static_cast<uint32_t>(a.payload_type) << 1 | a.has_color,
                                .host_start_ns = range.start_ns});
  };
  for (auto& [key, thread] : threads_) {
    // Outer ranges have been written before.
    for (auto at = thread.ranges.rbegin(); at != thread.ranges.rend() && !at->is_written; ++at) {
      write(*at, 0);
    }
  }
  for (auto& [id, range] : started_) write(range, id.second);
}

void RecordedNvtx::restoreOpen(const PendingRow& row) {
  Open range{.name = row.name,
             .place = static_cast<uint32_t>(row.destination),
             .level = static_cast<uint32_t>(row.destination >> 32),
             .start_ns = row.host_start_ns,
             .thread = row.thread_id,
             .is_written = true};
  range.attributes.payload = row.bytes;
  range.attributes.category = static_cast<uint32_t>(row.source >> 32);
  range.attributes.color = static_cast<uint32_t>(row.source);
  range.attributes.payload_type = static_cast<NvtxPayload>(row.flags >> 1);
  range.attributes.has_color = row.flags & 1;
  restoring_[{range.thread, range.start_ns, range.name}] = {row.correlation_id, range};
}

void RecordedNvtx::restoreRange(const RangeRow& row) {
  if (!restoring_.empty()) restoring_.erase({row.thread_id, row.start_ns, row.name});
}

void RecordedNvtx::restored() {
  for (const auto& [key, entry] : restoring_) {
    const auto& [id, range] = entry;
    any_ = true;
    if (id != 0) {
      started_[{lifeOf(range.place), id}] = range;
      continue;
    }
    auto& open = threads_[{range.thread, range.place}].ranges;
    open.insert(std::upper_bound(open.begin(), open.end(), range,
                                 [](const Open& a, const Open& b) { return a.level < b.level; }),
                range);
  }
  restoring_.clear();
}

}  // namespace tracesmith
