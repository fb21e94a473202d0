// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {
namespace {

constexpr size_t kLeaksShown = 5;

std::string placeOf(uint32_t device_id) {
  return device_id == kHostMemory ? "host" : std::to_string(device_id);
}

/// Converts to a whole number of bytes. Saturates, because averages of absurd sizes can be too
/// large.
uint64_t whole(double bytes) {
  return bytes < 0x1p64 ? static_cast<uint64_t>(bytes) : std::numeric_limits<uint64_t>::max();
}

void writeStats(JsonWriter& json, const AllocatorStats& stats) {
  json.beginObject()
      .field("allocations", stats.allocations)
      .field("frees", stats.frees)
      .field("bytes_allocated", stats.bytes_allocated)
      .field("bytes_freed", stats.bytes_freed)
      .field("current_usage", stats.current_usage)
      .field("peak_usage", stats.peak_usage)
      .endObject();
}

void writeSnapshot(JsonWriter& json, const MemorySnapshot& snapshot) {
  json.beginObject()
      .field("timestamp", snapshot.timestamp)
      .field("total_allocated", snapshot.total_allocated)
      .field("total_freed", snapshot.total_freed)
      .field("live_allocations", snapshot.live_allocations)
      .field("live_bytes", snapshot.live_bytes)
      .field("peak_bytes", snapshot.peak_bytes);
  json.key("device_usage").beginObject();
  for (const auto& [device, bytes] : snapshot.device_usage) {
    json.field(placeOf(device), bytes);
  }
  json.endObject().key("allocator_usage").beginObject();
  for (const auto& [name, bytes] : snapshot.allocator_usage) json.field(name, bytes);
  json.endObject().endObject();
}

void writeLeak(JsonWriter& json, const MemoryLeak& leak) {
  json.beginObject()
      .field("ptr", leak.ptr)
      .field("size", leak.size)
      .field("device_id", leak.device_id == kHostMemory ? -1 : int64_t{leak.device_id})
      .field("alloc_time", leak.alloc_time)
      .field("allocator", leak.allocator)
      .field("tag", leak.tag)
      .field("lifetime_ns", leak.lifetime_ns)
      .field("call_stack_hash", leak.call_stack_hash)
      .endObject();
}

}  // namespace

std::string MemoryReport::summary() const {
  std::string text;
  const auto line = [&](const char* what, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "{:<17}{}\n", what, value);
  };
  line("profiled", formatDuration(static_cast<int64_t>(profile_duration_ns)));
  line("peak", formatBytes(peak_memory_usage));
  line("now", formatBytes(current_memory_usage));
  if (device_stats.size() > 1) {
    for (const auto& [device, stats] : device_stats) {
      line(device == kHostMemory ? "host" : fmt::format("device {}", device).c_str(),
           fmt::format("{} at most, {} now", formatBytes(stats.peak_usage),
                       formatBytes(stats.current_usage)));
    }
  }
  line("allocations",
       fmt::format("{}, {}", formatCount(total_allocations), formatBytes(total_bytes_allocated)));
  line("frees", fmt::format("{}, {}", formatCount(total_frees), formatBytes(total_bytes_freed)));
  if (total_allocations != 0) {
    line("sizes",
         fmt::format("{} to {}, {} on average", formatBytes(min_allocation_size),
                     formatBytes(max_allocation_size), formatBytes(whole(avg_allocation_size))));
  }
  if (total_frees != 0) {
    line("lifetime", fmt::format("{} on average",
                                 formatDuration(static_cast<int64_t>(avg_allocation_lifetime_ns))));
  }
  if (fragmentation) {
    line("free blocks", fmt::format("{}, {}, the largest {}: fragmentation {}",
                                    formatCount(fragmentation->free_block_count),
                                    formatBytes(fragmentation->total_free_bytes),
                                    formatBytes(fragmentation->largest_free_block),
                                    formatPercent(fragmentation->fragmentation_ratio)));
  }
  for (const auto& [what, count] :
       {std::pair("double frees", double_frees), std::pair("unknown frees", unknown_frees),
        std::pair("missed frees", missed_frees)}) {
    if (count != 0) line(what, formatCount(count));
  }
  if (allocator_stats.size() > 1) {
    for (const auto& [name, stats] : allocator_stats) {
      line("allocator", fmt::format("{}: {} allocations, {} at most, {} now", name,
                                    formatCount(stats.allocations), formatBytes(stats.peak_usage),
                                    formatBytes(stats.current_usage)));
    }
  }
  if (!potential_leaks.empty()) {
    uint64_t bytes = 0;
    for (const MemoryLeak& leak : potential_leaks) bytes += leak.size;
    line("potential leaks",
         fmt::format("{}, {}", formatCount(potential_leaks.size()), formatBytes(bytes)));
    for (size_t i = 0; i < std::min(potential_leaks.size(), kLeaksShown); ++i) {
      const MemoryLeak& leak = potential_leaks[i];
      line("",
           fmt::format("{} at {:#x} on {}{}, {} old, {}{}{}", formatBytes(leak.size), leak.ptr,
                       leak.device_id == kHostMemory ? "the " : "device ", placeOf(leak.device_id),
                       formatDuration(static_cast<int64_t>(leak.lifetime_ns)), leak.allocator,
                       leak.tag.empty() ? "" : ", ", leak.tag));
    }
    if (potential_leaks.size() > kLeaksShown) line("", "…");
  }
  return text;
}

std::string MemoryReport::toJSON() const {
  std::string text;
  Output out = Output::toString(&text);
  JsonWriter json(out);
  json.beginObject()
      .field("total_allocations", total_allocations)
      .field("total_frees", total_frees)
      .field("total_bytes_allocated", total_bytes_allocated)
      .field("total_bytes_freed", total_bytes_freed)
      .field("peak_memory_usage", peak_memory_usage)
      .field("peak_time", peak_time)
      .field("current_memory_usage", current_memory_usage)
      .field("profile_duration_ns", profile_duration_ns)
      .field("min_allocation_size", min_allocation_size)
      .field("max_allocation_size", max_allocation_size)
      .field("avg_allocation_size", avg_allocation_size)
      .field("avg_allocation_lifetime_ns", avg_allocation_lifetime_ns)
      .field("double_frees", double_frees)
      .field("unknown_frees", unknown_frees)
      .field("missed_frees", missed_frees);
  json.key("fragmentation");
  if (fragmentation) {
    json.beginObject()
        .field("total_free_bytes", fragmentation->total_free_bytes)
        .field("largest_free_block", fragmentation->largest_free_block)
        .field("free_block_count", fragmentation->free_block_count)
        .field("fragmentation_ratio", fragmentation->fragmentation_ratio)
        .endObject();
  } else {
    json.null();
  }
  json.key("potential_leaks").beginArray();
  for (const MemoryLeak& leak : potential_leaks) writeLeak(json, leak);
  json.endArray().key("timeline").beginArray();
  for (const MemorySnapshot& snapshot : timeline) writeSnapshot(json, snapshot);
  json.endArray().key("allocation_size_histogram").beginObject();
  for (const auto& [size, count] : allocation_size_histogram) {
    json.field(std::to_string(size), count);
  }
  json.endObject().key("allocator_stats").beginObject();
  for (const auto& [name, stats] : allocator_stats) writeStats(json.key(name), stats);
  json.endObject().key("device_stats").beginObject();
  for (const auto& [device, stats] : device_stats) {
    writeStats(json.key(placeOf(device)), stats);
  }
  json.endObject().endObject();
  (void)out.finish();  // writing to a string cannot fail
  return text;
}

}  // namespace tracesmith
