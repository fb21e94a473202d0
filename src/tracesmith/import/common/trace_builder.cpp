// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {
namespace {

/// The bytes of a row's values, as a key: equal rows have equal keys. `one`: scratch table.
template <class Table>
std::string keyOf(const typename Table::Row& row, Table& one) {
  std::string key;
  one.clear();
  one.push(row);
  Table::visitColumns(one, [&](const ColumnInfo&, const auto& column) {
    key.append(reinterpret_cast<const char*>(column.data()), sizeof(column[0]));
  });
  return key;
}

}  // namespace

TraceBuilder::TraceBuilder(TraceWriter& writer, Trace facts)
    : rows(std::move(facts)), writer_(writer) {}

ProcessId TraceBuilder::process(int64_t pid) {
  const auto [it, fresh] = processes_.try_emplace(pid);
  if (fresh) {
    it->second = idAt<ProcessId>(processes_.size() - 1);
    rows.process.push({.id = it->second, .pid = systemNumber(pid), .seen_by = text("import")});
  }
  return it->second;
}

void TraceBuilder::nameProcess(int64_t pid, std::string_view name) {
  rows.process.push({.id = process(pid),
                     .pid = systemNumber(pid),
                     .command_line = text(name),
                     .seen_by = text("import")});
}

ThreadId TraceBuilder::thread(int64_t pid, int64_t tid) {
  const auto [it, fresh] = threads_.try_emplace({pid, tid});
  if (fresh) {
    it->second = idAt<ThreadId>(threads_.size() - 1);
    rows.thread.push({.id = it->second, .process_id = process(pid), .tid = systemNumber(tid)});
  }
  return it->second;
}

void TraceBuilder::nameThread(int64_t pid, int64_t tid, std::string_view name) {
  rows.thread.push({.id = thread(pid, tid),
                    .process_id = process(pid),
                    .tid = systemNumber(tid),
                    .name = text(name)});
}

DeviceRow& TraceBuilder::deviceRow(int64_t ordinal) {
  const auto [it, fresh] = devices_.try_emplace(ordinal);
  if (fresh) {
    it->second.id = idAt<DeviceId>(devices_.size() - 1);
    it->second.kind = DeviceKind::kGpu;
    it->second.ordinal = device_ordinals_.of(ordinal);
    it->second.name = text("device " + std::to_string(ordinal));
    rows.device.push(it->second);
  }
  return it->second;
}

DeviceId TraceBuilder::device(int64_t ordinal) { return deviceRow(ordinal).id; }

StreamId TraceBuilder::stream(int64_t pid, int64_t device_ordinal, int64_t context,
                              int64_t number) {
  const auto [it, fresh] = streams_.try_emplace({pid, device_ordinal, context, number});
  if (!fresh) return it->second;
  it->second = idAt<StreamId>(stream_rows_.size());
  const auto [in, new_context] = contexts_.try_emplace({pid, device_ordinal, context});
  if (new_context) {
    in->second = idAt<ContextId>(contexts_.size() - 1);
    rows.context.push({.id = in->second,
                       .process_id = process(pid),
                       .handle = static_cast<uint64_t>(context),
                       .device_id = device(device_ordinal)});
  }
  stream_rows_.push_back({.id = it->second,
                          .process_id = process(pid),
                          .context_id = in->second,
                          .device_id = device(device_ordinal),
                          .handle = static_cast<uint64_t>(number),
                          .ordinal = stream_ordinals_.of(number)});
  rows.stream.push(stream_rows_.back());
  return it->second;
}

void TraceBuilder::nameStream(StreamId id, std::string_view name) {
  StreamRow& row = stream_rows_.at(indexOf(id));
  row.name = text(name);
  rows.stream.push(row);
}

ShapeId TraceBuilder::shape(const LaunchShapeRow& shape) {
  const auto [it, fresh] = shapes_.try_emplace(keyOf(shape, one_shape_));
  if (fresh) {
    it->second = idAt<ShapeId>(shapes_.size() - 1);
    rows.launch_shape.push(shape);
  }
  return it->second;
}

