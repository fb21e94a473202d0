// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/system_facts.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith::cli {
namespace {

/// The value of the first line "KEY<separator>VALUE" of a file, without quotes and surrounding
/// blanks.
std::string valueIn(const char* path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string name = line.substr(0, at);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (name != key) continue;
    std::string value = line.substr(at + 1);
    value.erase(0, std::min(value.size(), value.find_first_not_of(" \t\"")));
    value.erase(value.find_last_not_of(" \t\"") + 1);
    return value;
  }
  return "";
}

std::string firstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint64_t memoryKiB(const char* key) {
  return std::strtoull(valueIn("/proc/meminfo", key, ':').c_str(), nullptr, 10);
}

ClockFacts clockFacts(const char* name, clockid_t clock) {
  ClockFacts facts;
  facts.name = name;
  timespec resolution{};
  if (clock_getres(clock, &resolution) == 0) {
    facts.resolution_ns = resolution.tv_sec * 1'000'000'000 + resolution.tv_nsec;
  }
  // A single read is shorter than the clock's resolution: time ten at once.
  std::array<int64_t, 101> costs{};
  for (int64_t& cost : costs) {
    const int64_t begin = monotonicNs();
    for (int i = 0; i < 10; ++i) clockNs(clock);
    cost = (monotonicNs() - begin) / 10;
  }
  std::nth_element(costs.begin(), costs.begin() + costs.size() / 2, costs.end());
  facts.read_cost_ns = costs[costs.size() / 2];
  return facts;
}

AgentFacts agentFacts(const char* file) {
  const Result<std::string> path = findAgentLibrary(file);
  if (path) return {file, *path, ""};
  return {file, "", path.error().message};
}

}  // namespace

SystemFacts systemFacts() {
  SystemFacts facts;
  facts.os = valueIn("/etc/os-release", "PRETTY_NAME", '=');
  utsname u{};
  if (uname(&u) == 0) facts.kernel = fmt::format("{} {} {}", u.sysname, u.release, u.machine);
  facts.cpu = valueIn("/proc/cpuinfo", "model name", ':');
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  facts.cpus = sched_getaffinity(0, sizeof cpus, &cpus) == 0
                   ? CPU_COUNT(&cpus)
                   : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.memory_bytes = memoryKiB("MemTotal") << 10;
  facts.memory_available_bytes = memoryKiB("MemAvailable") << 10;
  facts.clock_source =
      firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.clocks = {clockFacts("CLOCK_MONOTONIC", CLOCK_MONOTONIC),
                  clockFacts("CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW),
                  clockFacts("CLOCK_REALTIME", CLOCK_REALTIME),
                  clockFacts("CLOCK_BOOTTIME", CLOCK_BOOTTIME)};
  facts.agents = {
      agentFacts("libtracesmith-opencl.so"), agentFacts("libtracesmith-opencl-preload.so"),
      agentFacts("libtracesmith-opencl-record.so"), agentFacts("libtracesmith-process.so")};
  facts.opencl_layers = icdLoaderHasLayers();
  return facts;
}

std::string systemText(const SystemFacts& facts) {
  constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
  std::string out;
  out += fmt::format("System    {}, {}\n", facts.os.empty() ? "unknown" : facts.os, facts.kernel);
  out += fmt::format("CPU       {}, {} usable\n", facts.cpu.empty() ? "unknown" : facts.cpu,
                     facts.cpus);
  out += fmt::format("Memory    {:.1f} GiB, {:.1f} GiB available\n",
                     static_cast<double>(facts.memory_bytes) / kGi,
                     static_cast<double>(facts.memory_available_bytes) / kGi);
  out += fmt::format("Clocks    kernel's source: {}\n",
                     facts.clock_source.empty() ? "unknown" : facts.clock_source);
  for (const ClockFacts& clock : facts.clocks) {
    out += fmt::format("          {:<20} resolution {} ns, a read takes {} ns\n", clock.name,
                       clock.resolution_ns, clock.read_cost_ns);
  }
  const char* heading = "Agents";
  for (const AgentFacts& agent : facts.agents) {
    out += fmt::format("{:<9} {}\n", heading,
                       agent.path.empty() ? agent.file + ": " + agent.problem : agent.path);
    heading = "";
  }
  out += fmt::format("          the OpenCL loader {} layers\n",
                     facts.opencl_layers ? "has" : "does not have");
  return out;
}

void writeSystemJson(JsonWriter& json, const SystemFacts& facts) {
  json.field("os", facts.os)
      .field("kernel", facts.kernel)
      .field("cpu", facts.cpu)
      .field("cpus", facts.cpus)
      .field("memory_bytes", facts.memory_bytes)
      .field("memory_available_bytes", facts.memory_available_bytes)
      .field("clock_source", facts.clock_source);
  json.key("clocks").beginArray();
  for (const ClockFacts& clock : facts.clocks) {
    json.beginObject()
        .field("name", clock.name)
        .field("resolution_ns", clock.resolution_ns)
        .field("read_cost_ns", clock.read_cost_ns)
        .endObject();
  }
  json.endArray();
  json.key("agents").beginArray();
  for (const AgentFacts& agent : facts.agents) {
    json.beginObject()
        .field("file", agent.file)
        .field("path", agent.path)
        .field("problem", agent.problem)
        .endObject();
  }
  json.endArray();
  json.field("opencl_layers", facts.opencl_layers);
}

}  // namespace tracesmith::cli
