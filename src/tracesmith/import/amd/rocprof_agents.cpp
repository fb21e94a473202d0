// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocprof_agents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/json/json_walker.hpp"

namespace tracesmith::import {
namespace {

/// Counts only frame buffers (heap types 1 and 2: visible to the host or not). Other heaps are host
/// memory or registers.
void addMemory(std::string_view banks, RocprofAgent& agent) {
  JsonWalker walker(banks);
  if (!walker.enter('[')) return;
  while (walker.element()) {
    int64_t heap = 0, bytes = 0, clock = 0, bits = 0;
    forMembers(walker.value().raw, [&](std::string_view key, const JsonToken& value) {
      if (key == "heap_type") heap = value.integer();
      if (key == "size_in_bytes") bytes = value.integer();
      if (key == "mem_clk_max") clock = value.integer();
      if (key == "width") bits = value.integer();
    });
    if (heap != 1 && heap != 2) continue;
    if (__builtin_add_overflow(agent.memory_bytes, std::max<int64_t>(bytes, 0),
                               &agent.memory_bytes)) {
      agent.memory_bytes = 0;
    }
    agent.memory_clock_mhz = std::max(agent.memory_clock_mhz, clock);
    agent.memory_bits = std::max(agent.memory_bits, bits);
  }
}

std::string uuidOf(std::string_view raw) {
  std::string hex;
  forMembers(raw, [&](std::string_view, const JsonToken& bytes) {
    forMembers(bytes.raw, [&](std::string_view, const JsonToken& byte) {
      if (hex.size() < 32) hex += fmt::format("{:02x}", byte.integer() & 0xff);
    });
  });
  return hex;
}

}  // namespace

void addRocprofAgent(const RocprofAgent& agent, TraceBuilder& builder) {
  DeviceRow& row = builder.deviceRow(agent.id);
  row.backend = PlatformType::ROCm;
  row.kind = agent.gpu ? DeviceKind::kGpu : agent.cpu ? DeviceKind::kCpu : DeviceKind::kUnknown;
  row.ordinal = small(agent.ordinal >= 0 ? agent.ordinal : agent.id);
  row.name = builder.text(agent.product.empty() ? agent.name : agent.product);
  row.vendor = builder.text(agent.vendor);
  row.platform = builder.text(agent.name);
  row.compute_units = small(agent.compute_units);
  row.clock_mhz = small(agent.clock_mhz);
  row.warp_size = small(agent.wave_size);
  row.max_work_group_size = small(agent.group_size);
  row.memory_bytes = static_cast<uint64_t>(std::max<int64_t>(agent.memory_bytes, 0));
  row.memory_clock_mhz = small(agent.memory_clock_mhz);
  row.memory_bus_bits = small(agent.memory_bits);
  row.compute_major = small(agent.gfx_version / 10000);
  row.compute_minor = small(agent.gfx_version / 100 % 100);
  row.uuid = builder.text(agent.uuid);
  row.max_threads_per_unit = small(std::clamp<int64_t>(agent.waves_per_unit, 0, 1 << 12) *
                                   std::clamp<int64_t>(agent.wave_size, 0, 1 << 12));
  if (agent.gpu && agent.location >= 0) {
    row.pci_address = builder.text(
        fmt::format("{:04x}:{:02x}:{:02x}.{:x}", std::max<int64_t>(agent.domain, 0),
                    agent.location >> 8 & 0xff, agent.location >> 3 & 0x1f, agent.location & 7));
  }
}

void addRocprofAgent(std::string_view json, TraceBuilder& builder) {
  RocprofAgent agent;
  int64_t type = 0, compute_clock = 0, cpu_clock = 0;
  std::string room;
  forMembers(json, [&](std::string_view key, const JsonToken& value) {
    const auto is = [&](std::string_view name, int64_t& out) {
      if (key == name) out = value.integer();
    };
    const auto text = [&](std::string_view name, std::string& out) {
      if (key == name) out = textOf(value, room);
    };
    if (key == "id") {
      forMembers(value.raw,
                 [&](std::string_view, const JsonToken& handle) { agent.id = handle.integer(); });
    }
    if (key == "mem_banks") addMemory(value.raw, agent);
    if (key == "uuid") agent.uuid = uuidOf(value.raw);
    is("type", type);
    is("logical_node_type_id", agent.ordinal);
    is("gfx_target_version", agent.gfx_version);
    is("cu_count", agent.compute_units);
    is("max_engine_clk_fcompute", compute_clock);
    is("max_engine_clk_ccompute", cpu_clock);
    is("wave_front_size", agent.wave_size);
    is("max_waves_per_cu", agent.waves_per_unit);
    is("workgroup_max_size", agent.group_size);
    is("domain", agent.domain);
    is("location_id", agent.location);
    text("name", agent.name);
    text("product_name", agent.product);
    text("vendor_name", agent.vendor);
  });
  agent.cpu = type == 1;
  agent.gpu = type == 2;
  agent.clock_mhz = agent.cpu ? cpu_clock : compute_clock;
  if (agent.id >= 0) addRocprofAgent(agent, builder);
}

}  // namespace tracesmith::import