CounterTrackId TraceBuilder::counterTrack(const CounterTrackRow& track) {
  const auto [it, fresh] = tracks_.try_emplace(keyOf(track, one_track_));
  if (fresh) {
    it->second = idAt<CounterTrackId>(tracks_.size() - 1);
    rows.counter_track.push(track);
  }
  return it->second;
}

/// Cuts at a character boundary.
std::string_view TraceBuilder::cut(std::string_view text) {
  ++cut_;
  size_t end = sbt::kMaxStringBytes;
  for (int i = 0; i < 3 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80; ++i) --end;
  return text.substr(0, end);
}

StringId TraceBuilder::json(std::string_view value) {
  if (value.size() <= sbt::kMaxStringBytes) return rows.strings.intern(value);
  ++left_out_;
  return rows.strings.intern("null");
}

uint32_t TraceBuilder::sourceShape(const SourceShape& shape) {
  std::string whole = shape.text();
  if (whole.size() > sbt::kMaxStringBytes) {
    ++left_out_;
    if (no_shape_ == 0) no_shape_ = sourceShape({.between = {"null"}, .gaps = {}});
    return no_shape_;
  }
  const auto [it, fresh] = source_shapes_.try_emplace(std::move(whole));
  if (!fresh) return it->second;
  SourceRows::Shape known;
  known.text = text(it->first);
  for (const SourceShape::Gap& gap : shape.gaps) {
    if (isKept(gap.kind)) known.leaves.push_back(text(leafName(gap.kind, gap.key)));
  }
  sources_.shapes.push_back(std::move(known));
  it->second = static_cast<uint32_t>(sources_.shapes.size() - 1);
  return it->second;
}

void TraceBuilder::keep(TableId table, uint32_t source_shape, std::span<const int64_t> kept) {
  SourceTable& of = sources_.of(table);
  of.shape.push_back(source_shape);
  of.values.push_back(static_cast<uint32_t>(of.value.size()));
  if (source_shape == no_shape_ && no_shape_ != 0) return;
  for (const int64_t value : kept) of.value.push_back(value);
}

void TraceBuilder::added(size_t count) {
  pending_ += count;
  if (pending_ >= rows_per_batch) writeBatch();
}

void TraceBuilder::writeBatch() {
  if (status_) status_ = writer_.write(rows, &sources_);
  forEachTable(rows, [](auto& table) { table.clear(); });
  sources_.clearRows();
  pending_ = 0;
}

void TraceBuilder::unixTime(int64_t trace_ns, int64_t unix_ns) {
  const auto id = idAt<ClockDomainId>(0);
  rows.clock_domain.push({.id = id, .kind = ClockKind::kHostRealtime, .name = text("Unix time")});
  rows.clock_snapshot.push({.domain_id = id, .host_ns = trace_ns, .clock_value = unix_ns});
}

Status TraceBuilder::finish(ImportCounts& counts, std::string lost) {
  const auto say = [&](uint64_t count, std::string_view what) {
    if (count == 0) return;
    const std::string text = std::to_string(count) + " " + std::string(what) + " than the " +
                             std::to_string(sbt::kMaxStringBytes >> 20) +
                             " MiB that a trace holds ";
    counts.damage.push_back(
        {.reason = text + (what.starts_with("texts") ? "are cut" : "are left out"), .events = 0});
    lost += (lost.empty() ? "" : "; ") + counts.damage.back().reason;
  };
  say(cut_, "texts longer");
  say(left_out_, "values of the source longer");
  for (const auto& [ordinal, row] : devices_) rows.device.push(row);
  LossRow loss = counts.loss();
  loss.source = text("import");
  loss.reason = text(lost);
  rows.loss.push(loss);
  writeBatch();
  return status_;
}

}  // namespace tracesmith::import
