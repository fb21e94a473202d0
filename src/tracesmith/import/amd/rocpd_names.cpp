// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocpd_names.hpp"
#include "tracesmith/import/common/source_numbers.hpp"

#include <simdjson.h>

#include <algorithm>

namespace tracesmith::import {
namespace {

/// The text member `key` of a JSON object; "" if there is none.
std::string memberText(std::string_view json, const char* key) {
  if (json.size() < 3 || json.find(key) == json.npos) return {};
  simdjson::dom::parser parser;
  std::string_view text;
  if (parser.parse(simdjson::padded_string(json))[key].get(text)) return {};
  return std::string(text);
}

}  // namespace

bool RocpdNames::read(SqliteFile& file, const SqliteTable& table, std::string_view name,
                      uint64_t& rows) {
  const bool known = name == "rocpd_string" || name == "rocpd_metadata" || name == "rocpd_event" ||
                     name == "rocpd_arg" || name == "rocpd_track" || name == "rocpd_timestamp" ||
                     name == "rocpd_event_operation" || name.starts_with("rocpd_info_");
  if (!known) return false;
  SqliteSource source(builder_, table, table.name, {});
  file.scan(table, [&](const SqliteRow& row) {
    ++rows;
    readRow(table, name, row);
    source.keepAlone(row);
    return !builder_.failed();
  });
  return true;
}

void RocpdNames::readRow(const SqliteTable& table, std::string_view name, const SqliteRow& row) {
  const auto integer = [&](const char* column) { return row.integer(table.find(column)); };
  const auto maybe = [&](const char* column) {
    const int place = table.find(column);
    return row.type(place) == SqliteType::kNull ? std::optional<int64_t>() : row.integer(place);
  };
  const auto string = [&](const char* column) {
    return std::string(row.bytes(table.find(column)));
  };
  const int64_t id = integer("id");
  if (name == "rocpd_string") {
    texts_.add(id, builder_.text(row.bytes(table.find("string"))));
  } else if (name == "rocpd_info_category") {
    categories_.add(id, builder_.text(string("name")));
  } else if (name == "rocpd_metadata") {
    builder_.setMetadata("rocpd." + string("tag"), string("value"));
  } else if (name == "rocpd_info_process") {
    processes_[id] = {.pid = integer("pid"),
                      .parent = integer("ppid"),
                      .start_ns = integer("start"),
                      .end_ns = integer("end"),
                      .command = string("command")};
  } else if (name == "rocpd_info_thread") {
    tids_.add(id, integer("tid"));
    if (std::string title = string("name"); !title.empty()) thread_names_[id] = std::move(title);
  } else if (name == "rocpd_info_agent") {
    RocpdAgent agent{.gpu = string("type") == "GPU",
                     .ordinal = maybe("type_index").value_or(maybe("logical_index").value_or(id)),
                     .name = string("product_name"),
                     .vendor = string("vendor_name"),
                     .facts = string("extdata")};
    for (const char* other : {"model_name", "name"}) {
      if (agent.name.empty()) agent.name = string(other);
    }
    agents_[id] = std::move(agent);
  } else if (name == "rocpd_info_stream") {
    streams_[id] = string("name");
  } else if (name == "rocpd_info_pmc") {
    std::string title = string("symbol");
    if (title.empty()) title = string("name");
    if (const auto agent = maybe("agent_id")) title += " (agent " + std::to_string(*agent) + ")";
    counters_[id] = std::move(title);
  } else if (name == "rocpd_info_kernel_symbol") {
    std::string title = string("display_name");
    if (title.empty()) title = string("kernel_name");
    // Both kinds of registers share the unified register file of a SIMD unit.
    kernels_.add(
        id, {.name = builder_.text(title),
             .group_bytes = small(integer("group_segment_size")),
             .registers = small(integer("arch_vgpr_count")) + small(integer("accum_vgpr_count"))});
  } else if (name == "rocpd_track") {
    tracks_.add(id, {.process = maybe("pid"),
                     .thread = maybe("tid"),
                     .agent = maybe("agent_id"),
                     .queue = maybe("queue_id"),
                     .stream = maybe("stream_id"),
                     .name = maybe("name_id")});
  } else if (name == "rocpd_timestamp") {
    times_.add(id, integer("value"));
  } else if (name == "rocpd_event") {
    RocpdEvent event;
    event.correlation = static_cast<uint64_t>(std::max<int64_t>(integer("stack_id"), 0));
    if (const auto category = maybe("category_id")) {
      const StringId* known = categories_.find(*category);
      event.category = known != nullptr ? *known : text(*category);
    }
    const std::string message = memberText(row.bytes(table.find("extdata")), "message");
    event.message = builder_.text(message);
    events_.add(id, event);
  }
}

StringId RocpdNames::text(int64_t id) {
  const StringId* known = texts_.find(id);
  return known == nullptr ? StringId::kNone : *known;
}

int64_t RocpdNames::pid(int64_t id) const {
  const auto it = processes_.find(id);
  return it == processes_.end() ? id : it->second.pid;
}

int64_t RocpdNames::tid(int64_t id) {
  const int64_t* known = tids_.find(id);
  return known == nullptr ? id : *known;
}

const RocpdAgent* RocpdNames::agent(int64_t id) const {
  const auto it = agents_.find(id);
  return it == agents_.end() ? nullptr : &it->second;
}

std::string RocpdNames::streamName(int64_t id) const {
  const auto it = streams_.find(id);
  return it == streams_.end() ? std::string() : it->second;
}

std::string RocpdNames::counterName(int64_t id) const {
  const auto it = counters_.find(id);
  return it == counters_.end() ? std::string() : it->second;
}

void RocpdNames::nameProcesses() {
  for (const auto& [id, p] : processes_) {
    builder_.rows.process.push({.id = builder_.process(p.pid),
                                .pid = static_cast<uint32_t>(p.pid),
                                .parent_pid = small(p.parent),
                                .start_ns = p.start_ns,
                                .end_ns = p.end_ns,
                                .command_line = builder_.text(p.command),
                                .seen_by = builder_.text("import")});
  }
  // Threads belong to the process of their tables. With several processes, a thread name has no
  // unique process.
  if (processes_.size() != 1) return;
  for (const auto& [id, name] : thread_names_) {
    builder_.nameThread(processes_.begin()->second.pid, tid(id), name);
  }
}

void RocpdNames::describeDevices() {
  for (const auto& [id, agent] : agents_) {
    if (!agent.gpu) continue;
    DeviceRow& row = builder_.deviceRow(agent.ordinal);
    row.backend = PlatformType::ROCm;
    if (!agent.name.empty()) row.name = builder_.text(agent.name);
    row.vendor = builder_.text(agent.vendor.empty() ? "AMD" : agent.vendor);
    simdjson::dom::parser parser;
    simdjson::dom::element facts;
    if (agent.facts.size() < 3 || parser.parse(simdjson::padded_string(agent.facts)).get(facts)) {
      continue;
    }
    const auto number = [&](const char* key) {
      int64_t value = 0;
      return facts[key].get(value) ? int64_t{0} : value;
    };
    row.compute_units = small(number("cu_count"));
    row.warp_size = small(number("wave_front_size"));
    row.clock_mhz = small(number("max_engine_clk_fcompute"));
    row.max_work_group_size = small(number("workgroup_max_size"));
    row.max_threads_per_unit =
        small(std::clamp<int64_t>(number("max_waves_per_cu"), 0, 1 << 16) * row.warp_size);
  }
}

}  // namespace tracesmith::import
